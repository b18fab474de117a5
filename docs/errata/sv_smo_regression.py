"""SV Theorem 7.18: its problem is (7.2), not (7.1), and one line of its proof drops eps (sgn alpha2 - sgn alpha1)."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar


def figures() -> list[tuple[str, float, float, float]]:
    """alpha2 on the line alpha1 + alpha2 = gamma, in the quadrant alpha1 < 0 < alpha2, before clipping."""
    rng = np.random.default_rng(10)
    x = rng.normal(size=(4, 3))
    gram = x @ x.T
    y = np.array([-1.0, 1.5, 0.3, -0.2])
    rest = np.array([0.2, -0.1])  # alpha3, alpha4
    eps, gamma = 0.3, -0.1
    v = gram[:2, 2:] @ rest
    kappa = gram[0, 0] + gram[1, 1] - 2 * gram[0, 1]
    without = y[1] - y[0] + gamma * (gram[0, 0] - gram[0, 1]) + v[0] - v[1]

    def objective(alpha2: float) -> float:
        alpha = np.array([gamma - alpha2, alpha2, *rest])
        return float(y @ alpha - eps * (alpha2 - alpha[0]) - alpha @ gram @ alpha / 2)  # |alpha1| = -alpha1 here

    truth = minimize_scalar(lambda t: -objective(t), bounds=(-50, 50), method="bounded", options={"xatol": 1e-10}).x
    return [("alpha2 by the proof's third display", without / kappa, (without - 2 * eps) / kappa, float(truth))]


if __name__ == "__main__":
    for what, printed, corrected, truth in figures():
        print(f"{what}: printed {printed:.4f}, corrected {corrected:.4f}, truth {truth:.4f}")
