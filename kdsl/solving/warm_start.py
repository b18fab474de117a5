"""Where to begin: the dual point of one solve, moved to where it belongs when the parameters have changed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kdsl.solving.normal_form import Floats, Separable


class Start(NamedTuple):
    """A dual point, and the costs and bounds that it was found for."""

    theta: Floats
    separable: Separable


def moved(start: Start, separable: Separable) -> Floats | None:
    """Every coordinate at the same place of its piece: at the new bound if it was at the old one, and so on.

    Where all pieces grow alike, as the box of a soft margin does with C, rows that were met with target 0 still are.
    None for another problem. The rows need not be met.
    """
    old, theta = start.separable, start.theta
    if not np.array_equal(old.offsets, separable.offsets):
        return None
    owner = np.repeat(np.arange(old.size), np.diff(old.offsets))
    passed = np.add.reduceat(old.right < theta[owner], old.offsets[:-1]) if old.size else np.zeros(0, np.int64)
    piece = np.minimum(old.offsets[:-1] + passed, old.offsets[1:] - 1)
    left, right, low, high = old.left[piece], old.right[piece], separable.left[piece], separable.right[piece]
    finite = np.isfinite(left) & np.isfinite(right) & np.isfinite(low) & np.isfinite(high) & (right > left)
    with np.errstate(invalid="ignore", divide="ignore"):
        inside = np.where(finite, low + (theta - left) * ((high - low) / (right - left)), theta)
    inside = np.where(theta == left, low, np.where(theta == right, high, inside))
    return np.asarray(np.clip(np.where(np.isfinite(inside), inside, theta), separable.lower, separable.upper))
