"""HB (5.5): its objective <w, w> + C sum xi and its Lagrangian with <w, w>/2 differ by a factor of 2 in C."""

from __future__ import annotations

import cvxpy as cp
import numpy as np


def figures() -> list[tuple[str, float, float, float]]:
    """||w|| by the dual (5.6) with the box C, with the box C/2, and by the primal (5.5), at C = 0.2."""
    rng = np.random.default_rng(12)
    y = np.array([1.0, -1.0] * 10)
    x = rng.normal(size=(20, 2)) + np.outer(y, [0.8, 0.6])
    cost = 0.2

    def norm(bound: float) -> float:
        alpha = cp.Variable(20, nonneg=True)
        value = cp.sum(alpha) - cp.sum_squares(x.T @ cp.multiply(y, alpha)) / 2
        cp.Problem(cp.Maximize(value), [y @ alpha == 0, alpha <= bound]).solve(solver=cp.CLARABEL)
        return float(np.linalg.norm(x.T @ (y * alpha.value)))

    w, b = cp.Variable(2), cp.Variable()
    hinge = cp.sum(cp.pos(1 - cp.multiply(y, x @ w + b)))
    cp.Problem(cp.Minimize(cp.sum_squares(w) + cost * hinge)).solve(solver=cp.CLARABEL)
    return [("||w|| of (5.5)", norm(cost), norm(cost / 2), float(np.linalg.norm(w.value)))]


if __name__ == "__main__":
    for what, printed, corrected, truth in figures():
        print(f"{what}: printed {printed:.4f}, corrected {corrected:.4f}, truth {truth:.4f}")
