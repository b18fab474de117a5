"""Warnings about features that a kernel will not digest well: very different ranges, and columns that never change."""

from __future__ import annotations

import numpy as np

from kdsl.binding.faults import cite, listing, warning
from kdsl.binding.points import FeatureMap, Points, column_ranges
from kdsl.language.diagnostics import Diagnostic
from kdsl.numerics.arrays import Floats

RANGE_RATIO = 100.0
OFFSET_RATIO = 1e4  # its square is what inner products are larger than what tells the points apart


def feature_warnings(
    name: str, points: Points, feature_map: FeatureMap, kernels: bool = True, inner: bool = False
) -> list[Diagnostic]:
    """What is said of the features of an input, or of the columns of a matrix in a model without kernels.

    `inner`: whether a kernel takes inner products, which do not forget where the origin is.
    """
    if feature_map.precomputed or points.size < 2:
        return []
    low, high = column_ranges(points.features)
    spread = high - low
    notes = []
    constant = np.flatnonzero(spread == 0)
    if len(constant):
        named = [points.names[p] for p in constant]
        verb = "has" if len(named) == 1 else "have"
        notes.append(
            warning(
                "K541",
                f"{cite(points.source)}: {listing(named)} {verb} one value throughout the input `{name}`",
                "a constant feature moves no distance; in an inner product it acts like a bias"
                if kernels
                else "a constant feature acts like a bias, and its coefficient is penalised",
                "leave it out with `--features` unless that is meant",
            )
        )
    moving = np.flatnonzero(spread > 0)
    far = np.maximum(np.abs(low), np.abs(high))[moving] / spread[moving]
    if inner and len(far) and feature_map.scaling.kind == "none" and far.max() > OFFSET_RATIO:
        notes.append(far_from_origin(points, int(moving[np.argmax(far)]), float(far.max()), low, high))
    if len(moving) < 2:
        return notes
    wide = moving[int(np.argmax(spread[moving]))]
    narrow = moving[int(np.argmin(spread[moving]))]
    ratio = float(spread[wide] / spread[narrow])
    if feature_map.scaling.kind == "none" and ratio > RANGE_RATIO:
        notes.append(
            warning(
                "K540",
                f"{cite(points.source)}: `{points.names[wide]}` spans {spread[wide]:.4g} and "
                f"`{points.names[narrow]}` {spread[narrow]:.4g}, {ratio:.3g} times less",
                "the kernel sees the first and hardly the second"
                if kernels
                else "the second needs a coefficient that many times larger, and pays for it in a penalty",
                "choose `--scale standard` or `--scale minmax`; it is stored with the model",
            )
        )
    return notes


def far_from_origin(points: Points, feature: int, ratio: float, low: Floats, high: Floats) -> Diagnostic:
    """Of a feature such as a time stamp."""
    ends = f"{low[feature]:.10g} and {high[feature]:.10g}"
    return warning(
        "K577",
        f"{cite(points.source)}: `{points.names[feature]}` lies between {ends}, far from 0 beside its range",
        f"inner products of such values agree in their first {2 * np.log10(ratio):.0f} digits, and a float has 16",
        "choose `--scale standard`, which moves features to 0; it is stored with the model",
    )
