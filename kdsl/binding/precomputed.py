"""Precomputed: a kernel that is known only as a matrix of its values, with the self-kernel diagonal of test points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kdsl.binding.distances import to_dense
from kdsl.binding.faults import fault
from kdsl.binding.kernels import Against, Kernel
from kdsl.binding.symmetry import uneven_pair
from kdsl.numerics.arrays import Floats, Matrix


def training_points(gram: Floats, source: str) -> Floats:
    """The points of a training Gram matrix: row t is [kappa(t, 1), ..., kappa(t, n), kappa(t, t), t]."""
    if gram.ndim != 2 or gram.shape[0] != gram.shape[1]:
        raise fault(
            "K566",
            f"{source}: a precomputed kernel needs a square matrix, this one is {shape_words(gram)}",
            "row i, column j is the kernel of examples i and j",
            "give the Gram matrix of the training examples",
        )
    pair = uneven_pair(gram)
    if pair is not None:
        row, column = pair
        raise fault(
            "K566",
            f"{source}: the precomputed kernel is not symmetric: entry ({row + 1}, {column + 1}) is "
            f"{gram[row, column]:.10g}, entry ({column + 1}, {row + 1}) is {gram[column, row]:.10g}",
            "a kernel does not care which of two points comes first",
            "check the matrix, or average it with its transpose: (K + K.T) / 2",
        )
    even = (gram + gram.T) / 2
    return np.column_stack([even, np.diagonal(even), np.arange(len(even), dtype=np.float64)])


def test_points(cross: Floats, training: int, diagonal: Floats | None, source: str) -> Floats:
    """New points: row t is [kappa(t, 1), ..., kappa(t, n), kappa(t, t) or NaN, NaN]."""
    if cross.ndim != 2 or cross.shape[1] != training:
        raise fault(
            "K566",
            f"{source}: the kernel of new points with the {training} training points is {shape_words(cross)}",
            "row t, column j is the kernel of new point t and training point j",
            f"give a matrix with {training} columns",
        )
    own = np.full(len(cross), np.nan) if diagonal is None else np.asarray(diagonal, dtype=np.float64)
    return np.column_stack([cross, own, np.full(len(cross), np.nan)])


@dataclass(frozen=True)
class Precomputed(Kernel):
    """The matrix given with the data; a pair can be looked up when one of the two is a training point."""

    @property
    def description(self) -> str:
        return "precomputed matrix"

    @property
    def psd(self) -> bool:
        return False

    def against(self, others: Matrix) -> Against:
        dense = to_dense(others)
        places = dense[:, -1]
        if not np.isnan(places).any():
            columns = places.astype(np.int64)
            return lambda points: to_dense(points)[:, columns]

        def evaluate(points: Matrix) -> Floats:
            rows = to_dense(points)[:, -1]
            if np.isnan(rows).any():
                raise fault(
                    "K566",
                    "the precomputed kernel of two new points is not known",
                    "the matrix has the kernel of new points with training points only",
                    "compare new points with training points, or use a kernel with a formula",
                )
            return np.ascontiguousarray(dense[:, rows.astype(np.int64)].T)

        return evaluate

    def diagonal(self, points: Matrix) -> Floats:
        own = to_dense(points)[:, -2]
        if np.isnan(own).any():
            raise fault(
                "K566",
                "the precomputed kernel of a new point with itself is not known",
                "||phi(t)||^2 is needed here",
                "give the self-kernel diagonal of the new points beside their matrix, as a column `self` of a table",
            )
        return np.ascontiguousarray(own)


def shape_words(array: Floats) -> str:
    return " x ".join(str(n) for n in array.shape)
