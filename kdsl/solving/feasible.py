"""A dual-feasible point next to the one a backend returned: the only kind of point whose value is a bound."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from numpy.typing import NDArray

from kdsl.numerics.arrays import Floats, Matrix
from kdsl.numerics.quiet_products import dot
from kdsl.solving.normal_form import NormalForm

_FEW = 8  # rows that are taken as a dense array
_ROUNDS = 60
_STEPS = 400  # of Newton's method or bisection; a few are enough but for the most uneven of rows
_ROUNDING = 1e-15  # of the sizes of what is added up


def feasible_point(problem: NormalForm, theta: Floats) -> tuple[Floats, float]:
    """(a point inside every box that meets the rows, the worst relative row residual that is left).

    Clips to the boxes, then repeats: the shortest correction of the free coordinates that mends the violated
    rows, clipped again. One row is mended exactly by bisection along its own coefficients.
    """
    lower, upper = problem.separable.lower, problem.separable.upper
    rows, matrix = problem.rows, problem.rows.matrix
    point = np.clip(np.where(np.isfinite(theta), theta, 0.0), lower, upper)
    if matrix.shape[0] == 0:
        return point, 0.0
    if matrix.shape[0] == 1:
        point = _one_row(problem, matrix.toarray()[0], point)
        return point, _residual(problem, point)
    before, equations = np.inf, matrix.toarray() if matrix.shape[0] <= _FEW else matrix
    for _ in range(_ROUNDS):
        error = _violations(problem, point)
        worst, size = float(np.max(np.abs(error), initial=0.0)), _size(problem, point)
        if worst <= 1e-15 * size or (worst <= 1e-13 * size and worst >= before):  # or nothing but rounding is left
            break
        before = worst
        free = ~_at_an_end(problem, point)
        active = (error != 0) | rows.equality
        movable = free if free.any() else ~free  # where all are at an end, all may move
        correction = _least_change(_at(equations, np.flatnonzero(active), movable), error[active])
        if correction is None:
            break
        moved = np.clip(point + correction, lower, upper)
        if np.array_equal(moved, point):
            break
        point = moved
    return point, _residual(problem, point)


def _at(matrix: Matrix, rows: NDArray[np.int64], columns: NDArray[np.bool_]) -> Matrix:
    """The rows that are named, 0 in the other columns."""
    if isinstance(matrix, np.ndarray):
        return np.asarray(matrix[rows] * columns)
    chosen = matrix[rows]
    return sp.csr_array((chosen.data * columns[chosen.indices], chosen.indices, chosen.indptr), chosen.shape)


def _least_change(matrix: Matrix, target: Floats) -> Floats | None:
    """The shortest d with matrix d = target."""
    product = matrix @ matrix.T
    size = product.shape[0]
    scale = float(product.diagonal().max(initial=0.0))
    if scale == 0.0:
        return None
    if isinstance(product, np.ndarray) or size <= 200:
        gram = product if isinstance(product, np.ndarray) else product.toarray()
        multipliers = np.asarray(np.linalg.lstsq(gram, target, rcond=1e-12)[0])
    else:
        regular = sp.csc_array(product) + 1e-14 * scale * sp.eye_array(size, format="csc")
        multipliers = np.asarray(spla.spsolve(regular, target))
    return np.asarray(matrix.T @ multipliers, dtype=np.float64)


def _one_row(problem: NormalForm, everything: Floats, point: Floats) -> Floats:
    """clip(point + s a) with s such that a'x = target: the nearest point in that direction."""
    target = float(problem.rows.target[0])
    lower, upper, equality = problem.separable.lower, problem.separable.upper, bool(problem.rows.equality[0])
    value = dot(everything, point)
    if value == target or (not equality and value <= target):
        return point
    row = _movable(problem, everything, target - value, point)
    if not row.any():
        return point  # 0 = target: no point helps

    moving = np.flatnonzero(row)
    sign = 1.0 if value < target else -1.0
    part, start = sign * row[moving], point[moving]
    missing = abs(target - value)
    moved = _far_enough(part, start, (lower[moving], upper[moving]), missing + dot(part, start))
    result = point.copy()
    result[moving] = moved
    free = (result > lower) & (result < upper) & (row != 0)
    if free.any():  # the last rounding error goes to the freest coordinate
        room = np.where(free, np.minimum(result - lower, upper - result), -1.0)
        best = int(np.argmax(room))
        result[best] += (target - dot(everything, result)) / row[best]
        result = np.clip(result, lower, upper)
    return result


def _far_enough(part: Floats, start: Floats, bounds: tuple[Floats, Floats], wanted: float) -> Floats:
    """clip(start + s part) with s > 0 such that part'x = wanted, or as far towards it as the bounds allow.

    part'x is piecewise linear and rises with s: Newton's method between the s that are known to fall short and to be
    enough, and bisection where a step leaves them.
    """
    low, high = 0.0, np.inf
    best, s = start, (wanted - dot(part, start)) / max(dot(part, part), 1e-300)
    rounding = _ROUNDING * (abs(wanted) + dot(np.abs(part), np.abs(start)))
    for _ in range(_STEPS):
        best = np.clip(start + s * part, *bounds)
        short = wanted - dot(part, best)
        inside = part[(best > bounds[0]) & (best < bounds[1])]
        if abs(short) <= rounding or (short > 0 and not len(inside)):
            break
        low, high = (s, high) if short > 0 else (low, s)
        following = s + short / max(dot(inside, inside), 1e-300)
        if not low < following < high:
            following = 2.0 * low if np.isinf(high) else 0.5 * (low + high)
        if following in (low, high):
            break
        s = following
    return best


def _movable(problem: NormalForm, row: Floats, missing: float, point: Floats) -> Floats:
    """The row with the coordinates at bounds and kinks left out, where the others can make up what is missing."""
    lower, upper = problem.separable.lower, problem.separable.upper
    free = np.where(_at_an_end(problem, point), 0.0, row)
    toward = np.sign(missing) * free
    room = np.where(toward > 0, upper - point, np.where(toward < 0, point - lower, 0.0))
    able = float(np.sum(np.abs(free[free != 0]) * room[free != 0]))
    return free if able >= abs(missing) else row


def _at_an_end(problem: NormalForm, point: Floats) -> NDArray[np.bool_]:
    """Which coordinates sit at an end of one of their pieces, bounds included."""
    h = problem.separable
    owner = np.repeat(np.arange(h.size), np.diff(h.offsets))
    at_end = (point[owner] == h.left) | (point[owner] == h.right)
    result = np.zeros(h.size, dtype=bool)
    result[owner[at_end]] = True
    return result


def _violations(problem: NormalForm, point: Floats) -> Floats:
    """What is missing in each row: target - A point, 0 where an inequality holds."""
    rows = problem.rows
    error = np.asarray(rows.target - rows.matrix @ point)
    return np.where(rows.equality, error, np.minimum(error, 0.0))


def _size(problem: NormalForm, point: Floats) -> float:
    return max(1.0, float(np.max(np.abs(problem.rows.target), initial=0.0)), float(np.abs(point).max(initial=0.0)))


def _residual(problem: NormalForm, point: Floats) -> float:
    return float(np.max(np.abs(_violations(problem, point)), initial=0.0)) / _size(problem, point)
