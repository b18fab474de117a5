"""The dual as an object: what is maximised over which multipliers under which rows, bounds and cones."""

from __future__ import annotations

from typing import NamedTuple

from kdsl.algebra.plq import Plq
from kdsl.algebra.poly import Poly
from kdsl.algebra.terms import Bracket, Index, Sym, Vec


class DualVariable(NamedTuple):
    """One family of dual unknowns in [lower, upper] (polynomials at its own indices; None: no bound)."""

    label: str
    letter: str
    indices: tuple[str, ...]
    sets: tuple[str, ...]
    support: tuple[Bracket, ...]
    lower: Poly | None
    upper: Poly | None

    def at(self, args: tuple[Index, ...]) -> Sym:
        return Sym(self.label, args, "mult", self.support)

    @property
    def symbol(self) -> Sym:
        return self.at(self.indices)


class Row(NamedTuple):
    """body = 0, or body <= 0, for every index in the support; `origin` is the primal unknown it comes from."""

    body: Poly
    equality: bool
    indices: tuple[str, ...]
    sets: tuple[str, ...]
    support: tuple[Bracket, ...]
    origin: str


class ConjugateTerm(NamedTuple):
    """- sum h(theta) in the objective, theta the family `label`, h with kinks or changes of curvature."""

    label: str
    indices: tuple[str, ...]
    sets: tuple[str, ...]
    support: tuple[Bracket, ...]
    function: Plq


class EntropyTerm(NamedTuple):
    """The conjugate of a logistic or multinomial loss of weight w, a sum over `indices` of

    kind "binary":  -(theta log theta + (w - theta) log(w - theta) - w log w), 0 <= theta <= w;
    kind "simplex": -sum_k u_k log(u_k / w) with u_k = w [k = target] - theta_k >= 0 and sum_k u_k = w.
    """

    kind: str
    label: str
    indices: tuple[str, ...]
    sets: tuple[str, ...]
    support: tuple[Bracket, ...]
    weight: Poly
    letter: str = ""  # of the inner index, for "simplex"
    size: str = ""
    target: Index = ""


class Root(NamedTuple):
    """- coefficient * sqrt(radicand) in the objective."""

    coefficient: Poly
    radicand: Poly


class Cone(NamedTuple):
    """<u, u> <= radius^2 for every index: what an unsquared norm leaves behind."""

    body: Poly
    radius: Poly
    indices: tuple[str, ...]
    sets: tuple[str, ...]
    support: tuple[Bracket, ...]
    origin: str


class Tightness(NamedTuple):
    """The row of `origin` was taken as an equation, which holds where `condition` >= 0 (None: always).

    Where it does not hold, every multiplier of the row is at its upper bound and `origin` is 0.
    """

    origin: str
    row: Row
    condition: Poly | None


class Definition(NamedTuple):
    """symbol stands for value, an expression in the multipliers that has no inverse as a monomial."""

    symbol: Sym
    value: Poly
    sets: tuple[str, ...] = ()  # of the symbol's indices


class Dual(NamedTuple):
    """maximise objective + conjugates + entropies - roots over the variables.

    `squared`: objective is Q where the value is -sqrt(-Q) (the multiplier of a norm constraint folded away).
    """

    objective: Poly
    variables: tuple[DualVariable, ...]
    rows: tuple[Row, ...]
    conjugates: tuple[ConjugateTerm, ...] = ()
    entropies: tuple[EntropyTerm, ...] = ()
    roots: tuple[Root, ...] = ()
    cones: tuple[Cone, ...] = ()
    definitions: tuple[Definition, ...] = ()
    squared: bool = False

    def variable(self, label: str) -> DualVariable:
        return next(v for v in self.variables if v.label == label)


class Expansion(NamedTuple):
    """A primal unknown in terms of the multipliers: w = sum alpha y phi, xi = alpha / C.

    It minimised 1/2 curvature |unknown|^2 - <unknown, curvature value>; `unfolded` is the curvature before
    rows were used to free it of multipliers.
    """

    unknown: Sym | Vec
    value: Poly
    curvature: Poly
    unfolded: Poly


class Eliminated(NamedTuple):
    """A multiplier that left the dual: its value at its own indices (the positive part of it, if so said)."""

    label: str
    value: Poly
    positive_part: bool = False


class MergedPair(NamedTuple):
    """beta = plus - minus, at most one of which is non-zero; folded families of the dual."""

    label: str
    plus: str
    minus: str


class FoldedNorm(NamedTuple):
    """The multiplier `label` of a norm constraint, maximised out: label^2 = numerator / denominator."""

    label: str
    numerator: Poly
    denominator: Poly
    whole: bool  # the objective is -sqrt(...) alone, so its square is maximised
