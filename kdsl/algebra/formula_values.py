"""Evaluates formulas on data: polynomials by contractions, everything around them element by element."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from operator import add, mul, truediv

import numpy as np

from kdsl.algebra.formula import Applied, Formula, Raised, filter_of
from kdsl.algebra.numeric import Array, Values, evaluate
from kdsl.algebra.poly import Poly
from kdsl.algebra.wide import Wide

_FUNCTIONS: Mapping[str, Callable[..., Wide]] = {
    "+": lambda *terms: reduce(add, terms),
    "*": lambda *factors: reduce(mul, factors),
    "/": truediv,
    "max": lambda *values: reduce(Wide.maximum, values),
    "abs": abs,
    "exp": Wide.exp,
    "log": Wide.log,
    "root": Wide.root,
}


def evaluate_formula(formula: Formula, values: Values, free: Mapping[str, int]) -> Array:
    """The formula as an array with one axis for each free index, in the order of `free` (name -> length).

    Where it has no value, as the logarithm of a negative number has none, it is not a number.
    """
    with np.errstate(all="ignore"):
        if isinstance(formula, Poly):
            return evaluate(formula, values, free)
        return _wide(formula, values, free).floats()


def _wide(formula: Formula, values: Values, free: Mapping[str, int]) -> Wide:
    if isinstance(formula, Poly):
        return Wide.of(evaluate(formula, values, free))
    if isinstance(formula, Applied):
        return _FUNCTIONS[formula.function](*(_wide(argument, values, free) for argument in formula.arguments))
    if isinstance(formula, Raised):
        return _wide(formula.base, values, free) ** formula.exponent
    inside = {**free, **{n: values.size(size) for n, size in zip(formula.names, formula.sets, strict=True)}}
    body = _wide(formula.body, values, inside)
    chosen = evaluate(filter_of(formula), values, inside) > 0
    return Wide(np.where(chosen, body.factor, 0.0), body.power).sum(tuple(range(len(free), len(inside))))
