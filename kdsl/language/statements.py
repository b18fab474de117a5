"""The statements of a model: objective, constraints, predict clauses, lets and losses, and what is left unused."""

from __future__ import annotations

from kdsl.language.constants import constant
from kdsl.language.declarations import Declarations
from kdsl.language.diagnostics import Label
from kdsl.language.expressions import condition_of, number_of, type_of
from kdsl.language.formals import formal_type
from kdsl.language.margins import check_margins
from kdsl.language.names import bind_indices
from kdsl.language.scopes import KIND_WORDS, Environment, Owner, Scope
from kdsl.language.suggestions import nearest
from kdsl.language.syntax import (
    Call,
    Comparison,
    ConstraintDecl,
    Expr,
    Item,
    LetDecl,
    LossDecl,
    Mul,
    Name,
    Norm,
    Objective,
    Pow,
    Predict,
    Span,
    Spec,
    SubjectTo,
    Sum,
)
from kdsl.language.values import Choice, Member, Real, Sign, Type, Unknown, Vector, describe
from kdsl.language.walk import top_terms, walk

SPLIT = ("abs", "max", "pos")  # under a bound each is one constraint for each of its pieces
PREDICT_KINDS = ("label", "class", "value", "score", "novelty", "probability")


def check_statements(env: Environment, spec: Spec, declarations: Declarations) -> None:
    """Types every expression of the model and reports what is wrong with it."""
    for index in declarations.indices:
        owner = Owner("where", "where", index.names, index.span)
        scope = Scope(owner, {name: Member(found) for name, found in zip(index.names, index.sets, strict=True)})
        for condition in index.where:
            condition_of(env, condition, scope)
    for loss in declarations.losses:
        _loss(env, loss)
    for let in declarations.lets:
        _let(env, let)
    objectives = [line for line in spec.statements if isinstance(line, Objective)]
    _objectives(env, spec, objectives)
    labels: dict[str, Name] = {}
    for line in spec.statements:
        if isinstance(line, SubjectTo):
            for constraint in line.constraints:
                _constraint(env, constraint, labels)
    predictions = [line for line in spec.statements if isinstance(line, Predict)]
    _predictions(env, predictions)
    if objectives and not predictions:
        _no_prediction(env, objectives[0])
    check_margins(env, spec)


def _formals(env: Environment, formals: tuple[Name, ...], body: Expr, point: bool) -> dict[str, Type]:
    found: dict[str, Type] = {}
    for formal in formals:
        if formal.id in found:
            env.error("K205", f"the argument `{formal.id}` is named twice", formal.span, help="rename one of the two")
        found[formal.id] = formal_type(env, formal.id, body, point)
        _shadowing(env, formal)
    return found


def _shadowing(env: Environment, formal: Name) -> None:
    symbol = env.symbols.get(formal.id)
    if symbol is None or symbol.kind in ("index", "datum"):
        return
    env.error(
        "K232",
        f"the argument `{formal.id}` hides {KIND_WORDS[symbol.kind]} of the same name",
        formal.span,
        also=(Label(symbol.span, "hidden in this clause"),),
        help="rename the argument",
        severity="warning",
    )


def _let(env: Environment, let: LetDecl) -> None:
    scope = Scope(Owner("definition", let.name.id, (), let.name.span), _formals(env, let.formals, let.body, False))
    env.expanding.append(let.name.id)
    type_of(env, let.body, scope)
    env.expanding.pop()


def _loss(env: Environment, loss: LossDecl) -> None:
    bound: dict[str, Type] = {}
    for formal in (*loss.formals, *loss.parameters):
        if formal.id in bound:
            env.error("K205", f"the argument `{formal.id}` is named twice", formal.span, help="rename one of the two")
        bound[formal.id] = Real(1 if formal in loss.formals else 0)
    number_of(env, loss.body, Scope(Owner("loss", loss.name.id, (), loss.name.span), bound))


# ---------------------------------------------------------------- objective


