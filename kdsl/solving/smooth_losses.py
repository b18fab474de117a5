"""Logistic and multinomial losses on columns of scalars: values, slopes and curvatures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kdsl.numerics.arrays import Floats


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

    def second_derivatives(self, z: Floats, added: float) -> Floats:
        """By the scores of each member, (members, scores, scores), and that share of the most that they can be.

        They are at most a quarter of the identity for one score, and half of it for several (Boehning 1992).
        """
        r, count = z[self.columns], self.columns.shape[1]
        if self.target is None:
            share = np.exp(-np.logaddexp(0.0, r))
            blocks = (share * (1.0 - share) + 0.25 * added)[:, :, None]
        else:
            shares = np.exp(r - np.logaddexp.reduce(r, axis=1)[:, None])
            blocks = (shares + 0.5 * added)[:, :, None] * np.eye(count) - shares[:, :, None] * shares[:, None, :]
        return np.asarray(self.weight[:, None, None] * blocks)
