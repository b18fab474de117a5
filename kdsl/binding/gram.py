"""Gram oracles: of a kernel on one list of points, computed in blocks within a budget; of a matrix; of K + s I."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from kdsl.binding.expansions import Expansion, block_rows
from kdsl.binding.kernels import DEFAULT_MEMORY, Against, Kernel
from kdsl.binding.symmetry import check_symmetry
from kdsl.numerics.arrays import Floats, Ints, Matrix
from kdsl.numerics.grams import GramOracle
from kdsl.numerics.native_kernel import NativeKernel

KEPT_SHARE = 4  # the whole matrix is kept when it fits in this part of the memory allowed
MUTUAL = 0.2  # of the points carry something: then what is between them is worth computing once for both


@dataclass(frozen=True, eq=False)
class KernelGram:
    """K[a, b] = kappa(points[a], points[b]); implements the protocol GramOracle of the normal form."""

    kernel: Kernel
    points: Matrix
    memory: int = DEFAULT_MEMORY

    @property
    def size(self) -> int:
        return int(self.points.shape[0])

    @property
    def is_small(self) -> bool:
        """Whether the whole matrix may be kept."""
        return 8 * self.size**2 * KEPT_SHARE <= self.memory

    @cached_property
    def evaluate(self) -> Against:
        return self.kernel.against(self.points)

    @cached_property
    def kept(self) -> Floats | None:
        """The whole matrix, symmetric to the last bit, where it is small enough."""
        if not self.is_small:
            return None
        full = np.empty((self.size, self.size))
        step = block_rows(self.size, self.memory)
        for start in range(0, self.size, step):
            full[start : start + step] = self.evaluate(self.points[start : start + step])
        if not self.kernel.psd:
            check_symmetry(full, np.arange(self.size))
        lower = np.tri(self.size, k=-1, dtype=bool)
        full[lower] = full.T[lower]
        return full

    def diagonal(self) -> Floats:
        return self.kernel.diagonal(self.points)

    def rows(self, indices: Ints) -> Floats:
        if self.kept is not None:
            return self.kept[indices]
        return self.evaluate(self.points[indices])

    def matvec(self, vector: Floats) -> Floats:
        return self.expand(vector) if self.kept is None else self.kept @ vector

    def expand(self, coefficients: Floats) -> Floats:
        """K @ coefficients, from the points that carry something; the matrix is used if it is kept already."""
        carries = coefficients != 0 if coefficients.ndim == 1 else (coefficients != 0).any(axis=1)
        carrying = np.flatnonzero(carries)
        part = coefficients[carrying]
        full = vars(self).get("kept")
        if full is not None:
            return np.asarray(np.einsum("ij,i...->j...", full[carrying], part))
        expansion = self.kernel.expanding(self.points[carrying], part, self.memory)
        if not isinstance(expansion, Expansion) or len(carrying) < MUTUAL * self.size:
            return expansion(self.points)
        result = np.empty(coefficients.shape)
        result[carrying] = expansion.at_support()
        others = np.flatnonzero(~carries)
        if len(others):
            result[others] = expansion(self.points[others])
        return result

    def native(self) -> NativeKernel | None:
        return self.kernel.native(self.points)


@dataclass(frozen=True, eq=False)
class DenseGram:
    """A symmetric matrix that is simply there."""

    matrix: Floats

    @property
    def size(self) -> int:
        return len(self.matrix)

    def diagonal(self) -> Floats:
        return np.diagonal(self.matrix).copy()

    def rows(self, indices: Ints) -> Floats:
        return self.matrix[indices]

    def matvec(self, vector: Floats) -> Floats:
        return self.matrix @ vector


@dataclass(frozen=True, eq=False)
class ShiftedGram:
    """K + shift I."""

    inner: GramOracle
    shift: float

    @property
    def size(self) -> int:
        return self.inner.size

    def diagonal(self) -> Floats:
        return self.inner.diagonal() + self.shift

    def rows(self, indices: Ints) -> Floats:
        result = np.array(self.inner.rows(indices))
        result[np.arange(len(indices)), indices] += self.shift
        return result

    def matvec(self, vector: Floats) -> Floats:
        return self.inner.matvec(vector) + self.shift * vector


def gram_oracle(kernel: Kernel, inputs: Sequence[Matrix], memory: int = DEFAULT_MEMORY) -> KernelGram:
    """The oracle over several inputs one after the other (x, then lo, then hi); mixed kinds become sparse."""
    if len(inputs) == 1:
        return KernelGram(kernel, inputs[0], memory)
    if any(sp.issparse(points) for points in inputs):
        stacked: Matrix = sp.csr_array(sp.vstack([sp.csr_array(points) for points in inputs], format="csr"))
    else:
        stacked = np.vstack([np.asarray(points) for points in inputs])
    return KernelGram(kernel, stacked, memory)