def _objectives(env: Environment, spec: Spec, objectives: list[Objective]) -> None:
    if not objectives:
        end = min(len(env.source), spec.span.end or len(env.source))
        env.error(
            "K234",
            "the model has no objective",
            Span(max(0, end - 1), end),
            "nothing is minimised",
            help="add a line such as `minimize 1/2 ||w||^2 + C * sum[i] xi[i]`",
        )
    for extra in objectives[1:]:
        env.error(
            "K233",
            "a model has one objective, and this is another",
            Span(extra.span.start, extra.span.start + len(extra.sense)),
            "second objective",
            also=(Label(Span(objectives[0].span.start, objectives[0].span.start + len(objectives[0].sense)), "first"),),
            why="two aims have no common optimum; a trade-off between them needs a weight",
            help="add the two with a parameter as weight: minimize A + C * B",
        )
    for objective in objectives:
        _objective(env, objective)


def _objective(env: Environment, objective: Objective) -> None:
    body = objective.body
    value = number_of(env, body, Scope(Owner("objective", "objective", (), objective.span), {}))
    if value is not None and not value.degree:
        env.error(
            "K335",
            "the objective holds no unknown",
            body.span,
            "the same for every choice of the unknowns",
            help="minimise something that depends on the variables of the `var` line",
        )
    terms = list(top_terms(body))
    for sign, term in terms:
        if sign * _norm_sign(env, term) == (-1 if objective.sense == "minimize" else 1):
            _maximised_norm(env, objective, term)
    _unsquared(env, objective, [term for _, term in terms])


def _norm_sign(env: Environment, term: Expr) -> int:
    """The sign of a term that is the norm of unknowns, or its square, with known factors; 0 where it is not certain."""
    sign, norms = 1, 0
    for factor in term.factors if isinstance(term, Mul) else (term,):
        base = factor.base if isinstance(factor, Pow) else factor
        if isinstance(base, Norm) and _holds_vector(env, base):
            norms += 1
        else:
            sign *= _factor_sign(env, factor)
    return sign if norms == 1 else 0


def _holds_vector(env: Environment, norm: Norm) -> bool:
    """Whether a declared Hilbert variable occurs under the bars."""
    for part in walk(norm.argument):
        base = part.base if isinstance(part, Item) else part
        symbol = env.symbols.get(base.id) if isinstance(base, Name) else None
        if symbol is not None and symbol.kind == "variable" and isinstance(symbol.value, Vector):
            return True
    return False


def _factor_sign(env: Environment, factor: Expr) -> int:
    value = constant(factor)
    if value is not None:
        return (value > 0) - (value < 0)
    base = factor.base if isinstance(factor, Item) else factor
    symbol = env.symbols.get(base.id) if isinstance(base, Name) else None
    if symbol is None or symbol.interval is None or symbol.kind == "variable":
        return int(symbol is not None and symbol.kind == "size")
    if symbol.interval.lower is not None and symbol.interval.lower >= 0:
        return 1
    return -1 if symbol.interval.upper is not None and symbol.interval.upper <= 0 else 0


def _maximised_norm(env: Environment, objective: Objective, term: Expr) -> None:
    minimised = objective.sense == "minimize"
    env.error(
        "K321",
        f"a norm is maximised: `{env.text(term)}`",
        term.span,
        "minus a norm, minimised" if minimised else "maximised",
        why="a norm is convex and has no largest value, so the problem is unbounded or has no dual without a gap",
        help="drop the minus sign" if minimised else "write minimize: a large margin is a small ||w||^2",
    )


def _unsquared(env: Environment, objective: Objective, terms: list[Expr]) -> None:
    """A single unsquared norm outside of sums, with no other norm beside it, is nearly always a forgotten square."""
    norms = [part for term in terms for part in walk(term) if isinstance(part, Norm) and _holds_vector(env, part)]
    sums = [part for part in walk(objective.body) if isinstance(part, Sum)]
    if len(norms) != 1 or any(part is norms[0] for inside in sums for part in walk(inside)):
        return
    for term in terms:
        factors = term.factors if isinstance(term, Mul) else (term,)
        norm = next((factor for factor in factors if factor is norms[0]), None)
        if norm is not None:
            written = env.text(norm)
            env.error(
                "K322",
                f"`{written}` is not squared",
                norm.span,
                "a norm, not its square",
                why="the norm itself is legal, but leads to a cone instead of a quadratic program: "
                "another dual, and other solvers",
                help=f"write {written}^2 if the square was meant",
                severity="warning",
            )


