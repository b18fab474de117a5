"""HB section 5.4, kernel PCA: C = sum x x'/(m-1) gives (m - 1) lambda alpha = K alpha, (m - 1) lambda |alpha|^2 = 1."""

from __future__ import annotations

import numpy as np


def figures() -> list[tuple[str, float, float, float]]:
    """Leading eigenvalue of the covariance matrix, and the norm of v = sum alpha_i x_i, for m = 6."""
    x = np.random.default_rng(13).normal(size=(6, 3)) * [3.0, 1.0, 0.5]
    x -= x.mean(axis=0)
    m = len(x)
    truth = float(np.linalg.eigvalsh(np.cov(x.T)).max())
    values, vectors = np.linalg.eigh(x @ x.T)
    value, vector = float(values[-1]), vectors[:, -1]

    def norm(squared: float) -> float:
        return float(np.linalg.norm(x.T @ (vector * np.sqrt(squared))))  # |alpha|^2 = squared

    return [
        ("leading eigenvalue", value / m, value / (m - 1), truth),
        ("norm of v", norm(1 / (value / m)), norm(1 / ((m - 1) * (value / (m - 1)))), 1.0),
    ]


if __name__ == "__main__":
    for what, printed, corrected, truth in figures():
        print(f"{what}: printed {printed:.4f}, corrected {corrected:.4f}, truth {truth:.4f}")
