"""Kept: the training data that predict clauses speak of, without which they mean nothing at a new point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from kdsl.algebra.numeric import Array
from kdsl.binding.kernels import Kernel
from kdsl.binding.psd import Repair
from kdsl.numerics.arrays import Ints, Matrix


@dataclass(frozen=True, eq=False)
class Kept:
    """places: by space and input, where its points stand among the support points, in the shape of its indices.

    numbers, labels: arrays of data; of those that are labels, their codes.
    """

    places: Mapping[str, Mapping[str, Ints]] = field(default_factory=dict)
    numbers: Mapping[str, Array] = field(default_factory=dict)
    labels: Mapping[str, Ints] = field(default_factory=dict)


def kernel_values(kernel: Kernel, support: Matrix, points: Matrix, repair: Repair | None) -> Array:
    """kappa(t, x) for new points t and all support points x; of a clipped kernel as the problem was solved with it."""
    block = kernel.block(points, support)
    return block if repair is None else np.asarray(repair.coefficients(block.T).T)