# -------------------------------------------------------------- constraints


def _constraint(env: Environment, constraint: ConstraintDecl, labels: dict[str, Name]) -> None:
    label, indices = constraint.label, tuple(name.id for name in constraint.indices)
    earlier = labels.setdefault(label.id, label)
    if earlier is not label:
        env.error(
            "K235",
            f"two constraints are labelled `{label.id}`",
            label.span,
            also=(Label(earlier.span, "first here"),),
            why="the label names the multiplier, in the derivation and in the answer",
            help="give one of them another label",
        )
    title = f"{label.id}[{','.join(indices)}]" if indices else label.id
    last = constraint.indices[-1].span.end if indices else -1
    bracket = env.source.find("]", last) if indices else -1
    bracketed = bracket >= 0 and not env.source[last:bracket].strip()  # not where a label was written in Python
    at = Span(label.span.end, bracket + 1) if bracketed else label.span
    owner = Owner("constraint", title, indices, at)
    scope = bind_indices(env, constraint.indices, Scope(owner, {}))
    for condition in constraint.where:
        condition_of(env, condition, scope._replace(owner=owner))
    comparison = constraint.comparison
    if comparison.relation in ("<", ">", "!="):
        _relation(env, constraint)
    sides = [type_of(env, side, scope) for side in (comparison.left, comparison.right)]
    if any(isinstance(side, Unknown) for side in sides):
        return
    if any(isinstance(side, Vector) for side in sides):
        _vector_constraint(env, constraint, sides)
        return
    _numbers(env, constraint, title, sides)


def _relation(env: Environment, constraint: ConstraintDecl) -> None:
    comparison = constraint.comparison
    relation = comparison.relation
    between = env.source[comparison.left.span.end : comparison.right.span.start]
    start = comparison.left.span.end + max(0, between.find(relation))
    at = Span(start, start + len(relation)) if relation in between else comparison.span
    if relation == "!=":
        env.error(
            "K320",
            f"`!=` cannot be a constraint of `{constraint.label.id}`",
            at,
            "excludes single values",
            why="what is left after values are excluded is not convex",
            help="use <=, >= or =; to leave examples out, write a `where` before the colon",
        )
        return
    env.error(
        "K320",
        f"a strict inequality in `{constraint.label.id}`",
        at,
        "strict",
        why="over an open set a minimum need not be attained, and no solver tells < from <=",
        help=f"write {relation}=, and a distance to the bound as a number: ... {relation}= 1",
    )


def _vector_constraint(env: Environment, constraint: ConstraintDecl, sides: list[Type]) -> None:
    comparison = constraint.comparison
    at = comparison.left if isinstance(sides[0], Vector) else comparison.right
    env.error(
        "K334",
        f"`{constraint.label.id}` compares vectors",
        at.span,
        describe(sides[0] if isinstance(sides[0], Vector) else sides[1]),
        why="a constraint is about numbers, and gets one multiplier each",
        help="compare inner products with phi(...), or a squared norm: ||u - v||^2 <= B",
    )


def _numbers(env: Environment, constraint: ConstraintDecl, title: str, sides: list[Type]) -> None:
    comparison = constraint.comparison
    degrees = 0
    for side, written in zip(sides, (comparison.left, comparison.right), strict=True):
        if isinstance(side, Member) and not side.set.labelled:
            continue
        if not isinstance(side, Real):
            env.error(
                "K328",
                f"`{env.text(written)}` is {describe(side)}, and a constraint compares numbers",
                written.span,
                help="to choose examples by their label, write a `where` before the colon",
            )
            return
        degrees = max(degrees, side.degree)
        bounded = _bounded_above(comparison, written)
        if side.atom == "||.||":
            if not (bounded and isinstance(written, Norm) and _never_negative(env, _other(comparison, written))):
                _norm_in_constraint(env, constraint, written)
                return
            continue
        if side.atom and bounded and isinstance(written, Call) and written.function.id in SPLIT:
            continue
        if side.atom:
            _loss_in_constraint(env, title, written, side.atom, bounded)
            return
    if not degrees:
        env.error(
            "K336",
            f"the constraint `{title}` holds no unknown",
            comparison.span,
            "the same for every choice of the unknowns",
            why="it is true or false before anything is solved",
            help="drop it, or use it as a `where` that chooses examples",
        )


