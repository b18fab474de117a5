"""Polynomials of the algebra as formulas: coefficients, sums, inner products and kernels in the order a book prints."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from kdsl.algebra.poly import Poly
from kdsl.algebra.terms import Bracket, Index, Inner, Sym, Vec
from kdsl.render import expr as e
from kdsl.render.factoring import Bracketed, Collected, Difference, Fused, Part, Term, collected, letters_in, role_of
from kdsl.render.naming import Naming

_ONE = e.Numeral(Fraction(1))
_MOST_TERMS = 400
_SHOWN_TERMS = 20
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}
_ORDER = ("param", "size", "mult", "abs", "sign", "data", "var", "loss", "norm", "")
_AFTER_NUMBERS = _ORDER.index("mult")


def formula(poly: Poly, naming: Naming, style: str = "body") -> e.Expr:
    """`style` is the order of the terms: "body" (constants first), "objective" (losses, norms), "dual" (by degree),
    "prediction" (kernels before the rest)."""
    if len(poly.terms) > _MOST_TERMS:
        return _abridged(poly, naming, style)
    return _summed(collected(poly, naming, style == "dual"), naming, style)


def _abridged(poly: Poly, naming: Naming, style: str) -> e.Expr:
    """The first terms of a sum that nobody would read to its end, and how many more there are."""
    first = Poly(dict(poly.sorted()[:_SHOWN_TERMS]))
    rest = e.Words(f"({len(poly.terms) - _SHOWN_TERMS:,} more terms)")
    return e.total((1, _summed(collected(first, naming), naming, style)), (1, rest))


def signed_terms(poly: Poly, naming: Naming, style: str = "body") -> tuple[tuple[int, e.Expr], ...]:
    found = formula(poly, naming, style)
    return e.signed(1, found) if poly else ()


def _summed(parts: Sequence[Collected], naming: Naming, style: str) -> e.Expr:
    if not parts:
        return e.Numeral(Fraction(0))
    ordered = list(parts) if style == "given" else sorted(parts, key=lambda part: _rank(part, style))
    if style in ("body", "prediction") and ordered[0].coefficient < 0:
        ordered.sort(key=lambda part: part.coefficient < 0)
    return e.total(*((1 if part.coefficient > 0 else -1, _part(part, naming)) for part in ordered))


def _rank(part: Collected, style: str) -> tuple[int, ...]:
    term = part.lead
    roles = {role_of(f) for f, _ in term.factors}
    hilbert = any(isinstance(f, (Inner, Vec, Fused)) for f, _ in term.factors)
    if style == "objective":
        if "loss" in roles:
            return (0,)
        if hilbert or "norm" in roles:
            return (1,)
        return (3,) if term.binders else (2,)
    if style == "prediction":
        return (int(not hilbert), len(term.binders), int(part.coefficient < 0))
    if style == "dual":
        inners = sum(
            1 for f, _ in term.factors if isinstance(f, (Inner, Fused)) or (isinstance(f, Bracketed) and not f.front)
        )
        return (inners, _degree(term), int(part.coefficient < 0))
    if part.inner and part.factors:
        return (6,)
    if hilbert:
        return (3, int(bool(term.binders)))
    if roles & {"mult", "abs", "var", "loss", "norm"} or any(isinstance(f, Difference) for f, _ in term.factors):
        return (4,)
    return (1,) if roles & {"sign", "data"} else (2,) if roles else (0,)


def _degree(term: Term) -> int:
    return sum(p for f, p in term.factors if role_of(f) in ("mult", "abs", "var") or isinstance(f, Difference))


def _part(part: Collected, naming: Naming) -> e.Expr:
    """|coefficient| * front factors * sum of the others."""
    bound = {letter for letter, _ in part.binders}
    ordered = sorted(part.factors, key=_factor_rank)
    front = [(f, p) for f, p in ordered if _stands_in_front(f) and not letters_in(f) & bound]
    body = [(f, p) for f, p in ordered if (f, p) not in front]
    inner = _summed(part.inner, naming, "body") if part.inner else _ONE
    big = bool(part.binders) or bool(part.inner) or any(_is_big(f) for f, _ in body)
    if not big:
        return _simple(abs(part.coefficient), ordered, naming)
    prefix = _prefix(abs(part.coefficient), front, naming)
    product = e.times(_quotient(body, naming), inner)
    if part.binders:
        binders = tuple(naming.binder(letter, size) for letter, size in _by_set(part.binders, naming))
        product = e.Total(binders, product)
    return e.times(prefix, product)


def _by_set(binders: tuple[tuple[str, str], ...], naming: Naming) -> list[tuple[str, str]]:
    sets = list(naming.letters)
    return sorted(binders, key=lambda place: sets.index(place[1]) if place[1] in sets else len(sets))


def _stands_in_front(part: Part) -> bool:
    return role_of(part) in ("param", "size", "mult") or (isinstance(part, Bracketed) and part.front)


def _is_big(part: Part) -> bool:
    return isinstance(part, (Inner, Vec, Fused)) or role_of(part) in ("loss", "norm")


def _factor_rank(item: tuple[Part, int]) -> int:
    part = item[0]
    if isinstance(part, Difference):
        return _ORDER.index("mult")
    if isinstance(part, Bracketed):
        return _AFTER_NUMBERS if part.front else len(_ORDER) + 2
    if isinstance(part, Bracket):
        return _ORDER.index("data")
    if isinstance(part, Sym):
        return _ORDER.index(role_of(part)) if part.whole is None else _AFTER_NUMBERS
    return len(_ORDER) + int(isinstance(part, Vec))


def _simple(coefficient: Fraction, factors: list[tuple[Part, int]], naming: Naming) -> e.Expr:
    """A monomial on one fraction line: alpha[i]/C, 1/(nu l), 1/2 alpha[i]."""
    top = [_powered(f, p, naming) for f, p in factors if p > 0]
    bottom = [_powered(f, -p, naming) for f, p in factors if p < 0]
    above, below = e.number(coefficient.numerator), e.number(coefficient.denominator)
    if not bottom:
        moving = any(role_of(f) not in ("param", "size") for f, _ in factors)
        if coefficient.denominator == 1 or not top or moving:
            return e.times(e.number(coefficient), *top)
    return e.Quotient(e.times(above, *top), e.times(below, *bottom))


def _prefix(coefficient: Fraction, front: list[tuple[Part, int]], naming: Naming) -> e.Expr:
    top = [_powered(f, p, naming) for f, p in front if p > 0]
    bottom = [_powered(f, -p, naming) for f, p in front if p < 0]
    if not bottom and (coefficient.denominator == 1 or not top):
        return e.times(e.number(coefficient), *top)
    above, below = e.number(coefficient.numerator), e.number(coefficient.denominator)
    return e.Quotient(e.times(above, *top), e.times(below, *bottom))


def _quotient(factors: list[tuple[Part, int]], naming: Naming) -> e.Expr:
    top = e.times(*(_powered(f, p, naming) for f, p in factors if p > 0))
    bottom = [_powered(f, -p, naming) for f, p in factors if p < 0]
    return e.Quotient(top, e.times(*bottom)) if bottom else top


def _powered(part: Part, power: int, naming: Naming) -> e.Expr:
    base = factor(part, naming)
    if power == 1:
        return base
    if isinstance(base, e.Power):
        return e.Power(base.base, base.exponent * power)
    return e.Power(base, power)


def factor(part: Part, naming: Naming) -> e.Expr:
    if isinstance(part, Sym):
        return naming.symbol(part) if part.whole is None else formula(part.whole, naming)
    if isinstance(part, Vec):
        return naming.vector(part)
    if isinstance(part, Bracketed):
        return _summed(part.inner, naming, "body" if part.front else "given")
    if isinstance(part, Difference):
        return e.Terms(tuple((sign, factor(f, naming)) for sign, f in part.parts))
    if isinstance(part, Fused):
        if part.kind == "square":
            return e.Power(e.Norm(factor(part.left, naming)), 2)
        return e.Angles(factor(part.left, naming), factor(part.right, naming))
    if isinstance(part, Bracket):
        plain = isinstance(part.left, str) and isinstance(part.right, str) and not naming.has("delta")
        if part.relation == "=" and plain:
            return e.Ident("delta", (naming.index_expr(_letter(part.left)), naming.index_expr(_letter(part.right))))
        return e.Iverson(bracket(part, naming))
    return _inner(part, naming)


def _letter(side: Index | Sym) -> str:
    assert isinstance(side, str)
    return side


def _inner(inner: Inner, naming: Naming) -> e.Expr:
    left, right = inner.left, inner.right
    if left.feature and right.feature:
        if right.args and not left.args:  # a point of the data before the point that is predicted
            left, right = right, left
        points = (naming.vector(left), naming.vector(right))
        arguments = tuple(p.arguments[0] for p in points if isinstance(p, e.Apply))
        return e.Apply(naming.kernel(left.space), arguments)
    if left == right:
        return e.Power(e.Norm(naming.vector(left)), 2)
    if left.feature:
        left, right = right, left
    return e.Angles(naming.vector(left), naming.vector(right))


def bracket(found: Bracket, naming: Naming) -> e.Expr:
    """The condition, turned round where its left side is a number or comes later in the alphabet."""
    sides = tuple(
        naming.symbol(side) if isinstance(side, Sym) else naming.index_expr(side) for side in (found.left, found.right)
    )
    first, last = (isinstance(side, Sym) and side.role == "number" for side in (found.left, found.right))
    later = found.relation in ("<", "<=") and str(found.left) > str(found.right)
    if first or (later and not last):
        return e.Chain((sides[1], sides[0]), (_TURNED[found.relation],))
    return e.Chain(sides, (found.relation,))
