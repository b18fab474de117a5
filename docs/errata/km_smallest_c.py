"""KM Theorem 7.30, Remark 7.31, Algorithms 7.29 and 7.32: with unequal classes C >= 1/l and nu <= 1 are not enough."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog


def figures() -> list[tuple[str, float, float, float]]:
    """Nine examples of one class and five of the other."""
    y = np.array([1.0] * 9 + [-1.0] * 5)
    size, fewer = len(y), 5

    # Truth: the least C for which sum alpha = 1, y' alpha = 0, 0 <= alpha <= C has a solution, as a linear program.
    boxes = np.hstack([np.eye(size), -np.ones((size, 1))])
    rows = np.vstack([np.append(np.ones(size), 0.0), np.append(y, 0.0)])
    least = linprog(np.append(np.zeros(size), 1.0), boxes, np.zeros(size), rows, [1.0, 0.0]).fun

    # Below it the primal falls for ever: gamma = b = t, w fixed, moves -gamma + C sum xi at this slope in t.
    x = np.random.default_rng(3).normal(size=(size, 2))
    w, cost = np.array([0.6, 0.8]), 1.2 / size

    def objective(t: float) -> float:
        return -t + cost * float(np.maximum(0.0, t - y * (x @ w + t)).sum())

    slope = (objective(2e6) - objective(1e6)) / 1e6
    return [
        ("least C", 1 / size, 1 / (2 * fewer), least),
        ("largest nu", 1.0, 2 * fewer / size, 1 / (size * least)),
        ("slope of the primal along b = gamma at C l = 1.2", float("nan"), -1 + 2 * cost * fewer, slope),
    ]


if __name__ == "__main__":
    for what, printed, corrected, truth in figures():
        print(f"{what}: printed {printed:.4f}, corrected {corrected:.4f}, truth {truth:.4f}")
