"""KM Code Fragment 7.11: the dual of nu-SVR holds no term in eps, which is a primal variable and vanishes."""

from __future__ import annotations

import cvxpy as cp
import numpy as np


def figures() -> list[tuple[str, float, float, float]]:
    """Printed dual at the optimal tube width (the only one it could mean), corrected dual, primal optimum."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20, 2))
    y = x @ [1.0, -2.0] + 0.5 * rng.normal(size=20)
    cost, nu, size = 10.0, 0.4, len(y)

    w, b, width = cp.Variable(2), cp.Variable(), cp.Variable(nonneg=True)
    tube = cp.sum(cp.pos(cp.abs(y - x @ w - b) - width)) / size
    primal = cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + cost * (nu * width + tube)))
    truth = primal.solve(solver=cp.CLARABEL)

    def dual(eps: float) -> float:
        beta = cp.Variable(size)
        value = y @ beta - eps * cp.norm1(beta) - cp.sum_squares(x.T @ beta) / 2
        rows = [cp.sum(beta) == 0, cp.norm1(beta) <= cost * nu, cp.abs(beta) <= cost / size]
        return float(cp.Problem(cp.Maximize(value), rows).solve(solver=cp.CLARABEL))

    return [("optimal value", dual(float(width.value)), dual(0.0), float(truth))]


if __name__ == "__main__":
    for what, printed, corrected, truth in figures():
        print(f"{what}: printed {printed:.4f}, corrected {corrected:.4f}, truth {truth:.4f}")
