"""Constant arithmetic: the exact value of an expression that is made of literals only."""

from __future__ import annotations

from fractions import Fraction

from kdsl.language.syntax import Add, Expr, Mul, Name, Neg, Number, Pow

INFINITE = ("inf", "infinity", "∞")


def literal(text: str) -> Fraction | None:
    """`0.5`, `1/2`, `1e-3` as a fraction; None for an infinity. The parser limits the size of literals."""
    return None if text in INFINITE else Fraction(text)


def is_infinite(expression: Expr) -> bool:
    """Whether it reads `inf` or `-inf`."""
    if isinstance(expression, Neg):
        expression = expression.operand
    if isinstance(expression, Number):
        return expression.text in INFINITE
    return isinstance(expression, Name) and expression.id in INFINITE


def constant(expression: Expr) -> Fraction | None:
    """The value of literals joined by + - * / and small powers; None where anything else occurs."""
    if isinstance(expression, Number):
        return literal(expression.text)
    if isinstance(expression, Neg):
        value = constant(expression.operand)
        return None if value is None else -value
    if isinstance(expression, Add):
        return _fold(expression.terms, expression.operators)
    if isinstance(expression, Mul):
        return _fold(expression.factors, expression.operators)
    if isinstance(expression, Pow) and expression.exponent <= 16:
        value = constant(expression.base)
        return None if value is None else value**expression.exponent
    return None


def _fold(parts: tuple[Expr, ...], operators: tuple[str, ...]) -> Fraction | None:
    total = constant(parts[0])
    for operator, part in zip(operators, parts[1:], strict=True):
        value = constant(part)
        if total is None or value is None or (operator == "/" and value == 0):
            return None
        if operator in ("+", "-"):
            total = total + value if operator == "+" else total - value
        else:
            total = total / value if operator == "/" else total * value
    return total
