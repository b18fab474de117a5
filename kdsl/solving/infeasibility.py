"""Says why a problem has no solution, with a numeric witness that is checked here and not taken from a solver.

Bounds that cross: a multiplier whose least value exceeds its largest. Then the dual is infeasible as below.
Rows that conflict: weights nu on the rows for which nu'a exceeds everything that nu'A theta can reach in the boxes.
Then the dual is infeasible and the primal, if it has a feasible point, falls without end along the scalars nu.
A ray: d >= 0 with A d = 0, no energy, and a gain: the dual grows without end, so the primal is infeasible.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from kdsl.language.diagnostics import Diagnostic, KdslError
from kdsl.numerics.arrays import Floats, Ints
from kdsl.solving.factors import linear_points
from kdsl.solving.feasible import feasible_point
from kdsl.solving.normal_form import HilbertBlock, NormalForm, Rows, Separable

RAY_SHARE = 1e-13  # the energy of a ray, as a share of what its parts have without cancelling
RAY_SHARES = (1e-4, 1e-7, 1e-10, RAY_SHARE)  # what is asked of the least energy, one after the other
ON_ROWS = 1e-9  # how far a direction may be from its rows
_CLEAR = 1e-7  # a conflict must exceed rounding by this share of the sizes involved


class NoSolution(KdslError):
    """A problem without a solution: status "infeasible", "unbounded" or "infeasible_or_unbounded", and its witness."""

    def __init__(self, status: str, diagnostic: Diagnostic, witness: Mapping[str, float]) -> None:
        super().__init__([diagnostic])
        self.status = status
        self.witness = dict(witness)

    def __reduce__(self) -> tuple[type[NoSolution], tuple[str, Diagnostic, dict[str, float]]]:
        return NoSolution, (self.status, self.diagnostics[0], self.witness)


@dataclass(frozen=True, eq=False)
class Conflict:
    """nu'a = asked while nu'A theta <= reachable for every theta in the boxes, and asked > reachable.

    `factor` is how many times larger the finite upper bounds would have to be (infinite: no such factor helps).
    """

    weights: Floats
    asked: float
    reachable: float
    factor: float


@dataclass(frozen=True, eq=False)
class Crossing:
    """Multipliers whose bounds leave them no value, those of the widest gaps first: lower > upper at each place."""

    places: Ints
    lower: Floats
    upper: Floats


def conflict_of(problem: NormalForm) -> Conflict | Crossing | None:
    """Why no point meets boxes and rows, None where one does. No kernel is evaluated."""
    return _crossing(problem) or _row_conflict(problem)


def _crossing(problem: NormalForm) -> Crossing | None:
    lower, upper = problem.separable.lower, problem.separable.upper
    gap = lower - upper
    crossed = np.flatnonzero((gap > 0) & (gap > _CLEAR * np.maximum(np.abs(lower), np.abs(upper))))
    if not len(crossed):
        return None
    places = crossed[np.argsort(-gap[crossed], kind="stable")]
    return Crossing(places, lower[places], upper[places])


def _row_conflict(problem: NormalForm) -> Conflict | None:
    if problem.rows.matrix.shape[0] == 0:
        return None
    point, residual = feasible_point(problem, np.zeros(problem.size))
    if residual == 0.0:
        return None
    unit = min(1.0, _size_of_rows(problem, point))
    if residual <= 1e-9 * unit:
        return None
    weights = _farkas(problem, unit)
    if weights is None:
        return None
    asked = float(weights @ problem.rows.target)
    reachable = _reach(problem, weights)
    size = max(1e-300, float(np.abs(weights) @ np.maximum(unit, np.abs(problem.rows.target))))
    if asked - reachable <= _CLEAR * size:
        return None
    return Conflict(weights, asked, reachable, _needed_factor(problem))


def _size_of_rows(problem: NormalForm, point: Floats) -> float:
    """The largest of what rows are to sum to and of what they sum up."""
    summed = abs(problem.rows.matrix) @ np.abs(point)
    return float(max(np.abs(problem.rows.target).max(initial=0.0), summed.max(initial=0.0)))


def _farkas(problem: NormalForm, unit: float) -> Floats | None:
    """Multipliers of the rows in min sum of violations: they separate when the minimum is not 0.

    Bounds and rows are measured by `unit`: tolerances of linear programs are absolute.
    """
    from scipy.optimize import linprog

    rows, n = problem.rows, problem.size
    count = rows.matrix.shape[0]
    sign = np.where(rows.equality, 1.0, 0.0)
    # A theta + p - q = a; an inequality has only its own slack and q
    cost = np.concatenate([np.zeros(n), np.ones(count) * sign, np.ones(count)])
    slack = sp.diags_array(np.ones(count))
    matrix = sp.csr_array(sp.hstack([rows.matrix, slack, -slack]))
    bounds = np.column_stack(
        [
            np.concatenate([problem.separable.lower / unit, np.zeros(2 * count)]),
            np.concatenate([problem.separable.upper / unit, np.full(2 * count, np.inf)]),
        ]
    )
    answer = linprog(cost, A_eq=matrix, b_eq=rows.target / unit, bounds=bounds, method="highs")
    if answer.status != 0 or answer.fun <= 0:
        return None
    return np.asarray(answer.eqlin.marginals, dtype=np.float64)


def _reach(problem: NormalForm, weights: Floats) -> float:
    """max of weights'A theta over the boxes (an inequality row with a positive weight is not a conflict: infinite)."""
    if np.any(weights[~problem.rows.equality] > _CLEAR * np.abs(weights).max(initial=0.0)):
        return np.inf
    price = np.asarray(sp.csr_array(problem.rows.matrix.T) @ weights)
    h = problem.separable
    scale = np.abs(price).max(initial=0.0)
    moving = np.abs(price) > 1e-12 * scale
    best = np.where(price > 0, h.upper, h.lower)[moving] * price[moving]
    return float(best.sum())


