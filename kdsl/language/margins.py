"""Warns where a datum is used as a -1/+1 label, as in y f(x) >= 1, though it is declared as any real number."""

from __future__ import annotations

from kdsl.algebra.builtin_losses import LOSSES_BY_NAME
from kdsl.language.scopes import Environment
from kdsl.language.syntax import (
    Call,
    Expr,
    Inner,
    Item,
    LetDecl,
    Mul,
    Name,
    Objective,
    Predict,
    Spec,
    SubjectTo,
)
from kdsl.language.values import Real
from kdsl.language.walk import walk


def check_margins(env: Environment, spec: Spec) -> None:
    """The signs of a real datum are certain to be labels where `predict label` or a margin loss uses them so."""
    objectives = [line.body for line in spec.statements if isinstance(line, Objective)]
    for body in objectives:
        for call in walk(body):
            if isinstance(call, Call) and call.arguments and _is_margin_loss(env, call):
                _check_products(env, call.arguments[0])
    if any(isinstance(line, Predict) and line.kind.id == "label" for line in spec.statements):
        for line in spec.statements:
            for constraint in line.constraints if isinstance(line, SubjectTo) else ():
                members = frozenset(index.id for index in constraint.indices)
                _check_products(env, constraint.comparison.left, members)
                _check_products(env, constraint.comparison.right, members)


def _check_products(env: Environment, expression: Expr, members: frozenset[str] | None = None) -> None:
    """Of a constraint only what its own members multiply: in a sum over examples a datum is a weight."""
    for product in walk(expression):
        if isinstance(product, Mul):
            _check_product(env, product, members)


def _is_of(factor: Expr, members: frozenset[str] | None) -> bool:
    """Whether a factor belongs to the members of a constraint; None for a loss, where all does."""
    return members is None or (
        isinstance(factor, Item) and any(isinstance(s, Name) and s.id in members for s in factor.subscripts)
    )


def _is_margin_loss(env: Environment, call: Call) -> bool:
    loss = LOSSES_BY_NAME.get(call.function.id)
    return loss is not None and loss.kind == "margin" and call.function.id not in env.symbols


def _check_product(env: Environment, product: Mul, members: frozenset[str] | None) -> None:
    for factor in product.factors:
        base = factor.base if isinstance(factor, Item) else factor
        symbol = env.symbols.get(base.id) if isinstance(base, Name) else None
        if symbol is None or symbol.kind != "datum" or not isinstance(symbol.value, Real) or symbol.interval is None:
            continue
        if symbol.interval.lower is not None and symbol.interval.lower >= 0:
            continue
        if not _is_of(factor, members):
            continue
        if any(_is_prediction(env, other) for other in product.factors if other is not factor):
            subscripts = f"[{', '.join(symbol.subscripts)}]" if symbol.subscripts else ""
            env.error(
                "K339",
                f"`{symbol.name}` is used as a -1/+1 label, but it is declared as any number",
                factor.span,
                "multiplies the prediction",
                why="with other values than -1 and 1 the size of the label would scale the margin of each example",
                help=f"declare it as `{symbol.name}{subscripts} : {{-1, 1}}`, so that the data are checked",
                subject=(symbol.name,),
                severity="warning",
            )


def _is_prediction(env: Environment, expression: Expr) -> bool:
    """Whether an inner product occurs in it, directly or through an abbreviation."""
    pending, seen = [expression], {""}
    while pending:
        for part in walk(pending.pop()):
            if isinstance(part, Inner):
                return True
            name = part.id if isinstance(part, Name) else part.function.id if isinstance(part, Call) else ""
            symbol = env.symbols.get(name)
            if name not in seen and symbol is not None and isinstance(symbol.declaration, LetDecl):
                seen.add(name)
                pending.append(symbol.declaration.body)
    return False
