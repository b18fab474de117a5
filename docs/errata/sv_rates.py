"""SV section 7.2, rate of convergence: ||alpha_t - alpha*|| <= mu delta^t asks for mu >= ||alpha*|| at t = 0."""

from __future__ import annotations

import cvxpy as cp
import numpy as np


def figures() -> list[tuple[str, float, float, float]]:
    """The least mu that t = 0 allows, from alpha = 0: by the limit of the algorithm, and by a QP solver."""
    rng = np.random.default_rng(19)
    y = np.array([1.0, -1.0] * 5)
    x = rng.normal(size=(10, 10)) + np.outer(y, np.full(10, 0.3))
    x *= 0.5
    cost = 5.0
    gram = np.outer(y, y) * (x @ x.T)

    alpha = np.zeros(10)
    for _ in range(5000):
        for i in range(10):
            alpha[i] = np.clip(alpha[i] + (1 - gram[i] @ alpha) / gram[i, i], 0.0, cost)

    best = cp.Variable(10, nonneg=True)
    value = cp.sum(best) - cp.sum_squares(x.T @ cp.multiply(y, best)) / 2
    cp.Problem(cp.Maximize(value), [best <= cost]).solve(solver=cp.CLARABEL)
    return [("mu at t = 0 (printed: at most)", 1.0, float(np.linalg.norm(alpha)), float(np.linalg.norm(best.value)))]


if __name__ == "__main__":
    for what, printed, corrected, truth in figures():
        print(f"{what}: printed {printed:.4f}, corrected {corrected:.4f}, truth {truth:.4f}")
