"""The certificate: what a solution is worth, computed in float64 from the problem as written, trusting no backend.

value   the primal objective at a point whose slacks and scalars are the best for its w: an upper bound
dual    the dual objective at a point inside its boxes and on its rows: a lower bound
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kdsl.algebra.derivation import Derivation
from kdsl.algebra.kkt import KktCondition
from kdsl.algebra.numeric import Array, Values, evaluate, support_mask
from kdsl.algebra.poly import Poly
from kdsl.algebra.terms import Vec
from kdsl.numerics.arrays import Floats
from kdsl.numerics.grams import expanded
from kdsl.numerics.quiet_products import dot
from kdsl.solving.directions import directions_of
from kdsl.solving.loss_residuals import loss_residual
from kdsl.solving.normal_form import NormalForm, Rows, Separable, together

_ROUNDING = 1e-15  # of a sum of products, as a share of their sizes


@dataclass(frozen=True)
class Residual:
    """How far a named condition is from holding, at its worst member."""

    condition: str
    value: float
    index: tuple[int, ...]


@dataclass(frozen=True)
class Certificate:
    """value, dual and gap are in the user's units and sense; `kkt_gap` is LIBSVM's m - M (None: no such quantity).

    The gap is relative to `size`. Where the value is small, `unit` says whether that is because the problem is, as with
    targets in metres that others have in micrometres: a gap of 1e-6 would prove any answer there.
    """

    value: float
    dual: float
    gap: float
    rel_gap: float
    kkt_gap: float | None
    residuals: tuple[Residual, ...]
    primal_residual: float
    dual_residual: float
    unit: float = 1.0

    @property
    def size(self) -> float:
        """What the gap is measured by."""
        return size_of(self.value, self.dual, self.unit)

    @property
    def sv_gap(self) -> float:
        """(7.3) of SV: the gap as a share of the primal objective plus 1. Displayed, and decides nothing."""
        return self.gap / (abs(self.value) + 1.0)

    def status(self, tol: float, kkt_tol: float | None = None) -> str:
        """What may be claimed at a tolerance: a status of CVXPY's vocabulary, or "" for neither."""
        by_gap = self.rel_gap if kkt_tol is None or self.kkt_gap is None else self.kkt_gap
        limit = tol if kkt_tol is None or self.kkt_gap is None else kkt_tol
        feasible = max(self.primal_residual, self.dual_residual)
        if not np.isfinite(by_gap) or not np.isfinite(feasible):
            return ""
        if by_gap <= limit and feasible <= max(tol, 1e-12):
            return "optimal"
        if by_gap <= max(1e-3, 10 * limit) and feasible <= max(1e-3, 10 * tol):
            return "optimal_inaccurate"
        return ""

    def shortcoming(self) -> str:
        """What there is most of that should be 0."""
        residual = max(self.primal_residual, self.dual_residual)
        if residual <= self.rel_gap or np.isnan(self.rel_gap):
            return f"a relative gap of {self.rel_gap:.1e}"
        whose = "a condition" if self.primal_residual >= self.dual_residual else "a row of the dual"
        return f"{whose} that lacks {residual:.1e}"


def relative_gap(value: float, dual: float, unit: float) -> float:
    """The gap as a share of the size; 0 where there is neither."""
    gap = abs(value - dual)
    return gap / max(size_of(value, dual, unit), sys.float_info.min) if gap else 0.0


def size_of(value: float, dual: float, unit: float) -> float:
    return max(unit, abs(value), abs(dual))


# --------------------------------------------------------------- the dual side


@dataclass(frozen=True, eq=False)
class Products:
    """For every block its expansion v = S theta + s and K v, computed once: all that the certificate needs of K."""

    expansions: tuple[Floats, ...]
    images: tuple[Floats, ...]

    @staticmethod
    def at(problem: NormalForm, theta: Floats) -> Products:
        expansions = tuple(
            np.asarray(block.atoms @ theta + (0.0 if block.shift is None else block.shift)) for block in problem.blocks
        )
        return Products(expansions, together(problem.blocks, expansions, expanded))


