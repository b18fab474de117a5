"""Eliminates scalars with a quadratic cost by completing the square, and the sign multipliers that this leaves."""

from __future__ import annotations

from fractions import Fraction

from kdsl.algebra.composites import inverse_of
from kdsl.algebra.dual import ConjugateTerm, Definition, DualVariable, Eliminated, Expansion
from kdsl.algebra.losses import fresh
from kdsl.algebra.plq import HALF, ZERO, Piece, Plq
from kdsl.algebra.poly import Poly, collect, derivative, place_support, substitute
from kdsl.algebra.primal import Unknown
from kdsl.algebra.state import State, contains, divided, fail, inner_first, is_zero, mentions_multiplier
from kdsl.algebra.steps import Equation, Partial, Step
from kdsl.algebra.terms import Bracket, Inner, Sym, leaves_of
from kdsl.language.diagnostics import KdslError


def eliminate_square_unknowns(state: State) -> State:
    """Every scalar whose second derivative is a positive expression is solved for."""
    for unknown in inner_first(state.lagrangian.primal):
        symbol = unknown.symbol
        if isinstance(symbol, Sym) and unknown.origin != "residual":
            gradient = derivative(state.body, symbol)
            if any(contains(monomial, symbol) for monomial in gradient.terms):
                state = _solved(state, unknown, symbol, gradient)
    return state


def _solved(state: State, unknown: Unknown, symbol: Sym, gradient: Poly) -> State:
    own, rest = gradient.split(lambda monomial: contains(monomial, symbol))
    curvature = divided(own, symbol)
    moving = Poly.of(symbol)
    _, untouched = state.body.split(lambda monomial: contains(monomial, symbol))
    square = (curvature * moving * moving).scale(HALF) + rest * moving
    if (
        square.sum(unknown.indices, unknown.sets, place_support(unknown.support, unknown.indices)) + untouched
        != state.body
    ):
        kernel = any(isinstance(f, Inner) for f in own.factors())
        raise fail(
            "K407",
            f"`{unknown.shown}` is coupled with itself across its index",
            "completing the square needs one square for each index",
            "a quadratic form with a kernel is the dual of a problem in the vector that is squared: state that one"
            if kernel
            else "introduce a scalar for the sum that is squared, with a constraint that defines it",
            unknown.span,
        )
    if not state.domains().non_negative(curvature):
        raise curves_the_wrong_way(unknown, curvature)
    state, inverse = inverted(state, unfiltered(curvature, rest, unknown), unknown)
    value = -(rest * inverse)
    for bracket in place_support(unknown.support, unknown.indices):
        value = value * Poly.of(bracket)
    loss = (rest * rest * inverse).scale(HALF)
    total = loss.sum(unknown.indices, unknown.sets, place_support(unknown.support, unknown.indices))
    where = (unknown.indices, unknown.sets, unknown.support)
    step = Step(
        "square",
        f"The Lagrangian is a parabola in `{unknown.name}`",
        ("it is least where its derivative vanishes",),
        (Equation(Partial(symbol), "=", gradient, *where), Equation(moving, "=", value, *where)),
    )
    return state.stepped(
        step,
        body=untouched - total,
        expansions=(*state.expansions, Expansion(symbol, value, inverse.inverse(), curvature)),
    )


def curves_the_wrong_way(unknown: Unknown, curvature: Poly) -> KdslError:
    if mentions_multiplier(curvature):
        return fail(
            "K407",
            f"`{unknown.shown}` meets another unknown in more than one square",
            "what is left of its own square after the other is eliminated has no certain sign, and no closed form",
            "give the expression under the second square an unknown of its own, with an equation that defines it",
            unknown.span,
        )
    return fail(
        "K402",
        f"the cost of `{unknown.shown}` is not certain to be convex",
        f"the coefficient of its square has to be >= 0 for all values that the declared domains allow, or the minimum "
        f"over {unknown.shown} may be minus infinity",
        "narrow the domains of the parameters in it, e.g. `C : in (0, inf)`",
        unknown.span,
    )


def unfiltered(curvature: Poly, rest: Poly, unknown: Unknown) -> Poly:
    """The curvature without a filter that the linear part carries too: outside of it the unknown does not occur."""
    filters = set.intersection(*({f for f, _ in m.factors if isinstance(f, Bracket)} for m in curvature.terms))
    filters = {f for f in filters if not any(isinstance(leaf, int) for leaf in leaves_of(f))}
    for bracket in filters:
        if rest * Poly.of(bracket) != rest:
            raise fail(
                "K407",
                f"the square of `{unknown.shown}` costs something for some of its indices only",
                "for the others it is linear, and one closed form does not hold for both",
                f"declare the two parts of {unknown.shown} as unknowns of their own",
                unknown.span,
            )
    return collect(
        (m.binders, tuple((f, p) for f, p in m.factors if f not in filters), c) for m, c in curvature.terms.items()
    )


