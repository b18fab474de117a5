"""The primal problem as an object of the algebra: unknowns, objective, conditions g <= 0 or g = 0, loss terms."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from kdsl.algebra.plq import Plq
from kdsl.algebra.poly import Poly
from kdsl.algebra.signs import Domains
from kdsl.algebra.terms import Bracket, Index, Sym, Vec
from kdsl.language.syntax import NOWHERE, Span


class Unknown(NamedTuple):
    """One family of primal unknowns.

    origin: "declared"; "residual" (the argument of a loss, introduced with an equation); "square" (stands
    for the square of `shown`, which occurs in no other power); "shifted" (stands for `shown` less the squared norm
    of a Hilbert variable, the `centre`).
    """

    name: str
    indices: tuple[str, ...]
    sets: tuple[str, ...]
    support: tuple[Bracket, ...]
    space: str | None = None
    origin: str = "declared"
    shown: str = ""
    span: Span = NOWHERE

    def at(self, args: tuple[Index, ...]) -> Sym | Vec:
        if self.space is not None:
            return Vec(self.space, self.name, args)
        return Sym(self.name, args, "var", self.support)

    @property
    def symbol(self) -> Sym | Vec:
        """The unknown at its own free indices."""
        return self.at(self.indices)

    @property
    def centre(self) -> str:
        """The Hilbert variable c in the name `R - ||c||^2` of a shifted unknown."""
        return self.name.split("||")[1]


class Condition(NamedTuple):
    """body <= 0, or body = 0, for every index in the support.

    kind: "stated" by the user, "sign" (the domain of an unknown), "residual" (the definition of a loss's
    argument), "ball" (a bound on a norm; `tight` where it was printed as an equation).
    """

    label: str
    indices: tuple[str, ...]
    sets: tuple[str, ...]
    support: tuple[Bracket, ...]
    body: Poly
    equality: bool
    kind: str = "stated"
    tight: bool = False
    span: Span = NOWHERE


class Logistic(NamedTuple):
    """log(1 + exp(-r))."""


class Multinomial(NamedTuple):
    """log(sum_k exp(r_k)) - r_target: `letter` is the index k, `size` its set."""

    letter: str
    size: str
    target: Index


class LossTerm(NamedTuple):
    """A loss in the objective: symbol Sym(label, indices, "loss") is its value at the residual unknown.

    orientation is -1 where the residual equation reads r - argument = 0, so that the multiplier of a loss
    that only falls (a margin loss) comes out non-negative, +1 for argument - r = 0.
    """

    label: str
    indices: tuple[str, ...]
    sets: tuple[str, ...]
    support: tuple[Bracket, ...]
    residual: str
    function: Plq | Logistic | Multinomial
    orientation: int
    text: str  # how the loss was written, for the reader


class Reformulation(NamedTuple):
    """A rewriting of the problem before its Lagrangian is formed, with the reason why nothing is lost."""

    title: str
    reason: str
    subject: str  # the unknown or label it concerns


class Primal(NamedTuple):
    """minimise objective subject to conditions; `sense` -1 where the user maximises the negative of it."""

    name: str
    title: str
    sense: int
    objective: Poly
    unknowns: tuple[Unknown, ...]
    conditions: tuple[Condition, ...]
    losses: tuple[LossTerm, ...]
    reformulations: tuple[Reformulation, ...]
    domains: Domains
    known: tuple[tuple[str, Fraction], ...] = ()  # parameters whose values decided an order of break points

    def unknown(self, name: str) -> Unknown:
        return next(u for u in self.unknowns if u.name == name)

    def condition(self, label: str) -> Condition:
        return next(c for c in self.conditions if c.label == label)
