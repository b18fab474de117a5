"""IH (5.9), the dual after it and the SMO box: they belong to (1/2) sum w^2, the printed primal is sum w^2."""

from __future__ import annotations

import cvxpy as cp
import numpy as np


def figures() -> list[tuple[str, float, float, float]]:
    """Example 5-1 of the notes (hard margin), and the same with a fourth point and R = 1 (soft margin)."""

    def dual(x: np.ndarray, y: np.ndarray, quarter: float, bound: float) -> tuple[float, float]:
        alpha = cp.Variable(len(y), nonneg=True)
        value = cp.sum(alpha) - quarter * cp.square((x * y) @ alpha)
        rows = [y @ alpha == 0] + ([alpha <= bound] if np.isfinite(bound) else [])
        best = cp.Problem(cp.Maximize(value), rows).solve(solver=cp.CLARABEL)
        return float(best), float((x * y) @ alpha.value)

    x, y = np.array([-3.0, -1.0, 2.0]), np.array([-1.0, -1.0, 1.0])
    w, b = cp.Variable(), cp.Variable()
    hard = cp.Problem(cp.Minimize(cp.square(w)), [cp.multiply(y, w * x + b) >= 1]).solve(solver=cp.CLARABEL)
    half, _ = dual(x, y, 0.5, np.inf)
    quarter, total = dual(x, y, 0.25, np.inf)
    figures = [
        ("optimal value of Example 5-1", half, quarter, float(hard)),
        ("w from the multipliers of (5.4)", total, total / 2, float(w.value)),
    ]

    x, y, price = np.append(x, -0.5), np.append(y, 1.0), 1.0
    hinge = cp.sum(cp.pos(1 - cp.multiply(y, w * x + b)))
    cp.Problem(cp.Minimize(cp.square(w) + price * hinge)).solve(solver=cp.CLARABEL)
    _, printed = dual(x, y, 0.5, price)  # (5.9), its dual and the box [0, R] as printed
    _, corrected = dual(x, y, 0.5, price / 2)
    return [*figures, ("w of (5.10) at R = 1 by the box", printed, corrected, float(w.value))]


if __name__ == "__main__":
    for what, printed, corrected, truth in figures():
        print(f"{what}: printed {printed:.4f}, corrected {corrected:.4f}, truth {truth:.4f}")
