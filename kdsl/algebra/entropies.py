"""The value of the entropy terms of a dual on data."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kdsl.algebra.dual import Dual
from kdsl.algebra.numeric import Array, Values, evaluate, shape_of


def entropy_value(dual: Dual, multipliers: Mapping[str, Array], values: Values) -> float:
    """The sum of all entropy terms at a dual-feasible point."""
    total = 0.0
    for term in dual.entropies:
        lengths = dict(zip(term.indices, shape_of(term.sets, values), strict=True))
        weight = evaluate(term.weight, values, lengths)
        theta = multipliers[term.label]
        if term.kind == "binary":
            total += float(np.sum(entropy(theta) + entropy(weight - theta) - entropy(weight)))
            continue
        variable = dual.variable(term.label)
        assert variable.upper is not None
        sizes = dict(zip(variable.indices, theta.shape, strict=True))
        shares = evaluate(variable.upper, values, sizes) - theta
        total += float(np.sum(entropy(shares)) - np.sum(entropy(weight)))
    return total


def entropy(value: Array) -> Array:
    """-x log x, 0 at 0."""
    safe = np.maximum(value, 1e-300)
    return np.where(value > 0, -safe * np.log(safe), 0.0)
