"""A primal point of a posed problem: Hilbert unknowns inside their balls, and the best scalars for them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from kdsl.algebra.numeric import Array, Values, evaluate, support_mask
from kdsl.algebra.primal import Condition
from kdsl.algebra.terms import Vec
from kdsl.solving.condition_sizes import condition_sizes
from kdsl.solving.posed import Posed
from kdsl.solving.scalar_problem import ScalarProblem, scalar_problem
from kdsl.solving.scalars import Scalars, minimise_scalars
from kdsl.solving.unknowns import HilbertUnknown, with_unknowns

_MET = 1e-9  # of its size: a condition is met that lacks no more


class PrimalPoint(NamedTuple):
    """The Hilbert unknowns, the numbers that know them, and the best scalars for them."""

    unknowns: dict[str, HilbertUnknown]
    values: Values
    problem: ScalarProblem
    scalars: Scalars
    value: float

    @property
    def known(self) -> Values:
        """The numbers that know the scalars too."""
        scalars = {name: family.read(self.scalars.z) for name, family in self.problem.families.items()}
        return replace(self.values, arrays={**self.values.arrays, **scalars})

    def meets(self, conditions: tuple[Condition, ...]) -> bool:
        values = self.known
        sizes = condition_sizes(conditions, values)
        return all(excess_of(condition, values) <= _MET * sizes[condition.label] for condition in conditions)


def excess_of(condition: Condition, values: Values) -> float:
    """How far a condition is from holding, at its worst member."""
    body = _body(condition, values)
    if condition.support:
        body = body * support_mask(condition.support, condition.indices, condition.sets, values)
    return float(np.max(np.abs(body) if condition.equality else body, initial=0.0))


def _body(condition: Condition, values: Values) -> Array:
    """The body of a condition for all its members."""
    lengths = {name: values.size(z) for name, z in zip(condition.indices, condition.sets, strict=True)}
    return evaluate(condition.body, values, lengths)


def primal_point(posed: Posed, unknowns: Mapping[str, HilbertUnknown]) -> PrimalPoint:
    """The best point for these unknowns, those shrunk that are outside a bound on their norms."""
    unknowns = _inside_balls(posed, unknowns)
    values = with_unknowns(posed.values, unknowns, posed.spaces)
    problem = scalar_problem(posed.derivation, values)
    scalars = minimise_scalars(problem)
    return PrimalPoint(unknowns, values, problem, scalars, problem.value(scalars.z))


def without_vectors(posed: Posed) -> PrimalPoint:
    """The best that can be done with every vector at 0."""
    nothing = {}
    for unknown in posed.derivation.primal.unknowns:
        if unknown.space is not None and unknown.space in posed.spaces:
            shape = tuple(posed.values.size(z) for z in unknown.sets)
            zeros = np.zeros((int(np.prod(shape, dtype=int)), posed.spaces[unknown.space].size))
            nothing[unknown.name] = HilbertUnknown(unknown.name, unknown.space, shape, zeros, zeros)
    return primal_point(posed, nothing)


class BallRounding(NamedTuple):
    """What rounding may make of norms that have bounds, and how far it may take them outside: shares of the bounds."""

    share: float
    outside: float


def ball_rounding(posed: Posed, unknowns: Mapping[str, HilbertUnknown]) -> BallRounding:
    share = outside = 0.0
    values = with_unknowns(posed.values, unknowns, posed.spaces)
    for condition in posed.derivation.primal.conditions:
        if condition.kind == "ball":
            room = np.maximum(-_body(condition, _without_norm(values)), sys.float_info.min)
            names = {name for role, name in condition.body.symbols() if role == "vector"}
            noise = sum(unknowns[name].norm_rounding(posed.spaces[unknowns[name].space].oracle) for name in names)
            share = max(share, float(np.max(noise / room, initial=0.0)))
            outside = max(outside, float(np.max((_body(condition, values) + noise) / room, initial=0.0)))
    return BallRounding(share, outside)


def _inside_balls(posed: Posed, unknowns: Mapping[str, HilbertUnknown]) -> dict[str, HilbertUnknown]:
    """Every unknown with a bound on its norm, shrunk to it where rounding or the search left it outside."""
    result = dict(unknowns)
    for condition in posed.derivation.primal.conditions:
        if condition.kind == "ball":
            names = {name for role, name in condition.body.symbols() if role == "vector"}
            factor = _shrinking(condition, with_unknowns(posed.values, result, posed.spaces))
            if factor < 1.0:
                result.update({name: result[name].scaled(factor) for name in names})
    return result


def _shrinking(condition: Condition, values: Values) -> float:
    """The factor t <= 1 with a t^2 |w|^2 - c <= 0 for all members where the condition reads a |w|^2 - c <= 0."""
    body = _body(condition, values)
    room = np.maximum(-_body(condition, _without_norm(values)), 0.0)
    outside = body > 0
    return float(np.min(np.sqrt(room[outside] / (body + room)[outside]), initial=1.0))


def _without_norm(values: Values) -> Values:
    def zero(vec: Vec) -> Array:
        return np.zeros_like(values.diagonal(vec))

    return replace(values, diagonal=zero)
