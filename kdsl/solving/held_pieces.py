"""Coordinates with convex pieces instead of entropies, each held near a point: what makes their conjugates smooth.

h_k(t) + pull / 2 (t - centre_k)^2 is strictly convex for every piecewise quadratic h_k, bounds included, and its
conjugate has a derivative everywhere. Where the minimum of a sum with such terms is its own centre, the terms are of
no consequence there: centres follow the minima until that is so (the proximal point method, Rockafellar 1976).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kdsl.numerics.arrays import Floats, Ints
from kdsl.solving.normal_form import Separable


class HeldPieces(NamedTuple):
    """`place` is where the coordinates stand among all; the rows of the other arrays are their pieces in order.

    Coordinates of fewer pieces than others have empty ones at their right end.
    """

    place: Ints
    left: Floats
    right: Floats
    curvature: Floats
    slope: Floats
    value: Floats
    pull: float
    centre: Floats

    @staticmethod
    def of(h: Separable, chosen: Ints, place: Ints, pull: float) -> HeldPieces:
        """The pieces of the coordinates `chosen`, held at the points of their boxes that are nearest to 0."""
        counts = np.diff(h.offsets)[chosen]
        last = h.offsets[chosen] + counts - 1
        number = np.minimum(h.offsets[chosen] + np.arange(counts.max(initial=1))[:, None], last)
        beyond = np.arange(len(number))[:, None] >= counts
        left = np.where(beyond, h.right[last], h.left[number])
        arrays = (left, h.right[number], h.curvature[number], h.slope[number], h.value[number])
        return HeldPieces(place, *arrays, pull, np.clip(0.0, h.lower[chosen], h.upper[chosen]))

    def reflect(self, v: Floats) -> tuple[Floats, float, Floats]:
        """(t with the slopes v, v't less the cost there, the derivatives of t by v)."""
        t, weight = self.left[0].copy(), np.zeros_like(v)
        rising = np.ones(len(v), dtype=bool)  # the cost still falls at the left end of the next piece
        for left, right, curvature, slope in zip(self.left, self.right, self.curvature, self.slope, strict=True):
            bend = curvature + self.pull
            best = (v + self.pull * self.centre - slope) / bend
            rising &= best > left
            t = np.where(rising, np.minimum(best, right), t)
            weight = np.where(rising, np.where(best < right, 1.0 / bend, 0.0), weight)
        return t, float(v @ t) - self.cost(t), weight

    def cost(self, t: Floats) -> float:
        """sum h(t) + pull / 2 |t - centre|^2."""
        inside = (self.left <= t) & (t <= self.right)
        with np.errstate(invalid="ignore"):
            pieces = np.where(inside, 0.5 * self.curvature * t**2 + self.slope * t + self.value, np.inf)
        return float(pieces.min(axis=0).sum() + 0.5 * self.pull * np.sum((t - self.centre) ** 2))

    def slips(self, t: Floats) -> Floats:
        """By how much the slopes at t differ from those without a pull."""
        return np.asarray(self.pull * np.abs(t - self.centre))

    @property
    def extent(self) -> Floats:
        """The largest finite bound or centre."""
        ends = np.abs([self.left[0], self.right[-1], self.centre])
        return np.asarray(np.where(np.isfinite(ends), ends, 0.0).max(axis=0))
