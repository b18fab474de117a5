"""Logistic and multinomial losses on columns of scalars: values, slopes and curvatures, and Newton over the scalars."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kdsl.solving.normal_form import Floats

_STEPS = 100


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


def newton(
    losses: tuple[SmoothLoss, ...],
    few: NDArray[np.int64],
    slacks: NDArray[np.int64],
    slopes: sp.csr_array,
    height: Floats,
    linear: Floats,
    quadratic: sp.csc_array,
) -> Floats:
    """The minimiser z: scalars v = z[few] free, residuals z[slacks] = slopes v + height; damped Newton."""
    z = np.zeros(len(linear))
    dense = slopes.toarray()
    place = np.zeros(len(linear), dtype=np.int64)
    place[slacks] = np.arange(len(slacks))

    def at(v: Floats) -> Floats:
        z[few] = v
        z[slacks] = dense @ v + height
        return z.copy()

    def value(point: Floats) -> float:
        total = float(linear @ point + 0.5 * point @ (quadratic @ point))
        return total + sum(loss.value(point) for loss in losses)

    v = np.zeros(len(few))
    point = at(v)
    if not len(few):
        return point
    for _ in range(_STEPS):
        gradient = (linear + quadratic @ point)[few]
        hessian = quadratic[few][:, few].toarray()
        for loss in losses:
            directions = dense[place[loss.columns]]
            gradient = gradient + np.einsum("ik,ikm->m", loss.slopes(point), directions)
            hessian = hessian + loss.curvature(point, directions)
        step = -np.linalg.lstsq(hessian, gradient, rcond=1e-12)[0]
        decrease = float(gradient @ step)
        if decrease >= -1e-16 * max(1.0, abs(value(point))):
            break
        length = 1.0
        while length > 1e-8 and value(at(v + length * step)) > value(point) + 1e-4 * length * decrease:
            length *= 0.5
        v = v + length * step
        point = at(v)
    return point
