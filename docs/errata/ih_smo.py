"""IH section 5.4, the SMO step: it needs the errors r - y, and alpha_i = y_i c - y_i y_j alpha_j."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar


def figures() -> list[tuple[str, float, float, float]]:
    """One step from alpha = 0, and one from a general point, on a pair with labels -1 and 1 and a wide box."""
    x = np.array([[-1.0, 0.5], [2.0, 1.0], [0.3, -1.0]])
    y = np.array([-1.0, 1.0, 1.0])
    gram = np.outer(y, y) * (x @ x.T)

    def best(alpha: np.ndarray) -> float:
        def loss(t: float) -> float:
            moved = alpha + (t - alpha[1]) * np.array([-y[0] * y[1], 1.0, 0.0])
            return float(moved @ gram @ moved / 2 - moved.sum())

        return float(minimize_scalar(loss, bounds=(0, 20), method="bounded", options={"xatol": 1e-12}).x)

    def steps(alpha: np.ndarray) -> tuple[float, float]:
        r = x @ (x.T @ (y * alpha))
        curvature = 2 * x[0] @ x[1] - x[0] @ x[0] - x[1] @ x[1]
        errors = r - y
        return (
            float(alpha[1] - y[1] * (r[0] - r[1]) / curvature),
            float(alpha[1] - y[1] * (errors[0] - errors[1]) / curvature),
        )

    start, general = np.zeros(3), np.array([0.5, 0.2, 0.3])
    c = y[0] * general[0] + y[1] * general[1]
    alpha_j = best(general)
    kept = general[0] - y[0] * y[1] * (alpha_j - general[1])  # the value that keeps y' alpha as it was
    return [
        ("alpha_j after one step from 0", *steps(start), best(start)),
        ("alpha_j after one step from (.5, .2, .3)", *steps(general), best(general)),
        ("alpha_i that keeps the row", c - y[0] * y[1] * alpha_j, y[0] * c - y[0] * y[1] * alpha_j, kept),
    ]


if __name__ == "__main__":
    for what, printed, corrected, truth in figures():
        print(f"{what}: printed {printed:.4f}, corrected {corrected:.4f}, truth {truth:.4f}")
