"""The one problem that every derived dual with data becomes, and the only one that backends see.

    minimise    1/2 sum_H (S_H t + s_H)' K_H (S_H t + s_H)  +  sum_k h_k(t_k)  +  constant
    subject to  A t = a   (some rows <=)

One coordinate t_k per multiplier, one Gram oracle K_H per Hilbert variable, h_k convex, piecewise
linear-quadratic and +inf outside [lower_k, upper_k]; where a loss is logarithmic, entropies beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kdsl.numerics.arrays import Floats, Ints
from kdsl.numerics.grams import GramOracle

if TYPE_CHECKING:
    from kdsl import _core


@dataclass(frozen=True, eq=False)
class Separable:
    """h(t) = sum_k h_k(t_k); h_k has pieces offsets[k]..offsets[k+1] in order.

    Piece p of coordinate k covers [left[p], right[p]] (right[p] == left[p+1] inside one coordinate;
    the outermost ends are the bounds of t_k, possibly infinite) and reads
    1/2 curvature[p] t^2 + slope[p] t + value[p]. h_k is continuous and convex.
    """

    offsets: Ints
    left: Floats
    right: Floats
    curvature: Floats
    slope: Floats
    value: Floats

    @property
    def size(self) -> int:
        return len(self.offsets) - 1

    @property
    def lower(self) -> Floats:
        return self.left[self.offsets[:-1]]

    @property
    def upper(self) -> Floats:
        return self.right[self.offsets[1:] - 1]

    @staticmethod
    def single(lower: Floats, upper: Floats, curvature: Floats, slope: Floats) -> Separable:
        """One piece for each coordinate: a box with a linear-quadratic cost."""
        n = len(slope)
        return Separable(np.arange(n + 1), lower, upper, curvature, slope, np.zeros(n))

    def with_slacks(self, count: int) -> Separable:
        """The same with `count` coordinates more on [0, inf) that cost nothing."""
        if count == 0:
            return self
        zero = np.zeros(count)
        offsets = np.concatenate([self.offsets, self.offsets[-1] + 1 + np.arange(count)])
        old = (self.left, self.right, self.curvature, self.slope, self.value)
        new = (zero, zero + np.inf, zero, zero, zero)
        return Separable(offsets, *(np.concatenate(pair) for pair in zip(old, new, strict=True)))

    def for_core(self) -> _core.Pieces:
        """The same as the core takes it."""
        from kdsl import _core

        return _core.Pieces(self.offsets, self.left, self.right, self.curvature, self.slope, self.value)


@dataclass(frozen=True, eq=False)
class HilbertBlock:
    """One Hilbert variable: its kernel, its atoms (the columns of S, by point) and its offset s (by point)."""

    name: str
    gram: GramOracle
    atoms: sp.csc_array
    shift: Floats | None = None


def together(
    blocks: Sequence[HilbertBlock], vectors: Sequence[Floats], product: Callable[[GramOracle, Floats], Floats]
) -> tuple[Floats, ...]:
    """The product of each block's Gram matrix with its vector; blocks of one matrix share its values."""
    images: dict[int, Floats] = {}
    for gram in {id(block.gram): block.gram for block in blocks}.values():
        members = [n for n, block in enumerate(blocks) if block.gram is gram]
        if len(members) == 1:
            images[members[0]] = product(gram, vectors[members[0]])
        else:
            columns = product(gram, np.column_stack([vectors[n] for n in members]))
            images.update({n: np.ascontiguousarray(columns[:, k]) for k, n in enumerate(members)})
    return tuple(images[n] for n in range(len(blocks)))


@dataclass(frozen=True, eq=False)
class Rows:
    """A t = a, or A t <= a where `equality` is False."""

    matrix: sp.csr_array
    target: Floats
    equality: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Entropies:
    """sum e(t_k - lower_k) where `at_low`, and e(upper_k - t_k) where `at_high`; e(x) = x log x.

    `inside` is a point at which every one of them is smooth, but for those of weight 0: they have no other point.
    """

    at_low: NDArray[np.bool_]
    at_high: NDArray[np.bool_]
    inside: Floats


class Product(NamedTuple):
    """A point, and what sum_H S_H'K_H S_H makes of it: whoever starts near it need not compute that again."""

    theta: Floats
    gradient: Floats


@dataclass(frozen=True, eq=False)
class NormalForm:
    blocks: tuple[HilbertBlock, ...]
    separable: Separable
    rows: Rows
    constant: float = 0.0
    entropies: Entropies | None = None
    known: Product | None = None

    @property
    def size(self) -> int:
        return self.separable.size
