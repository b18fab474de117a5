"""Refuses matrices of kernel values that depend on which of two points comes first."""

from __future__ import annotations

import numpy as np

from kdsl.binding.faults import fault
from kdsl.numerics.arrays import Floats, Ints

ASYMMETRY = 1e-8  # relative to the largest entry; less is the rounding of whoever computed the matrix


def uneven_pair(matrix: Floats) -> tuple[int, int] | None:
    """The place where a square matrix differs most from its transpose, if by more than rounding."""
    gap = np.abs(matrix - matrix.T)
    if gap.max(initial=0.0) <= ASYMMETRY * np.abs(matrix).max(initial=0.0):
        return None
    row, column = np.unravel_index(int(np.argmax(gap)), gap.shape)
    return int(row), int(column)


def check_symmetry(values: Floats, points: Ints) -> None:
    """`values` are those of a kernel at each pair of these points, which are named by their numbers."""
    pair = uneven_pair(values)
    if pair is not None:
        (row, column), (first, second) = pair, points[list(pair)] + 1
        raise fault(
            "K564",
            f"the kernel is not symmetric: it returned {values[row, column]:.10g} for the pair of points "
            f"({first}, {second}), and {values[column, row]:.10g} for ({second}, {first})",
            "a kernel does not care which of two points comes first",
            "make it return the same number for both, as (k(x, z) + k(z, x)) / 2 would",
        )
