"""Model -> Derivation: the passes of the algebra in the order in which they are applied."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from kdsl.algebra.dual import Dual, Eliminated, Expansion, Row, Tightness
from kdsl.algebra.fold_norms import fold_norms
from kdsl.algebra.folding import Folding
from kdsl.algebra.formulate import formulate
from kdsl.algebra.hilbert_unknowns import eliminate_hilbert_unknowns
from kdsl.algebra.kkt import KktCondition, kkt_of
from kdsl.algebra.lagrangian import Lagrangian, lagrangian_of
from kdsl.algebra.linear_unknowns import (
    eliminate_linear_unknowns,
    eliminate_sign_multipliers,
    refuse_infeasible_rows,
    rows_to_bounds,
)
from kdsl.algebra.loss_conjugates import eliminate_losses
from kdsl.algebra.merge_pairs import merge_pairs
from kdsl.algebra.poly import ExpansionTooLarge
from kdsl.algebra.primal import Primal
from kdsl.algebra.square_unknowns import eliminate_square_unknowns, maximise_sign_multipliers
from kdsl.algebra.state import State, fail, mentions_unknown, start
from kdsl.algebra.steps import Step
from kdsl.language.diagnostics import KdslError
from kdsl.language.model import Model


class Derivation(NamedTuple):
    """Everything that is derived: `exact` is min L as it stands, `dual` the form the books print.

    `expansions` give the primal unknowns, `eliminated` the multipliers that left the dual, both in terms of
    the variables of `exact`; `folding` leads from the variables of `dual` back to those of `exact`.
    """

    model: Model
    primal: Primal
    lagrangian: Lagrangian
    kkt: tuple[KktCondition, ...]
    exact: Dual
    dual: Dual
    expansions: tuple[Expansion, ...]
    eliminated: tuple[Eliminated, ...]
    tightness: tuple[Tightness, ...]
    folding: Folding
    steps: tuple[Step, ...]


def derive(model: Model, known: Mapping[str, Fraction] | None = None) -> Derivation:
    """The Lagrangian, the KKT system and the dual of a checked model; KdslError where there is none.

    Break points of a loss whose order the domains of the parameters leave open are ordered by the `known` values
    of these, or by their defaults.
    """
    try:
        return derive_primal(model, _formulated(model, known))
    except ExpansionTooLarge:
        raise fail(
            "K408",
            "the dual is too large when it is written out",
            "every product of sums is written out, so that it can be differentiated and compared",
            "replace the large factor by a parameter, and give its value when the problem is solved",
            model.objective.span,
        ) from None


def _formulated(model: Model, known: Mapping[str, Fraction] | None) -> Primal:
    try:
        return formulate(model)
    except KdslError as problem:
        values = known or {p.name: p.default for p in model.parameters if p.default is not None}
        if len(values) < len(model.parameters) or any(d.code != "K409" for d in problem.diagnostics):
            raise
        return formulate(model, values)


def derive_primal(model: Model, primal: Primal) -> Derivation:
    lagrangian = lagrangian_of(primal)
    state = start(lagrangian)
    for minimise in (
        eliminate_linear_unknowns,
        eliminate_sign_multipliers,
        eliminate_square_unknowns,
        eliminate_linear_unknowns,
        maximise_sign_multipliers,
        eliminate_losses,
        eliminate_hilbert_unknowns,
        refuse_infeasible_rows,
        rows_to_bounds,
    ):
        state = minimise(state)
    exact = _dual(state)
    folding = fold_norms(merge_pairs(Folding(exact), state.domains()), state.domains())
    return Derivation(
        model,
        primal,
        lagrangian,
        kkt_of(lagrangian),
        exact,
        folding.dual,
        state.expansions,
        state.eliminated,
        state.tightness,
        folding,
        state.steps + folding.steps,
    )


def _dual(state: State) -> Dual:
    if mentions_unknown(state.body):
        left = sorted({name for role, name in state.body.symbols() if role in ("var", "vector")})
        raise fail(
            "K407",
            f"no closed form for the minimum over {', '.join(f'`{name}`' for name in left)}",
            "these unknowns multiply one another and none has a square of its own",
            "penalise their squares, or write the product as the square of a sum",
            state.lagrangian.primal.unknown(left[0]).span,
        )
    used = {name for _, name in state.body.symbols()}
    used |= {name for row in state.rows for _, name in row.body.symbols()}
    used |= {name for cone in state.cones for _, name in cone.body.symbols()}
    used |= {term.label for term in state.conjugates} | {term.label for term in state.entropies}
    used |= {name for definition in state.definitions for _, name in definition.value.symbols()}
    variables = tuple(v for v in state.variables if v.label in used or v.upper is not None)
    return Dual(
        state.body,
        variables,
        tuple(map(_with_leading_plus, state.rows)),
        state.conjugates,
        state.entropies,
        (),
        state.cones,
        state.definitions,
    )


def _with_leading_plus(row: Row) -> Row:
    """An equation turned so that its first term is positive, as books print it."""
    ((_, leading), *_) = row.body.sorted()
    return row._replace(body=-row.body) if row.equality and leading < 0 else row
