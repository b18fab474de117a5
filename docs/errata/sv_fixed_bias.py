"""SV section 7.2: the dual for a bias b fixed beforehand has the linear term sum (1 - y b) alpha, not sum alpha."""

from __future__ import annotations

import cvxpy as cp
import numpy as np


def figures() -> list[tuple[str, float, float, float]]:
    """Optimal values with b = 0.7: dual as printed, dual corrected, primal."""
    rng = np.random.default_rng(8)
    y = np.array([1.0] * 11 + [-1.0] * 5)
    x = rng.normal(size=(16, 2)) + np.outer(y, [0.8, 0.4])
    bias, cost = 0.7, 0.5

    def dual(linear: np.ndarray) -> float:
        alpha = cp.Variable(16, nonneg=True)
        value = linear @ alpha - cp.sum_squares(x.T @ cp.multiply(y, alpha)) / 2
        return float(cp.Problem(cp.Maximize(value), [alpha <= cost]).solve(solver=cp.CLARABEL))

    w = cp.Variable(2)
    hinge = cp.sum(cp.pos(1 - cp.multiply(y, x @ w + bias)))
    truth = cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + cost * hinge)).solve(solver=cp.CLARABEL)
    return [("optimal value", dual(np.ones(16)), dual(1 - y * bias), float(truth))]


if __name__ == "__main__":
    for what, printed, corrected, truth in figures():
        print(f"{what}: printed {printed:.4f}, corrected {corrected:.4f}, truth {truth:.4f}")
