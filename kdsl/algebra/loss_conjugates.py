"""Eliminates the residual of a loss: the minimum of w loss(r) - u r over r is -(w loss)*(u)."""

from __future__ import annotations

from kdsl.algebra import plq
from kdsl.algebra.dual import ConjugateTerm, DualVariable, EntropyTerm, Row
from kdsl.algebra.plq import HALF, Plq
from kdsl.algebra.poly import Poly, derivative, place_support
from kdsl.algebra.primal import Logistic, LossTerm, Multinomial, Unknown
from kdsl.algebra.square_unknowns import lettered
from kdsl.algebra.state import State, contains, fail
from kdsl.algebra.steps import Equation, Function, Step, Word
from kdsl.algebra.terms import Sym, bracket


def eliminate_losses(state: State) -> State:
    """Every loss term becomes a box, kinks and a curvature on its multiplier (or an entropy)."""
    for term in state.lagrangian.primal.losses:
        symbol = Sym(term.label, term.indices, "loss", term.support)
        weight = derivative(state.body, symbol)
        residual = state.lagrangian.primal.unknown(term.residual)
        assert isinstance(residual.symbol, Sym)
        _, rest = state.body.split(lambda m, r=residual.symbol, s=symbol: contains(m, r) or contains(m, s))  # type: ignore[misc]
        state = state._replace(body=rest)
        if isinstance(term.function, Plq):
            state = _piecewise(state, term, term.function, weight)
        elif isinstance(term.function, Logistic):
            state = _logistic(state, term, weight)
        else:
            state = _multinomial(state, term, term.function, weight, residual)
    return state


def _piecewise(state: State, term: LossTerm, function: Plq, weight: Poly) -> State:
    """h(theta) = (w loss)*(orientation theta): bounds from its domain, the rest into the objective."""
    variable = next(v for v in state.variables if v.label == term.label)
    try:
        conjugate = plq.conjugate(plq.scaled(function, weight))
    except ValueError:
        state, letter = lettered(state, weight, state.lagrangian.primal.unknown(term.residual))
        conjugate = _conjugate_of(plq.scaled(function, letter), state, term)
    if term.orientation < 0:
        conjugate = plq.negated_argument(conjugate)
    changed = variable._replace(lower=conjugate.lower, upper=conjugate.upper)
    where = (term.indices, term.sets, term.support)
    theta = Poly.of(variable.symbol)
    polynomial, remainder = polynomial_part(conjugate, variable)
    total = polynomial.sum(term.indices, term.sets, place_support(term.support, term.indices))
    box = []
    if conjugate.lower is not None:
        box.append(Equation(conjugate.lower, "<=", theta, *where))
    if conjugate.upper is not None:
        box.append(Equation(theta, "<=", conjugate.upper, *where))
    steps = [
        Step(
            "conjugate",
            f"The loss {term.text} becomes its conjugate",
            (
                "the least value over ",
                state.lagrangian.primal.unknown(term.residual).symbol,
                " is minus `h`, the conjugate of ",
                weight * Poly.of(Sym(term.label, term.indices, "loss", term.support)),
                " at ",
                theta.scale(term.orientation),
            ),
            (Function("h", theta, conjugate._replace(lower=None, upper=None)),),
        )
    ]
    if box:
        steps.append(
            Step(
                "box",
                "The slopes of the loss bound its multiplier",
                ("beyond them the minimum is minus infinity",),
                tuple(box),
            )
        )
    if conjugate.breaks:
        steps.append(
            Step(
                "kink",
                "Each flat or straight piece of the loss is a kink of the conjugate",
                ("all residuals on a straight piece have one slope, and so one multiplier",),
                tuple(Equation(theta, "=", cut, *where) for cut in conjugate.breaks),
            )
        )
    curvatures = dict.fromkeys(piece.curvature for piece in conjugate.pieces if piece.curvature)
    if curvatures:
        second = Word("h''")
        steps.append(
            Step(
                "curvature",
                "Each curved piece of the loss is a curved piece of the conjugate",
                ("a piece of curvature `q` becomes one of curvature 1/`q`",),
                tuple(Equation(second, "=", curvature, *where) for curvature in curvatures),
            )
        )
    terms = state.conjugates if remainder is None else (*state.conjugates, ConjugateTerm(term.label, *where, remainder))
    return state._replace(
        body=state.body - total,
        variables=tuple(changed if v.label == term.label else v for v in state.variables),
        conjugates=terms,
        steps=(*state.steps, *steps),
    )


