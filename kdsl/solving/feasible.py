"""A dual-feasible point next to the one a backend returned: the only kind of point whose value is a bound."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from numpy.typing import NDArray

from kdsl.solving.normal_form import Floats, NormalForm

_ROUNDS = 60


def feasible_point(problem: NormalForm, theta: Floats) -> tuple[Floats, float]:
    """(a point inside every box that meets the rows, the worst relative row residual that is left).

    Clips to the boxes, then repeats: the shortest correction of the free coordinates that mends the violated
    rows, clipped again. One row is mended exactly by bisection along its own coefficients.
    """
    lower, upper = problem.separable.lower, problem.separable.upper
    rows = problem.rows
    point = np.clip(np.where(np.isfinite(theta), theta, 0.0), lower, upper)
    if rows.matrix.shape[0] == 0:
        return point, 0.0
    matrix = sp.csr_array(rows.matrix)
    if matrix.shape[0] == 1:
        point = _one_row(problem, matrix, point)
        return point, _residual(problem, point)
    before = np.inf
    for _ in range(_ROUNDS):
        error = _violations(problem, point)
        worst, size = float(np.max(np.abs(error), initial=0.0)), _size(problem, point)
        if worst <= 1e-15 * size or (worst <= 1e-13 * size and worst >= before):  # or nothing but rounding is left
            break
        before = worst
        free = ~_at_an_end(problem, point)
        wanting = error != 0
        active = sp.csr_array(matrix[np.flatnonzero(wanting | rows.equality)])
        target = error[wanting | rows.equality]
        inner = sp.csr_array(active @ sp.diags_array(free.astype(float)))
        correction = _least_change(inner, target)
        if correction is None:
            break
        moved = np.clip(point + correction, lower, upper)
        if np.array_equal(moved, point):
            break
        point = moved
    return point, _residual(problem, point)


def _least_change(matrix: sp.csr_array, target: Floats) -> Floats | None:
    """The shortest d with matrix d = target."""
    gram = sp.csc_array(matrix @ matrix.T)
    size = gram.shape[0]
    scale = float(gram.diagonal().max(initial=0.0))
    if scale == 0.0:
        return None
    if size <= 200:
        multipliers = np.asarray(np.linalg.lstsq(gram.toarray(), target, rcond=1e-12)[0])
    else:
        multipliers = np.asarray(spla.spsolve(gram + 1e-14 * scale * sp.eye_array(size, format="csc"), target))
    return np.asarray(sp.csr_array(matrix.T).dot(multipliers), dtype=np.float64)


def _one_row(problem: NormalForm, matrix: sp.csr_array, point: Floats) -> Floats:
    """clip(point + s a) with s found by bisection, so that a'x = target: the nearest point in that direction."""
    everything, target = matrix.toarray()[0], float(problem.rows.target[0])
    lower, upper, equality = problem.separable.lower, problem.separable.upper, bool(problem.rows.equality[0])
    value = float(everything @ point)
    if value == target or (not equality and value <= target):
        return point
    row = _movable(problem, everything, target - value, point)
    if not row.any():
        return point  # 0 = target: no point helps

    moving = np.flatnonzero(row)
    part, start, bounds = row[moving], point[moving], (lower[moving], upper[moving])
    staying = value - float(part @ start)

    def at(shift: float) -> Floats:
        return np.clip(start + shift * part, *bounds)

    sign = 1.0 if value < target else -1.0
    step = abs(target - value) / max(float(part @ part), 1e-300)
    far = step
    for _ in range(200):
        if sign * (staying + float(part @ at(sign * far)) - target) >= 0:
            break
        far *= 2.0
    low, high = 0.0, far
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if sign * (staying + float(part @ at(sign * middle)) - target) >= 0:
            high = middle
        else:
            low = middle
    result = point.copy()
    result[moving] = at(sign * high)
    free = (result > lower) & (result < upper) & (row != 0)
    if free.any():  # the last rounding error goes to the freest coordinate
        room = np.where(free, np.minimum(result - lower, upper - result), -1.0)
        best = int(np.argmax(room))
        result[best] += (target - float(everything @ result)) / row[best]
        result = np.clip(result, lower, upper)
    return result


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
    np.logical_or.at(result, owner, at_end)
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
