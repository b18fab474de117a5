"""What an expression can be: a number, a vector of a kernel's space, a point, an index or label, a sign."""

from __future__ import annotations

from typing import NamedTuple

from kdsl.language.model import IndexSet


class Real(NamedTuple):
    """A number; `degree` counts unknowns, `atom` names the non-polynomial function it holds ("" for none).

    `terms` is how many products it has when it is written out.
    """

    degree: int = 0
    atom: str = ""
    terms: int = 1


class Vector(NamedTuple):
    """A vector of the space of kernel `space`; "" while only phi(...) has been seen, which fits any space."""

    space: str = ""
    degree: int = 0
    terms: int = 1


class Point(NamedTuple):
    """An input: what phi and a kernel take."""

    kind: str = "point"


class Row(NamedTuple):
    """A new example given by numbers `t[j]`, j over `set`: a formal of a predict clause."""

    set: IndexSet


class Member(NamedTuple):
    """An index variable or a datum that is a label: an element of `set`."""

    set: IndexSet


class Sign(NamedTuple):
    """The value of `sign(...)`: what `predict label` gives."""

    kind: str = "sign"


class Choice(NamedTuple):
    """The value of `argmax[k] ...`: an element of `set`."""

    set: IndexSet


class Unknown(NamedTuple):
    """The type of an expression in which a mistake has already been reported: it fits everywhere."""

    kind: str = "unknown"


Type = Real | Vector | Point | Row | Member | Sign | Choice | Unknown


def describe(value: Type) -> str:
    """The type in words, for messages."""
    if isinstance(value, Real):
        return "a number"
    if isinstance(value, Vector):
        return f"a vector of H({value.space})" if value.space else "a feature vector"
    if isinstance(value, Point):
        return "a point (an input)"
    if isinstance(value, Member | Choice):
        return f"a label of `{value.set.size}`" if value.set.labelled else f"an index in 1..{value.set.size}"
    if isinstance(value, Row):
        return "a row of numbers"
    return "a sign" if isinstance(value, Sign) else "unknown"
