"""Eliminates Hilbert variables by completing the square: w = -u / 2A, the Lagrangian loses <u, u> / 4A."""

from __future__ import annotations

from kdsl.algebra.dual import Cone, Expansion, Row, Tightness
from kdsl.algebra.linear_unknowns import rows_to_bounds
from kdsl.algebra.plq import HALF
from kdsl.algebra.poly import Poly, derivative, dot, place_support
from kdsl.algebra.primal import Unknown
from kdsl.algebra.square_unknowns import curves_the_wrong_way, inverted, unfiltered
from kdsl.algebra.state import State, contains, divided, fail, inner_first, mentions_multiplier
from kdsl.algebra.steps import Equation, Partial, Step
from kdsl.algebra.terms import Inner, Sym, Vec


def eliminate_hilbert_unknowns(state: State) -> State:
    """Every Hilbert variable is solved for; where its square carries multipliers, rows fold them away first."""
    for unknown in inner_first(state.lagrangian.primal):
        symbol = unknown.symbol
        if isinstance(symbol, Vec):
            norm = Sym(unknown.name, unknown.indices, "norm")
            if state.body.mentions(unknown.name, ("norm",)):
                state = _cone(state, unknown, symbol, norm)
            else:
                state = _solved(state, unknown, symbol)
    return state


def _solved(state: State, unknown: Unknown, symbol: Vec) -> State:
    gradient = derivative(state.body, symbol)
    own, rest = gradient.split(lambda monomial: contains(monomial, symbol))
    if not gradient:
        return state
    if any((symbol, 1) not in monomial.factors for monomial in own.terms):
        raise _coupled(unknown, own)
    curvature = divided(own, symbol)
    if not curvature:
        raise fail(
            "K404",
            f"nothing holds `{unknown.shown}`: no constraint bounds it and its norm costs nothing",
            f"the Lagrangian is linear in {unknown.shown}, so no multipliers tell what it is, and its scores at the "
            "points do not hold what of it is orthogonal to all of them",
            f"add a penalty such as 1/2 ||{unknown.shown}||^2, or a bound on the norm",
            unknown.span,
            "free to move",
        )
    if not state.domains().non_negative(curvature):
        raise curves_the_wrong_way(unknown, curvature)
    where = (unknown.indices, unknown.sets, unknown.support)
    support = place_support(unknown.support, unknown.indices)
    square = (curvature * Poly.of(Inner(symbol, symbol))).scale(HALF)
    linear = dot(Poly.of(symbol), rest) if rest else Poly()
    _, untouched = state.body.split(lambda monomial: contains(monomial, symbol))
    if (square + linear).sum(unknown.indices, unknown.sets, support) + untouched != state.body:
        raise _coupled(unknown, own)
    state, folded = _folded(state, curvature)
    if not folded:
        raise fail(
            "K404",
            f"nothing holds `{unknown.shown}`: the other conditions make the coefficient of its square 0",
            "a scalar that costs nothing makes the multipliers of its constraint vanish, and no other holds "
            f"{unknown.shown}",
            "give every scalar that loosens a constraint a price in the objective",
            unknown.span,
            "free to move",
        )
    state, inverse = inverted(state, unfiltered(folded, rest, unknown), unknown)
    value = -(rest * inverse)
    loss = (dot(rest, rest) * inverse).scale(HALF) if rest else Poly()
    equations = [Equation(Partial(symbol), "=", gradient, *where)]
    if folded != curvature:
        equations.append(Equation(curvature, "=", folded, *where))
    equations.append(Equation(Poly.of(symbol), "=", value, *where))
    step = Step(
        "square",
        f"Complete the square in `{unknown.name}`",
        (
            "the coefficient of its squared norm is not negative, so the minimum is where the derivative vanishes: ",
            "the representer expansion",
        ),
        tuple(equations),
    )
    return state.stepped(
        step,
        body=untouched - loss.sum(unknown.indices, unknown.sets, support),
        expansions=(*state.expansions, Expansion(symbol, value, inverse.inverse(), curvature)),
    )


def _coupled(unknown: Unknown, own: Poly) -> Exception:
    """own: the part of the gradient that mentions the unknown again."""
    met = [
        v for f in own.factors() for v in ((f.left, f.right) if isinstance(f, Inner) else (f,)) if isinstance(v, Vec)
    ]
    if any(isinstance(f, Inner) and f.left.feature != f.right.feature for f in own.factors()):
        help = (
            "give a score that is squared in a constraint an unknown of its own, r[i], and an equation that defines it"
        )
    elif any(v.name == unknown.name and v.args != unknown.indices for v in met):
        member = f"{unknown.shown}[{','.join(unknown.indices)}]"
        help = (
            "a norm of several members together is not derived: give what they share a variable of its own, "
            f"u + {member} in place of {member}, and penalise u and each {member}"
        )
    else:
        help = "write the penalty as a sum of squared norms of separate variables"
    return fail(
        "K407",
        f"the members of `{unknown.shown}` multiply one another, or another Hilbert variable, in a way that has no "
        "closed form",
        "completing the square needs one squared norm for each index",
        help,
        unknown.span,
    )


