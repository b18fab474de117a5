"""The point of a conic problem: its multipliers and the coefficients of its vectors in one list, and their worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from kdsl.algebra.entropies import entropy_value
from kdsl.algebra.numeric import Array, Values, evaluate
from kdsl.algebra.poly import Monomial, Poly
from kdsl.algebra.primal import Condition
from kdsl.algebra.terms import Factor, Inner, Sym
from kdsl.numerics.arrays import Floats
from kdsl.solving.certificate import Products, normal_form_value
from kdsl.solving.lowering import Lowered
from kdsl.solving.posed import Posed
from kdsl.solving.unknowns import HilbertUnknown

# Of the multiplier of a norm: where it is not active, it costs that at most; below it rounding costs more.
_FLOOR = 1e-8


def joined(posed: Posed, lowered: Lowered, multipliers: Mapping[str, Array], vectors: Mapping[str, Floats]) -> Floats:
    """Multipliers in the order of the normal form, then the coefficients of every Hilbert unknown if it is conic."""
    known = dict(multipliers)
    for pair in posed.energies.folding.pairs:
        known[pair.label] = known[pair.plus] - known[pair.minus]
    for condition in posed.derivation.primal.conditions:
        if _bounds_a_norm(condition):
            known[condition.label] = np.maximum(known[condition.label], _FLOOR / np.sqrt(_room(posed, condition)))
    theta = np.zeros(lowered.problem.size)
    for label, family in lowered.families.items():
        inside = family.positions >= 0
        theta[family.positions[inside]] = known[label][inside]
    if not posed.energies.conic:
        return theta
    return np.concatenate([theta, *(vectors[name].reshape(-1) for name, _, _ in _layout(posed))])


def nothing(posed: Posed, lowered: Lowered) -> Floats:
    """The list of a point where everything is 0."""
    parts = (int(np.prod(shape, dtype=int)) * posed.spaces[space].size for _, shape, space in _layout(posed))
    return np.zeros(lowered.problem.size + (sum(parts) if posed.energies.conic else 0))


def vectors_in(posed: Posed, lowered: Lowered, theta: Floats) -> dict[str, HilbertUnknown]:
    """The Hilbert unknowns of a list that `joined` made."""
    result, start = {}, lowered.problem.size
    for name, shape, space in _layout(posed):
        size = posed.spaces[space].size
        stop = start + int(np.prod(shape, dtype=int)) * size
        coefficients = theta[start:stop].reshape(-1, size)
        images = np.stack([posed.spaces[space].oracle.matvec(row) for row in coefficients])
        result[name] = HilbertUnknown(name, space, shape, coefficients, images)
        start = stop
    return result


def conic_value(posed: Posed, lowered: Lowered, theta: Floats, multipliers: Mapping[str, Array]) -> float:
    """The exact dual's objective: a lower bound of the primal where the point is feasible."""
    exact = posed.energies.dual
    kinks = normal_form_value(lowered.problem, theta, Products((), ()))
    at = _at(posed, multipliers)
    with np.errstate(divide="ignore", invalid="ignore"):  # a point that no solver gave may lie where nothing is defined
        terms = exact.objective.terms.items()
        value = sum(float(evaluate(Poly({term: factor}), _for_term(term, at))) for term, factor in terms)
    return value - kinks + entropy_value(exact, multipliers, posed.values)


def _for_term(term: Monomial, at: Values) -> Values:
    """The numbers for a term, which is 0 where a square stands over a weight of 0: the multiplier is 0 there too."""
    divisors = {factor.name for factor, power in term.factors if power < 0 and isinstance(factor, Sym)} & {*at.arrays}
    if not divisors:
        return at
    safe = {name: np.where(np.asarray(at.arrays[name]) == 0, np.inf, at.arrays[name]) for name in divisors}
    return replace(at, arrays={**at.arrays, **safe})


def cone_excess(posed: Posed, multipliers: Mapping[str, Array]) -> float:
    """How far the worst cone is from holding, as a share of its radius."""
    at, worst = _at(posed, multipliers), 0.0
    for cone in posed.energies.dual.cones:
        lengths = {name: at.size(z) for name, z in zip(cone.indices, cone.sets, strict=True)}
        norm = np.sqrt(np.maximum(evaluate(cone.body, at, lengths), 0.0))
        radius = evaluate(cone.radius, at, lengths)
        excess = (norm - radius) / np.where(radius > 0, radius, 1.0)
        worst = max(worst, float(np.max(excess, initial=0.0)))
    return worst


def _at(posed: Posed, multipliers: Mapping[str, Array]) -> Values:
    return posed.values.with_multipliers(multipliers).with_definitions(posed.energies.dual.definitions)


def _bounds_a_norm(condition: Condition) -> bool:
    """Whether it bounds squares of norms or of scalars, and not distances to points."""
    products = [factor for factor in condition.body.factors() if isinstance(factor, Inner)]
    squares = [f for m in condition.body.terms for f, p in m.factors if p == 2 and _is_scalar(f)]
    return bool(products or squares) and not any(p.left.feature or p.right.feature for p in products)


def _room(posed: Posed, condition: Condition) -> Array:
    """What the bound is beside squared norms and scalars, at least 1."""
    lengths = {name: posed.values.size(z) for name, z in zip(condition.indices, condition.sets, strict=True)}
    bound, _ = condition.body.split(lambda m: not any(isinstance(f, Inner) or _is_scalar(f) for f, _ in m.factors))
    return np.maximum(-evaluate(bound, posed.values, lengths), 1.0)


def _is_scalar(factor: Factor) -> bool:
    return isinstance(factor, Sym) and factor.role == "var"


def _layout(posed: Posed) -> list[tuple[str, tuple[int, ...], str]]:
    """(name, shape, space) of every Hilbert unknown."""
    return [
        (unknown.name, tuple(posed.values.size(z) for z in unknown.sets), unknown.space)
        for unknown in posed.derivation.primal.unknowns
        if unknown.space is not None and unknown.space in posed.spaces
    ]
