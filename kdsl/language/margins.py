"""Warns where a datum is used as a -1/+1 label, as in y f(x) >= 1, though its domain is not that of a label."""

from __future__ import annotations

from collections.abc import Iterator

from kdsl.algebra.builtin_losses import LOSSES_BY_NAME
from kdsl.language.scopes import Environment, Symbol
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
from kdsl.language.walk import top_terms, walk


def check_margins(env: Environment, spec: Spec) -> None:
    """The signs of a datum are certain to be labels where `predict label` or a margin loss uses them so."""
    predicted = _predicted(env, spec)
    found = [
        (factor, symbol, members is None)
        for product, members, terms in _products(env, spec)
        for factor, symbol in _uses(env, product, members)
        if _is_whole(env, symbol, terms, predicted)
    ]
    labelled = any(_is_opposite(symbol) for _, symbol, _ in found)
    for factor, symbol, in_loss in found:
        if symbol.interval is not None:
            _any_number(env, factor, symbol)
        elif _is_two_classes(symbol, in_loss) and not labelled:
            _not_opposite(env, factor, symbol)


def _predicted(env: Environment, spec: Spec) -> set[str]:
    """The unknowns that predictions are made of."""
    clauses = [line.body for line in spec.statements if isinstance(line, Predict)]
    return {name for body in clauses for name in _names(env, body) if env.symbols[name].kind == "variable"}


def _is_whole(env: Environment, label: Symbol, terms: tuple[Expr, ...], predicted: set[str]) -> bool:
    """Whether the label multiplies all of the prediction that stands in the terms, its bias included."""
    names = [_names(env, term) for term in terms]
    return all(label.name in found or predicted.isdisjoint(found) for found in names)


def _names(env: Environment, expression: Expr) -> set[str]:
    """The declared names in an expression and in the abbreviations that it uses."""
    bases = (part.base if isinstance(part, Item) else part for part in _parts(env, expression))
    return {base.id for base in bases if isinstance(base, Name) and base.id in env.symbols}


def _products(env: Environment, spec: Spec) -> Iterator[tuple[Mul, frozenset[str] | None, tuple[Expr, ...]]]:
    """The products in which a datum may be a label, each with the terms that it stands among.

    With those of a constraint the names of its members.
    """
    for line in spec.statements:
        if isinstance(line, Objective):
            for call in walk(line.body):
                if isinstance(call, Call) and call.arguments and _is_margin_loss(env, call):
                    terms = tuple(term for _, term in top_terms(call.arguments[0]))
                    yield from ((part, None, terms) for part in walk(call.arguments[0]) if isinstance(part, Mul))
    if any(isinstance(line, Predict) and line.kind.id == "label" for line in spec.statements):
        for line in spec.statements:
            for constraint in line.constraints if isinstance(line, SubjectTo) else ():
                members = frozenset(index.id for index in constraint.indices)
                sides = (constraint.comparison.left, constraint.comparison.right)
                terms = tuple(term for side in sides for _, term in top_terms(side))
                yield from ((part, members, terms) for side in sides for part in walk(side) if isinstance(part, Mul))


def _is_of(factor: Expr, members: frozenset[str] | None) -> bool:
    """Whether a factor belongs to the members of a constraint, not to a sum, where a datum is a weight.

    None for a loss, where all does.
    """
    return members is None or (
        isinstance(factor, Item) and any(isinstance(s, Name) and s.id in members for s in factor.subscripts)
    )


def _is_margin_loss(env: Environment, call: Call) -> bool:
    loss = LOSSES_BY_NAME.get(call.function.id)
    return loss is not None and loss.kind == "margin" and call.function.id not in env.symbols


def _uses(env: Environment, product: Mul, members: frozenset[str] | None) -> Iterator[tuple[Expr, Symbol]]:
    """The data of a product that multiply a prediction and may be negative, or are one of a few numbers."""
    for factor in product.factors:
        base = factor.base if isinstance(factor, Item) else factor
        symbol = env.symbols.get(base.id) if isinstance(base, Name) else None
        if symbol is None or symbol.kind != "datum" or not isinstance(symbol.value, Real):
            continue
        if symbol.interval is not None and symbol.interval.lower is not None and symbol.interval.lower >= 0:
            continue
        if not _is_of(factor, members):
            continue
        if any(_is_prediction(env, other) for other in product.factors if other is not factor):
            yield factor, symbol


def _is_opposite(symbol: Symbol) -> bool:
    return len(symbol.values) == 2 and not sum(symbol.values)


def _is_two_classes(symbol: Symbol, in_loss: bool) -> bool:
    """Whether there are two values; of one sign they would be weights in a constraint, but nobody's inside a loss."""
    values = set(symbol.values)
    return len(symbol.values) == len(values) == 2 and (in_loss or min(values) <= 0 <= max(values))


def _any_number(env: Environment, factor: Expr, symbol: Symbol) -> None:
    _warn(
        env,
        "K339",
        (factor, symbol),
        "it is declared as any number",
        "with other values than -1 and 1 the size of the label would scale the margin of each example",
        f"declare it as `{_declared(symbol)}`, so that the data are checked",
    )


def _not_opposite(env: Environment, factor: Expr, symbol: Symbol) -> None:
    first, second = symbol.values
    _warn(
        env,
        "K342",
        (factor, symbol),
        f"{first} and {second} are not opposite",
        "the sign of a label says on which side of 0 the prediction should be, and a label of 0 asks for nothing",
        f"declare it as `{_declared(symbol)}`: a column with two other values is mapped to these",
    )


def _warn(env: Environment, code: str, use: tuple[Expr, Symbol], but: str, why: str, help: str) -> None:
    factor, symbol = use
    message = f"`{symbol.name}` is used as a -1/+1 label, but {but}"
    where = (factor.span, "multiplies the prediction")
    env.error(code, message, *where, why=why, help=help, subject=(symbol.name,), severity="warning")


def _declared(symbol: Symbol) -> str:
    subscripts = f"[{', '.join(symbol.subscripts)}]" if symbol.subscripts else ""
    return f"{symbol.name}{subscripts} : {{-1, 1}}"


def _is_prediction(env: Environment, expression: Expr) -> bool:
    """Whether an inner product occurs in it, directly or through an abbreviation."""
    return any(isinstance(part, Inner) for part in _parts(env, expression))


def _parts(env: Environment, expression: Expr) -> Iterator[Expr]:
    """The parts of an expression and of the abbreviations that it uses."""
    pending, seen = [expression], {""}
    while pending:
        for part in walk(pending.pop()):
            yield part
            name = part.id if isinstance(part, Name) else part.function.id if isinstance(part, Call) else ""
            symbol = env.symbols.get(name)
            if name not in seen and symbol is not None and isinstance(symbol.declaration, LetDecl):
                seen.add(name)
                pending.append(symbol.declaration.body)