def _folded(state: State, curvature: Poly) -> tuple[State, Poly]:
    """The curvature with every row used that makes its multipliers disappear."""
    if not mentions_multiplier(curvature):
        return state, curvature
    for row in sorted(state.rows, key=lambda r: not r.equality):
        for monomial, coefficient in row.body.terms.items():
            if monomial not in curvature.terms or row.indices:
                continue
            candidate = curvature - row.body.scale(curvature.terms[monomial] / coefficient)
            if mentions_multiplier(candidate):
                continue
            if row.equality:
                return state, candidate
            tightened = _tightened(state, row)
            if tightened is not None:
                return tightened, candidate
    return state, curvature


def _tightened(state: State, row: Row) -> State | None:
    """Sum of multipliers <= s is an equation where the dual does not fall as they grow and their bounds let them."""
    labels = {name for role, name in row.body.symbols() if role == "mult"}
    settled = {term.label for term in state.conjugates} | {term.label for term in state.entropies}
    others = rows_to_bounds(state).rows
    upper = Poly()
    unbounded = False
    for variable in state.variables:
        if variable.label not in labels:
            continue
        coefficient = derivative(row.body, variable.symbol)
        rises = _grows_with_squares(derivative(state.body, variable.symbol))
        if not rises or variable.label in settled or not state.domains().positive(coefficient):
            return None
        bound = variable.upper if variable.upper is not None else _bound_in_rows(state, variable.label)
        if any(r.origin != row.origin and r.body.mentions(variable.label, ("mult",)) for r in others):
            return None
        if bound is None:
            unbounded = True
        else:
            upper = upper + (coefficient * bound).sum(variable.indices, variable.sets)
    _, constant = row.body.split(lambda monomial: mentions_multiplier(Poly({monomial: row.body.terms[monomial]})))
    slack = upper + constant  # sum of the upper bounds minus s
    certain = unbounded or state.domains().non_negative(slack) or _certainly_enough(state, slack)
    equation = row._replace(equality=True)
    tightness = Tightness(row.origin, equation, None if certain else slack)
    reason = (
        "the dual's derivative in each of these multipliers is a squared distance, so it does not fall as they grow: "
        "the row is an equation",
    )
    condition = () if certain else (Equation(slack, ">=", Poly()),)
    step = Step(
        "tight",
        f"The condition on `{row.origin}` holds with equality" + ("" if certain else " when the bounds let it"),
        reason,
        (Equation(equation.body, "=", Poly()), *condition),
    )
    return state.stepped(
        step,
        rows=tuple(equation if r is row else r for r in state.rows),
        tightness=(*state.tightness, tightness),
    )


def _certainly_enough(state: State, slack: Poly) -> bool:
    """1/nu - 1 >= 0 where 0 < nu <= 1: multiply by the denominator and look again."""
    for symbol in {f for m in slack.terms for f, p in m.factors if p < 0 and isinstance(f, Sym)}:
        if state.domains().positive(Poly.of(symbol)) and state.domains().non_negative(slack * Poly.of(symbol)):
            return True
    return False


def _bound_in_rows(state: State, label: str) -> Poly | None:
    return next(v for v in rows_to_bounds(state).variables if v.label == label).upper


def _grows_with_squares(gradient: Poly) -> bool:
    """Whether a derivative is a squared distance of two vectors, ||a - b||^2, and so never negative."""
    squares = [(m, c) for m, c in gradient.terms.items()]
    if len(squares) != 3 or any(m.binders or len(m.factors) != 1 for m, _ in squares):
        return False
    own = [m.factors[0][0] for m, c in squares if c == 1]
    cross = [m.factors[0][0] for m, c in squares if c == -2]
    if len(own) != 2 or len(cross) != 1:
        return False
    first, second, mixed = own[0], own[1], cross[0]
    if not (isinstance(first, Inner) and isinstance(second, Inner) and isinstance(mixed, Inner)):
        return False
    return (
        first.left == first.right
        and second.left == second.right
        and {mixed.left, mixed.right} == {first.left, second.left}
    )


def _cone(state: State, unknown: Unknown, symbol: Vec, norm: Sym) -> State:
    """min over w of weight ||w|| + <w, u> is 0 where ||u|| <= weight, else minus infinity."""
    gradient = derivative(state.body, symbol)
    if any(contains(monomial, symbol) for monomial in gradient.terms):
        raise fail(
            "K410",
            f"`{unknown.shown}` has both a squared and an unsquared norm",
            "the dual of their sum is a distance to a ball, which is not derived",
            "keep one of the two penalties",
            unknown.span,
        )
    weight = derivative(state.body, norm)
    _, rest = state.body.split(lambda monomial: contains(monomial, symbol) or contains(monomial, norm))
    where = (unknown.indices, unknown.sets, unknown.support)
    cone = Cone(dot(gradient, gradient), weight, *where, unknown.name)
    step = Step(
        "cone",
        f"The norm of `{unknown.name}` becomes a cone",
        ("the minimum is 0 where the linear part is no longer than the price of the norm, minus infinity elsewhere",),
        (Equation(cone.body, "<=", weight * weight, *where),),
    )
    return state.stepped(step, body=rest, cones=(*state.cones, cone))
