"""KM Code Fragment 7.14: without clipping to [-C, C] it does not solve linear eps-insensitive SVR."""

from __future__ import annotations

import cvxpy as cp
import numpy as np


def figures() -> list[tuple[str, float, float, float]]:
    """The largest |alpha| of the fragment as printed and clipped, against the dual of SVR with offset 0."""
    rng = np.random.default_rng(7)
    x = np.linspace(-2, 2, 12)
    y = np.sin(2 * x) + 0.2 * rng.normal(size=12)
    y[5] += 3.0
    gram = np.exp(-20.0 * (x[:, None] - x[None, :]) ** 2)
    eps, cost = 0.1, 0.6

    def run(bound: float) -> np.ndarray:
        alpha = np.zeros(12)
        for _ in range(20_000):
            before = alpha.copy()
            for i in range(12):
                old, rest = alpha[i], y[i] - gram[i] @ alpha
                sign = np.sign(old) if old != 0 else float(np.clip(rest / eps, -1, 1))
                new = old + rest - eps * sign
                alpha[i] = 0.0 if old * new < 0 else float(np.clip(new, -bound, bound))
            if np.max(np.abs(alpha - before)) < 1e-12:
                break
        return alpha

    root = np.linalg.cholesky(gram)  # rows are explicit features

    def primal(alpha: np.ndarray) -> float:
        return float(alpha @ gram @ alpha / 2 + cost * np.maximum(0, np.abs(y - gram @ alpha) - eps).sum())

    w = cp.Variable(12)
    misfit = cp.sum(cp.pos(cp.abs(y - root @ w) - eps))
    value = cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + cost * misfit)).solve(solver=cp.CLARABEL)
    largest = float(np.abs(np.linalg.solve(root.T, w.value)).max())
    printed, corrected = run(np.inf), run(cost)
    return [
        ("largest |alpha|", float(np.abs(printed).max()), float(np.abs(corrected).max()), largest),
        ("primal value of the f returned", primal(printed), primal(corrected), float(value)),
    ]


if __name__ == "__main__":
    for what, printed, corrected, truth in figures():
        print(f"{what}: printed {printed:.4f}, corrected {corrected:.4f}, truth {truth:.4f}")
