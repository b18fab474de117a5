"""Maximises the multiplier of a norm constraint out of a finished dual: -Q/lambda - k lambda becomes -2 sqrt(Q k)."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from kdsl.algebra.dual import DualVariable, FoldedNorm, Root
from kdsl.algebra.folding import Folding
from kdsl.algebra.poly import Poly, collect
from kdsl.algebra.signs import Domains
from kdsl.algebra.state import contains, divided, is_zero, mentions_multiplier
from kdsl.algebra.steps import Equation, Step
from kdsl.algebra.terms import Factor


def fold_norms(folding: Folding, domains: Domains) -> Folding:
    """-Q/lam - k lam over lam >= 0 is at most -2 sqrt(Q k), at lam = sqrt(Q / k)."""
    for variable in folding.dual.variables:
        if is_zero(variable.lower) and variable.upper is None and not variable.indices:
            folding = _fold_norm(folding, variable, domains)
    return folding


def _fold_norm(folding: Folding, variable: DualVariable, domains: Domains) -> Folding:
    dual, symbol = folding.dual, variable.symbol
    elsewhere = [row.body for row in dual.rows] + [d.value for d in dual.definitions]
    elsewhere += [poly for cone in dual.cones for poly in (cone.body, cone.radius)]
    if any(poly.mentions(variable.label, ("mult",)) for poly in elsewhere):
        return folding
    if variable.label in {term.label for term in dual.conjugates}:
        return folding
    inverse, _ = dual.objective.split(lambda m: (symbol, -1) in m.factors)
    linear, _ = dual.objective.split(lambda m: (symbol, 1) in m.factors)
    touched, rest = dual.objective.split(lambda m: contains(m, symbol))
    if not inverse or not linear or touched != inverse + linear:
        return folding
    quadratic = -(inverse * Poly.of(symbol))  # Q
    price = -divided(linear, symbol)  # k
    if len(price.terms) != 1 or mentions_multiplier(price) or not domains.non_negative(price):
        return folding
    coefficient, radicand = _rooted(price, quadratic)
    whole = not rest and not dual.conjugates and not dual.entropies and not dual.roots
    folded = dual._replace(variables=tuple(v for v in dual.variables if v.label != variable.label))
    if whole:
        folded = folded._replace(objective=-(coefficient * coefficient * radicand), squared=True)
    else:
        folded = folded._replace(objective=rest, roots=(*dual.roots, Root(coefficient, radicand)))
    norm = FoldedNorm(variable.label, quadratic, price, whole)
    step = Step(
        "fold",
        "Maximise over the multiplier of the norm",
        ("the derivative in ", Poly.of(symbol), " vanishes where its square is the quotient of the two terms")
        + ((": the objective is minus a root, and its square is maximised instead",) if whole else ()),
        (Equation(Poly.of(symbol) ** 2, "=", quadratic * price.inverse()),),
    )
    return folding._replace(dual=folded, norms=(*folding.norms, norm), steps=(*folding.steps, step))


def _rooted(price: Poly, quadratic: Poly) -> tuple[Poly, Poly]:
    """(c, R) with 2 sqrt(Q k) = c sqrt(R): squares of numbers and of parameters leave the root."""
    ((_, leading), *_) = quadratic.sorted()
    shared = abs(leading)
    ((monomial, number),) = price.terms.items()
    inside = 4 * number * shared
    outside, left = _root_of(inside)
    factors: list[tuple[Factor, int]] = []
    remaining: list[tuple[Factor, int]] = []
    for factor, power in monomial.factors:
        (factors if power % 2 == 0 else remaining).append((factor, power // 2 if power % 2 == 0 else power))
    coefficient = collect([((), tuple(factors), outside)])
    radicand = quadratic.scale(1 / shared) * collect([((), tuple(remaining), left)])
    return coefficient, radicand


def _root_of(value: Fraction) -> tuple[Fraction, Fraction]:
    """(a, b) with sqrt(value) = a sqrt(b), b = 1 for a rational square."""
    top, bottom = isqrt(value.numerator), isqrt(value.denominator)
    if top * top == value.numerator and bottom * bottom == value.denominator:
        return Fraction(top, bottom), Fraction(1)
    return Fraction(1), value
