"""Eliminates scalars in which the Lagrangian is linear: each coefficient must vanish, which is a row of the dual."""

from __future__ import annotations

from kdsl.algebra.dual import DualVariable, Eliminated, Row
from kdsl.algebra.poly import Poly, collect, derivative, place_support
from kdsl.algebra.primal import Unknown
from kdsl.algebra.state import State, contains, divided, fail, is_zero, mentions_multiplier, mentions_unknown
from kdsl.algebra.steps import Equation, Partial, Step
from kdsl.algebra.terms import Sym
from kdsl.language.diagnostics import KdslError


def eliminate_linear_unknowns(state: State) -> State:
    """Every scalar unknown whose derivative is free of unknowns becomes a row."""
    for unknown in state.lagrangian.primal.unknowns:
        symbol = unknown.symbol
        if isinstance(symbol, Sym) and unknown.origin != "residual":
            gradient = derivative(state.body, symbol)
            if gradient and not mentions_unknown(gradient):
                state = _row_from(state, unknown, symbol, gradient)
    return state


def _row_from(state: State, unknown: Unknown, symbol: Sym, gradient: Poly) -> State:
    if not mentions_multiplier(gradient):
        raise _unbounded(unknown)
    row = Row(gradient, True, unknown.indices, unknown.sets, unknown.support, unknown.name)
    rest, _ = state.body.split(lambda monomial: not contains(monomial, symbol))
    step = Step(
        "row",
        f"The Lagrangian is linear in `{unknown.name}`",
        (
            "its minimum over ",
            Poly.of(symbol),
            " is minus infinity unless the coefficient vanishes",
        ),
        (
            Equation(Partial(symbol), "=", gradient, unknown.indices, unknown.sets, unknown.support),
            Equation(gradient, "=", Poly(), unknown.indices, unknown.sets, unknown.support),
        ),
    )
    return state.stepped(step, body=rest, rows=(*state.rows, row))


def _unbounded(unknown: Unknown) -> KdslError:
    name = unknown.shown or unknown.name
    return fail(
        "K404",
        f"nothing holds `{name}`: the objective falls without end as it moves",
        f"the Lagrangian is linear in {name} with a coefficient that no multiplier can cancel, so the problem is "
        "unbounded (its dual is infeasible)",
        f"bound {name} by a constraint, or penalise it in the objective",
        unknown.span,
        "free to move",
    )


def refuse_infeasible_rows(state: State) -> State:
    """The state, unless a row contradicts the signs of its multipliers: then the problem is unbounded."""
    domains = state.domains()
    for row in state.rows:
        if domains.positive(row.body) or (row.equality and domains.positive(-row.body)):
            raise _unbounded(state.lagrangian.primal.unknown(row.origin))
    return state


def eliminate_sign_multipliers(state: State) -> State:
    """A multiplier >= 0 that occurs in one row only, alone, is a slack of that row: the row becomes an inequality."""
    order = sorted(state.variables, key=lambda v: state.lagrangian.multiplier(v.label).kind != "sign")
    for variable in order:
        if is_zero(variable.lower) and variable.upper is None and not state.body.mentions(variable.label, ("mult",)):
            rows = [row for row in state.rows if row.body.mentions(variable.label, ("mult",))]
            if len(rows) == 1 and rows[0].equality:
                state = _as_inequality(state, variable, rows[0])
    return state


def _as_inequality(state: State, variable: DualVariable, row: Row) -> State:
    symbol = variable.at(row.indices)
    if len(row.indices) != len(variable.indices) or variable.support != row.support:
        return state
    part, rest = row.body.split(lambda monomial: contains(monomial, symbol))
    coefficient = divided(part, symbol).as_number()
    if part != Poly.of(symbol).scale(coefficient or 1) or not coefficient:
        return state
    value = rest.scale(-1 / coefficient)  # the multiplier, which must be >= 0
    if not mentions_multiplier(value) and not state.domains().non_negative(value):
        raise _unbounded(state.lagrangian.primal.unknown(row.origin))
    kept = (row._replace(body=-value, equality=False),) if mentions_multiplier(value) else ()
    names = dict(zip(row.indices, variable.indices, strict=True))
    step = Step(
        "sign",
        f"The multiplier of `{_condition(state, variable)}` is a slack",
        (Poly.of(symbol), " occurs nowhere else, so it only says that what it equals is not negative"),
        (
            Equation(Poly.of(symbol), "=", value, row.indices, row.sets, row.support),
            Equation(value, ">=", Poly(), row.indices, row.sets, row.support),
        ),
    )
    return state.stepped(
        step,
        rows=tuple(new for r in state.rows for new in (kept if r is row else (r,))),
        variables=state.without(variable.label),
        eliminated=(*state.eliminated, Eliminated(variable.label, value.rename(dict(names)))),
    )


