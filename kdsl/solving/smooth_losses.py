"""Logistic and multinomial losses on columns of scalars: values, slopes and curvatures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kdsl.solving.normal_form import Floats


@dataclass(frozen=True, eq=False)
class SmoothLoss:
    """sum_i weight_i loss(z[columns_i]): log(1 + exp(-r)) for one column, log sum exp(r) - r[target] for several."""

    columns: NDArray[np.int64]  # (members, scores)
    weight: Floats
    target: NDArray[np.int64] | None  # None: logistic

    def value(self, z: Floats) -> float:
        r = z[self.columns]
        if self.target is None:
            return float(self.weight @ np.logaddexp(0.0, -r[:, 0]))
        chosen = r[np.arange(len(r)), self.target]
        return float(self.weight @ (np.logaddexp.reduce(r, axis=1) - chosen))

    def slopes(self, z: Floats) -> Floats:
        """d value / d r, in the shape of the columns."""
        r = z[self.columns]
        if self.target is None:
            return -self.weight[:, None] * np.exp(-np.logaddexp(0.0, r))
        shares = np.exp(r - np.logaddexp.reduce(r, axis=1)[:, None])
        shares[np.arange(len(r)), self.target] -= 1.0
        return np.asarray(self.weight[:, None] * shares)

    def curvature(self, z: Floats, directions: Floats) -> Floats:
        """D' (d^2 value / d r^2) D for directions D of shape (members, scores, count)."""
        r = z[self.columns]
        if self.target is None:
            share = np.exp(-np.logaddexp(0.0, r[:, 0]))
            weight = self.weight * share * (1.0 - share)
            flat = directions[:, 0, :]
            return np.asarray(flat.T @ (weight[:, None] * flat))
        shares = np.exp(r - np.logaddexp.reduce(r, axis=1)[:, None])
        mean = np.einsum("ik,ikm->im", shares, directions)
        square = np.einsum("i,ik,ikm,ikn->mn", self.weight, shares, directions, directions, optimize=True)
        return np.asarray(square - (self.weight[:, None] * mean).T @ mean)

    def most_curvature(self, directions: Floats) -> Floats:
        """A matrix that the curvature is below everywhere: by a quarter of each score, or half (Boehning 1992)."""
        share = 0.25 if self.target is None else 0.5
        return np.asarray(share * np.einsum("i,ikm,ikn->mn", self.weight, directions, directions, optimize=True))

    def hessian(self, z: Floats, added: float) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
        """(rows, columns, entries) of the second derivatives by z, and that share of the most that they can be."""
        r, count = z[self.columns], self.columns.shape[1]
        if self.target is None:
            share = np.exp(-np.logaddexp(0.0, r))
            blocks = (share * (1.0 - share) + 0.25 * added)[:, :, None]
        else:
            shares = np.exp(r - np.logaddexp.reduce(r, axis=1)[:, None])
            blocks = (shares + 0.5 * added)[:, :, None] * np.eye(count) - shares[:, :, None] * shares[:, None, :]
        rows, columns = np.repeat(self.columns, count, axis=1), np.tile(self.columns, (1, count))
        return rows.reshape(-1), columns.reshape(-1), (self.weight[:, None, None] * blocks).reshape(-1)
