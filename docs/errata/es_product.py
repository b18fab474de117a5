"""ES (12.41): alpha alpha* = 0 holds at every solution with eps > 0; as a constraint it would not be convex."""

from __future__ import annotations

import cvxpy as cp
import numpy as np


def figures() -> list[tuple[str, float, float, float]]:
    """The largest product at the optimum without that line, and the product halfway between two admissible points."""
    rng = np.random.default_rng(20)
    x = rng.normal(size=(12, 2))
    y = x @ [1.0, -1.0] + 0.5 * rng.normal(size=12)
    eps, lam = 0.2, 1.0
    up, down = cp.Variable(12, nonneg=True), cp.Variable(12, nonneg=True)
    beta = up - down
    value = eps * cp.sum(up + down) - y @ beta + cp.sum_squares(x.T @ beta) / 2
    rows = [cp.sum(beta) == 0, up <= 1 / lam, down <= 1 / lam]
    cp.Problem(cp.Minimize(value), rows).solve(solver=cp.CLARABEL)

    # (alpha*, alpha) = (1/2, 0) for the first example and (0, 1/2) for the second, and the other way round.
    first, second = np.array([[0.5, 0.0], [0.0, 0.5]]), np.array([[0.0, 0.5], [0.5, 0.0]])
    halfway = (first + second) / 2
    return [
        ("largest alpha alpha* without that line", float("nan"), 0.0, float(np.max(up.value * down.value))),
        ("alpha alpha* halfway between two admissible points", 0.0, 1 / 16, float(halfway[0, 0] * halfway[0, 1])),
    ]


if __name__ == "__main__":
    for what, printed, corrected, truth in figures():
        print(f"{what}: printed {printed:.4f}, corrected {corrected:.4f}, truth {truth:.4f}")
