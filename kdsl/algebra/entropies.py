"""The value of the entropy terms of a dual on data, and what they are a share of."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kdsl.algebra.dual import Dual, EntropyTerm
from kdsl.algebra.numeric import Array, Values, evaluate, shape_of


def entropy_value(dual: Dual, multipliers: Mapping[str, Array], values: Values) -> float:
    """The sum of all entropy terms at a dual-feasible point."""
    total = 0.0
    for term in dual.entropies:
        weight = _weights(term, values)
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


def entropy_size(dual: Dual, values: Values) -> float:
    """What the losses weigh together: one of weight 1 loses log 2 where it knows nothing."""
    return sum(float(np.sum(_weights(term, values))) for term in dual.entropies)


def _weights(term: EntropyTerm, values: Values) -> Array:
    return evaluate(term.weight, values, dict(zip(term.indices, shape_of(term.sets, values), strict=True)))


def entropy(value: Array) -> Array:
    """-x log x, 0 at 0."""
    safe = np.maximum(value, 1e-300)
    return np.where(value > 0, -safe * np.log(safe), 0.0)
