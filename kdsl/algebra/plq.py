"""Convex piecewise linear-quadratic functions of one variable with symbolic coefficients, and their conjugates."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from math import isqrt
from typing import NamedTuple

from kdsl.algebra.composites import inverse_of, quotient
from kdsl.algebra.poly import Monomial, Poly
from kdsl.algebra.signs import Domains

ZERO = Poly()
HALF = Fraction(1, 2)


class UnknownOrder(Exception):
    """The domains of the parameters do not say which of two break points (or values) is larger."""

    def __init__(self, difference: Poly) -> None:
        self.difference = difference
        super().__init__("the declared domains do not fix an order")


class NotPiecewiseQuadratic(Exception):
    """The expression leaves the class: its degree is above two."""


class InexactCrossing(Exception):
    """Two pieces cross where no rational expression of the parameters is."""


class Piece(NamedTuple):
    """1/2 curvature t^2 + slope t + value."""

    curvature: Poly
    slope: Poly
    value: Poly

    def at(self, t: Poly) -> Poly:
        return (self.curvature * t * t).scale(HALF) + self.slope * t + self.value

    def slope_at(self, t: Poly) -> Poly:
        return self.curvature * t + self.slope

    def minus(self, other: Piece) -> Piece:
        return Piece(self.curvature - other.curvature, self.slope - other.slope, self.value - other.value)


class Plq(NamedTuple):
    """`pieces[n]` holds between `breaks[n-1]` and `breaks[n]`; +inf outside [lower, upper] (None: unbounded)."""

    breaks: tuple[Poly, ...]
    pieces: tuple[Piece, ...]
    lower: Poly | None = None
    upper: Poly | None = None

    def ends(self, n: int) -> tuple[Poly | None, Poly | None]:
        """The left and right end of piece n."""
        left = self.breaks[n - 1] if n else self.lower
        right = self.breaks[n] if n < len(self.breaks) else self.upper
        return left, right

    def mapped(self, change: Callable[[Poly], Poly]) -> Plq:
        """The same function with every coefficient and break point changed (a substitution of parameters)."""
        return Plq(
            tuple(map(change, self.breaks)),
            tuple(Piece(*map(change, piece)) for piece in self.pieces),
            None if self.lower is None else change(self.lower),
            None if self.upper is None else change(self.upper),
        )


def constant(value: Poly) -> Plq:
    return Plq((), (Piece(ZERO, ZERO, value),))


def identity() -> Plq:
    return Plq((), (Piece(ZERO, Poly.number(1), ZERO),))


def is_constant(f: Plq) -> bool:
    return len(f.pieces) == 1 and not f.pieces[0].curvature and not f.pieces[0].slope


def scaled(f: Plq, factor: Poly) -> Plq:
    return merged(f._replace(pieces=tuple(Piece(*(c * factor for c in piece)) for piece in f.pieces)))


def negated_argument(f: Plq) -> Plq:
    """t -> f(-t)."""
    return Plq(
        tuple(-b for b in reversed(f.breaks)),
        tuple(Piece(p.curvature, -p.slope, p.value) for p in reversed(f.pieces)),
        None if f.upper is None else -f.upper,
        None if f.lower is None else -f.lower,
    )


def added(f: Plq, g: Plq, domains: Domains) -> Plq:
    return _zipped(f, g, domains, lambda a, b: Piece(*(x + y for x, y in zip(a, b, strict=True))))


def multiplied(f: Plq, g: Plq, domains: Domains) -> Plq:
    def product(a: Piece, b: Piece) -> Piece:
        if (a.curvature and (b.curvature or b.slope)) or (b.curvature and a.slope):
            raise NotPiecewiseQuadratic("a product of degree above two")
        curvature = a.curvature * b.value + b.curvature * a.value + (a.slope * b.slope).scale(2)
        return Piece(curvature, a.slope * b.value + b.slope * a.value, a.value * b.value)

    return _zipped(f, g, domains, product)


def maximum(f: Plq, g: Plq, domains: Domains) -> Plq:
    """The pointwise maximum of two functions finite on the whole line."""
    breaks = _united(f.breaks, g.breaks, domains)
    new_breaks: list[Poly] = []
    pieces: list[Piece] = []
    for n in range(len(breaks) + 1):
        left = breaks[n - 1] if n else None
        right = breaks[n] if n < len(breaks) else None
        if left is not None:
            new_breaks.append(left)
        point = _between(left, right)
        a, b = _piece_at(f, point, domains), _piece_at(g, point, domains)
        cuts = [left, *_sorted(_crossings(a.minus(b), left, right, domains), domains), right]
        for m, (low, high) in enumerate(pairwise(cuts)):
            if m and low is not None:
                new_breaks.append(low)
            difference = a.minus(b).at(_between(low, high))
            pieces.append(a if _at_least(difference, domains) else b)
    return merged(Plq(tuple(new_breaks), tuple(pieces)))


def merged(f: Plq) -> Plq:
    """Neighbouring pieces that are the same function become one."""
    breaks: list[Poly] = []
    pieces = [f.pieces[0]]
    for cut, piece in zip(f.breaks, f.pieces[1:], strict=True):
        if piece != pieces[-1]:
            breaks.append(cut)
            pieces.append(piece)
    return f._replace(breaks=tuple(breaks), pieces=tuple(pieces))


class Fault(NamedTuple):
    """Where convexity fails: inside a piece (at is None) or at a break point, with the offending amount (< 0)."""

    piece: int
    at: Poly | None
    amount: Poly


def convexity_fault(f: Plq, domains: Domains) -> Fault | None:
    """The first place where convexity is not certain, or None: a proof of convexity.

    UnknownOrder where one of several pieces may be curved or straight: the conjugate is another function then.
    """
    for n, piece in enumerate(f.pieces):
        if not domains.non_negative(piece.curvature):
            return Fault(n, None, piece.curvature)
        if f.breaks and piece.curvature and not domains.positive(piece.curvature):
            raise UnknownOrder(piece.curvature)
        if n:
            cut = f.breaks[n - 1]
            jump = piece.slope_at(cut) - f.pieces[n - 1].slope_at(cut)
            if not domains.non_negative(jump):
                return Fault(n, cut, jump)
    return None


def conjugate(f: Plq) -> Plq:
    """f*(u) = sup_t (u t - f(t)) of a convex f: the graph of the slope, read the other way round.

    A kink of f at t becomes a straight piece of slope t, a curved piece of curvature q one of
    curvature 1/q, a straight piece only a break point; ends of the domain and recession slopes change places.
    """
    segments: list[tuple[Piece, Poly | None, Poly | None]] = []  # (piece of f*, from slope, to slope)
    for n, piece in enumerate(f.pieces):
        left, right = f.ends(n)
        if left is not None:
            start = piece.slope_at(left)
            before = f.pieces[n - 1].slope_at(left) if n else None
            if before != start:
                segments.append((_straight(left, piece), before, start))
        if piece.curvature:
            top = quotient(piece.slope, piece.curvature)
            value = (piece.slope * top).scale(HALF) - piece.value
            low, high = (None if end is None else piece.slope_at(end) for end in (left, right))
            segments.append((Piece(inverse_of(piece.curvature), -top, value), low, high))
        if right is not None and n == len(f.pieces) - 1:
            segments.append((_straight(right, piece), piece.slope_at(right), None))
    if not segments:  # f is affine: f* is finite at its slope only
        (only,) = f.pieces
        return Plq((), (Piece(ZERO, ZERO, -only.value),), only.slope, only.slope)
    breaks = tuple(left for _, left, _ in segments[1:] if left is not None)
    return merged(Plq(breaks, tuple(piece for piece, _, _ in segments), segments[0][1], segments[-1][2]))


def _straight(t: Poly, piece: Piece) -> Piece:
    """u t - f(t) as a function of u."""
    return Piece(ZERO, t, -piece.at(t))


def _zipped(f: Plq, g: Plq, domains: Domains, combine: Callable[[Piece, Piece], Piece]) -> Plq:
    breaks = _united(f.breaks, g.breaks, domains)
    pieces = []
    for n in range(len(breaks) + 1):
        point = _between(breaks[n - 1] if n else None, breaks[n] if n < len(breaks) else None)
        pieces.append(combine(_piece_at(f, point, domains), _piece_at(g, point, domains)))
    return merged(Plq(breaks, tuple(pieces)))


def _between(left: Poly | None, right: Poly | None) -> Poly:
    if left is None:
        return ZERO if right is None else right - Poly.number(1)
    return left + Poly.number(1) if right is None else (left + right).scale(HALF)


def _at_least(difference: Poly, domains: Domains) -> bool:
    """Whether difference >= 0; UnknownOrder where neither sign is certain."""
    if domains.non_negative(difference):
        return True
    if domains.non_negative(-difference):
        return False
    raise UnknownOrder(difference)


def _sorted(points: list[Poly], domains: Domains) -> list[Poly]:
    ordered: list[Poly] = []
    for point in points:
        if point in ordered:
            continue
        place = sum(1 for other in ordered if _at_least(point - other, domains))
        ordered.insert(place, point)
    return ordered


def _united(a: tuple[Poly, ...], b: tuple[Poly, ...], domains: Domains) -> tuple[Poly, ...]:
    if not a or not b:
        return a or b
    return tuple(_sorted([*a, *b], domains))


def _piece_at(f: Plq, point: Poly, domains: Domains) -> Piece:
    return f.pieces[sum(1 for cut in f.breaks if _at_least(point - cut, domains))]


def _inside(root: Poly, left: Poly | None, right: Poly | None, domains: Domains) -> bool:
    if root in (left, right):
        return False
    return (left is None or _at_least(root - left, domains)) and (right is None or _at_least(right - root, domains))


def _crossings(difference: Piece, left: Poly | None, right: Poly | None, domains: Domains) -> list[Poly]:
    """Where 1/2 q t^2 + c t + d vanishes between left and right, as rational expressions."""
    try:
        roots = _roots(difference, domains)
    except InexactCrossing:
        if _keeps_sign(difference, left, right, domains):
            return []
        raise
    return [root for root in roots if _inside(root, left, right, domains)]


def _keeps_sign(difference: Piece, left: Poly | None, right: Poly | None, domains: Domains) -> bool:
    """Whether a quadratic certainly has no zero between left and right."""
    cup = difference if domains.positive(difference.curvature) else Piece(*(-c for c in difference))
    if not domains.positive(cup.curvature):
        return False
    if left is not None and right is not None and all(domains.positive(-cup.at(end)) for end in (left, right)):
        return True
    rises = left is not None and all(map(domains.positive, (cup.at(left), cup.slope_at(left))))
    return rises or (right is not None and all(map(domains.positive, (cup.at(right), -cup.slope_at(right)))))


def _roots(difference: Piece, domains: Domains) -> list[Poly]:
    """Where 1/2 q t^2 + c t + d vanishes, as rational expressions."""
    q, c, d = difference
    if not q:
        return [] if not c else [-(d * _inverse(c, domains))]
    if not d:
        return [ZERO] if not c else [ZERO, -(c * _inverse(q, domains)).scale(2)]
    discriminant = c * c - (q * d).scale(2)
    if domains.positive(-discriminant):
        return []
    root = _square_root(discriminant)
    return [(sign - c) * _inverse(q, domains) for sign in (-root, root)]


def _inverse(poly: Poly, domains: Domains) -> Poly:
    if not (domains.positive(poly) or domains.positive(-poly)):
        raise UnknownOrder(poly)
    try:
        return poly.inverse()
    except ValueError:
        raise InexactCrossing from None


def _square_root(poly: Poly) -> Poly:
    """An expression whose square is poly: poly is zero, or a single term of even powers."""
    if not poly:
        return poly
    ((monomial, coefficient), *others) = poly.terms.items()
    root = _rational_root(coefficient)
    if others or monomial.binders or root is None or any(power % 2 for _, power in monomial.factors):
        raise InexactCrossing
    return Poly({Monomial((), tuple((factor, power // 2) for factor, power in monomial.factors)): root})


def _rational_root(value: Fraction) -> Fraction | None:
    top, bottom = isqrt(max(value.numerator, 0)), isqrt(value.denominator)
    root = Fraction(top, bottom)
    return root if root * root == value else None