def normal_form_value(problem: NormalForm, theta: Floats, products: Products) -> float:
    """The objective of the normal form: energies 1/2 v'Kv, then h piece by piece."""
    total = problem.constant + float(_costs(problem.separable, theta).sum())
    for expansion, image in zip(products.expansions, products.images, strict=True):
        total += 0.5 * dot(expansion, image)
    return total


def _costs(h: Separable, theta: Floats) -> Floats:
    """h of every coordinate."""
    if not h.size:
        return np.zeros(0)
    owner = np.repeat(np.arange(h.size), np.diff(h.offsets))
    t = theta[owner]
    inside = (t >= h.left) & (t <= h.right)
    cost = np.where(inside, 0.5 * h.curvature * t**2 + h.slope * t + h.value, np.inf)
    return np.minimum.reduceat(cost, h.offsets[:-1])


def sum_of_terms(problem: NormalForm, theta: Floats) -> float:
    """What the terms of the objective add up to without their signs, energies as if no two features had a product."""
    total = abs(problem.constant) + float(np.abs(_costs(problem.separable, theta)).sum())
    for block in problem.blocks:
        expansion = block.atoms @ theta + (0.0 if block.shift is None else block.shift)
        total += 0.5 * float(expansion**2 @ block.gram.diagonal())
    return total


def largest_diagonal(problem: NormalForm) -> float:
    """The largest Q_kk, at most."""
    total = np.zeros(problem.size)
    for block in problem.blocks:
        total += (abs(block.atoms).T @ np.sqrt(np.maximum(block.gram.diagonal(), 0.0))) ** 2
    return float(total.max(initial=0.0))


def energy_rounding(problem: NormalForm, products: Products) -> float:
    """What rounding may leave of energies that vanish."""
    sizes = (
        float(np.abs(v) @ np.sqrt(np.maximum(block.gram.diagonal(), 0.0)))
        for block, v in zip(problem.blocks, products.expansions, strict=True)
    )
    return sum(_ROUNDING * size**2 for size in sizes)


def farthest(h: Separable, theta: Floats) -> Floats:
    """theta, with every coordinate at the bound that is farther from 0 where that is finite."""
    bound = np.where(np.abs(h.lower) > np.abs(h.upper), h.lower, h.upper)
    return np.where(np.isfinite(bound), bound, theta)


def gradient(problem: NormalForm, theta: Floats, products: Products) -> tuple[Floats, Floats]:
    """(left, right) derivatives of the objective in every coordinate; infinite where a bound forbids the move."""
    smooth = np.zeros(problem.size)
    for block, image in zip(problem.blocks, products.images, strict=True):
        smooth += block.atoms.T @ image
    h = problem.separable
    owner = np.repeat(np.arange(h.size), np.diff(h.offsets))
    t = theta[owner]
    slope = h.curvature * t + h.slope
    left, right = np.full(h.size, -np.inf), np.full(h.size, np.inf)
    below = (h.left < t) & (t <= h.right)
    above = (h.left <= t) & (t < h.right)
    left[owner[below]] = slope[below]
    right[owner[above]] = slope[above]
    return smooth + left, smooth + right


def kkt_gap(problem: NormalForm, theta: Floats, products: Products) -> float | None:
    """m - M: the steepest descent that keeps the rows, over pairs for one row; by a linear program for more."""
    left, right = gradient(problem, theta, products)
    rows = problem.rows.matrix.shape[0]
    if rows == 0:
        return float(max(np.max(-right, initial=0.0), np.max(left, initial=0.0))) + 0.0  # never -0
    matrix = problem.rows.matrix
    if rows == 1 and bool(problem.rows.equality[0]):
        a = matrix.toarray()[0]
        on = a != 0
        rate_up = np.where(a > 0, -right / np.where(on, a, 1.0), -left / np.where(on, a, 1.0))[on]
        rate_down = np.where(a > 0, -left / np.where(on, a, 1.0), -right / np.where(on, a, 1.0))[on]
        pair = float(np.max(rate_up, initial=-np.inf) - np.min(rate_down, initial=np.inf))
        alone = max(np.max(-right[~on], initial=0.0), np.max(left[~on], initial=0.0))
        return max(pair, float(alone), 0.0)
    if rows > 64:
        return None
    slack = problem.rows.target - matrix @ theta
    active = problem.rows.equality | (slack <= 1e-9 * np.maximum(1.0, np.abs(problem.rows.target)))
    if (problem.rows.equality | ~active).all():
        gap = _gap_by_classes(matrix.toarray()[active], left, right)
        if gap is not None:
            return gap
    return _linear_program_gap(problem.rows, active, left, right)


