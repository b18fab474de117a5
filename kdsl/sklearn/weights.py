"""Weights of examples: checked, and handed to the datum of a spec that multiplies its loss."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array

from kdsl.binding.table import Floats
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


def usable_weights(reading: Reading, weights: Floats | None) -> Floats | None:
    """The values of the spec's weight datum; None where every example that is left weighs 1."""
    if weights is None or bool(np.isin(weights, (0.0, 1.0)).all()):
        return None
    if not reading.weight:
        raise refusal(
            "K521",
            f"`{reading.model.name}` cannot weigh its examples: it declares no weights",
            "sample_weight and class_weight need a datum that multiplies the loss of each example, real >= 0 and 1 "
            "unless given; without one, only weights 0 (leave out) and 1 mean anything",
            "declare `data s[i] : real >= 0 = 1` and write `s[i] *` before the loss, as the spec `svm_weighted` does",
        )
    return weights
