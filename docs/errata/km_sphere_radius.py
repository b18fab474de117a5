"""KM, derivative of the spheres' Lagrangian in r: r (1 - sum alpha) = 0 also holds at r = 0, so C l < 1 has a dual."""

from __future__ import annotations

import cvxpy as cp
import numpy as np


def figures() -> list[tuple[str, float, float, float]]:
    """Soft sphere with C l = 0.6: dual with sum alpha = 1, dual with sum alpha <= 1, primal over c and R = r^2 >= 0."""
    x = np.random.default_rng(2).normal(size=(10, 2))
    size, cost = len(x), 0.06

    def dual(rows: str) -> float:
        alpha = cp.Variable(size, nonneg=True)
        total = cp.sum(alpha)
        value = alpha @ np.sum(x**2, axis=1) - cp.quad_over_lin(x.T @ alpha, total)
        row = total == 1 if rows == "printed" else total <= 1
        best = cp.Problem(cp.Maximize(value), [row, alpha <= cost]).solve(solver=cp.CLARABEL)
        return float(best) if np.isfinite(best) else float("nan")

    c, square = cp.Variable(2), cp.Variable(nonneg=True)
    outside = [cp.pos(cp.sum_squares(point - c) - square) for point in x]
    truth = cp.Problem(cp.Minimize(square + cost * sum(outside))).solve(solver=cp.CLARABEL)
    scatter = float(np.sum((x - x.mean(axis=0)) ** 2))
    return [
        ("optimal value by the dual", dual("printed"), dual("corrected"), float(truth)),
        ("C sum ||phi - mean||^2", float("nan"), cost * scatter, float(truth)),
    ]


if __name__ == "__main__":
    for what, printed, corrected, truth in figures():
        print(f"{what}: printed {printed:.4f}, corrected {corrected:.4f}, truth {truth:.4f}")
