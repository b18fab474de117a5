"""SV Remark 7.2: a point's share of the feasibility gap is alpha (y (f - b + b) - 1) + C xi: the b is missing."""

from __future__ import annotations

import cvxpy as cp
import numpy as np


def figures() -> list[tuple[str, float, float, float]]:
    """At the optimum every point's share is zero; the largest share that the two formulas give there.

    The sum over all points is the same, because y' alpha = 0; the ranking of the points is not.
    """
    rng = np.random.default_rng(9)
    y = np.array([1.0, -1.0] * 8)
    x = rng.normal(size=(16, 2)) + np.outer(y, [0.8, 0.4]) + [2.0, 1.0]
    cost = 0.5
    alpha = cp.Variable(16, nonneg=True)
    value = cp.sum(alpha) - cp.sum_squares(x.T @ cp.multiply(y, alpha)) / 2
    cp.Problem(cp.Maximize(value), [y @ alpha == 0, alpha <= cost]).solve(solver=cp.CLARABEL)
    w, b = cp.Variable(2), cp.Variable()
    hinge = cp.sum(cp.pos(1 - cp.multiply(y, x @ w + b)))
    cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + cost * hinge)).solve(solver=cp.CLARABEL)

    a, f = alpha.value, x @ (x.T @ (y * alpha.value))
    slack = np.maximum(0.0, 1 - y * (f + b.value))
    printed = a * (y * f - 1) + cost * slack
    corrected = a * (y * (f + b.value) - 1) + cost * slack
    return [
        ("largest share at the optimum", float(np.abs(printed).max()), float(np.abs(corrected).max()), 0.0),
        ("least share at the optimum", float(printed.min()), float(corrected.min()), 0.0),
    ]


if __name__ == "__main__":
    for what, printed, corrected, truth in figures():
        print(f"{what}: printed {printed:.4f}, corrected {corrected:.4f}, truth {truth:.4f}")
