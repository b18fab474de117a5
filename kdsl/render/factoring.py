"""Polynomials opened into named terms and collected as a book would: common factors outside, squares completed."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from math import gcd
from typing import NamedTuple

from kdsl.algebra.poly import Monomial, Poly
from kdsl.algebra.terms import Bracket, Factor, Index, Inner, Sym, Vec, factor_key, leaves_of, reindex
from kdsl.render.naming import Naming

Place = tuple[str, str]  # an index letter and the size of its set


class Difference(NamedTuple):
    """A factor that is a signed sum of vectors, symbols or brackets: alpha^[i] - alpha[i], phi(x[i]) - phi(x[j])."""

    parts: tuple[tuple[int, Sym | Vec], ...]


class Fused(NamedTuple):
    """<left, right> with a sum of vectors on one side (kind "inner"), or ||left||^2 (kind "square")."""

    kind: str
    left: Difference | Vec
    right: Difference | Vec


class Bracketed(NamedTuple):
    """A sum in brackets as a factor: 1 - tau, kappa(x[i], x[j]) + delta[i,j]/C."""

    inner: tuple[Collected, ...]
    front: bool  # whether it holds parameters only and stands before a sum sign


Part = Factor | Difference | Fused | Bracketed
Parts = tuple[tuple[Part, int], ...]


class Term(NamedTuple):
    """A monomial whose bound indices have letters."""

    coefficient: Fraction
    binders: tuple[Place, ...]
    factors: Parts


class Collected(NamedTuple):
    """coefficient * sum over binders of factors * (sum of inner); inner is empty for a single term."""

    coefficient: Fraction
    binders: tuple[Place, ...]
    factors: Parts
    inner: tuple[Collected, ...]
    lead: Term  # decides where it is printed


# ------------------------------------------------------------------- opening


def opened(poly: Poly, naming: Naming) -> list[Term]:
    """The terms of poly in canonical order, every bound index with a letter of its set."""
    free = poly.free_indices()
    return [_opened(m, c, naming, free) for m, c in poly.sorted()]


def _opened(monomial: Monomial, coefficient: Fraction, naming: Naming, free: set[str]) -> Term:
    count = len(monomial.binders)
    order = min(permutations(range(count)), key=lambda p: _numbering_key(monomial, p)) if count <= 4 else range(count)
    place = {old: new for new, old in enumerate(order)}
    sets = tuple(monomial.binders[old] for old in order)
    letters = naming.index_letters(sets, free)

    def rename(term: Index) -> Index:
        return letters[place[term]] if isinstance(term, int) else term

    factors = tuple((reindex(f, rename), p) for f, p in monomial.factors)
    return Term(coefficient, tuple(zip(letters, sets, strict=True)), factors)


def _numbering_key(monomial: Monomial, order: tuple[int, ...]) -> tuple[object, ...]:
    place = {old: new for new, old in enumerate(order)}

    def rename(term: Index) -> Index:
        return place[term] if isinstance(term, int) else term

    renamed = [(reindex(f, rename), p) for f, p in monomial.factors]
    sets = tuple(monomial.binders[old] for old in order)
    outer = sorted((factor_key(f), p) for f, p in renamed if is_multiplier(f))
    inner = sorted((factor_key(f), p) for f, p in renamed if not is_multiplier(f))
    return (outer, inner, sets)


def is_multiplier(part: Part) -> bool:
    return (isinstance(part, Sym) and part.role in ("mult", "abs")) or (
        isinstance(part, Difference) and isinstance(part.parts[0][1], Sym)
    )


def role_of(part: Part) -> str:
    return part.role if isinstance(part, Sym) else ""


def letters_in(part: Part) -> set[str]:
    if isinstance(part, Bracketed):
        return {leaf for c in part.inner for f, _ in c.factors for leaf in letters_in(f)}
    if isinstance(part, Difference):
        return {leaf for _, f in part.parts for leaf in letters_in(f)}
    if isinstance(part, Fused):
        return letters_in(part.left) | letters_in(part.right)
    return {leaf for leaf in leaves_of(part) if isinstance(leaf, str)}


# ----------------------------------------------------------------- collecting


def collected(poly: Poly, naming: Naming, diagonal: bool = False) -> tuple[Collected, ...]:
    """The terms of poly, collected; with `diagonal`, squares of multipliers join the kernel as a diagonal."""
    terms = opened(poly, naming)
    if diagonal:
        terms = _with_diagonals(terms)
    return tuple(_gathered(terms, naming))


def _gathered(terms: list[Term], naming: Naming) -> list[Collected]:
    terms = _shared_coefficients(terms)
    terms = _fused_inners(_completed_squares(terms))
    terms = _paired_squares(terms, naming)
    terms = _paired_multipliers(terms)
    groups: dict[tuple[object, ...], list[Term]] = {}
    for n, term in enumerate(terms):
        outer = frozenset(_outer(term))
        alone = not term.binders and all(_is_constant(f) for f, _ in outer)
        key = (n,) if alone else (term.binders, outer)
        groups.setdefault(key, []).append(term)
    return [_group(members, naming) for members in groups.values()]


def _outer(term: Term) -> Parts:
    """What a term is collected by: its multipliers if it has any, else its parameters, sizes and data."""
    multipliers = tuple(item for item in term.factors if is_multiplier(item[0]))
    return multipliers or tuple(item for item in term.factors if role_of(item[0]) in ("size", "param", "sign", "data"))


def _alone(term: Term) -> Collected:
    return Collected(term.coefficient, term.binders, term.factors, (), term)


def _group(members: list[Term], naming: Naming) -> Collected:
    if len(members) == 1:
        return _alone(members[0])
    shared = [item for item in members[0].factors if all(item in m.factors for m in members)]
    members = sorted(members, key=lambda m: _rest_key(m, shared))
    content = _content([m.coefficient for m in members])
    inside = [
        Term(m.coefficient / content, (), tuple(item for item in m.factors if item not in shared)) for m in members
    ]
    inner = _gathered(inside, naming)
    if len(inner) == 1 and not inner[0].inner:
        (only,) = inner
        return Collected(content * only.coefficient, members[0].binders, (*shared, *only.factors), (), members[0])
    return Collected(content, members[0].binders, tuple(shared), tuple(inner), members[0])


def _rest_key(term: Term, shared: list[tuple[Part, int]]) -> tuple[object, ...]:
    """Orders phi(x[i]) before phi(x[j]), and what is not of the algebra itself last."""
    rest = [item for item in term.factors if item not in shared]
    if any(isinstance(f, Difference | Fused | Bracketed) for f, _ in rest):
        return (1,)
    return (0, tuple((factor_key(f), p) for f, p in rest if not isinstance(f, Difference | Fused | Bracketed)))


def _content(coefficients: list[Fraction]) -> Fraction:
    """The greatest common divisor, with the sign of the first."""
    top, bottom = 0, 1
    for c in coefficients:
        top = gcd(top, abs(c.numerator))
        bottom = bottom * c.denominator // gcd(bottom, c.denominator)
    return Fraction(top if coefficients[0] > 0 else -top, bottom)


# -------------------------------------------------------------- coefficients


def _shared_coefficients(terms: list[Term]) -> list[Term]:
    """lambda a - lambda tau a is lambda (1 - tau) a."""
    groups: dict[tuple[object, ...], list[Term]] = {}
    for term in terms:
        moving = frozenset(item for item in term.factors if not _is_constant(item[0]))
        groups.setdefault((term.binders, moving), []).append(term)
    result = []
    for members in groups.values():
        shared = tuple(item for item in members[0].factors if all(item in m.factors for m in members))
        if len(members) == 1 or not shared:
            result += members
            continue
        content = _content([m.coefficient for m in members])
        rests = [tuple(item for item in m.factors if item not in shared) for m in members]
        inner = tuple(_alone(Term(m.coefficient / content, (), rest)) for m, rest in zip(members, rests, strict=True))
        result.append(Term(content, members[0].binders, (*shared, (Bracketed(inner, True), 1))))
    return result


def _is_constant(part: Part) -> bool:
    return isinstance(part, Sym) and part.role in ("param", "size")


def _with_diagonals(terms: list[Term]) -> list[Term]:
    """-1/2 sum a[i] a[j] k(i,j) - 1/2 sum a[i]^2 / C is -1/2 sum a[i] a[j] (k(i,j) + delta[i,j] / C)."""
    if sum(1 for t in terms if _inner_of(t) is not None and _two_multipliers(t) is not None) > 1:
        return terms
    for full in terms:
        pair, split = _two_multipliers(full), _inner_of(full)
        plain = all(f in (pair or ()) or isinstance(f, Inner) or role_of(f) == "sign" for f, _ in full.factors)
        if pair is None or split is None or not plain or pair[0].name != pair[1].name or len(full.binders) != 2:
            continue
        (first, size), (second, _) = full.binders
        if pair[0].args != (first,) or pair[1].args != (second,):
            continue
        for k, square in enumerate(terms):
            own = (pair[0]._replace(args=(square.binders[0][0],)), 2) if square.binders else None
            rest = tuple(item for item in square.factors if item != own)
            divided = all(_is_constant(f) and p < 0 for f, p in rest) and own in square.factors
            if divided and [z for _, z in square.binders] == [size] and square.coefficient == full.coefficient:
                unit: Part = Bracket("=", first, second)
                inner = (
                    _alone(Term(Fraction(1), (), ((split[0], 1),))),
                    _alone(Term(Fraction(1), (), (*rest, (unit, 1)))),
                )
                merged = Term(full.coefficient, full.binders, (*split[1], (Bracketed(inner, False), 1)))
                return [merged if t is full else t for j, t in enumerate(terms) if j != k]
    return terms


# ------------------------------------------------------------ squared norms


def _completed_squares(terms: list[Term]) -> list[Term]:
    """a<u,u> - 2a<u,v> + a<v,v> is a||u - v||^2."""
    for n, mixed in enumerate(terms):
        split = _inner_of(mixed)
        if split is None or split[0].left == split[0].right:
            continue
        inner, rest = split
        wanted = [Inner(inner.left, inner.left), Inner(inner.right, inner.right)]
        halves = [
            k
            for k, t in enumerate(terms)
            for found in [_inner_of(t)]
            if found is not None
            and found[0] in wanted
            and found[1] == rest
            and t.binders == mixed.binders
            and t.coefficient == -mixed.coefficient / 2
        ]
        if len(halves) == 2:
            first, second = (inner.left, inner.right) if inner.left.feature else (inner.right, inner.left)
            square: Part = Fused("square", Difference(((1, first), (-1, second))), second)
            merged = Term(-mixed.coefficient / 2, mixed.binders, (*rest, (square, 1)))
            kept = [t for k, t in enumerate(terms) if k not in (n, *halves)]
            return _completed_squares([merged, *kept])
    return terms


def _inner_of(term: Term) -> tuple[Inner, Parts] | None:
    """The one inner product among the factors, and the others."""
    inners = [(f, p) for f, p in term.factors if isinstance(f, Inner)]
    if len(inners) != 1 or inners[0][1] != 1:
        return None
    found = inners[0][0]
    return found, tuple(item for item in term.factors if item != (found, 1))


def _fused_inners(terms: list[Term]) -> list[Term]:
    """<w, u> - <w, v> is <w, u - v>; kernels stay as they are."""
    for common in ("variable", "feature"):
        terms = _fused_on(terms, common == "feature")
    return terms


class _Linear(NamedTuple):
    term: Term
    kept: Vec
    other: Vec
    rest: Parts


def _fused_on(terms: list[Term], feature: bool) -> list[Term]:
    groups: dict[tuple[object, ...], list[_Linear]] = {}
    for n, term in enumerate(terms):
        split = _inner_of(term)
        sides = None if split is None else _sides(split[0])
        if split is None or sides is None:
            groups[(n,)] = [_Linear(term, Vec("", ""), Vec("", ""), ())]
            continue
        variable, point = sides
        kept, other = (point, variable) if feature else (variable, point)
        key = (term.binders, split[1], abs(term.coefficient), kept)
        groups.setdefault(key, []).append(_Linear(term, kept, other, split[1]))
    result = []
    for members in groups.values():
        lead, kept, _, rest = members[0]
        if len(members) == 1:
            result.append(lead)
            continue
        sign = 1 if lead.coefficient > 0 else -1
        parts = tuple((sign if m.term.coefficient > 0 else -sign, m.other) for m in members)
        sum_ = Difference(parts)
        fused: Part = Fused("inner", sum_, kept) if feature else Fused("inner", kept, sum_)
        result.append(Term(lead.coefficient, lead.binders, (*rest, (fused, 1))))
    return result


def _sides(inner: Inner) -> tuple[Vec, Vec] | None:
    """(the variable, the feature) of an inner product of the two."""
    if inner.left.feature == inner.right.feature:
        return None
    return (inner.right, inner.left) if inner.left.feature else (inner.left, inner.right)


# ------------------------------------------------------- pairs of multipliers


def _paired_multipliers(terms: list[Term]) -> list[Term]:
    """sum alpha^[i] z[i] - sum alpha[i] z[i] is sum (alpha^[i] - alpha[i]) z[i]."""
    groups: dict[tuple[object, ...], list[tuple[Term, Sym]]] = {}
    for n, term in enumerate(terms):
        own = [f for f, p in term.factors if is_multiplier(f) and p == 1]
        rest = frozenset(item for item in term.factors if item[0] not in own)
        key: tuple[object, ...] = (n,)
        symbol = own[0] if len(own) == 1 and isinstance(own[0], Sym) and own[0].role == "mult" else None
        if symbol is not None and symbol.args and (term.binders or rest):
            key = (term.binders, rest, abs(term.coefficient), symbol.args)
        groups.setdefault(key, []).append((term, symbol or Sym("")))
    result = []
    for members in groups.values():
        first, symbol = members[0]
        if len(members) == 1:
            result.append(first)
            continue
        ordered = sorted(members, key=lambda m: m[0].coefficient < 0)
        sign = 1 if ordered[0][0].coefficient > 0 else -1
        parts = tuple((sign if t.coefficient > 0 else -sign, s) for t, s in ordered)
        rest_items = tuple(item for item in first.factors if item[0] != symbol)
        factors: Parts = ((Difference(parts), 1), *rest_items)
        result.append(Term(sign * abs(first.coefficient), first.binders, factors))
    return result


def _paired_squares(terms: list[Term], naming: Naming) -> list[Term]:
    """u[i] u[j] z - 2 u[i] v[j] z + v[i] v[j] z, z symmetric in i and j, is (u[i] - v[i]) (u[j] - v[j]) z."""
    for n, mixed in enumerate(terms):
        own = _two_multipliers(mixed)
        if own is None or own[0].name == own[1].name:
            continue
        (u, v), rest = own, _without_multipliers(mixed)
        first, second = u.args, v.args
        halves = [
            k
            for k, t in enumerate(terms)
            for pair in [_two_multipliers(t)]
            if pair is not None
            and pair[0].name == pair[1].name
            and {pair[0].args, pair[1].args} == {first, second}
            and pair[0].name in (u.name, v.name)
            and _without_multipliers(t) == rest
            and set(t.binders) == set(mixed.binders)
            and abs(t.coefficient) * 2 == abs(mixed.coefficient)
        ]
        if len(halves) != 2 or first == second or not _symmetric(rest, first, second):
            continue
        a, b = (terms[k].coefficient for k in halves)
        if a != b:
            continue
        sign = 1 if mixed.coefficient * a > 0 else -1
        plus, minus = (v, u) if naming.multipliers.get(v.name, "").endswith("^") else (u, v)
        factors: list[tuple[Part, int]] = [
            (Difference(((1, plus._replace(args=args)), (sign, minus._replace(args=args)))), 1)
            for args in sorted((first, second), key=str)
        ]
        merged = Term(a, mixed.binders, (*factors, *sorted(rest, key=str)))
        return _paired_squares([*(t for k, t in enumerate(terms) if k not in (n, *halves)), merged], naming)
    return terms


def _symmetric(rest: frozenset[tuple[Part, int]], first: tuple[Index, ...], second: tuple[Index, ...]) -> bool:
    """Whether the factors stay the same when the indices first and second are exchanged."""
    swapped = {**dict(zip(first, second, strict=True)), **dict(zip(second, first, strict=True))}

    def swap(term: Index) -> Index:
        return swapped.get(term, term)

    if any(isinstance(f, Difference | Fused | Bracketed) for f, _ in rest):
        return False
    exchanged = ((reindex(f, swap), p) for f, p in rest if not isinstance(f, Difference | Fused | Bracketed))
    return frozenset(exchanged) == rest


def _two_multipliers(term: Term) -> tuple[Sym, Sym] | None:
    own = [f for f, p in term.factors if isinstance(f, Sym) and f.role == "mult" and p == 1 and f.args]
    return (own[0], own[1]) if len(own) == 2 else None


def _without_multipliers(term: Term) -> frozenset[tuple[Part, int]]:
    return frozenset(i for i in term.factors if not (isinstance(i[0], Sym) and i[0].role == "mult" and i[0].args))
