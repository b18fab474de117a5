"""IH section 5.2: complementary slackness is alpha > 0 only if g = 0; the converse fails."""

from __future__ import annotations

import cvxpy as cp
import numpy as np


def figures() -> list[tuple[str, float, float, float]]:
    """Three points; the third has g = 0 at the solution, and its multiplier is unique and 0."""
    x = np.array([[-1.0, 0.0], [1.0, 0.0], [1.0, 2.0]])
    y = np.array([-1.0, 1.0, 1.0])
    w, b = cp.Variable(2), cp.Variable()
    margin = cp.multiply(y, x @ w + b) >= 1
    cp.Problem(cp.Minimize(cp.sum_squares(w)), [margin]).solve(solver=cp.CLARABEL)
    active = np.abs(y * (x @ w.value + b.value) - 1) < 1e-4
    multiplier = np.asarray(margin.dual_value)
    return [
        ("examples with alpha > 0", float(active.sum()), 2.0, float(np.sum(multiplier > 1e-4))),
        ("multiplier of the third example", float("nan"), 0.0, float(multiplier[2])),
    ]


if __name__ == "__main__":
    for what, printed, corrected, truth in figures():
        print(f"{what}: printed {printed:.4f}, corrected {corrected:.4f}, truth {truth:.4f}")
