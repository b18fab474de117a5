"""KM Remark 7.25: the gap of the hard margin is sqrt(-W) - gamma, with the weight vector normalised."""

from __future__ import annotations

import numpy as np


def figures() -> list[tuple[str, float, float, float]]:
    """A feasible alpha that is not optimal, on separable data; the primal minimises -gamma over ||w|| = 1."""
    x = np.array([[2.0, 1.0], [3.0, 0.0], [1.0, 3.0], [-1.0, -2.0], [-3.0, -1.0], [-2.0, 0.5]])
    y = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    alpha = np.full(6, 1 / 6)  # sum alpha = 1, y' alpha = 0
    w = x.T @ (y * alpha)
    root = float(np.sqrt(w @ w))  # sqrt(-W(alpha))

    def margin(direction: np.ndarray) -> float:
        f = x @ direction
        return float(f[y > 0].min() - f[y < 0].max()) / 2

    # Primal minus dual, each straight from its own problem: -gamma for the best b, and -sqrt(alpha' G alpha).
    unit = w / np.linalg.norm(w)
    f = x @ unit
    b = -(f[y > 0].min() + f[y < 0].max()) / 2
    primal = -float(np.min(y * (f + b)))
    gram = np.outer(y, y) * (x @ x.T)
    dual = -float(np.sqrt(alpha @ gram @ alpha))
    return [
        ("gap at alpha = 1/6", -root + margin(w), root - margin(unit), primal - dual),
        ("the same with w already normalised", -root + margin(unit), root - margin(unit), primal - dual),
    ]


if __name__ == "__main__":
    for what, printed, corrected, truth in figures():
        print(f"{what}: printed {printed:.4f}, corrected {corrected:.4f}, truth {truth:.4f}")
