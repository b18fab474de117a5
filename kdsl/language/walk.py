"""Walking over expressions without recursion: all parts of one, and the signed terms of a sum."""

from __future__ import annotations

from collections.abc import Iterator

from kdsl.language.syntax import Add, Argmax, Call, Comparison, Expr, Inner, Item, Mul, Neg, Norm, Pow, Sum


def children(expression: Expr) -> tuple[Expr, ...]:
    """The immediate sub-expressions, in the order they are written."""
    if isinstance(expression, Item):
        return expression.subscripts
    if isinstance(expression, Call):
        return (*expression.arguments, *expression.parameters)
    if isinstance(expression, Neg):
        return (expression.operand,)
    if isinstance(expression, Add):
        return expression.terms
    if isinstance(expression, Mul):
        return expression.factors
    if isinstance(expression, Pow):
        return (expression.base,)
    if isinstance(expression, Inner):
        return (expression.left, expression.right)
    if isinstance(expression, Norm):
        return (expression.argument,)
    if isinstance(expression, Sum):
        return (*_sides(expression.where), expression.body)
    if isinstance(expression, Argmax):
        return (expression.body,)
    return ()


def _sides(conditions: tuple[Comparison, ...]) -> tuple[Expr, ...]:
    return tuple(side for condition in conditions for side in (condition.left, condition.right))


def walk(expression: Expr) -> Iterator[Expr]:
    """The expression and every part of it, in the order they are written."""
    stack = [expression]
    while stack:
        part = stack.pop()
        yield part
        stack.extend(reversed(children(part)))


def top_terms(expression: Expr) -> Iterator[tuple[int, Expr]]:
    """The terms that are added up at the top of an expression, each with its sign; sums over an index are entered."""
    stack = [(1, expression)]
    while stack:
        sign, part = stack.pop()
        if isinstance(part, Neg):
            stack.append((-sign, part.operand))
        elif isinstance(part, Add):
            signs = (1, *(1 if operator == "+" else -1 for operator in part.operators))
            stack.extend((sign * own, term) for own, term in reversed(list(zip(signs, part.terms, strict=True))))
        elif isinstance(part, Sum):
            stack.append((sign, part.body))
        else:
            yield sign, part
