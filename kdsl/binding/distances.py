"""Squared and city-block distances between two sets of points: never negative, exactly 0 between equal points."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from kdsl.numerics.arrays import Floats, Matrix
from kdsl.numerics.quiet_products import products

DIRECT_DIMENSION = 16  # up to here x - z is formed outright, which is as fast as a matrix product
NEAR = 1e-3  # below this share of ||x||^2 + ||z||^2 the expanded square has lost digits
CHUNK = 1 << 22  # entries of x - z formed at a time


def squared_distances(others: Matrix) -> Callable[[Matrix], Floats]:
    """X -> the matrix of ||x - z||^2, for fixed points z.

    ||x||^2 + ||z||^2 - 2<x, z> about the mean of z (dense points), with an error of a few
    eps * (||x||^2 + ||z||^2); wherever that could be more than 1e-12 of the result, x - z is formed.
    """
    if sp.issparse(others):
        return sparse_squared_distances(sp.csr_array(others))
    dense = np.asarray(others)
    if dense.shape[1] <= DIRECT_DIMENSION or len(dense) == 0:
        from scipy.spatial.distance import cdist  # slow to import, and not every kernel needs it

        return lambda points: np.asarray(cdist(to_dense(points), dense, "sqeuclidean"))
    centre = dense.mean(axis=0)
    centred = dense - centre
    norms = np.einsum("ij,ij->i", centred, centred)

    def distances(points: Matrix) -> Floats:
        moved = to_dense(points) - centre
        sums = np.einsum("ij,ij->i", moved, moved)[:, None] + norms
        result: Floats = sums - 2.0 * products(moved, centred)
        rows, columns = np.nonzero(result <= NEAR * sums)
        step = max(1, CHUNK // dense.shape[1])
        for start in range(0, len(rows), step):
            r, c = rows[start : start + step], columns[start : start + step]
            difference = moved[r] - centred[c]
            result[r, c] = np.einsum("ij,ij->i", difference, difference)
        return result

    return distances


def sparse_squared_distances(others: sp.csr_array) -> Callable[[Matrix], Floats]:
    norms = sparse_norms(others)
    transposed = sp.csc_array(others.T)

    def distances(points: Matrix) -> Floats:
        rows_of = sp.csr_array(points)
        sums = sparse_norms(rows_of)[:, None] + norms
        result: Floats = sums - 2.0 * np.asarray((rows_of @ transposed).toarray())
        rows, columns = np.nonzero(result <= NEAR * sums)
        step = max(1, CHUNK // max(1, others.shape[1]))
        for start in range(0, len(rows), step):
            r, c = rows[start : start + step], columns[start : start + step]
            result[r, c] = sparse_norms(rows_of[r] - others[c])
        return result

    return distances


def city_block_distances(others: Matrix) -> Callable[[Matrix], Floats]:
    """X -> the matrix of ||x - z||_1."""
    from scipy.spatial.distance import cdist

    dense = to_dense(others)
    return lambda points: np.asarray(cdist(to_dense(points), dense, "cityblock"))


def inner_products(others: Matrix) -> Callable[[Matrix], Floats]:
    """X -> the matrix of <x, z>."""
    if not sp.issparse(others):
        dense = np.asarray(others)
        return lambda points: products(points, dense)
    transposed = sp.csc_array(others.T)

    def sparse_products(points: Matrix) -> Floats:
        result = points @ transposed
        return np.asarray(result.toarray() if sp.issparse(result) else result)

    return sparse_products


def squared_norms(points: Matrix) -> Floats:
    if sp.issparse(points):
        return sparse_norms(sp.csr_array(points))
    dense = np.asarray(points)
    return np.asarray(np.einsum("ij,ij->i", dense, dense))


def sparse_norms(points: sp.csr_array) -> Floats:
    return np.asarray(points.multiply(points).sum(axis=1), dtype=np.float64).ravel()


def to_dense(points: Matrix) -> Floats:
    return np.asarray(sp.csr_array(points).toarray() if sp.issparse(points) else points, dtype=np.float64)
