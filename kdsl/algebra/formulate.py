"""Model -> Primal: every condition as g <= 0 or g = 0, every loss with its residual, and what is rewritten at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from fractions import Fraction
from functools import partial
from typing import TypeVar

from kdsl.algebra import plq
from kdsl.algebra.clauses import unanswerable
from kdsl.algebra.convexity import check_convexity
from kdsl.algebra.losses import FoundLoss, ObjectiveReader, degree, degree_in_unknowns, fresh
from kdsl.algebra.poly import ExpansionTooLarge, Poly, collect
from kdsl.algebra.primal import Condition, LossTerm, Primal, Reformulation, Unknown
from kdsl.algebra.signs import Range
from kdsl.algebra.terms import Inner, Sym
from kdsl.algebra.translate import Scope, Translator, Untranslatable
from kdsl.language import model as m
from kdsl.language import syntax as s
from kdsl.language.diagnostics import Diagnostic, KdslError, Label

T = TypeVar("T")


def formulate(model: m.Model, known: Mapping[str, Fraction] | None = None) -> Primal:
    """The primal problem of a checked model; KdslError where it is not convex or leaves the algebra.

    Where the domains of parameters do not order the break points of a loss, `known` values of them do.
    """
    translator = Translator(model, known)
    problems: list[Diagnostic] = []
    unknowns = tuple(
        Unknown(
            v.name,
            v.indices,
            tuple(z.size for z in v.sets),
            translator.support(v.indices, v.where),
            v.kernel,
            "declared",
            v.name,
            v.span,
        )
        for v in model.variables
    )
    sense = -1 if model.sense == "maximize" else 1
    reader = ObjectiveReader(translator)
    objective = _guarded(problems, model.objective, lambda: reader.read(model.objective, {})) or Poly()
    conditions: list[Condition] = []
    for constraint in model.constraints:
        labels = {c.label for c in model.constraints} | {f.term.label for f in reader.found}
        labels |= {c.label for c in conditions}
        read = partial(_conditions, translator, constraint, labels)
        conditions += _guarded(problems, constraint, read) or ()
    for clause in model.predictions:
        problem = _guarded(problems, clause, partial(unanswerable, translator, clause))
        problems += [] if problem is None else [problem]
    if problems:
        raise KdslError(problems)
    residuals = [_residual(found) for found in reader.found]
    domains = translator.domains()
    primal = Primal(
        model.name,
        model.title,
        sense,
        objective.scale(sense),
        unknowns + tuple(u for u, _ in residuals),
        (*conditions, *(c for _, c in residuals), *_sign_conditions(translator, unknowns)),
        tuple(found.term for found in reader.found),
        tuple(_ordering(translator.known)),
        domains,
        tuple(sorted(translator.known.items())),
    )
    for found in reader.found:
        problems += _loss_faults(found)
    if not problems:
        primal = _squares_renamed(primal)
        primal, faults = check_convexity(primal, model)
        problems += faults
    if problems:
        raise KdslError(problems)
    return primal


def _guarded(problems: list[Diagnostic], node: s.Expr | m.Constraint | m.Prediction, read: Callable[[], T]) -> T | None:
    """read(), or None and a diagnostic where the expression leaves the algebra."""
    try:
        return read()
    except Untranslatable as problem:
        problems.append(
            Diagnostic(
                "K410",
                problem.reason,
                (Label(problem.node.span),),
                problem.why,
                problem.help,
            )
        )
    except ExpansionTooLarge:
        problems.append(
            Diagnostic(
                "K408",
                "this is too large when it is written out",
                (Label(node.span),),
                "every product of sums is written out, so that it can be differentiated and compared",
                "replace the large factor by a parameter, and give its value when the problem is solved",
            )
        )
    except plq.UnknownOrder:
        problems.append(
            Diagnostic(
                "K409",
                "the order of the break points of this loss is not known",
                (Label(node.span),),
                "which piece of the loss holds where depends on values that the declared domains leave open",
                "narrow the domains of its parameters, e.g. `tau : in (0, 1)`, or give every parameter a default",
            )
        )
    except plq.InexactCrossing:
        problems.append(
            Diagnostic(
                "K410",
                "two pieces of this loss cross at a point that is not a fraction",
                (Label(node.span),),
                "break points are exact: fractions and products of parameters, but no roots of them",
                "choose numbers, for its parameters too, with which they cross at fractions: r^2 and r + 2 cross at "
                "-1 and 2, r^2 and r + 1 at no fraction",
            )
        )
    except plq.NotPiecewiseQuadratic as problem:
        problems.append(
            Diagnostic("K410", f"this loss is not piecewise linear-quadratic: {problem}", (Label(node.span),))
        )
    return None


# ---------------------------------------------------------------- conditions


def _conditions(translator: Translator, constraint: m.Constraint, taken: Set[str]) -> tuple[Condition, ...]:
    """The one condition of a constraint, or one for each branch of a max or abs that is bounded above."""
    scope: Scope = {name: name for name in constraint.indices}
    comparison = constraint.comparison
    small, large = comparison.left, comparison.right
    if comparison.relation in (">=", ">"):
        small, large = large, small
    equality = comparison.relation == "="
    support = translator.support(constraint.indices, constraint.where)
    sets = tuple(z.size for z in constraint.sets)
    ball = _squared_ball(translator, small, large, scope)
    bodies = (
        (ball,)
        if ball is not None
        else tuple(
            translator.scalar(branch, scope) * Poly.number(sign) - translator.scalar(large, scope)
            for branch, sign in _branches(small, equality)
        )
    )
    if equality:  # 0 = left - right, as written
        body = translator.scalar(comparison.left, scope) - translator.scalar(comparison.right, scope)
        bodies = (-body if _is_ball(-body) else body,)
    result: list[Condition] = []
    for n, body in enumerate(bodies):
        kind = "ball" if _is_ball(body) else "stated"
        tight = kind == "ball" and equality
        label = constraint.label if n == 0 else fresh(constraint.label, taken | {c.label for c in result})
        plain = equality and not tight
        result.append(Condition(label, constraint.indices, sets, support, body, plain, kind, tight, constraint.span))
    return tuple(result)


def _branches(node: s.Expr, equality: bool) -> Iterable[tuple[s.Expr, int]]:
    """max(a, b) <= c is a <= c and b <= c; abs(a) <= c is a <= c and -a <= c; pos(a) <= c is a <= c and 0 <= c."""
    function = node.function.id if isinstance(node, s.Call) and not equality else ""
    if isinstance(node, s.Call) and function == "max":
        return [(argument, 1) for argument in node.arguments]
    if isinstance(node, s.Call) and function in ("abs", "pos"):
        return [(node.arguments[0], 1), (node.arguments[0], -1 if function == "abs" else 0)]
    return [(node, 1)]


def _squared_ball(translator: Translator, small: s.Expr, large: s.Expr, scope: Scope) -> Poly | None:
    """||w|| <= B with B >= 0 is ||w||^2 <= B^2."""
    if not isinstance(small, s.Norm):
        return None
    radius = translator.scalar(large, scope)
    if degree(radius) or not translator.domains().non_negative(radius):
        return None
    vector = translator.scalar(small.argument, scope)
    return translator.inner(vector, vector, small) - radius * radius


def _is_ball(body: Poly) -> bool:
    """Whether body is a positive multiple of ||v||^2 minus a constant, v a variable."""
    moving, rest = body.split(lambda monomial: degree_in_unknowns(monomial) > 0)
    if len(moving.terms) != 1 or degree(rest):
        return False
    ((monomial, coefficient),) = moving.terms.items()
    factors = [f for f, _ in monomial.factors]
    return (
        coefficient > 0
        and len(factors) == 1
        and isinstance(factors[0], Inner)
        and factors[0].left == factors[0].right
        and not factors[0].left.feature
        and not monomial.binders
    )


def _sign_conditions(translator: Translator, unknowns: tuple[Unknown, ...]) -> Iterable[Condition]:
    for unknown in unknowns:
        interval = translator.variables[unknown.name].interval
        for end, sign, relation in ((interval.lower, -1, ">="), (interval.upper, 1, "<=")):
            if end is None or unknown.space is not None:
                continue
            body = (Poly.of(unknown.symbol) - Poly.number(end)).scale(sign)
            label = f"{unknown.name} {relation} {end}"
            yield Condition(
                label, unknown.indices, unknown.sets, unknown.support, body, False, "sign", False, unknown.span
            )


# -------------------------------------------------------------------- losses


def _residual(found: FoundLoss) -> tuple[Unknown, Condition]:
    """The residual unknown of a loss and the equation that defines it."""
    term = found.term
    indices, sets = loss_indices(term)
    unknown = Unknown(term.residual, indices, sets, term.support, None, "residual", term.residual, found.node.span)
    body = (found.argument - Poly.of(unknown.symbol)).scale(term.orientation)
    condition = Condition(term.label, indices, sets, term.support, body, True, "residual", False, found.node.span)
    return unknown, condition


def loss_indices(term: LossTerm) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The indices of the residual: those of the loss, and the inner one of a multinomial loss."""
    from kdsl.algebra.primal import Multinomial

    if isinstance(term.function, Multinomial):
        return (*term.indices, term.function.letter), (*term.sets, term.function.size)
    return term.indices, term.sets


