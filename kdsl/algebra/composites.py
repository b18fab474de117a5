"""Sums of parameters and sizes that stand as one factor, 1 - tau, and so have an inverse as a single term has."""

from __future__ import annotations

from fractions import Fraction
from math import gcd

from kdsl.algebra.poly import Monomial, Poly
from kdsl.algebra.terms import Sym


def inverse_of(value: Poly) -> Poly:
    """1/value; ValueError where value is neither a single term nor a sum of parameters and sizes without indices."""
    if len(value.terms) < 2:
        return value.inverse()
    return _as_factor(value).inverse()


def quotient(value: Poly, divisor: Poly) -> Poly:
    """value / divisor, which is a polynomial again where value is a multiple of divisor by a single term."""
    if not value:
        return value
    if len(divisor.terms) > 1:
        (first, above), (second, below) = value.sorted()[0], divisor.sorted()[0]
        try:
            ratio = Poly({first: above}) * Poly({second: below}).inverse()
        except ValueError:
            ratio = Poly()
        if ratio * divisor == value:
            return ratio
    return value * inverse_of(divisor)


def _as_factor(value: Poly) -> Poly:
    """value as its common factors times one symbol for the sum that is left."""
    if not all(_is_plain(monomial) for monomial in value.terms):
        raise ValueError("only sums of parameters and sizes, without indices, have an inverse")
    content = Fraction(
        gcd(*(c.numerator for c in value.terms.values())), max(c.denominator for c in value.terms.values())
    )
    shared = set.intersection(*({f for f, _ in monomial.factors} for monomial in value.terms))
    common = Poly.number(content)
    for factor in sorted(shared):
        common = common * Poly.of(factor, min(dict(monomial.factors)[factor] for monomial in value.terms))
    rest = value * common.inverse()
    return common * Poly.of(Sym(_spelled(rest), (), "param", (), rest))


def _is_plain(monomial: Monomial) -> bool:
    plain = all(isinstance(f, Sym) and f.role in ("param", "size") and not f.args for f, _ in monomial.factors)
    return plain and not monomial.binders


def _spelled(value: Poly) -> str:
    """As a spec writes it: (1 - tau), (l - 1)."""
    text = ""
    for monomial, coefficient in sorted(value.sorted(), key=lambda term: term[1] < 0):
        names = [_power(f, p) for f, p in monomial.factors]
        number = [] if abs(coefficient) == 1 and names else [str(abs(coefficient))]
        text += (" - " if coefficient < 0 else " + ") + " * ".join(number + names)
    return f"({text.removeprefix(' + ').strip()})"


def _power(factor: object, power: int) -> str:
    assert isinstance(factor, Sym)
    return factor.name if power == 1 else f"{factor.name}^{power}"
