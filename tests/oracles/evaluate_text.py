"""Evaluates the text of a kspec expression or row at numbers, by plain recursion over its syntax tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import product
from math import log, prod
from typing import Any

from kdsl.language.parser import parse_expression
from kdsl.language.syntax import Add, Call, Comparison, Expr, Inner, Item, Mul, Name, Neg, Norm, Number, Pow, Sum

RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: bool(a == b),
    "!=": lambda a, b: bool(a != b),
    "<": lambda a, b: bool(a < b),
    ">": lambda a, b: bool(a > b),
    "<=": lambda a, b: bool(a <= b),
    ">=": lambda a, b: bool(a >= b),
}

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "log": log,
    "pos": lambda r: max(0.0, r),
    "square": lambda r: r * r,
}


class World:
    """Values of names (numbers, arrays, functions for kernels) and the sizes of the sets that indices run over."""

    def __init__(self, values: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
        self.values = {**FUNCTIONS, **values}
        self.sizes = sizes

    def with_values(self, more: Mapping[str, Any]) -> World:
        return World({**self.values, **more}, self.sizes)


def value_of(text: str, world: World) -> Any:
    return _value(parse_expression(text), world)


def excess_of_row(row: str, world: World) -> tuple[str, float]:
    """The relation of a row, and left side minus right side."""
    left, relation, right = split_row(row)
    return relation, float(value_of(left, world) - value_of(right, world))


def split_row(row: str) -> tuple[str, str, str]:
    """Cut at the only relation that stands outside every bracket."""
    depth = 0
    for at, character in enumerate(row):
        depth += (character in "([") - (character in ")]")
        for relation in ("<=", ">=", "="):
            if depth == 0 and row.startswith(f" {relation} ", at):
                return row[:at], relation, row[at + len(relation) + 2 :]
    raise ValueError(row)


def _value(expr: Expr, world: World) -> Any:
    match expr:
        case Number():
            return float(Fraction(expr.text)) if expr.text != "inf" else float("inf")
        case Name():
            return world.values[expr.id]
        case Item():
            return world.values[expr.base.id][tuple(int(_value(s, world)) for s in expr.subscripts)]
        case Call():
            return world.values[expr.function.id](*(_value(a, world) for a in expr.arguments))
        case Neg():
            return -_value(expr.operand, world)
        case Add():
            total = _value(expr.terms[0], world)
            for operator, term in zip(expr.operators, expr.terms[1:], strict=True):
                total = total + _value(term, world) if operator == "+" else total - _value(term, world)
            return total
        case Mul():
            result = _value(expr.factors[0], world)
            for operator, factor in zip(expr.operators, expr.factors[1:], strict=True):
                result = result / _value(factor, world) if operator == "/" else result * _value(factor, world)
            return result
        case Pow():
            return prod([_value(expr.base, world)] * expr.exponent)
        case Sum():
            return _sum(expr, world)
        case Inner() | Norm():
            raise ValueError("a dual holds no Hilbert vector")
        case _:
            raise ValueError(expr)


def _sum(expr: Sum, world: World) -> Any:
    names = [index.id for index in expr.indices]
    total = 0.0
    for point in product(*(range(world.sizes[name]) for name in names)):
        inner = world.with_values(dict(zip(names, point, strict=True)))
        if all(_holds(condition, inner) for condition in expr.where):
            total = total + _value(expr.body, inner)
    return total


def _holds(condition: Comparison, world: World) -> bool:
    return RELATIONS[condition.relation](_value(condition.left, world), _value(condition.right, world))
