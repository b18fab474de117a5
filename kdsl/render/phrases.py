"""The small parts that sections share: side conditions, equations with their constants moved over, bounds."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from kdsl.algebra.dual import DualVariable, Row
from kdsl.algebra.poly import ONE, Monomial, Poly, place_support
from kdsl.algebra.terms import Bracket, Sym, Vec
from kdsl.render import expr as e
from kdsl.render.layout import Line, Pieces
from kdsl.render.names import ident, is_letter
from kdsl.render.naming import Naming
from kdsl.render.notation import bracket, formula

ZERO = e.Numeral(Fraction(0))
FLIPPED = {"<=": ">=", ">=": "<=", "=": "="}


def for_all(
    indices: tuple[str, ...], sets: tuple[str, ...], support: tuple[Bracket, ...], naming: Naming, ranges: bool = False
) -> Pieces:
    """ "for all i", or with its range "for i = 1, ..., l"; then the conditions of the support."""
    if not indices:
        return ()
    pieces: list[str | e.Expr] = ["for " if ranges else "for all "]
    if ranges:
        pieces += listed(ranges_of(indices, sets, naming), " and ")
    else:
        pieces.append(e.Listing(tuple(e.Ident(i) for i in indices)))
    conditions = [bracket(b, naming) for b in place_support(support, indices)]
    if conditions:
        pieces += [" with ", e.Listing(tuple(conditions))]
    return tuple(pieces)


def listed(items: list[Pieces], last: str) -> list[str | e.Expr]:
    """a, b and c."""
    pieces: list[str | e.Expr] = []
    for n, item in enumerate(items):
        if n:
            pieces.append(last if n == len(items) - 1 else ", ")
        pieces += item
    return pieces


def ranges_of(indices: tuple[str, ...], sets: tuple[str, ...], naming: Naming) -> list[Pieces]:
    """One range for each set: i, j = 1, ..., l; k in classes."""
    grouped: dict[str, list[str]] = {}
    for index, size in zip(indices, sets, strict=True):
        grouped.setdefault(size, []).append(index)
    result: list[Pieces] = []
    for size, letters in grouped.items():
        names = e.Listing(tuple(e.Ident(x) for x in letters))
        if size in naming.labelled:
            result.append((e.Chain((names, naming.size(size)), ("in",)),))
        else:
            range_ = e.Listing((e.number(1), e.Words("…"), naming.size(size)))
            result.append((e.Chain((names, range_), ("=",)),))
    return result


# --------------------------------------------------------------------- equations


def is_known(monomial: Monomial) -> bool:
    """Whether a monomial holds numbers, parameters, sizes and data only."""
    return all(isinstance(f, Sym) and f.role in ("param", "size", "data", "sign") for f, _ in monomial.factors)


def balanced(body: Poly, relation: str, naming: Naming) -> tuple[e.Expr, str, e.Expr]:
    """body relation 0 with constants on the right and the first term on the left positive."""
    constant, moving = body.split(is_known)
    if not moving:
        constant, moving = body.split(lambda monomial: monomial == ONE)
    if not moving:
        return formula(body, naming), relation, ZERO
    ordered = moving.sorted()
    if all(c < 0 for _, c in ordered):
        moving, constant, relation = -moving, -constant, FLIPPED[relation]
    return formula(moving, naming), relation, formula(-constant, naming)


def row_line(row: Row, naming: Naming, ranges: bool = True) -> Line:
    left, relation, right = balanced(row.body, "=" if row.equality else "<=", naming)
    return Line(left, relation, right, for_all(row.indices, row.sets, row.support, naming, ranges))


def bound_line(variable: DualVariable, naming: Naming, ranges: bool = True) -> Line | None:
    """lower <= theta <= upper; None for a free family."""
    symbol = naming.symbol(variable.symbol)
    side = for_all(variable.indices, variable.sets, variable.support, naming, ranges)
    lower = None if variable.lower is None else formula(variable.lower, naming)
    upper = None if variable.upper is None else formula(variable.upper, naming)
    if lower is not None and upper is not None:
        return Line(None, "", e.Chain((lower, symbol, upper), ("<=", "<=")), side)
    if lower is not None:
        return Line(symbol, ">=", lower, side)
    return None if upper is None else Line(symbol, "<=", upper, side)


def unknown_expr(symbol: Sym | Vec, naming: Naming) -> e.Expr:
    return naming.vector(symbol) if isinstance(symbol, Vec) else naming.symbol(symbol)


def prose(text: str, naming: Naming) -> list[str | e.Expr]:
    """Words of the algebra as pieces of a sentence: what stands between back quotes is a name of the spec."""
    pieces: list[str | e.Expr] = []
    for n, part in enumerate(text.split("`")):
        if n % 2 == 0:
            pieces += [part.replace(">=", "≥").replace("<=", "≤")] if part else []
            continue
        name, _, rest = part.partition(" ")
        unknown = naming.unknown_named(part) or naming.unknown_named(name)
        if unknown is None:
            pieces.append(ident(part) if is_letter(part) else part)
        elif naming.unknown_named(part) is not None:
            pieces.append(unknown)
        else:
            relation, _, end = rest.partition(" ")
            pieces.append(e.Chain((unknown, e.number(Fraction(end))), (relation,)))
    return pieces


SignedTerms = tuple[tuple[int, e.Expr], ...]


def split_sum(
    node: e.Expr, columns: Callable[[e.Expr], int], room: int
) -> tuple[list[SignedTerms], tuple[tuple[str, e.Expr], ...]]:
    """(the terms of a long sum, as many on each line as fit; the relations and sides that follow the last)."""
    tail: tuple[tuple[str, e.Expr], ...] = ()
    if isinstance(node, e.Chain):
        tail = tuple(zip(node.relations, node.sides[1:], strict=True))
        node = node.sides[0]
    terms = node.terms if isinstance(node, e.Terms) else ((1, node),)
    if columns(node) <= room:
        return [terms], tail
    lines: list[SignedTerms] = [()]
    for item in terms:
        if lines[-1] and columns(e.Terms((*lines[-1], item))) > room:
            lines.append(())
        lines[-1] = (*lines[-1], item)
    return lines, tail
