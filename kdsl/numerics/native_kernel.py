"""What kdsl/core can evaluate itself: the kernels it knows, and points in its own form."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp

from kdsl import allowance
from kdsl.numerics.arrays import Floats, Matrix
from kdsl.numerics.grams import GramOracle

if TYPE_CHECKING:
    from kdsl import _core

SAMPLE = 1000  # points that the centre is the mean of

NativeKind = Literal["linear", "polynomial", "gaussian", "laplacian", "sigmoid"]


class NativeKernel(NamedTuple):
    """One of the kernels of kdsl/core on dense or sparse points, one point a row.

    linear      <x, z>
    polynomial  (gamma <x, z> + offset)^degree
    gaussian    exp(-gamma ||x - z||^2)
    laplacian   exp(-gamma ||x - z||_1)
    sigmoid     tanh(gamma <x, z> + offset)
    """

    kind: NativeKind
    points: Matrix
    gamma: float = 1.0
    offset: float = 0.0
    degree: int = 1

    def for_core(self) -> _core.Kernel:
        """The same without its points, as the core takes it."""
        from kdsl import _core

        return _core.Kernel(self.kind, self.gamma, self.offset, self.degree)


@runtime_checkable
class OffersNative(Protocol):
    """A Gram oracle may offer this; None means that blocks must be asked for through `rows`."""

    def native(self) -> NativeKernel | None: ...


def centre_of(kernel: NativeKernel) -> Floats | None:
    """About the mean of dense points of a shift-invariant kernel: distances lose least when it is subtracted."""
    points = kernel.points
    if isinstance(points, np.ndarray) and kernel.kind in ("gaussian", "laplacian") and len(points):
        return np.asarray(points[:: -(-len(points) // SAMPLE)].mean(axis=0))
    return None


def core_points(kernel: NativeKernel, centre: Floats | None) -> _core.Points:
    """The points of a kernel as the core takes them, `centre` subtracted."""
    from kdsl import _core

    points = kernel.points
    if isinstance(points, np.ndarray):
        points = points if centre is None else points - centre
        return _core.Points.dense(np.ascontiguousarray(points, dtype=np.float64))
    csr = sp.csr_array(points, dtype=np.float64)
    csr.sum_duplicates()
    return _core.Points.sparse(
        csr.indptr.astype(np.int64), csr.indices.astype(np.int32), np.ascontiguousarray(csr.data), csr.shape[1]
    )


def in_rows(v: Floats) -> Floats:
    """A vector, or the columns of a matrix one after another, as the core takes them."""
    return np.ascontiguousarray(v.T, dtype=np.float64).reshape(-1)


def in_columns(result: Floats, given: Floats) -> Floats:
    """What the core returns for each of them, side by side again."""
    return result if given.ndim == 1 else result.reshape(given.shape[1], -1).T


def rough_product(gram: GramOracle, threads: int | None = None) -> Callable[[Floats], Floats] | None:
    """K v or K V in single precision by the core; None where it does not know the kernel, or values may overflow."""
    kernel = gram.native() if isinstance(gram, OffersNative) else None
    if kernel is None or kernel.kind not in ("gaussian", "laplacian") or not kernel.gamma >= 0:
        return None
    from kdsl import _core

    known, points = kernel.for_core(), core_points(kernel, centre_of(kernel))
    workers = threads or allowance.processors()

    def product(v: Floats) -> Floats:
        result = _core.kernel_product(known, points, in_rows(v), points, workers, True)
        return in_columns(result, v)

    return product
