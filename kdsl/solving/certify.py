"""From a point of the normal form to a primal and a dual point of the problem as written, and what they prove."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kdsl.algebra.derivation import Derivation
from kdsl.algebra.energies import Energies
from kdsl.algebra.entropies import entropy_size, entropy_value
from kdsl.algebra.numeric import Array, evaluate
from kdsl.numerics.arrays import Floats
from kdsl.solving.certificate import (
    Certificate,
    Products,
    Residual,
    energy_rounding,
    farthest,
    kkt_gap,
    normal_form_value,
    relative_gap,
    residuals,
    size_of,
    sum_of_terms,
)
from kdsl.solving.conic_point import cone_excess, conic_value, vectors_in
from kdsl.solving.feasible import feasible_point
from kdsl.solving.lowering import Lowered, lower
from kdsl.solving.posed import Posed
from kdsl.solving.primal_point import PrimalPoint, ball_rounding, primal_point, without_vectors
from kdsl.solving.scalar_problem import ScalarProblem
from kdsl.solving.scalars import Scalars, value_without_scalars
from kdsl.solving.unknowns import HilbertUnknown, exact_multipliers, hilbert_unknowns

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
    derivation, energies = posed.derivation, posed.energies
    if lowered is None:
        lowered = lower(energies, posed.values, posed.spaces, outer, posed.saturated)
    if energies.conic:
        return _certify_conic(posed, lowered, theta)
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
    primal = primal_point(posed, vectors_in(posed, lowered, theta))
    dual = conic_value(posed, lowered, given, multipliers)
    residual = max(row_residual, cone_excess(posed, multipliers))
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
    found = residuals(posed.derivation, primal.known.with_multipliers(multipliers))
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
        max(_feasibility(posed.derivation, found), outside),
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
    nothing = without_vectors(posed)
    possible = nothing.meets(posed.derivation.primal.conditions)
    h = lowered.problem.separable
    at_zero = value_without_scalars(nothing.problem) if possible else 0.0
    free = possible and nothing.value <= _NOTHING * at_zero
    terms = sum_of_terms(lowered.problem, farthest(h, theta) if free else theta)
    terms = max(terms, at_zero) if free else terms
    unit = float(np.sqrt(terms)) if lowered.squared else terms + entropy_size(posed.energies.dual, posed.values)
    if possible:
        primal, unit = min(nothing, primal, key=lambda point: point.value), max(unit, nothing.value)
    return primal, min(1.0, unit)


def _folded_multiplier(posed: Posed, lowest: float) -> float | None:
    """lambda = sqrt(Q / k) of a norm that was folded away, from the optimum 4 k Q of what was minimised instead."""
    norm = posed.energies.norm
    if norm is None:
        return None
    return float(np.sqrt(max(lowest, 0.0)) / (2.0 * float(evaluate(norm.denominator, posed.values))))


def _label(energies: Energies) -> str | None:
    return None if energies.norm is None else energies.norm.label


def _feasibility(derivation: Derivation, found: tuple[Residual, ...]) -> float:
    labels = {condition.label for condition in derivation.primal.conditions}
    return max((r.value for r in found if r.condition in labels), default=0.0)
