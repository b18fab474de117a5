"""IH (5.14) and (5.15): without epsilon >= 0 the well classified examples pay for negative slacks."""

from __future__ import annotations

import cvxpy as cp
import numpy as np


def figures() -> list[tuple[str, float, float, float]]:
    """Optimal values of (5.14) without and with the sign, and of the regularised multiclass hinge loss."""
    rng = np.random.default_rng(11)
    label = np.arange(15) % 3
    x = rng.normal(size=(15, 2)) + 2.5 * np.array([[1.0, 0.0], [-0.5, 0.9], [-0.5, -0.9]])[label]
    price = 10.0

    def value(signed: bool) -> float:
        w, eps = cp.Variable((3, 2)), cp.Variable(15)
        rows = [(w[label[i]] - w[k]) @ x[i] >= 1 - eps[i] for i in range(15) for k in range(3) if k != label[i]]
        rows += [eps >= 0] if signed else []
        return float(cp.Problem(cp.Minimize(cp.sum_squares(w) + price * cp.sum(eps)), rows).solve(solver=cp.CLARABEL))

    w = cp.Variable((3, 2))
    shortfall = [
        cp.max(cp.hstack([0.0, *(1 - (w[label[i]] - w[k]) @ x[i] for k in range(3) if k != label[i])]))
        for i in range(15)
    ]
    truth = cp.Problem(cp.Minimize(cp.sum_squares(w) + price * sum(shortfall))).solve(solver=cp.CLARABEL)
    return [("optimal value of (5.14)", value(False), value(True), float(truth))]


if __name__ == "__main__":
    for what, printed, corrected, truth in figures():
        print(f"{what}: printed {printed:.4f}, corrected {corrected:.4f}, truth {truth:.4f}")
