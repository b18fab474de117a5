"""Gram oracles that tell how far a long product with the kernel is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from kdsl.binding.expansions import block_rows
from kdsl.binding.gram import KernelGram
from kdsl.numerics.arrays import Floats, Ints
from kdsl.numerics.native_kernel import NativeKernel
from kdsl.solving.posed import Posed

Step = Callable[[int, int, str], None]  # done, whole, what
PARTS = 100  # of a product, at most


@dataclass(frozen=True, eq=False)
class WatchedGram:
    """The same matrix as `inner`."""

    inner: KernelGram
    step: Step

    @property
    def size(self) -> int:
        return self.inner.size

    def diagonal(self) -> Floats:
        return self.inner.diagonal()

    def rows(self, indices: Ints) -> Floats:
        return self.inner.rows(indices)

    def matvec(self, vector: Floats) -> Floats:
        return self.inner.matvec(vector) if self.inner.is_small else self._in_parts(vector)

    def expand(self, coefficients: Floats) -> Floats:
        return self.inner.expand(coefficients) if self.inner.is_small else self._in_parts(coefficients)

    def _in_parts(self, coefficients: Floats) -> Floats:
        """K @ coefficients, in parts of the rows of K, from the points that carry something."""
        gram = self.inner
        carrying = np.flatnonzero(coefficients if coefficients.ndim == 1 else coefficients.any(axis=1))
        support, weight = gram.points[carrying], coefficients[carrying]
        result = np.empty(coefficients.shape)
        rows = max(1, gram.size // PARTS, block_rows(gram.size, gram.memory))
        for start in range(0, gram.size, rows):
            part = gram.points[start : start + rows]
            result[start : start + rows] = gram.kernel.expansion(support, weight, part, gram.memory)
            self.step(min(start + rows, gram.size), gram.size, "products with the kernel")
        return result

    def native(self) -> NativeKernel | None:
        return self.inner.native()


def watched(posed: Posed, step: Step) -> Posed:
    """The same problem, whose long products report to `step`."""
    spaces = {
        name: replace(space, oracle=WatchedGram(space.oracle, step)) if isinstance(space.oracle, KernelGram) else space
        for name, space in posed.spaces.items()
    }
    return replace(posed, spaces=spaces)
