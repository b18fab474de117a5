"""How large the numbers are that a condition of the primal compares: what its residual is measured by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from kdsl.algebra.numeric import Array, Values, evaluate
from kdsl.algebra.poly import Monomial, Poly
from kdsl.algebra.primal import Condition
from kdsl.algebra.terms import Bracket, Inner, Vec

_FAINT = 1e-6  # of the other conditions of a scalar
_ROUNDING = 1e-14  # of a sum of products, as a share of their sizes


def condition_sizes(conditions: Iterable[Condition], values: Values) -> dict[str, float]:
    """For each condition the largest sum of its terms without their signs, or 1 where that is less.

    <w, phi(x)> counts as ||w|| ||phi(x)||: a product that happens to be small says nothing about the unit. Conditions
    in which one scalar occurs speak of one unit: the sign of a scalar has the size of the others, and terms that are
    nothing beside those of the others may be rounding.
    """
    given = tuple(conditions)
    large = _without_signs(values)
    own = {condition.label: _size(condition, large) for condition in given}
    scalars = {c.label: {symbol for symbol in c.body.symbols() if symbol[0] == "var"} for c in given}
    sizes = {}
    for condition in given:
        beside = [own[c.label] for c in given if c.kind != "sign" and scalars[c.label] & scalars[condition.label]]
        share = 1.0 if condition.kind == "sign" else _FAINT
        sizes[condition.label] = max(own[condition.label], share * max(beside, default=0.0))
    return sizes


def is_rounding(excess: float, condition: Condition, values: Values) -> bool:
    """Whether a condition lacks no more than what rounding makes of its terms, which may be large."""
    return excess <= _ROUNDING * _size(condition, _without_signs(values), np.inf)


def _size(condition: Condition, large: Values, most: float = 1.0) -> float:
    """The largest sum of terms, at most `most`: those with nothing unknown in them first, which are cheap."""
    lengths = {name: large.size(z) for name, z in zip(condition.indices, condition.sets, strict=True)}
    total = np.zeros(tuple(lengths.values()))
    terms = condition.body.terms
    for monomial in sorted(terms, key=lambda term: sum(isinstance(factor, Inner) for factor, _ in term.factors)):
        plain = Poly({_without_filters(monomial): abs(terms[monomial])})
        total = total + np.abs(evaluate(plain, large, lengths))
        if total.max(initial=0.0) >= most:
            return most
    return float(total.max(initial=0.0))


def _without_filters(monomial: Monomial) -> Monomial:
    return monomial._replace(factors=tuple((f, p) for f, p in monomial.factors if not isinstance(f, Bracket)))


def _without_signs(values: Values) -> Values:
    """The same numbers without their signs, and the largest inner products that their vectors can have."""

    def lengths(vec: Vec) -> Array:
        return np.sqrt(np.maximum(values.diagonal(vec), 0.0))

    def gram(first: Vec, second: Vec) -> Array:
        return np.multiply.outer(lengths(first), lengths(second))

    return replace(values, arrays={name: np.abs(array) for name, array in values.arrays.items()}, gram=gram)
