"""KM after (7.20): the least ||alpha||^2 under sum alpha = 1 and y' alpha = 0 is (1/l+ + 1/l-)/4."""

from __future__ import annotations

import cvxpy as cp
import numpy as np


def figures() -> list[tuple[str, float, float, float]]:
    """Nine examples of one class and five of the other."""
    y = np.array([1.0] * 9 + [-1.0] * 5)
    alpha = cp.Variable(14, nonneg=True)
    rows = [y @ alpha == 0, cp.sum(alpha) == 1]
    truth = cp.Problem(cp.Minimize(cp.sum_squares(alpha)), rows).solve(solver=cp.CLARABEL)
    return [("least ||alpha||^2", 1 / 14, (1 / 9 + 1 / 5) / 4, float(truth))]


if __name__ == "__main__":
    for what, printed, corrected, truth in figures():
        print(f"{what}: printed {printed:.4f}, corrected {corrected:.4f}, truth {truth:.4f}")