def _loss_faults(found: FoundLoss) -> list[Diagnostic]:
    if found.fault is None:
        return []
    assert isinstance(found.term.function, plq.Plq)
    where = "between two of its break points" if found.fault.at is None else "at a break point"
    return [
        Diagnostic(
            "K405",
            f"the loss `{found.term.text}` is not convex: it bends down {where} (segment {found.fault.piece + 1})",
            (Label(found.node.span),),
            "the dual of a problem with such a loss would only bound it from below",
            "a maximum of convex pieces is convex; a difference need not be",
        )
    ]


# ------------------------------------------------------------ reformulations


def _ordering(known: Mapping[str, Fraction]) -> Iterable[Reformulation]:
    if known:
        values = ", ".join(f"{name} = {value}" for name, value in sorted(known.items()))
        reason = f"the domains leave the order of the break points of a loss open; it is that for {values}"
        yield Reformulation("order", reason, "")


def _squares_renamed(primal: Primal) -> Primal:
    """A scalar that occurs only as its square is replaced by that square: the problem is linear in it."""
    for unknown in primal.unknowns:
        if unknown.space is None and _only_squared(primal, unknown):
            primal = _with_square(primal, unknown)
    return primal


def _only_squared(primal: Primal, unknown: Unknown) -> bool:
    stated = [c.body for c in primal.conditions if c.kind not in ("sign",)]
    powers = {
        power
        for body in (primal.objective, *stated)
        for monomial in body.terms
        for factor, power in monomial.factors
        if isinstance(factor, Sym) and (factor.role, factor.name) == ("var", unknown.name)
    }
    constrained = any(body.mentions(unknown.name, ("var",)) for body in stated)
    return powers == {2} and constrained


