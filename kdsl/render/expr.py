"""The formulas of a derivation as a small tree that every output format walks: what is written, not how it is drawn."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple


class Ident(NamedTuple):
    """A letter or a word with its decorations: `name` is "alpha", "x" or "group"; `tag` a fixed subscript ("0")."""

    name: str
    subs: tuple[Expr, ...] = ()
    accent: str = ""  # "", "hat", or one "'" for each prime
    tag: str = ""
    bold: bool = False


class Numeral(NamedTuple):
    value: Fraction


class Infinity(NamedTuple):
    pass


class Product(NamedTuple):
    factors: tuple[Expr, ...]


class Quotient(NamedTuple):
    top: Expr
    bottom: Expr


class Terms(NamedTuple):
    """A sum of signed terms: (sign, expression) with sign +1 or -1."""

    terms: tuple[tuple[int, Expr], ...]


class Binder(NamedTuple):
    """An index and the set it runs over: 1..size, or the labels of the set `size`."""

    letter: str
    size: str
    labelled: bool


class Total(NamedTuple):
    """The sum of `body` over the binders where the conditions hold."""

    binders: tuple[Binder, ...]
    body: Expr
    where: tuple[Expr, ...] = ()


class Power(NamedTuple):
    base: Expr
    exponent: int


class Apply(NamedTuple):
    """head(arguments; parameters)."""

    head: Ident
    arguments: tuple[Expr, ...]
    parameters: tuple[Expr, ...] = ()


class Angles(NamedTuple):
    """An inner product."""

    left: Expr
    right: Expr


class Norm(NamedTuple):
    body: Expr


class Modulus(NamedTuple):
    body: Expr


class SquareRoot(NamedTuple):
    body: Expr


class Iverson(NamedTuple):
    """1 where the relation holds, else 0."""

    body: Expr


class Chain(NamedTuple):
    """side relation side [relation side ...]; relations "=", "!=", "<", "<=", ">", ">=", "in"."""

    sides: tuple[Expr, ...]
    relations: tuple[str, ...]


class Partial(NamedTuple):
    """The derivative of L with respect to `of`."""

    of: Expr


class Slopes(NamedTuple):
    """The subdifferential of a convex function, at the point where it is written."""

    of: Expr


class Best(NamedTuple):
    """argmax over the binder of the body."""

    binder: Binder
    body: Expr


class Cases(NamedTuple):
    """(value, condition) pairs."""

    rows: tuple[tuple[Expr, Expr], ...]


class Listing(NamedTuple):
    """Expressions separated by commas."""

    items: tuple[Expr, ...]


class Words(NamedTuple):
    """Plain words inside a formula."""

    text: str


Expr = (
    Ident
    | Numeral
    | Infinity
    | Product
    | Quotient
    | Terms
    | Total
    | Power
    | Apply
    | Angles
    | Norm
    | Modulus
    | SquareRoot
    | Iverson
    | Chain
    | Partial
    | Slopes
    | Best
    | Cases
    | Listing
    | Words
)


def number(value: int | Fraction) -> Expr:
    """A number, with its sign outside where it is negative."""
    value = Fraction(value)
    return Numeral(value) if value >= 0 else Terms(((-1, Numeral(-value)),))


def is_number(node: Expr, value: int) -> bool:
    return isinstance(node, Numeral) and node.value == value


def signed(sign: int, body: Expr) -> tuple[tuple[int, Expr], ...]:
    """sign * body as terms: a sum inside is opened."""
    if isinstance(body, Terms):
        return tuple((sign * s, t) for s, t in body.terms)
    return ((sign, body),)


def total(*parts: tuple[int, Expr]) -> Expr:
    """The sum of signed expressions."""
    terms = tuple(t for sign, body in parts for t in signed(sign, body))
    kept = tuple(t for t in terms if not is_number(t[1], 0))
    if not kept:
        return Numeral(Fraction(0))
    return kept[0][1] if len(kept) == 1 and kept[0][0] > 0 else Terms(kept)


def times(*factors: Expr) -> Expr:
    """The product, with ones left out and products inside opened."""
    flat: list[Expr] = []
    for factor in factors:
        flat += factor.factors if isinstance(factor, Product) else [factor]
    kept = tuple(f for f in flat if not is_number(f, 1))
    if not kept:
        return Numeral(Fraction(1))
    return kept[0] if len(kept) == 1 else Product(kept)
