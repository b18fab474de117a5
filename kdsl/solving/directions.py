"""Sorts vectors by their directions, those that are multiples of one another in a class, and judges their rank."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kdsl.numerics.arrays import Floats, Ints

DEPENDENT = 1e-12  # of a column, beside the largest: what the other columns do not explain, and rounding may


class Directions(NamedTuple):
    """vector[k] = scale[k] * direction[label[k]]; the largest entry of each direction is 1."""

    label: Ints
    scale: Floats
    direction: Floats

    @property
    def independent(self) -> bool:
        return len(spanning(self.direction)) == len(self.direction)


def spanning(matrix: Floats) -> Ints:
    """Columns that span all others up to DEPENDENT, in their order: as many as the rank, for everybody."""
    from scipy.linalg import qr

    triangle, order = qr(matrix, mode="r", pivoting=True, check_finite=False)
    size = np.abs(np.diagonal(triangle))
    rank = np.count_nonzero(size > DEPENDENT * size.max(initial=0.0))
    return np.sort(order[:rank]).astype(np.int64)


def directions_of(vectors: Floats) -> Directions:
    """The classes of the rows of an array, none of which is 0, in lexicographic order of their directions."""
    scale = vectors[np.arange(len(vectors)), np.abs(vectors).argmax(axis=1)]
    scaled = vectors / scale[:, None]
    order = np.lexsort(scaled.T[::-1])
    ordered = scaled[order]
    first = np.ones(len(order), bool)
    first[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    label = np.empty(len(order), np.int64)
    label[order] = np.cumsum(first) - 1
    return Directions(label, scale, ordered[first])