def _with_square(primal: Primal, unknown: Unknown) -> Primal:
    square = unknown._replace(name=f"{unknown.name}^2", origin="square", shown=unknown.name)

    def renamed(poly: Poly) -> Poly:
        return collect(
            (
                monomial.binders,
                tuple(
                    (f._replace(name=square.name), 1)
                    if isinstance(f, Sym) and (f.role, f.name) == ("var", unknown.name)
                    else (f, p)
                    for f, p in monomial.factors
                ),
                coefficient,
            )
            for monomial, coefficient in poly.terms.items()
        )

    kept = tuple(
        c._replace(body=renamed(c.body))
        for c in primal.conditions
        if not (c.kind == "sign" and c.body.mentions(unknown.name, ("var",)))
    )
    sign = Condition(
        f"{square.name} >= 0", unknown.indices, unknown.sets, unknown.support, -Poly.of(square.symbol), False, "sign"
    )
    reformulation = Reformulation(
        "square",
        f"{unknown.name} occurs only as its square, so the square itself, which is >= 0, is the unknown",
        unknown.name,
    )
    return primal._replace(
        objective=renamed(primal.objective),
        unknowns=tuple(square if u.name == unknown.name else u for u in primal.unknowns),
        conditions=(*kept, sign),
        reformulations=(*primal.reformulations, reformulation),
        domains=primal.domains.extended({("var", square.name): Range(Fraction(0), None)}),
    )
