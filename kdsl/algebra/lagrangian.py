"""Primal -> Lagrangian: one multiplier for each condition (minimise, g <= 0, multiplier >= 0), each with a letter."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from kdsl.algebra.poly import Poly
from kdsl.algebra.primal import Condition, Primal
from kdsl.algebra.terms import Bracket, Index, Sym

_INEQUALITY = ("alpha", "eta", "theta", "zeta", "omega", "psi", "pi", "sigma")
_EQUALITY = ("beta", "eta", "theta", "zeta", "omega", "psi", "pi", "sigma")
_SIGN = ("beta", "mu", "delta", "zeta", "omega", "sigma", "psi", "pi", "theta", "eta")
_BALL = ("lambda", "mu", "Lambda")


class Multiplier(NamedTuple):
    """One family of multipliers: known by its condition's label, printed as `letter` ("alpha", "alpha^" with a hat)."""

    label: str
    letter: str
    indices: tuple[str, ...]
    sets: tuple[str, ...]
    support: tuple[Bracket, ...]
    signed: bool  # >= 0, the multiplier of an inequality
    kind: str  # of its condition

    def at(self, args: tuple[Index, ...]) -> Sym:
        return Sym(self.label, args, "mult", self.support)

    @property
    def symbol(self) -> Sym:
        return self.at(self.indices)


class Lagrangian(NamedTuple):
    primal: Primal
    body: Poly
    multipliers: tuple[Multiplier, ...]

    def multiplier(self, label: str) -> Multiplier:
        return next(m for m in self.multipliers if m.label == label)


def lagrangian_of(primal: Primal) -> Lagrangian:
    """L = objective + sum over all conditions of multiplier * body."""
    multipliers = tuple(_multipliers(primal))
    body = primal.objective
    for condition, multiplier in zip(primal.conditions, multipliers, strict=True):
        term = Poly.of(multiplier.symbol) * condition.body
        body = body + term.sum(condition.indices, condition.sets)
    return Lagrangian(primal, body, multipliers)


def _multipliers(primal: Primal) -> Iterable[Multiplier]:
    used = {name for body in (primal.objective, *(c.body for c in primal.conditions)) for _, name in body.symbols()}
    used = {name.split("[")[0].rstrip("'") for name in used}
    if any(mirrored(a, b) for a, b in pairwise(primal.conditions) if a.kind != "sign"):
        used.add("beta")  # kept for the difference of the pair
    previous: tuple[Condition, str] | None = None
    for condition in primal.conditions:
        if previous is not None and mirrored(previous[0], condition):
            letter = previous[1] + "^"
        else:
            letter = _next_letter(condition, primal, used)
            used.add(letter)
        previous = (condition, letter)
        yield Multiplier(
            condition.label,
            letter,
            condition.indices,
            condition.sets,
            condition.support,
            not condition.equality,
            condition.kind,
        )


def mirrored(first: Condition, second: Condition) -> bool:
    """Whether two inequalities bound the same function from both sides: their Hilbert parts cancel."""
    if first.kind == "sign" and second.kind == "sign":
        return first.indices == second.indices and second.label.replace("'", "") == first.label
    if first.equality or second.equality or first.kind != second.kind or first.indices != second.indices:
        return False
    return _has_vector(first.body) and not _has_vector(first.body + second.body)


def _has_vector(body: Poly) -> bool:
    return any(role == "vector" for role, _ in body.symbols())


def _next_letter(condition: Condition, primal: Primal, used: set[str]) -> str:
    pool: tuple[str, ...]
    if condition.kind == "sign":
        pool = _SIGN
    elif condition.kind == "ball":
        pool = _BALL
    elif condition.kind == "residual":
        term = next(t for t in primal.losses if t.label == condition.label)
        pool = _INEQUALITY if term.orientation < 0 else _EQUALITY
    else:
        pool = _EQUALITY if condition.equality else _INEQUALITY
    for letter in pool:
        if letter not in used:
            return letter
    number = 1
    while f"{pool[0]}_{number}" in used:
        number += 1
    return f"{pool[0]}_{number}"
