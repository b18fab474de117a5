"""Refuses a kernel whose values are too large for float64 before anything is computed with them."""

from __future__ import annotations

import numpy as np

from kdsl.binding.faults import cite, fault
from kdsl.binding.kernels import Kernel
from kdsl.binding.points import Points
from kdsl.binding.table import place

LARGEST_VALUE = 1e100  # a multiplier times such a value, squared, is no float64


def check_values(kernel: Kernel, points: Points, name: str) -> None:
    """The largest value of a kernel with a formula is on the diagonal, as |k(x, z)|^2 <= k(x, x) k(z, z)."""
    if not kernel.psd:
        return
    with np.errstate(all="ignore"):
        diagonal = np.asarray(kernel.diagonal(points.features), dtype=np.float64)
    wrong = np.flatnonzero(~(diagonal <= LARGEST_VALUE))
    if len(wrong):
        row = int(wrong[0])
        raise fault(
            "K576",
            f"the kernel `{name}` of {cite(points.source)}, {place(points.lines, row)}, with itself is "
            f"{diagonal[row]:.3g}",
            "sums of such values are no longer numbers, or lose everything that is smaller",
            "scale the features (`--scale standard`), or lower the degree or the factor of the kernel",
        )
