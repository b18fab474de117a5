"""ES (12.44): the solution of (12.43) is beta0 + sum alpha K(x, x_i); the constant is lost."""

from __future__ import annotations

import cvxpy as cp
import numpy as np


def figures() -> list[tuple[str, float, float, float]]:
    """The fitted value at x = 0, squared loss and linear kernel, where every K(0, x_i) is 0."""
    rng = np.random.default_rng(15)
    x = rng.normal(size=(10, 2))
    y = 3 + x @ [1.0, -1.0] + 0.1 * rng.normal(size=10)
    lam = 0.5
    w, b = cp.Variable(2), cp.Variable()
    cp.Problem(cp.Minimize(cp.sum_squares(y - x @ w - b) + lam / 2 * cp.sum_squares(w))).solve(solver=cp.CLARABEL)

    # Stationarity of (12.43): (K + (lambda/2) I) alpha + beta0 1 = y, 1' alpha = 0.
    ones = np.ones((10, 1))
    system = np.block([[x @ x.T + lam / 2 * np.eye(10), ones], [ones.T, np.zeros((1, 1))]])
    constant = float(np.linalg.solve(system, np.append(y, 0.0))[-1])
    return [("fitted value at 0", 0.0, constant, float(b.value))]


if __name__ == "__main__":
    for what, printed, corrected, truth in figures():
        print(f"{what}: printed {printed:.4f}, corrected {corrected:.4f}, truth {truth:.4f}")