def _conjugate_of(function: Plq, state: State, term: LossTerm) -> Plq:
    try:
        return plq.conjugate(function)
    except ValueError:
        raise fail(
            "K410",
            f"the curvature of `{term.text}` is not a single term",
            "its conjugate divides by it",
            "give the factor a parameter of its own",
            state.lagrangian.primal.unknown(term.residual).span,
        ) from None


def polynomial_part(function: Plq, variable: DualVariable) -> tuple[Poly, Plq | None]:
    """h as a polynomial in theta and |theta| where it is one (bounds apart), else the h that is left over."""
    theta = Poly.of(variable.symbol)
    first = function.pieces[0]
    if len(function.pieces) == 1:
        return _evaluated(first.curvature, first.slope, first.value, theta), None
    if len(function.pieces) == 2 and not function.breaks[0]:
        second = function.pieces[1]
        if first.curvature == second.curvature and first.value == second.value:
            size = Poly.of(variable.symbol._replace(role="abs"))
            mean, jump = (first.slope + second.slope).scale(HALF), (second.slope - first.slope).scale(HALF)
            return _evaluated(first.curvature, mean, first.value, theta) + jump * size, None
    return Poly(), function._replace(lower=None, upper=None)


def _evaluated(curvature: Poly, slope: Poly, value: Poly, theta: Poly) -> Poly:
    return (curvature * theta * theta).scale(HALF) + slope * theta + value


def _logistic(state: State, term: LossTerm, weight: Poly) -> State:
    variable = next(v for v in state.variables if v.label == term.label)
    where = (term.indices, term.sets, term.support)
    theta = Poly.of(variable.symbol)
    changed = variable._replace(lower=Poly(), upper=weight)
    step = Step(
        "entropy",
        "The logistic loss becomes an entropy",
        ("the least value over the residual is the binary entropy of the multiplier, finite on the box only",),
        (Equation(Poly(), "<=", theta, *where), Equation(theta, "<=", weight, *where)),
    )
    return state.stepped(
        step,
        variables=tuple(changed if v.label == term.label else v for v in state.variables),
        entropies=(*state.entropies, EntropyTerm("binary", term.label, *where, weight)),
    )


def _multinomial(state: State, term: LossTerm, function: Multinomial, weight: Poly, residual: Unknown) -> State:
    """u_k = w [k = target] - theta_k must be a w-fold distribution over the classes."""
    variable = next(v for v in state.variables if v.label == term.label)
    symbol = Poly.of(variable.symbol)
    delta = Poly.of(bracket("=", function.letter, function.target))
    upper = weight * delta
    changed = variable._replace(lower=None, upper=upper)
    balance = Row(
        symbol.sum((function.letter,), (function.size,)), True, term.indices, term.sets, term.support, term.residual
    )
    where = (residual.indices, residual.sets, residual.support)
    step = Step(
        "entropy",
        "The multinomial loss becomes an entropy",
        ("the least value over the residuals of one example is the entropy of a distribution over the classes",),
        (
            Equation(symbol, "<=", upper, *where),
            Equation(balance.body, "=", Poly(), term.indices, term.sets, term.support),
        ),
    )
    entropy = EntropyTerm(
        "simplex",
        term.label,
        term.indices,
        term.sets,
        term.support,
        weight,
        function.letter,
        function.size,
        function.target,
    )
    return state.stepped(
        step,
        variables=tuple(changed if v.label == term.label else v for v in state.variables),
        rows=(*state.rows, balance),
        entropies=(*state.entropies, entropy),
    )
