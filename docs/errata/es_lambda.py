"""ES (12.45): with V(r) = r^2 its lambda is half of the lambda of (12.43), of which it is said to be the case."""

from __future__ import annotations

import cvxpy as cp
import numpy as np


def figures() -> list[tuple[str, float, float, float]]:
    """||beta|| of (12.43) without a constant at lambda = 2, by alpha = (K + lambda I)^-1 y and with lambda/2."""
    rng = np.random.default_rng(16)
    x = rng.normal(size=(10, 2))
    y = x @ [1.0, -1.0] + 0.1 * rng.normal(size=10)
    lam = 2.0
    w = cp.Variable(2)
    cp.Problem(cp.Minimize(cp.sum_squares(y - x @ w) + lam / 2 * cp.sum_squares(w))).solve(solver=cp.CLARABEL)

    def norm(ridge: float) -> float:
        return float(np.linalg.norm(x.T @ np.linalg.solve(x @ x.T + ridge * np.eye(10), y)))

    return [("||beta|| of (12.43) at lambda = 2", norm(lam), norm(lam / 2), float(np.linalg.norm(w.value)))]


if __name__ == "__main__":
    for what, printed, corrected, truth in figures():
        print(f"{what}: printed {printed:.4f}, corrected {corrected:.4f}, truth {truth:.4f}")
