"""Weights of examples: checked, and given to the datum of a spec that multiplies its loss, or counted as copies."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from kdsl.algebra.numeric import Array
from kdsl.numerics.arrays import Floats
from kdsl.sklearn.copies import with_copies
from kdsl.sklearn.errors import refusal
from kdsl.sklearn.reading import Reading


def checked_weights(sample_weight: Any, rows: int) -> Floats | None:
    """One finite number >= 0 for each row, not all of them 0; None where none were given."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, Real):
        sample_weight = np.full(rows, sample_weight)
    weights = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if weights.shape != (rows,):
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected {(rows,)}!")
    if (weights < 0).any():
        raise ValueError("Negative values in data passed to `sample_weight`.")
    if not (weights > 0).any():
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return np.asarray(weights)


def check_class_weights(weights: Floats, classes: Array) -> None:
    """A ValueError for a weight with which a class would silently be missing from the answer."""
    for weight, label in zip(weights, classes, strict=True):
        if not 0 < weight < np.inf:
            raise ValueError(
                f"class_weight must be a positive number for each class, not {weight:g} for {label!s}: "
                "to learn without a class leave its examples out"
            )


def leave_out_only(weights: Floats | None) -> bool:
    """Whether every example weighs 1 or has no part in the problem."""
    return weights is None or bool(np.isin(weights, (0.0, 1.0)).all())


def weighable(reading: Reading, weights: Floats | None) -> Reading:
    """The reading of a model that has a datum for the weights, where they are needed and mean something to it."""
    if reading.weight or leave_out_only(weights):
        return reading
    copied = with_copies(reading.model, reading.input)
    if copied.compares:
        raise refusal(
            "K521",
            f"the examples of `{reading.model.name}` cannot be weighed",
            "an example of weight s is s copies of it, and a filter of the spec compares examples with one another",
            "declare the weights in the spec, as a datum that multiplies its loss",
        )
    clause = next(p for p in copied.model.predictions if p.kind == reading.clause.kind)
    return reading._replace(model=copied.model, clause=clause, weight=copied.weight, total=copied.total)
