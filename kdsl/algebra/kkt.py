"""The Karush-Kuhn-Tucker system as named conditions, to be read by people and evaluated by the certificate."""

from __future__ import annotations

from typing import NamedTuple

from kdsl.algebra.lagrangian import Lagrangian
from kdsl.algebra.poly import Poly, derivative
from kdsl.algebra.primal import LossTerm
from kdsl.algebra.terms import Bracket, Sym, Vec


class KktCondition(NamedTuple):
    """kind "stationarity": body = 0 (for the residual of a loss: -body in weight * the slopes of the loss);
    "primal" and "dual" feasibility: body <= 0, = 0 or >= 0; "complementarity": body = 0, a product.
    """

    kind: str
    name: str
    body: Poly
    relation: str
    indices: tuple[str, ...]
    sets: tuple[str, ...]
    support: tuple[Bracket, ...]
    loss: LossTerm | None = None
    weight: Poly | None = None


def kkt_of(lagrangian: Lagrangian) -> tuple[KktCondition, ...]:
    """Stationarity in every unknown, then feasibility of both sides, then complementarity."""
    return (*_stationarity(lagrangian), *_feasibility(lagrangian), *_complementarity(lagrangian))


def _stationarity(lagrangian: Lagrangian) -> tuple[KktCondition, ...]:
    primal = lagrangian.primal
    conditions = []
    for unknown in primal.unknowns:
        gradient = derivative(lagrangian.body, unknown.symbol)
        loss = next((t for t in primal.losses if t.residual == unknown.name), None)
        weight = None
        if loss is not None:
            weight = derivative(lagrangian.body, Sym(loss.label, loss.indices, "loss", loss.support))
        elif isinstance(unknown.symbol, Vec):
            price = derivative(lagrangian.body, Sym(unknown.name, unknown.indices, "norm"))
            weight = price or None
        name = f"stationarity in {unknown.shown}"
        conditions.append(
            KktCondition(
                "stationarity", name, gradient, "=", unknown.indices, unknown.sets, unknown.support, loss, weight
            )
        )
    return tuple(conditions)


def _feasibility(lagrangian: Lagrangian) -> tuple[KktCondition, ...]:
    conditions = []
    for c in lagrangian.primal.conditions:
        relation = "=" if c.equality else "<="
        conditions.append(KktCondition("primal", c.label, c.body, relation, c.indices, c.sets, c.support))
    for m in lagrangian.multipliers:
        if m.signed:
            conditions.append(
                KktCondition("dual", f"multiplier of {m.label}", Poly.of(m.symbol), ">=", m.indices, m.sets, m.support)
            )
    return tuple(conditions)


def _complementarity(lagrangian: Lagrangian) -> tuple[KktCondition, ...]:
    return tuple(
        KktCondition(
            "complementarity",
            f"complementarity of {c.label}",
            Poly.of(m.symbol) * c.body,
            "=",
            c.indices,
            c.sets,
            c.support,
        )
        for c, m in zip(lagrangian.primal.conditions, lagrangian.multipliers, strict=True)
        if m.signed
    )
