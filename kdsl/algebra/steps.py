"""The numbered steps of a derivation: what was done, why, and the equations a reader sees."""

from __future__ import annotations

from typing import NamedTuple

from kdsl.algebra.plq import Plq
from kdsl.algebra.poly import Poly
from kdsl.algebra.terms import Bracket, Sym, Vec


class Partial(NamedTuple):
    """dL/dv."""

    of: Sym | Vec


class Word(NamedTuple):
    """A symbol that is not part of the algebra: L, W, h*."""

    text: str


class Function(NamedTuple):
    """A piecewise quadratic shown piece by piece, as a function of `argument`."""

    name: str
    argument: Poly
    function: Plq


Side = Poly | Partial | Word | Sym | Vec


class Equation(NamedTuple):
    """left relation right [relation2 right2 ...] for all indices in the support."""

    left: Side
    relation: str
    right: Side
    indices: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    support: tuple[Bracket, ...] = ()


Text = tuple[str | Poly | Sym | Vec, ...]


class Step(NamedTuple):
    """kind is a stable word for programs ("slack", "stationarity", "row", "box", "square", "fold", ...)."""

    kind: str
    title: str
    reason: Text
    equations: tuple[Equation | Function, ...] = ()
