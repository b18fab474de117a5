"""KM after (7.21): the dual in alpha = beta/(2 lambda) is to be maximised; its minimum is minus infinity."""

from __future__ import annotations

import cvxpy as cp
import numpy as np


def figures() -> list[tuple[str, float, float, float]]:
    """lambda times the extremum of the dual in alpha, against the optimum of lambda ||w||^2 + sum xi^2."""
    rng = np.random.default_rng(6)
    x = rng.normal(size=(12, 3))
    y = x @ [1.0, 0.0, -1.0] + 0.3 * rng.normal(size=12)
    lam = 0.5

    def dual(alpha: np.ndarray) -> float:
        return float(lam * (-lam * alpha @ alpha + 2 * alpha @ y - np.sum((x.T @ alpha) ** 2)))

    solution = np.linalg.solve(x @ x.T + lam * np.eye(12), y)
    w = cp.Variable(3)
    truth = cp.Problem(cp.Minimize(lam * cp.sum_squares(w) + cp.sum_squares(y - x @ w))).solve(solver=cp.CLARABEL)
    curvature = np.linalg.eigvalsh(-lam * np.eye(12) - x @ x.T).min()
    least = -np.inf if curvature < 0 else dual(solution)
    return [("extremum of the dual", least, dual(solution), float(truth))]


if __name__ == "__main__":
    for what, printed, corrected, truth in figures():
        print(f"{what}: printed {printed:.4f}, corrected {corrected:.4f}, truth {truth:.4f}")
