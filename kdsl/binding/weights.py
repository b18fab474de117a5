"""Which data weigh the examples of a model, and what is said of weights that are 0."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

import numpy as np

from kdsl.binding.faults import cite, fault, warning
from kdsl.binding.table import Array
from kdsl.language.diagnostics import Diagnostic
from kdsl.language.model import Datum, Interval, Model
from kdsl.language.syntax import Add, Expr, Item, Mul, Neg, Sum
from kdsl.language.walk import children, walk
from kdsl.numerics.arrays import Floats


def weights_of(model: Model) -> tuple[Datum, ...]:
    """The data that multiply the loss of each example: real >= 0, 1 unless given, factors in the objective."""
    non_negative = Interval(Fraction(0), None)
    return tuple(
        d
        for d in model.data
        if d.kind == "real"
        and [z.labelled for z in d.sets] == [False]
        and d.interval[:3] == non_negative[:3]
        and d.default == 1
        and _only_multiplies(model, d.name)
    )


def refuse_no_weight(values: Floats, datum: Datum, column: str, source: str) -> None:
    """K537 where every example has the weight 0."""
    if len(values) and not values.any():
        raise fault(
            "K537",
            f"{cite(source)}: every value of `{column}`, bound to `{datum.name}`, is 0",
            "a weight of 0 takes its example out of the loss; nothing is left to learn from",
            "give at least one positive weight",
        )


def weight_warnings(model: Model, arrays: Mapping[str, Array]) -> list[Diagnostic]:
    """K544 where some examples have it."""
    return [
        warning(
            "K544",
            f"{zeros:,} of {len(arrays[datum.name]):,} values of `{datum.name}` are 0",
            f"such an example is absent from the loss, and still counted in {datum.sets[0].size}",
        )
        for datum in weights_of(model)
        if datum.name in arrays and (zeros := int(np.sum(arrays[datum.name] == 0)))
    ]


def _only_multiplies(model: Model, name: str) -> bool:
    """Whether every mention of the datum is a factor of a product in the objective."""
    elsewhere: list[Expr] = [
        *(side for c in model.constraints for side in (c.comparison.left, c.comparison.right)),
        *(side for c in model.constraints for w in c.where for side in (w.left, w.right)),
        *(side for i in model.indices for w in i.where for side in (w.left, w.right)),
        *(a.body for a in model.abbreviations),
        *(p.body for p in model.predictions),
    ]
    if any(_mentions(part, name) for expression in elsewhere for part in walk(expression)):
        return False
    mentions = sum(_mentions(part, name) for part in walk(model.objective))
    return mentions > 0 and mentions == sum(1 for _ in _factors(model.objective, name))


def _mentions(part: Expr, name: str) -> bool:
    return isinstance(part, Item) and part.base.id == name


def _factors(objective: Expr, name: str) -> Iterator[Expr]:
    """The mentions of the datum as the one multiplier of a term, outside losses, powers, products of vectors."""
    stack = [(objective, False)]
    while stack:
        part, weighted = stack.pop()
        if isinstance(part, Mul):
            divisors = {p for p, operator in enumerate(part.operators, 1) if operator == "/"}
            own = [f for p, f in enumerate(part.factors) if _mentions(f, name) and p not in divisors]
            if len(own) == 1 and not weighted:
                yield own[0]
            stack += [(f, weighted or bool(own)) for p, f in enumerate(part.factors) if p not in divisors]
        elif isinstance(part, Add | Sum | Neg):
            stack += [(inner, weighted) for inner in children(part)]
