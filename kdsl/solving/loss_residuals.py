"""Stationarity in the residual of a loss: how far (r, u) is from the graph u in weight * slopes of the loss at r."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kdsl.algebra.numeric import Array, Values, evaluate, label_values
from kdsl.algebra.plq import Plq
from kdsl.algebra.poly import Poly
from kdsl.algebra.primal import LossTerm, Multinomial
from kdsl.solving.smooth_losses import SmoothLoss


def loss_residual(loss: LossTerm, weight: Poly, wanted: Array, values: Values, lengths: Mapping[str, int]) -> Array:
    """`wanted` is u. At a kink the slopes jump, so that rounding of r must not count as a wrong slope:

    for a piecewise loss it is r - prox(r + u), the way along the graph's diagonal, 0 exactly on the graph;
    for a smooth one the difference of the slopes.
    """
    r = values.arrays[loss.residual]
    if isinstance(loss.function, Plq):
        factor = evaluate(weight, values, lengths)
        return np.asarray(r - _prox(loss.function, factor, r + wanted, values, lengths))
    members = {name: lengths[name] for name in loss.indices}
    factor = evaluate(weight, values, members).reshape(-1)
    target = None
    if isinstance(loss.function, Multinomial):
        target = label_values(loss.function.target, members, values).reshape(-1)
    columns = np.arange(r.size).reshape(len(factor), -1)
    slopes = SmoothLoss(columns, factor, target).slopes(r.reshape(-1))
    return np.asarray(slopes.reshape(wanted.shape) - wanted)


def _prox(function: Plq, weight: Array, v: Array, values: Values, lengths: Mapping[str, int]) -> Array:
    """The z with v in z + weight * slopes(z), piece by piece from the left: z + slopes(z) only rises."""
    result = np.zeros(v.shape)
    for n, piece in enumerate(function.pieces):
        curvature = weight * evaluate(piece.curvature, values, lengths)
        slope = weight * evaluate(piece.slope, values, lengths)
        inside = (v - slope) / (1.0 + curvature)
        left, _ = function.ends(n)
        if left is None:
            result = inside
            continue
        start = evaluate(left, values, lengths)
        before = np.minimum(result, start)
        result = np.where(v > start + curvature * start + slope, inside, before)
    return result