def _needed_factor(problem: NormalForm) -> float:
    """The least t for which rows and boxes agree with every finite upper bound multiplied by t."""
    from scipy.optimize import linprog

    rows, n, h = problem.rows, problem.size, problem.separable
    finite = np.flatnonzero(np.isfinite(h.upper))
    if not len(finite):
        return float("inf")
    pick = sp.csr_array((np.ones(len(finite)), (np.arange(len(finite)), finite)), (len(finite), n))
    above = sp.hstack([pick, sp.csr_array(-h.upper[finite][:, None])])
    equal = np.flatnonzero(rows.equality)
    less = np.flatnonzero(~rows.equality)
    matrix = sp.csr_array(rows.matrix)
    wide = sp.hstack([matrix, sp.csr_array((matrix.shape[0], 1))], format="csr")
    answer = linprog(
        np.r_[np.zeros(n), 1.0],
        A_ub=sp.vstack([above, wide[less]]),
        b_ub=np.concatenate([np.zeros(len(finite)), rows.target[less]]),
        A_eq=wide[equal],
        b_eq=rows.target[equal],
        bounds=np.column_stack([np.r_[h.lower, 0.0], np.full(n + 1, np.inf)]),
        method="highs",
    )
    return float(answer.fun) if answer.status == 0 else float("inf")


# ------------------------------------------------------------------------- rays


class Recession(NamedTuple):
    """min energy of a direction with gain 1 that stays in the boxes for ever: 0 exactly when there is a ray.

    Coordinates that rise and fall at different prices have two halves: what falls of them stands behind the others.
    """

    problem: NormalForm
    falling: Ints

    def joined(self, halves: Floats) -> Floats:
        """The direction of the coordinates; where both halves move, the gain is that of the halves at least."""
        count = len(halves) - len(self.falling)
        direction = halves[:count].copy()
        direction[self.falling] -= halves[count:]
        return direction


