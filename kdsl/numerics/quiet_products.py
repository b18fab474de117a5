"""Products without the threads of a BLAS, which spin on for 25 ms after each, in the way of what is solved next."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from kdsl.numerics.arrays import Floats, Matrix

QUIET = 1 << 18  # multiplications of a product of matrices up to which a BLAS wakes no threads
FEW = 1 << 26  # multiplications so few that one thread will do


def dot(a: Floats, b: Floats) -> float:
    return float(np.einsum("i,i->", a, b))


def applied(matrix: Floats, vector: Floats) -> Floats:
    """matrix @ vector."""
    return np.asarray(np.einsum("ij,j->i", matrix, vector))


def products(points: Matrix, others: Floats) -> Floats:
    """points @ others.T; in parts, each too small to wake a thread, where all of it is little."""
    count, work = points.shape[0], points.shape[0] * others.size
    if sp.issparse(points) or not QUIET < work <= FEW:
        return np.asarray(points @ others.T)
    result = np.empty((count, len(others)))
    step = max(1, QUIET // (count * others.shape[1]))
    for start in range(0, len(others), step):
        result[:, start : start + step] = points @ others[start : start + step].T
    return result