def _bounded_above(comparison: Comparison, side: Expr) -> bool:
    """Whether the constraint says that `side` is at most something."""
    return comparison.relation == ("<=" if side is comparison.left else ">=")


def _other(comparison: Comparison, side: Expr) -> Expr:
    return comparison.right if side is comparison.left else comparison.left


def _never_negative(env: Environment, expression: Expr) -> bool:
    value = constant(expression)
    symbol = env.symbols.get(expression.id) if isinstance(expression, Name) else None
    if value is None and symbol is not None and symbol.kind == "parameter" and symbol.interval is not None:
        value = symbol.interval.lower
    return value is not None and value >= 0


def _loss_in_constraint(env: Environment, title: str, side: Expr, function: str, bounded: bool) -> None:
    call = next((part for part in walk(side) if isinstance(part, Call) and part.function.id == function), side)
    split = function in SPLIT
    help = "bound a slack from below by each of its pieces, or penalise it in the objective"
    total = next((part for part in walk(side) if isinstance(part, Sum) and any(p is call for p in walk(part))), None)
    if split and total is not None and bounded:
        member = f"s[{','.join(name.id for name in total.indices)}]"
        help = f"bound each by an unknown, {function}(...) <= {member}, and write {member} in its place in the sum"
    elif split:
        help = f"write it as {function}(...) <= c, with everything else in c"
    env.error(
        "K331",
        f"`{function}` stands in the constraint `{title}`",
        call.span,
        "not alone on the smaller side" if split else "only in an objective",
        why=f"{function}(...) <= c is one constraint for each of its pieces; in any other place it is not"
        if split
        else "each constraint gets a multiplier, and a piecewise function is not one constraint",
        help=help,
    )


def _norm_in_constraint(env: Environment, constraint: ConstraintDecl, side: Expr) -> None:
    norm = next((part for part in walk(side) if isinstance(part, Norm)), side)
    other, written = _other(constraint.comparison, side), env.text(norm)
    value, relation = constant(other), constraint.comparison.relation
    symbol = env.symbols.get(other.id) if isinstance(other, Name) else None
    parameter = symbol if symbol is not None and symbol.kind == "parameter" else None
    bounded = _bounded_above(constraint.comparison, side)
    also: tuple[Label, ...] = ()
    if side is norm and not bounded and relation != "=":
        why = f"the points that leave {written} large do not form a convex set"
        help = "bound an inner product from below, as a margin does, and penalise the norm"
    elif side is norm and (parameter is not None or (value is not None and value >= 0)):
        why = "with the square the constraint is quadratic, and its multiplier folds into the dual"
        help = f"write {written}^2 {relation} " + (f"{env.text(other)}^2" if value is None else str(value * value))
        if parameter is not None and bounded:
            also = (Label(parameter.span, "may be negative"),)
            help += f", or declare {parameter.name} : real >= 0"
    else:
        why = (
            "in a constraint a norm stands alone under a number or a parameter, and is squared with it; anything else "
            "is a second-order cone, which is derived in objectives only"
        )
        plain = isinstance(norm, Norm) and isinstance(norm.argument, (Name, Item))
        help = f"put a multiple of {written} into the objective, or bound its square" if plain else "bound its square"
        help += f": {written}^2 <= r, where r may hold unknowns that are not squared"
    env.error(
        "K322",
        f"`{written}` is not squared in `{constraint.label.id}`",
        norm.span,
        "a norm, not its square",
        also=also,
        why=why,
        help=help,
    )