def _gap_by_classes(equations: Floats, left: Floats, right: Floats) -> float | None:
    """The same where the columns fall into classes of parallel ones that each have a multiplier of their own.

    Then t is the largest of the gaps of the classes, and of the slopes of what is in no row. None where the directions
    of the classes depend on one another, or the columns of a class differ in length.
    """
    some = np.flatnonzero(equations.any(axis=0))
    alone = np.ones(len(left), dtype=bool)
    alone[some] = False
    gap = max(np.max(-right[alone], initial=0.0), np.max(left[alone], initial=0.0))
    if not len(some):
        return float(gap)
    classes = directions_of(equations[:, some].T)
    size = np.abs(classes.scale)
    of_class = np.empty(len(classes.direction))
    of_class[classes.label] = size
    if not classes.independent or np.any(of_class[classes.label] != size):
        return None
    rising = classes.scale > 0
    up = np.where(rising, -right[some], left[some])
    down = np.where(rising, left[some], -right[some])
    highest = np.full((2, len(of_class)), -np.inf)
    np.maximum.at(highest[0], classes.label, up)
    np.maximum.at(highest[1], classes.label, down)
    return float(max(gap, np.max(highest.sum(axis=0))))


def _linear_program_gap(rows: Rows, active: NDArray[np.bool_], left: Floats, right: Floats) -> float | None:
    """min t over row multipliers nu (>= 0 on active inequalities): right + A'nu >= -t/2, left + A'nu <= t/2.

    What is in no row has right >= -t and left <= t, as where there are no rows.
    """
    from scipy.optimize import linprog

    count = rows.matrix.shape[0]
    bounds = [
        (None, None) if equal else ((0, None) if on else (0, 0))
        for equal, on in zip(rows.equality, active, strict=True)
    ]
    transposed = sp.csr_array(rows.matrix.T)
    up, down = np.flatnonzero(np.isfinite(right)), np.flatnonzero(np.isfinite(left))
    share = np.where(np.diff(transposed.indptr) > 0, -0.5, -1.0)[:, None]
    upper = sp.vstack([sp.hstack([-transposed[up], share[up]]), sp.hstack([transposed[down], share[down]])])
    answer = linprog(
        np.r_[np.zeros(count), 1.0],
        A_ub=sp.csr_array(upper),
        b_ub=np.concatenate([right[up], -left[down]]),
        bounds=[*bounds, (0, None)],
        method="highs",
    )
    return float(answer.fun) if answer.status == 0 else None


# ------------------------------------------------------- conditions, one by one


def residuals(derivation: Derivation, values: Values) -> tuple[Residual, ...]:
    """Every named KKT condition that can be evaluated, with its worst member."""
    found = []
    for condition in derivation.kkt:
        if _has_vector(condition.body) and condition.kind == "stationarity":
            continue  # w is defined by its expansion: nothing is left to measure
        lengths = {name: values.size(z) for name, z in zip(condition.indices, condition.sets, strict=True)}
        error = np.abs(_error(condition, values, lengths))
        if condition.support:
            error = error * support_mask(condition.support, condition.indices, condition.sets, values)
        place = np.unravel_index(int(np.argmax(error)), error.shape) if error.shape and error.size else ()
        worst = float(error[place]) if error.size else 0.0
        found.append(Residual(condition.name, worst, tuple(int(n) for n in place)))
    return tuple(found)


def _has_vector(body: Poly) -> bool:
    return any(isinstance(f, Vec) for f in body.factors())


def _error(condition: KktCondition, values: Values, lengths: Mapping[str, int]) -> Array:
    body = evaluate(condition.body, values, lengths)
    if condition.loss is not None and condition.weight is not None:
        return loss_residual(condition.loss, condition.weight, -body, values, lengths)
    if condition.relation == "<=":
        return np.maximum(body, 0.0)
    if condition.relation == ">=":
        return np.minimum(body, 0.0)
    return body
