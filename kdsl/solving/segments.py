"""Takes every piecewise h_k apart into segments: variables with one box and one quadratic cost each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kdsl.numerics.arrays import Floats, Ints
from kdsl.solving.normal_form import Separable


class Segments(NamedTuple):
    """t_k = base_k + sum of the s_p whose owner is k, lower_p <= s_p <= upper_p, cost curvature/2 s^2 + slope s.

    h is convex, so the marginal costs of a coordinate's segments rise along the line: the cheapest way to reach t_k
    fills them in order, and the sum of their costs is h_k(t_k) - h_k(base_k). `plain` where segment k belongs to
    coordinate k, one for each.
    """

    base: Floats
    owner: Ints
    lower: Floats
    upper: Floats
    curvature: Floats
    slope: Floats
    plain: bool

    def total(self, s: Floats) -> Floats:
        """t of the segments s."""
        return self.base + self.gathered(s)

    def gathered(self, values: Floats) -> Floats:
        """The sums of `values` over the segments of each coordinate."""
        if self.plain:
            return values
        return np.asarray(np.bincount(self.owner, weights=values, minlength=len(self.base)), np.float64)

    def spread(self, values: Floats) -> Floats:
        """For each segment the value of its coordinate."""
        return values if self.plain else values[self.owner]


def segments_of(h: Separable, chosen: Ints | None = None) -> Segments:
    """The segments of h, or of its coordinates `chosen`, numbered from 0; pieces without length have none."""
    if len(h.slope) == h.size:
        piece = np.arange(h.size) if chosen is None else chosen
        owner, within = np.arange(len(piece)), np.zeros(len(piece), np.int64)
    else:
        first = h.offsets[:-1] if chosen is None else h.offsets[chosen]
        counts = (np.diff(h.offsets) if chosen is None else h.offsets[chosen + 1] - first).astype(np.int64)
        owner = np.repeat(np.arange(len(counts)), counts)
        within = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
        piece = first[owner] + within
    left, right, curvature = h.left[piece], h.right[piece], h.curvature[piece]
    backwards = np.isneginf(left)  # measured from its right end, or from 0
    edge = np.where(backwards, np.where(np.isposinf(right), 0.0, right), left)
    base = edge[within == 0]
    long: NDArray[np.bool_] = right > left
    slope = curvature * edge + h.slope[piece]
    if long.all():
        return Segments(base, owner, left - edge, right - edge, curvature, slope, plain=len(owner) == len(base))
    lower, upper = (left - edge)[long], (right - edge)[long]
    return Segments(base, owner[long], lower, upper, curvature[long], slope[long], plain=False)