def inverted(state: State, value: Poly, unknown: Unknown) -> tuple[State, Poly]:
    """1/value, by way of a new letter where value has several terms."""
    try:
        return state, inverse_of(value)
    except ValueError:
        state, letter = lettered(state, value, unknown)
        return state, letter.inverse()


def lettered(state: State, value: Poly, unknown: Unknown) -> tuple[State, Poly]:
    """A new letter for value, a coefficient that the unknown meets."""
    taken = {s for _, s in state.body.symbols()} | {v.letter for v in state.variables}
    taken |= {definition.symbol.name for definition in state.definitions}
    letter = fresh(f"A_{unknown.name}", taken)
    free = value.free_indices()
    places = [(n, size) for n, size in zip(unknown.indices, unknown.sets, strict=True) if n in free]
    role = "mult" if mentions_multiplier(value) else "param"
    symbol = Sym(letter, tuple(n for n, _ in places), role)
    definition = Definition(symbol, value, tuple(size for _, size in places))
    return state._replace(definitions=(*state.definitions, definition)), Poly.of(symbol)


def maximise_sign_multipliers(state: State) -> State:
    """The multiplier of a sign that stands in one square only is maximised out: 0, or the positive part."""
    for variable in state.variables:
        if state.lagrangian.multiplier(variable.label).kind == "sign" and is_zero(variable.lower):
            in_rows = any(row.body.mentions(variable.label, ("mult",)) for row in state.rows)
            if state.body.mentions(variable.label, ("mult",)) and not in_rows:
                state = _maximised(state, variable)
    return state


def _maximised(state: State, variable: DualVariable) -> State:
    symbol = variable.symbol
    gradient = derivative(state.body, symbol)
    own, rest = gradient.split(lambda monomial: contains(monomial, symbol))
    curvature = -divided(own, symbol) if own else Poly()
    if not curvature or mentions_multiplier(curvature) or not state.domains().positive(curvature):
        return state
    try:
        offset = rest * curvature.inverse()  # dW/dsigma = -curvature (sigma - offset)
    except ValueError:
        return state
    where = (variable.indices, variable.sets, variable.support)
    eliminated = Eliminated(variable.label, Poly())
    body = substitute(state.body, symbol, Poly())
    conjugates = state.conjugates
    if state.domains().non_negative(-offset):
        step = Step(
            "sign",
            f"The multiplier of `{variable.label}` is 0",
            (
                "the dual falls as ",
                Poly.of(symbol),
                " grows from 0, whatever the other multipliers",
            ),
            (Equation(Poly.of(symbol), "=", Poly(), *where),),
        )
    else:
        other = _single(state, offset, variable)
        if other is None:
            return state
        label, function = other
        at_zero = (offset * offset * curvature).scale(HALF)
        # max over sigma >= 0 of -1/2 q (sigma - t)^2 + 1/2 q t^2 is 1/2 q t^2 for t >= 0, else 0
        body = body + at_zero.sum(*_summation(variable))
        conjugates = (*conjugates, ConjugateTerm(label, *where, function))
        eliminated = Eliminated(variable.label, offset, positive_part=True)
        step = Step(
            "sign",
            f"The multiplier of `{variable.label}` takes the positive part",
            (
                "the best ",
                Poly.of(symbol),
                " >= 0 is the positive part of where its parabola has its top",
            ),
        )
    expansions = state.expansions
    if not eliminated.positive_part:
        expansions = tuple(e._replace(value=substitute(e.value, symbol, Poly())) for e in expansions)
    return state.stepped(
        step,
        body=body,
        expansions=expansions,
        conjugates=conjugates,
        variables=state.without(variable.label),
        eliminated=(*state.eliminated, eliminated),
    )


def _summation(variable: DualVariable) -> tuple[tuple[str, ...], tuple[str, ...], tuple[Bracket, ...]]:
    return variable.indices, variable.sets, place_support(variable.support, variable.indices)


def _single(state: State, offset: Poly, variable: DualVariable) -> tuple[str, Plq] | None:
    """offset = c - s * theta with one multiplier theta: (its label, h(theta))."""
    names = {name for role, name in offset.symbols() if role == "mult"}
    if len(names) != 1:
        return None
    other = next(v for v in state.variables if v.label in names)
    if len(other.indices) != len(variable.indices):
        return None
    symbol = other.at(variable.indices)
    moving, fixed = offset.split(lambda monomial: contains(monomial, symbol))
    slope = divided(moving, symbol)
    if moving != slope * Poly.of(symbol) or not state.domains().positive(-slope):
        return None
    gradient = derivative(state.body, variable.symbol)
    own, _ = gradient.split(lambda monomial: contains(monomial, variable.symbol))
    curvature = -divided(own, variable.symbol)
    # after adding 1/2 q t^2 back, what is lost is h = 1/2 q t^2 where t <= 0, that is theta >= c / -slope
    quadratic = Piece(
        curvature * slope * slope, curvature * slope * fixed, (curvature * fixed * fixed).scale(Fraction(1, 2))
    )
    cut = fixed * (-slope).inverse()
    return other.label, Plq((cut,), (Piece(ZERO, ZERO, ZERO), quadratic))
