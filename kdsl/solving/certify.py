"""From a point of the normal form to a primal and a dual point of the problem as written, and what they prove."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from kdsl.algebra.derivation import Derivation
from kdsl.algebra.energies import Energies
from kdsl.algebra.entropies import entropy_value
from kdsl.algebra.numeric import Array, Values, evaluate
from kdsl.algebra.primal import Condition
from kdsl.algebra.terms import Vec
from kdsl.solving.certificate import (
    Certificate,
    Products,
    Residual,
    kkt_gap,
    normal_form_value,
    relative_gap,
    residuals,
)
from kdsl.solving.feasible import feasible_point
from kdsl.solving.lowering import Lowered, lower
from kdsl.solving.normal_form import Floats
from kdsl.solving.posed import Posed
from kdsl.solving.scalar_problem import ScalarProblem, scalar_problem
from kdsl.solving.scalars import Scalars, minimise_scalars
from kdsl.solving.unknowns import HilbertUnknown, exact_multipliers, hilbert_unknowns, with_unknowns

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


def certify(posed: Posed, theta: Floats, outer: float | None = None) -> Point:
    """The best primal point for the Hilbert part of theta, the nearest feasible dual point, and their gap."""
    derivation, energies = posed.derivation, posed.energies
    lowered = lower(energies, posed.values, posed.spaces, outer, posed.saturated)
    theta, row_residual = feasible_point(lowered.problem, theta)
    products = Products.at(lowered.problem, theta)
    pairs = energies.folding.pairs == derivation.folding.pairs
    lowest = normal_form_value(lowered.problem, theta, products)
    norm = _folded_multiplier(posed, lowest)
    known = ((energies.outer, outer), (_label(energies), norm))
    norms = {label: value for label, value in known if label is not None and value is not None}
    multipliers = exact_multipliers(derivation, lowered, theta, posed.values, pairs, norms)
    primal = _primal_point(posed, lowered, products, norm)
    if norm is not None and norm < _DOUBTFUL:  # a direction that may be nothing but rounding: w = 0 may be better
        without = _primal_point(posed, lowered, products, 0.0)
        primal = min(primal, without, key=lambda candidate: candidate.value)
    unknowns, values, problem, scalars, value = primal
    dual = -float(np.sqrt(max(lowest, 0.0))) if lowered.squared else -lowest
    entropies = energies.dual.entropies
    if entropies:
        dual += entropy_value(energies.dual, multipliers, posed.values)
    arrays = {**values.arrays, **{name: family.read(scalars.z) for name, family in problem.families.items()}}
    found = residuals(derivation, replace(values, arrays=arrays, multipliers=multipliers))
    sense = derivation.primal.sense
    certificate = Certificate(
        sense * value,
        sense * dual,
        abs(value - dual),
        relative_gap(value, dual),
        None if lowered.squared or entropies else kkt_gap(lowered.problem, theta, products),
        found,
        _feasibility(derivation, found),
        row_residual,
    )
    return Point(lowered, theta, multipliers, unknowns, problem, scalars, certificate, outer)


def _folded_multiplier(posed: Posed, lowest: float) -> float | None:
    """lambda = sqrt(Q / k) of a norm that was folded away, from the optimum 4 k Q of what was minimised instead."""
    norm = posed.energies.norm
    if norm is None:
        return None
    return float(np.sqrt(max(lowest, 0.0)) / (2.0 * float(evaluate(norm.denominator, posed.values))))


def _label(energies: Energies) -> str | None:
    return None if energies.norm is None else energies.norm.label


class _Primal(NamedTuple):
    """A primal point: the Hilbert unknowns, the numbers that know them, and the best scalars for them."""

    unknowns: dict[str, HilbertUnknown]
    values: Values
    problem: ScalarProblem
    scalars: Scalars
    value: float


def _primal_point(posed: Posed, lowered: Lowered, products: Products, norm: float | None) -> _Primal:
    unknowns = hilbert_unknowns(posed.derivation, lowered, products, posed.spaces, norm, posed.values)
    unknowns = _inside_balls(posed, unknowns)
    values = with_unknowns(posed.values, unknowns, posed.spaces)
    problem = scalar_problem(posed.derivation, values)
    scalars = minimise_scalars(problem)
    return _Primal(unknowns, values, problem, scalars, problem.value(scalars.z))


def _feasibility(derivation: Derivation, found: tuple[Residual, ...]) -> float:
    labels = {condition.label for condition in derivation.primal.conditions}
    return max((r.value for r in found if r.condition in labels), default=0.0)


def _inside_balls(posed: Posed, unknowns: Mapping[str, HilbertUnknown]) -> dict[str, HilbertUnknown]:
    """Every unknown with a bound on its norm, shrunk to it where rounding or the search left it outside."""
    result = dict(unknowns)
    for condition in posed.derivation.primal.conditions:
        if condition.kind == "ball":
            name = next(name for role, name in condition.body.symbols() if role == "vector")
            values = with_unknowns(posed.values, result, posed.spaces)
            factor = _shrinking(condition, values, result[name])
            if factor < 1.0:
                result[name] = result[name].scaled(factor)
    return result


def _shrinking(condition: Condition, values: Values, unknown: HilbertUnknown) -> float:
    """The factor t <= 1 with a t^2 |w|^2 - c <= 0 where the condition reads a |w|^2 - c <= 0."""
    body = float(evaluate(condition.body, values))
    constant = float(evaluate(condition.body, _without_norm(values)))
    if body <= 0:
        return 1.0
    return float(np.sqrt(max(-constant, 0.0) / (body - constant)))


def _without_norm(values: Values) -> Values:
    def zero(vec: Vec) -> Array:
        return np.zeros_like(values.diagonal(vec))

    return replace(values, diagonal=zero)