def recession_of(problem: NormalForm) -> Recession | None:
    """None where the boxes leave no direction with a gain."""
    h = problem.separable
    first, last = h.offsets[:-1], h.offsets[1:] - 1
    up = np.isposinf(h.upper) & (h.curvature[last] == 0)
    down = np.isneginf(h.lower) & (h.curvature[first] == 0)
    if not (up | down).any():
        return None
    # along d the objective changes by slope * d at the far ends: two pieces with a kink at 0
    left = np.where(down, h.slope[first], 0.0)
    right = np.where(up, h.slope[last], 0.0)
    lower, upper = np.where(down, -np.inf, 0.0), np.where(up, np.inf, 0.0)
    if not (np.any(right < 0) or np.any(left > 0)):
        return None
    falling = np.flatnonzero(up & down & (left != right))
    lower[falling] = 0.0
    slope = np.concatenate([np.where(up, right, left), -left[falling]])
    matrix = sp.csr_array(sp.hstack([problem.rows.matrix, -sp.csc_array(problem.rows.matrix)[:, falling]]))
    gain = Rows(
        sp.csr_array(sp.vstack([matrix, sp.csr_array(-slope[None, :])])),
        np.append(np.zeros(matrix.shape[0]), 1.0),
        np.append(problem.rows.equality, True),
    )
    blocks = tuple(
        HilbertBlock(b.name, b.gram, sp.csc_array(sp.hstack([b.atoms, -b.atoms[:, falling]]))) for b in problem.blocks
    )
    flat = np.zeros(len(slope))
    box = (np.append(lower, np.zeros(len(falling))), np.append(upper, np.full(len(falling), np.inf)))
    return Recession(NormalForm(blocks, Separable.single(*box, flat, flat.copy()), gain), falling)


def energy_scale(recession: NormalForm) -> float:
    """The energy of a typical direction of gain 1, to measure accuracy by."""
    scale = 0.0
    for block in recession.blocks:
        scale += float(np.mean(block.gram.diagonal()))
    return scale if scale > 0 else 1.0


@dataclass(frozen=True, eq=False)
class Ray:
    """A direction, twice its energy, the scale of the energy, and how far it is from its rows and from a gain of 1."""

    direction: Floats
    energy: float
    scale: float
    residual: float

    @property
    def excess(self) -> float:
        """How much more energy it has than rounding explains."""
        return self.energy - 4 * RAY_SHARE * self.scale

    @property
    def proves(self) -> bool:
        """Whether it is a direction of gain 1 whose energy is nothing but rounding."""
        return self.excess <= 0 and self.residual <= ON_ROWS


def measure_ray(recession: NormalForm, direction: Floats) -> Ray:
    """What a direction proves, after moving it onto the rows."""
    direction, residual = feasible_point(recession, direction)
    energy, scale = 0.0, 0.0
    for block in recession.blocks:
        expansion = np.asarray(block.atoms @ direction)
        spread = np.asarray(abs(block.atoms) @ np.abs(direction))
        points = linear_points(block)
        if isinstance(points, np.ndarray):  # ||X'v||^2: far from the origin, v'Kv would be rounding
            centred = points - points.mean(axis=0) if _sums_to_zero(expansion) else points
            energy += float(np.square(centred.T @ expansion).sum())
            diagonal = np.square(centred).sum(axis=1)
            diagonal = np.maximum(diagonal, diagonal.mean())  # the mean of all may be one of them
        else:
            energy += float(expansion @ block.gram.matvec(expansion))
            diagonal = block.gram.diagonal()
        scale += float(spread @ (spread * diagonal))
    return Ray(direction, max(energy, 0.0), max(scale, 1e-300), residual)


def _sums_to_zero(expansion: Floats) -> bool:
    """Whether it is the same wherever the origin is, as where a bias gives a row."""
    return abs(float(expansion.sum())) <= ON_ROWS * float(np.abs(expansion).sum())
