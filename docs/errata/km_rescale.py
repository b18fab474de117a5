"""KM (7.22) and the dual printed with it: a scale, not a slip; the dual is that of half the objective."""

from __future__ import annotations

import cvxpy as cp
import numpy as np


def figures() -> list[tuple[str, float, float, float]]:
    """Optimal values: the dual as printed, the dual of the objective as printed, and that primal."""
    rng = np.random.default_rng(17)
    x = rng.normal(size=(15, 2))
    y = x @ [1.0, -2.0] + 0.5 * rng.normal(size=15)
    cost, eps = 2.0, 0.2

    def dual(scale: float) -> float:
        beta = cp.Variable(15)
        quadratic = cp.sum_squares(x.T @ beta) + cp.sum_squares(beta) / cost
        value = y @ beta - eps * cp.norm1(beta) - scale * quadratic
        return float(cp.Problem(cp.Maximize(value), [cp.sum(beta) == 0]).solve(solver=cp.CLARABEL))

    w, b = cp.Variable(2), cp.Variable()
    tube = cp.sum_squares(cp.pos(cp.abs(y - x @ w - b) - eps))
    truth = cp.Problem(cp.Minimize(cp.sum_squares(w) + cost * tube)).solve(solver=cp.CLARABEL)
    return [("optimal value of (7.22)", dual(1 / 2), dual(1 / 4), float(truth))]


if __name__ == "__main__":
    for what, printed, corrected, truth in figures():
        print(f"{what}: printed {printed:.4f}, corrected {corrected:.4f}, truth {truth:.4f}")
