"""From a point of the normal form to a primal and a dual point of the problem as written, and what they prove."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kdsl.algebra.energies import Energies
from kdsl.algebra.entropies import entropy_size, entropy_value
from kdsl.algebra.numeric import Array, Values, evaluate
from kdsl.algebra.primal import Condition
from kdsl.numerics.arrays import Floats
from kdsl.solving.certificate import (
    Certificate,
    Products,
    Residual,
    energy_rounding,
    farthest,
    kkt_gap,
    largest_diagonal,
    normal_form_value,
    relative_gap,
    residuals,
    size_of,
    sum_of_terms,
)
from kdsl.solving.condition_sizes import condition_sizes, is_rounding
from kdsl.solving.conic_point import cone_excess, conic_value, nothing, vectors_in
from kdsl.solving.feasible import feasible_point
from kdsl.solving.lowering import Lowered, lower
from kdsl.solving.normal_form import NormalForm
from kdsl.solving.posed import Posed
from kdsl.solving.primal_point import PrimalPoint, ball_rounding, excess_of, primal_point, without_vectors
from kdsl.solving.scalar_problem import ScalarProblem
from kdsl.solving.scalars import Scalars, value_without_scalars
from kdsl.solving.unknowns import HilbertUnknown, exact_multipliers, hilbert_unknowns

_SETTLED = 1e-9  # a relative gap that proves all that anybody asks for
_NOTHING = 1e-20  # of what scalars at 0 cost: what is less is rounding
_DOUBTFUL = 1e-3  # a folded norm multiplier below which w = u / 2 lambda may be rounding


@dataclass(frozen=True, eq=False)
class Point:
    """A primal and a dual point of a posed problem, and what they prove."""

    lowered: Lowered
    theta: Floats
    multipliers: Mapping[str, Array]
    unknowns: Mapping[str, HilbertUnknown]
    scalar_problem: ScalarProblem
    scalars: Scalars
    certificate: Certificate
    outer: float | None  # the multiplier of the norm, where an outer search found it
    products: Products | None = None  # of the kernels; a point of a cone comes without


def certify(posed: Posed, theta: Floats, outer: float | None = None, lowered: Lowered | None = None) -> Point:
    """The best primal point for the Hilbert part of theta, the nearest feasible dual point, and their gap.

    `lowered` is the normal form, where it is at hand.
    """
    if lowered is None:
        lowered = lower(posed.energies, posed.values, posed.spaces, outer, posed.saturated)
    point = _certified(posed, theta, outer, lowered)
    found = point.certificate
    if found.size >= 1.0 or found.rel_gap <= _SETTLED or not _may_be_zero(lowered.problem):
        return point
    if found.dual * posed.derivation.primal.sense > _at_zero(posed, lowered):
        return point
    zero = _certified(posed, nothing(posed, lowered), outer, lowered)
    better = zero.certificate.gap < found.gap or np.isnan(found.gap)
    return zero if better and zero.certificate.primal_residual <= found.primal_residual else point


def _may_be_zero(problem: NormalForm) -> bool:
    """Whether all multipliers may be 0, which is as good as any where nothing need be done."""
    h, rows = problem.separable, problem.rows
    met = np.where(rows.equality, rows.target == 0, rows.target >= 0)
    return bool((h.lower <= 0).all() and (h.upper >= 0).all() and met.all())


def _at_zero(posed: Posed, lowered: Lowered) -> float:
    """What the dual is where all multipliers are 0; infinite where only a certificate of that point would tell."""
    problem = lowered.problem
    if posed.energies.conic or posed.energies.dual.entropies or any(b.shift is not None for b in problem.blocks):
        return np.inf
    return 0.0 if lowered.squared else -normal_form_value(problem, np.zeros(problem.size), Products((), ()))


def _certified(posed: Posed, theta: Floats, outer: float | None, lowered: Lowered) -> Point:
    if posed.energies.conic:
        return _certify_conic(posed, lowered, theta)
    derivation, energies = posed.derivation, posed.energies
    theta, row_residual = feasible_point(lowered.problem, theta)
    products = Products.at(lowered.problem, theta)
    pairs = energies.folding.pairs == derivation.folding.pairs
    lowest = normal_form_value(lowered.problem, theta, products)
    if lowered.squared and lowest <= energy_rounding(lowered.problem, products):
        lowest = 0.0
    norm = _folded_multiplier(posed, lowest)
    known = ((energies.outer, outer), (_label(energies), norm))
    norms = {label: value for label, value in known if label is not None and value is not None}
    multipliers = exact_multipliers(derivation, lowered, theta, posed.values, pairs, norms)
    primal = primal_point(posed, hilbert_unknowns(derivation, lowered, products, posed.spaces, norm, posed.values))
    if norm is not None and norm < _DOUBTFUL:  # a direction that may be nothing but rounding: w = 0 may be better
        primal = min(primal, without_vectors(posed), key=lambda candidate: candidate.value)
    dual = -float(np.sqrt(max(lowest, 0.0))) if lowered.squared else -lowest
    entropies = energies.dual.entropies
    if entropies:
        dual += entropy_value(energies.dual, multipliers, posed.values)
    steepest = None if lowered.squared or entropies else kkt_gap(lowered.problem, theta, products)
    primal, unit = _measured(posed, lowered, theta, primal, dual)
    certificate = _certificate(posed, primal, dual, multipliers, steepest, row_residual, unit)
    found = (primal.unknowns, primal.problem, primal.scalars)
    return Point(lowered, theta, multipliers, *found, certificate, outer, products)


def _certify_conic(posed: Posed, lowered: Lowered, theta: Floats) -> Point:
    """The same for a point that brings its vectors along."""
    derivation, size = posed.derivation, lowered.problem.size
    given, row_residual = feasible_point(lowered.problem, theta[:size])
    multipliers = exact_multipliers(derivation, lowered, given, posed.values, False, {})
    excess = cone_excess(posed, multipliers)
    if excess > 0 and _may_be_zero(lowered.problem):  # then a little less of all multipliers may be inside the cones
        less = given / (1.0 + excess)
        shrunk = exact_multipliers(derivation, lowered, less, posed.values, False, {})
        left = cone_excess(posed, shrunk)
        given, multipliers, excess = (less, shrunk, left) if left < excess else (given, multipliers, excess)
    primal = primal_point(posed, vectors_in(posed, lowered, theta))
    dual = conic_value(posed, lowered, given, multipliers)
    residual = max(row_residual, excess)
    primal, unit = _measured(posed, lowered, given, primal, dual)
    certificate = _certificate(posed, primal, dual, multipliers, None, residual, unit)
    point = np.concatenate([given, theta[size:]])
    return Point(lowered, point, multipliers, primal.unknowns, primal.problem, primal.scalars, certificate, None)


def _certificate(
    posed: Posed,
    primal: PrimalPoint,
    dual: float,
    multipliers: Mapping[str, Array],
    steepest: float | None,
    dual_residual: float,
    unit: float,
) -> Certificate:
    """What a primal and a dual point prove together."""
    known = primal.known
    found = residuals(posed.derivation, known.with_multipliers(multipliers))
    folded = posed.energies.norm is not None  # what rounding makes of the value there, rounding.py says
    outside = 0.0 if folded else ball_rounding(posed, primal.unknowns).outside
    sense = posed.derivation.primal.sense
    return Certificate(
        sense * primal.value,
        sense * dual,
        abs(primal.value - dual),
        relative_gap(primal.value, dual, unit),
        steepest,
        found,
        max(_feasibility(posed.derivation.primal.conditions, found, known), outside),
        dual_residual,
        unit,
    )


def _measured(
    posed: Posed, lowered: Lowered, theta: Floats, primal: PrimalPoint, dual: float
) -> tuple[PrimalPoint, float]:
    """The better of a primal point and of the one without vectors, and what the gap is measured by.

    Where both values are less than 1, that is 1 or what the problem is about, whichever is less: what it costs to leave
    every vector at 0, where that meets the conditions, and what the dual is made of. Where the best scalars make that
    cost nothing, it is what multipliers at their bounds make, and scalars at 0 cost.
    """
    if size_of(primal.value, dual, 0.0) >= 1.0:
        return primal, 1.0
    empty = without_vectors(posed)
    possible = empty.meets(posed.derivation.primal.conditions)
    h = lowered.problem.separable
    at_zero = value_without_scalars(empty.problem) if possible else 0.0
    free = possible and empty.value <= _NOTHING * at_zero
    terms = sum_of_terms(lowered.problem, farthest(h, theta) if free else theta)
    terms = max(terms, at_zero) if free else terms
    unit = float(np.sqrt(terms)) if lowered.squared else terms + entropy_size(posed.energies.dual, posed.values)
    if possible:
        primal, unit = min(empty, primal, key=lambda point: point.value), max(unit, empty.value)
    elif not lowered.squared:
        unit = max(unit, _least_energy(posed, lowered, empty))
    return primal, min(1.0, unit)


def _least_energy(posed: Posed, lowered: Lowered, empty: PrimalPoint) -> float:
    """What it takes, about, to mend the worst condition with one multiplier: e^2 / 2 Q_kk."""
    values = empty.known
    with_vectors = (c for c in posed.derivation.primal.conditions if any(r == "vector" for r, _ in c.body.symbols()))
    excess = max((excess_of(condition, values) for condition in with_vectors), default=0.0)
    dearest = largest_diagonal(lowered.problem)
    return 0.5 * excess**2 / dearest if dearest > 0 else 0.0


def _folded_multiplier(posed: Posed, lowest: float) -> float | None:
    """lambda = sqrt(Q / k) of a norm that was folded away, from the optimum 4 k Q of what was minimised instead."""
    norm = posed.energies.norm
    if norm is None:
        return None
    return float(np.sqrt(max(lowest, 0.0)) / (2.0 * float(evaluate(norm.denominator, posed.values))))


def _label(energies: Energies) -> str | None:
    return None if energies.norm is None else energies.norm.label


def _feasibility(conditions: tuple[Condition, ...], found: tuple[Residual, ...], values: Values) -> float:
    """The worst residual of a condition of the primal, relative to the condition's size where that is less than 1.

    Where terms are so large that rounding shows, what it leaves of them is no residual.
    """
    by_label = {condition.label: condition for condition in conditions}
    lacking = {r.condition: r.value for r in found if r.condition in by_label and r.value > 0}
    if not lacking:
        return 0.0
    sizes = condition_sizes(conditions, values)
    shares = {label: value / max(sizes[label], sys.float_info.min) for label, value in lacking.items()}
    seen = (n for n, share in shares.items() if share <= _SETTLED or not is_rounding(lacking[n], by_label[n], values))
    return max((shares[label] for label in seen), default=0.0)
