"""What the declared domains say about the sign of an expression: interval arithmetic, monomial by monomial."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from kdsl.algebra.poly import Poly, collect
from kdsl.algebra.terms import Bracket, Inner, Sym, factor_key, leaves_of

Ends = dict[tuple[str, str], "Range"]


class Range(NamedTuple):
    """An interval; None is an infinite end, `*_open` says that a finite end is not reached."""

    lower: Fraction | None
    upper: Fraction | None
    lower_open: bool = False
    upper_open: bool = False


ANYTHING = Range(None, None)
NON_NEGATIVE = Range(Fraction(0), None)


class Domains:
    """The ranges of the scalar symbols of a model, by (role, name); multipliers are added by their sign."""

    def __init__(self, ranges: Mapping[tuple[str, str], Range]) -> None:
        self._ranges = dict(ranges)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Domains) and self._ranges == other._ranges

    def __hash__(self) -> int:
        return hash(frozenset(self._ranges.items()))

    def extended(self, more: Mapping[tuple[str, str], Range]) -> Domains:
        return Domains({**self._ranges, **more})

    def range_of(self, symbol: Sym) -> Range:
        if symbol.whole is not None:
            return self.of(symbol.whole)
        if symbol.role == "number":
            return Range(Fraction(symbol.name), Fraction(symbol.name))
        if symbol.role == "size":
            return Range(Fraction(1), None)
        if symbol.role == "sign":
            return Range(Fraction(-1), Fraction(1))
        if symbol.role in ("abs", "norm"):
            return NON_NEGATIVE
        return self._ranges.get((symbol.role, symbol.name), ANYTHING)

    def positive(self, poly: Poly) -> bool:
        """Whether poly > 0 is certain."""
        r = self.of(poly)
        return r.lower is not None and (r.lower > 0 or (r.lower == 0 and r.lower_open))

    def non_negative(self, poly: Poly) -> bool:
        """Whether poly >= 0 is certain."""
        r = self.of(poly)
        return r.lower is not None and r.lower >= 0

    def of(self, poly: Poly) -> Range:
        """An interval that certainly holds the value of poly: that of its common factor times that of the rest."""
        common = _common_factors(poly)
        if len(poly.terms) > 1 and common:
            shared = Range(Fraction(1), Fraction(1))
            for symbol, power in common.items():
                shared = _times(shared, _power(self.range_of(symbol), power))
            return _times(shared, self._of_terms(_divided(poly, common)))
        return self._of_terms(poly)

    def _of_terms(self, poly: Poly) -> Range:
        total = Range(Fraction(0), Fraction(0))
        for monomial, coefficient in poly.terms.items():
            piece = Range(Fraction(1), Fraction(1))
            for factor, power in sorted(monomial.factors, key=lambda item: factor_key(item[0])):
                if isinstance(factor, Sym):
                    piece = _times(piece, _power(self.range_of(factor), power))
                elif isinstance(factor, Inner) and factor.left == factor.right:
                    piece = _times(piece, NON_NEGATIVE)
                elif isinstance(factor, Bracket):
                    piece = _times(piece, Range(Fraction(0), Fraction(1)))
                else:
                    piece = _times(piece, ANYTHING)
            if monomial.binders:
                piece = _summed(piece)
            total = _plus(total, _times(piece, Range(coefficient, coefficient)))
        return total


def _common_factors(poly: Poly) -> dict[Sym, int]:
    """The scalar factors, with their powers, that every monomial of poly has outside its sums."""
    shared: dict[Sym, int] | None = None
    for monomial in poly.terms:
        own = {
            f: p
            for f, p in monomial.factors
            if isinstance(f, Sym) and not any(isinstance(leaf, int) for leaf in leaves_of(f))
        }
        shared = own if shared is None else {f: min(p, own[f]) for f, p in shared.items() if f in own}
    return {f: p for f, p in (shared or {}).items() if p > 0}


def _divided(poly: Poly, factors: Mapping[Sym, int]) -> Poly:
    inverse = collect([((), tuple((f, -p) for f, p in factors.items()), Fraction(1))])
    return poly * inverse


def _plus(a: Range, b: Range) -> Range:
    lower = None if a.lower is None or b.lower is None else a.lower + b.lower
    upper = None if a.upper is None or b.upper is None else a.upper + b.upper
    return Range(lower, upper, a.lower_open or b.lower_open, a.upper_open or b.upper_open)


def _summed(a: Range) -> Range:
    """A sum of unknown (positive) length of values in a: only the sign survives."""
    lower = Fraction(0) if a.lower is not None and a.lower >= 0 else None
    upper = Fraction(0) if a.upper is not None and a.upper <= 0 else None
    strictly = a.lower is not None and (a.lower > 0 or (a.lower == 0 and a.lower_open))
    negative = a.upper is not None and (a.upper < 0 or (a.upper == 0 and a.upper_open))
    return Range(lower, upper, strictly, negative)


def _times(a: Range, b: Range) -> Range:
    """The interval product, with open ends kept where the extreme is not reached."""
    corners: list[tuple[Fraction | None, int, bool]] = []  # (finite value, sign of infinity, open)
    for value_a, sign_a, open_a in _ends(a):
        for value_b, sign_b, open_b in _ends(b):
            if value_a is not None and value_b is not None:
                open_end = (open_a and value_b != 0) or (open_b and value_a != 0) or (open_a and open_b)
                corners.append((value_a * value_b, 0, open_end))
            elif value_a == 0 or value_b == 0:
                corners.append((Fraction(0), 0, open_a if value_a == 0 else open_b))
            else:
                sign = (sign_a or _sign(value_a)) * (sign_b or _sign(value_b))
                corners.append((None, sign, True))
    finite = [(v, o) for v, _, o in corners if v is not None]
    low_infinite = any(v is None and s < 0 for v, s, _ in corners)
    high_infinite = any(v is None and s > 0 for v, s, _ in corners)
    low = min((v for v, _ in finite), default=None)
    high = max((v for v, _ in finite), default=None)
    lower = None if low_infinite else low
    upper = None if high_infinite else high
    return Range(
        lower,
        upper,
        lower is not None and all(o for v, o in finite if v == lower),
        upper is not None and all(o for v, o in finite if v == upper),
    )


def _ends(a: Range) -> tuple[tuple[Fraction | None, int, bool], ...]:
    low = (a.lower, 0, a.lower_open) if a.lower is not None else (None, -1, True)
    high = (a.upper, 0, a.upper_open) if a.upper is not None else (None, 1, True)
    return (low, high)


def _sign(value: Fraction | None) -> int:
    assert value is not None
    return (value > 0) - (value < 0)


def _power(a: Range, power: int) -> Range:
    if power < 0:
        return _power(_reciprocal(a), -power)
    result = a
    if power % 2 == 0:
        result = _magnitude(a)
    piece = result
    for _ in range(power - 1):
        piece = _times(piece, result)
    return piece


def _magnitude(a: Range) -> Range:
    if a.lower is not None and a.lower >= 0:
        return a
    if a.upper is not None and a.upper <= 0:
        return Range(-a.upper, None if a.lower is None else -a.lower, a.upper_open, a.lower_open)
    if a.lower is None or a.upper is None:
        return NON_NEGATIVE
    return Range(Fraction(0), max(-a.lower, a.upper))


def _reciprocal(a: Range) -> Range:
    """What is divided by is not 0: whoever binds data sees to that."""
    if a.lower is not None and a.lower >= 0:
        upper = None if a.lower == 0 else 1 / a.lower
        lower = Fraction(0) if not a.upper else 1 / a.upper
        return Range(lower, upper, a.upper is None or a.upper_open, a.lower_open)
    if a.upper is not None and a.upper <= 0:
        mirrored = _reciprocal(Range(-a.upper, None if a.lower is None else -a.lower, a.upper_open, a.lower_open))
        return Range(
            None if mirrored.upper is None else -mirrored.upper,
            None if mirrored.lower is None else -mirrored.lower,
            mirrored.upper_open,
            mirrored.lower_open,
        )
    return ANYTHING