# -------------------------------------------------------------- predictions


def _predictions(env: Environment, predictions: list[Predict]) -> None:
    kinds: dict[str, Name] = {}
    for line in predictions:
        earlier = kinds.setdefault(line.kind.id, line.kind)
        if earlier is not line.kind:
            env.error(
                "K235",
                f"`predict {line.kind.id}` is given twice",
                line.kind.span,
                also=(Label(earlier.span, "first here"),),
                help="keep one of the two",
            )
        _prediction(env, line)


def _no_prediction(env: Environment, objective: Objective) -> None:
    env.error(
        "K237",
        "the model has no predict clause",
        Span(objective.span.start, objective.span.start + len(objective.sense)),
        why="it can be derived and solved, but not applied to a new example t",
        help="add one, such as `predict label(t) = sign(<w, phi(t)> + b)`",
        severity="warning",
    )


def _prediction(env: Environment, line: Predict) -> None:
    kind = line.kind.id
    bound = _formals(env, line.formals, line.body, True)
    _arguments(env, line, bound)
    value = type_of(env, line.body, Scope(Owner("predict", f"predict {kind}", (), line.kind.span), bound))
    if kind not in PREDICT_KINDS:
        near = nearest(kind, PREDICT_KINDS)
        env.error(
            "K337",
            f"unknown kind of prediction `{kind}`",
            line.kind.span,
            why=f"the kinds are {', '.join(PREDICT_KINDS)}",
            help=f"did you mean `{near}`?" if near else "write `value` for a number, `label` for a sign",
        )
        return
    if isinstance(value, Unknown):
        return
    body = env.text(line.body)
    wanted, advice = "a number", f"predict {kind} gives a number: leave out sign and argmax"
    fits = isinstance(value, Real)
    if kind == "label":
        fits, wanted, advice = isinstance(value, Sign), "a sign", f"write sign({body}), or `predict value`"
    elif kind == "class":
        fits, wanted = isinstance(value, Choice), "a label"
        advice = "write argmax[k] of a score for each k" + (", or `predict label`" if isinstance(value, Sign) else "")
    elif isinstance(value, Vector):
        advice = f"take its inner product with the new example: <{body}, phi(t)>"
    elif isinstance(value, Sign):
        advice = "write `predict label`, or leave out sign"
    elif isinstance(value, Choice):
        advice = "write `predict class`"
    if not fits:
        env.error(
            "K338",
            f"`predict {kind}` needs {wanted}, and this is {describe(value)}",
            line.body.span,
            describe(value),
            also=(Label(line.kind.span),),
            help=advice,
        )


def _arguments(env: Environment, line: Predict, bound: dict[str, Type]) -> None:
    """The first argument is the new point; those beside it are indices."""
    first, *others = line.formals
    if isinstance(bound[first.id], Member):
        env.error(
            "K411",
            f"`predict {line.kind.id}`: the first argument is the new point, and `{first.id}` is an index",
            first.span,
            help="write the point first, and indices beside it",
        )
        return
    for formal in others:
        if not isinstance(bound[formal.id], Member | Unknown):
            env.error(
                "K411",
                f"`predict {line.kind.id}`: `{formal.id}` is no index beside the new point `{first.id}`",
                formal.span,
                why="a new example brings one point, and its labels or the numbers of indices beside it",
                help="use it as a subscript, or leave it out; two views of an example are one input, and kernels `on` "
                "the columns of each",
            )


# ------------------------------------------------------------------- unused


def check_unused(env: Environment) -> None:
    """Warns about declared names that nothing uses."""
    for symbol in env.symbols.values():
        if symbol.name in env.used or symbol.kind in ("size", "set"):
            continue
        what = {"abbreviation": "abbreviation", "datum": "datum", "variable": "unknown"}.get(symbol.kind, symbol.kind)
        why = "a mistyped name elsewhere is the usual cause" if symbol.kind in ("parameter", "variable") else ""
        env.error(
            "K236",
            f"the {what} `{symbol.name}` is never used",
            symbol.span,
            why=why,
            help="use it or remove it",
            severity="warning",
        )