def _condition(state: State, variable: DualVariable) -> str:
    return state.lagrangian.multiplier(variable.label).label


def rows_to_bounds(state: State) -> State:
    """A row with a single entry is a bound on it."""
    for row in state.rows:
        bound = _bound(state, row)
        if bound is not None:
            variable, lower, upper = bound
            if lower is not None and lower == upper and not _occurs(state, variable, row):
                state = _fixed(state, variable, lower, row)
                continue
            changed = variable._replace(
                lower=variable.lower if lower is None else lower, upper=variable.upper if upper is None else upper
            )
            sides = [Equation(lower, "<=", Poly.of(variable.symbol))] if lower is not None else []
            sides += [Equation(Poly.of(variable.symbol), "<=", upper)] if upper is not None else []
            equations = tuple(
                e._replace(indices=variable.indices, sets=variable.sets, support=variable.support) for e in sides
            )
            step = Step(
                "box", "A row with one entry is a bound", (f"what the condition on `{row.origin}` leaves",), equations
            )
            state = state.stepped(
                step,
                rows=tuple(r for r in state.rows if r is not row),
                variables=tuple(changed if v.label == variable.label else v for v in state.variables),
            )
    return state


def _occurs(state: State, variable: DualVariable, apart: Row) -> bool:
    """Whether a multiplier stands in the dual, a row apart."""
    bodies = [state.body, *(row.body for row in state.rows if row is not apart)]
    bodies += [poly for cone in state.cones for poly in (cone.body, cone.radius)]
    bodies += [definition.value for definition in state.definitions] + [e.value for e in state.expansions]
    labels = {term.label for term in state.conjugates} | {term.label for term in state.entropies}
    return variable.label in labels or any(body.mentions(variable.label, ("mult", "abs")) for body in bodies)


def _fixed(state: State, variable: DualVariable, value: Poly, row: Row) -> State:
    """The state without a multiplier that its row leaves one value, and that occurs in no other place."""
    where = (variable.indices, variable.sets, variable.support)
    step = Step(
        "box",
        "A row with one entry is the value of a multiplier",
        (f"what the condition on `{row.origin}` leaves",),
        (Equation(Poly.of(variable.symbol), "=", value, *where),),
    )
    return state.stepped(
        step,
        rows=tuple(r for r in state.rows if r is not row),
        variables=state.without(variable.label),
        eliminated=(*state.eliminated, Eliminated(variable.label, value)),
    )


def _bound(state: State, row: Row) -> tuple[DualVariable, Poly | None, Poly | None] | None:
    """(the family, its new lower bound, its new upper bound) where the row has one entry with a sure sign."""
    entries, rest = row.body.split(lambda monomial: mentions_multiplier(Poly({monomial: row.body.terms[monomial]})))
    names = {name for role, name in entries.symbols() if role in ("mult", "abs")}
    if len(entries.terms) != 1 or len(names) != 1:
        return None
    variable = next(v for v in state.variables if v.label in names)
    if len(variable.indices) != len(row.indices) or not _holds_elsewhere(state, row, variable, rest):
        return None
    symbol = variable.at(row.indices)
    ((monomial, _),) = entries.terms.items()
    if monomial.binders or (symbol, 1) not in monomial.factors:
        return None
    coefficient = divided(entries, symbol)
    positive, negative = (state.domains().positive(c) for c in (coefficient, -coefficient))
    if not (positive or negative):
        return None
    names_at = dict(zip(row.indices, variable.indices, strict=True))
    value = _inside((-(rest * coefficient.inverse())).rename(dict(names_at)), variable)
    if row.equality:
        settled = variable.upper is None and (variable.lower is None or state.domains().non_negative(value))
        return (variable, value, value) if settled else None
    if positive:
        return (variable, None, value) if variable.upper is None else None
    tighter = variable.lower is None or (is_zero(variable.lower) and state.domains().non_negative(value))
    return (variable, value, None) if tighter else None


def _inside(value: Poly, variable: DualVariable) -> Poly:
    """value without the filters that the family of the variable has already."""
    filters = place_support(variable.support, variable.indices)
    return collect(
        (m.binders, tuple(item for item in m.factors if item[0] not in filters), c) for m, c in value.terms.items()
    )


def _holds_elsewhere(state: State, row: Row, variable: DualVariable, rest: Poly) -> bool:
    """Whether the row says something only where the variable lives: elsewhere it reads rest <= 0, which is certain."""
    if variable.support == row.support:
        return True
    wider = set(row.support) <= set(variable.support)
    return wider and not row.equality and state.domains().non_negative(-rest)
