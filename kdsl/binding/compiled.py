"""Products with kernel matrices by the compiled core in float64, a sample of each compared with NumPy's."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from kdsl.binding.table import Floats, Matrix
from kdsl.solving.native_kernel import centre_of, core_points

if TYPE_CHECKING:
    from kdsl.binding.kernels import Kernel

WORTHWHILE = 1_000_000  # kernel values below which NumPy is as quick
SAMPLE = 8
AGREEMENT = 1e-11


def compiled_expansion(kernel: Kernel, support: Matrix, coefficients: Floats, points: Matrix) -> Floats | None:
    """sum_j coefficients[j] kappa(x, support_j) for each point x; None where the core cannot or does not agree.

    The sample keeps the certificate independent of the code that solved the problem.
    """
    count = points.shape[0]
    if support.shape[0] * count < WORTHWHILE or coefficients.ndim != 1 or sp.issparse(support) != sp.issparse(points):
        return None
    own, other = kernel.native(support), kernel.native(points)
    if own is None or other is None or own.gamma < 0 or own.degree < 0:
        return None
    from kdsl import _core

    centre = centre_of(own)
    left = core_points(own, centre)
    right = left if support is points else core_points(other, centre)
    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    result = _core.kernel_product(
        own.kind, own.gamma, own.offset, own.degree, left, np.ascontiguousarray(coefficients), right, threads, False
    )
    chosen = np.linspace(0, count - 1, SAMPLE).astype(np.int64)
    block = kernel.block(points[chosen], support)
    size = np.abs(block) @ np.abs(coefficients)
    agrees = np.abs(result[chosen] - block @ coefficients) <= AGREEMENT * np.maximum(size, 1e-300)
    return result if agrees.all() else None
