"""Expansions over fixed points: by the compiled core where it knows the kernel, compared with NumPy; else by blocks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from kdsl import allowance
from kdsl.binding.table import as_double, is_single
from kdsl.numerics.arrays import Floats, Matrix
from kdsl.numerics.native_kernel import NativeKernel, centre_of, core_points, in_columns, in_rows
from kdsl.numerics.quiet_products import applied

if TYPE_CHECKING:
    from kdsl import _core
    from kdsl.binding.kernels import Against, Kernel

WORTHWHILE = 100_000  # kernel values below which NumPy is as quick
MANY = 1_000_000  # kernel values below which neither several threads nor single precision gain much
SAMPLE = 8
CENTRED = 256  # points whose mean is near enough to that of all
AGREEMENT = 1e-11
CACHE = 1 << 23
TEMPORARIES = 4  # arrays of the size of a block that are alive at once while a block is computed


def block_rows(columns: int, memory: int) -> int:
    """How many rows of `columns` float64 entries to compute at a time: what stays in the cache is twice as fast."""
    return max(1, min(memory, CACHE) // (8 * TEMPORARIES * max(1, columns)))


@dataclass(frozen=True, eq=False)
class Expansion:
    """points -> sum_j coefficients[j] kappa(x, support_j) for each point x, in float64.

    Several columns of coefficients share the values of the kernel, and have a column each in the result.
    What depends on the support alone is computed once. Points in float32 are evaluated in single precision where the
    core finds that this is precise enough, see kdsl/core/expansion.hpp. In double precision a sample of what the core
    computes is compared with NumPy: the certificate stays independent of the code that solved the problem.
    """

    kernel: Kernel
    support: Matrix
    coefficients: Floats
    memory: int

    def __call__(self, points: Matrix) -> Floats:
        quick = self._compiled(points)
        return self._by_blocks(as_double(points)) if quick is None else quick

    def at_support(self) -> Floats:
        """The same at the support itself, where every value of the kernel serves two points."""
        quick = self._symmetric()
        return self(self.support) if quick is None else quick

    @cached_property
    def evaluate(self) -> Against:
        return self.kernel.against(self.support)

    @cached_property
    def native(self) -> NativeKernel | None:
        """The kernel as the core takes it, None where it does not know it."""
        kernel = self.kernel.native(self.support)
        return None if kernel is None or kernel.gamma < 0 or kernel.degree < 0 else kernel

    @cached_property
    def core(self) -> _core.Expansion:
        from kdsl import _core

        kernel = self.native
        assert kernel is not None
        points = core_points(kernel, None)
        some = kernel._replace(points=kernel.points[:: 1 + kernel.points.shape[0] // CENTRED])
        return _core.Expansion(kernel.for_core(), points, centre_of(some), allowance.processors())

    def _compiled(self, points: Matrix) -> Floats | None:
        """None where the core cannot, or does not agree with NumPy."""
        count = int(points.shape[0])
        if self.support.shape[0] * count < WORTHWHILE:
            return None
        if sp.issparse(self.support) != sp.issparse(points) or self.native is None:
            return None
        given = self.kernel.native(points)
        assert given is not None
        at, coefficients = new_points(given.points), in_rows(self.coefficients)
        many = self.support.shape[0] * count >= MANY
        threads = allowance.processors() if many else 1
        if many and is_single(points):
            rough = self.core.values(coefficients, at, threads, True)
            if rough is not None:
                return in_columns(rough, self.coefficients)
        values = self.core.values(coefficients, at, threads, False)
        assert values is not None
        result = in_columns(values, self.coefficients)
        return result if self._agrees(result, points) else None

    def _symmetric(self) -> Floats | None:
        """None where the core cannot, does not agree with NumPy, or is as quick without."""
        from kdsl import _core

        kernel, size = self.native, self.support.shape[0] ** 2
        if size < WORTHWHILE or kernel is None or sp.issparse(kernel.points):
            return None
        points = core_points(kernel, centre_of(kernel))
        coefficients = in_rows(self.coefficients)
        threads = allowance.processors() if size >= MANY else 1
        values = _core.kernel_product(kernel.for_core(), points, coefficients, points, threads, False)
        result = in_columns(values, self.coefficients)
        return result if self._agrees(result, self.support) else None

    def _agrees(self, result: Floats, points: Matrix) -> bool:
        """Whether a sample of the result is what NumPy makes of it."""
        chosen = np.linspace(0, len(result) - 1, SAMPLE).astype(np.int64)
        block = self.evaluate(as_double(points[chosen]))
        size = np.abs(block) @ np.abs(self.coefficients)
        return bool((np.abs(result[chosen] - block @ self.coefficients) <= AGREEMENT * np.maximum(size, 1e-300)).all())

    def _by_blocks(self, points: Matrix) -> Floats:
        count = points.shape[0]
        result = np.empty((count, *self.coefficients.shape[1:]))
        step = block_rows(self.support.shape[0], self.memory)
        for start in range(0, count, step):
            result[start : start + step] = _product(self.evaluate(points[start : start + step]), self.coefficients)
        return result


def _product(block: Floats, coefficients: Floats) -> Floats:
    return applied(block, coefficients) if coefficients.ndim == 1 else np.asarray(block @ coefficients)


def new_points(points: Matrix) -> _core.Points:
    """Points as the core takes them, dense ones in the precision that they have."""
    from kdsl import _core

    if is_single(points) and isinstance(points, np.ndarray):
        return _core.Points.dense(np.ascontiguousarray(points))
    return core_points(NativeKernel("linear", as_double(points)), None)
