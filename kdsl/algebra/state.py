"""What the elimination passes hand to one another: the Lagrangian as far as it is minimised, and what was learnt."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from kdsl.algebra.dual import (
    Cone,
    ConjugateTerm,
    Definition,
    DualVariable,
    Eliminated,
    EntropyTerm,
    Expansion,
    Row,
    Tightness,
)
from kdsl.algebra.lagrangian import Lagrangian
from kdsl.algebra.losses import degree_in_unknowns
from kdsl.algebra.poly import Monomial, Poly
from kdsl.algebra.primal import Primal, Unknown
from kdsl.algebra.signs import Domains, Range
from kdsl.algebra.steps import Step
from kdsl.algebra.terms import Sym, Vec
from kdsl.language.diagnostics import Diagnostic, KdslError, Label
from kdsl.language.syntax import NOWHERE, Span


class State(NamedTuple):
    """`body` is the Lagrangian minimised over every unknown that has been eliminated so far."""

    lagrangian: Lagrangian
    body: Poly
    variables: tuple[DualVariable, ...]
    rows: tuple[Row, ...] = ()
    expansions: tuple[Expansion, ...] = ()
    eliminated: tuple[Eliminated, ...] = ()
    conjugates: tuple[ConjugateTerm, ...] = ()
    entropies: tuple[EntropyTerm, ...] = ()
    cones: tuple[Cone, ...] = ()
    definitions: tuple[Definition, ...] = ()
    tightness: tuple[Tightness, ...] = ()
    steps: tuple[Step, ...] = ()

    def domains(self) -> Domains:
        """The declared domains and the signs of the multipliers."""
        signed = {("mult", v.label): Range(Fraction(0), None) for v in self.variables if is_zero(v.lower)}
        return self.lagrangian.primal.domains.extended(signed)

    def stepped(self, step: Step, **changes: object) -> State:
        return self._replace(steps=(*self.steps, step), **changes)  # type: ignore[arg-type]

    def without(self, label: str) -> tuple[DualVariable, ...]:
        return tuple(v for v in self.variables if v.label != label)


def start(lagrangian: Lagrangian) -> State:
    variables = tuple(
        DualVariable(m.label, m.letter, m.indices, m.sets, m.support, Poly() if m.signed else None, None)
        for m in lagrangian.multipliers
    )
    return State(lagrangian, lagrangian.body, variables)


def inner_first(primal: Primal) -> list[Unknown]:
    """The unknowns, those with more indices first: w[g] before the w0 that all of them meet."""
    return sorted(primal.unknowns, key=lambda unknown: -len(unknown.indices))


def is_zero(bound: Poly | None) -> bool:
    return bound is not None and not bound


def mentions_unknown(poly: Poly) -> bool:
    return any(degree_in_unknowns(monomial) for monomial in poly.terms)


def mentions_multiplier(poly: Poly) -> bool:
    return any(role in ("mult", "abs") for role, _ in poly.symbols())


def contains(monomial: Monomial, unknown: Sym | Vec) -> bool:
    """Whether the monomial has a factor of the family of `unknown`."""
    role = unknown.role if isinstance(unknown, Sym) else "vector"
    from kdsl.algebra.poly import names_in

    return any((role, unknown.name) in names_in(factor) for factor, _ in monomial.factors)


def divided(poly: Poly, by: Sym | Vec) -> Poly:
    """The coefficient of `by`, a factor (to the first power) of every monomial."""
    terms: dict[Monomial, Fraction] = {}
    for monomial, coefficient in poly.terms.items():
        kept = tuple((f, p) for f, p in monomial.factors if f != by)
        terms[Monomial(monomial.binders, kept)] = coefficient
    return Poly(terms)


def fail(code: str, message: str, why: str, help: str, span: Span = NOWHERE, mark: str = "") -> KdslError:
    """A refusal that points at `span`, the declaration of the unknown or the constraint it concerns."""
    known = (span.start, span.end) != (NOWHERE.start, NOWHERE.end)
    return KdslError([Diagnostic(code, message, (Label(span, mark),) if known else (), why, help)])
