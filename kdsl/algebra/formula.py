"""Formula: what a predict clause says, a tree of functions whose leaves are polynomials."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kdsl.algebra.poly import Poly
from kdsl.algebra.terms import Bracket


class Applied(NamedTuple):
    """A function of formulas: "+", "*", "/", "max", "abs", "exp", "log", or "root", that of a squared norm."""

    function: str
    arguments: tuple[Formula, ...]


class Raised(NamedTuple):
    """base^exponent."""

    base: Formula
    exponent: int


class Summed(NamedTuple):
    """The sum of `body` over the free indices `names`, which run over `sets` where `support` holds."""

    names: tuple[str, ...]
    sets: tuple[str, ...]
    support: tuple[Bracket, ...]
    body: Formula


Formula = Poly | Applied | Raised | Summed


def polynomials_in(formula: Formula) -> Iterator[Poly]:
    """The leaves, and a product of the brackets of each filter."""
    match formula:
        case Poly():
            yield formula
        case Applied():
            for argument in formula.arguments:
                yield from polynomials_in(argument)
        case Raised():
            yield from polynomials_in(formula.base)
        case Summed():
            yield filter_of(formula)
            yield from polynomials_in(formula.body)


def filter_of(formula: Summed) -> Poly:
    """1 where the filter of a sum holds, else 0."""
    product = Poly.number(1)
    for bracket in formula.support:
        product = product * Poly.of(bracket)
    return product
