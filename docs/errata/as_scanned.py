"""Formulas that are wrong in the files at hand, where the printed page may well be right."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

Figure = tuple[str, float, float, float]


def margins() -> list[Figure]:
    """KM, proof of Theorem 7.22 (functional margin of sum y alpha phi), and SV, Remark 7.4 (direction of a bound)."""
    x = np.array([[2.0, 1.0], [3.0, 0.0], [1.0, 3.0], [-1.0, -2.0], [-3.0, -1.0], [-2.0, 0.5]])
    y = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    alpha = cp.Variable(6, nonneg=True)
    rows = [y @ alpha == 0, cp.sum(alpha) == 1]
    square = cp.Problem(cp.Minimize(cp.sum_squares(x.T @ cp.multiply(y, alpha))), rows).solve(solver=cp.CLARABEL)
    f = x @ (x.T @ (y * alpha.value))
    functional = float(f[y > 0].min() - f[y < 0].max()) / 2

    b, tau, radius = 0.5, 1.0, 1.0
    left, right = (1 + b**2 / tau**2) ** -0.5, (1 + radius**2 / tau**2) ** -0.5
    return [
        ("KM proof of 7.22: functional margin", float(np.sqrt(square)), float(square), functional),
        ("SV Remark 7.4: sign of left minus right", -1.0, 1.0, float(np.sign(left - right))),
    ]


def kernel_sums() -> list[Figure]:
    """KM, the dual under (7.22), KM (7.3), and ES (12.48) on a square basis matrix."""
    rng = np.random.default_rng(18)
    x = rng.normal(size=(5, 2))
    below, above = rng.uniform(size=5), rng.uniform(size=5)
    gram, beta = x @ x.T, below - above
    crossed = float(np.sum(beta[:, None] * (below[:, None] - above[None, :]) * gram))

    excess, gamma = np.array([0.1, 0.2, 0.3, 0.0]), 0.5
    mean = float(np.mean(excess / gamma))  # g on its slope

    basis, y, lam = rng.normal(size=(4, 4)), rng.normal(size=4), 0.7
    weights = cp.Variable(4)
    penalised = cp.sum_squares(y - basis @ weights) + lam * cp.sum_squares(weights)
    cp.Problem(cp.Minimize(penalised)).solve(solver=cp.CLARABEL)
    outer = basis @ basis.T
    inverse = np.linalg.inv(outer + lam * np.eye(4))
    return [
        ("KM under (7.22): quadratic term", crossed, float(beta @ gram @ beta), float(np.sum((x.T @ beta) ** 2))),
        ("KM (7.3): bound, all examples on the slope", float(excess.sum()) / gamma, float(excess.mean()) / gamma, mean),
        (
            "ES (12.48): norm of the fit",
            float(np.linalg.norm(inverse @ basis @ y)),
            float(np.linalg.norm(inverse @ outer @ y)),
            float(np.linalg.norm(basis @ weights.value)),
        ),
    ]


def barrier() -> list[Figure]:
    """IH (5.6): the least value of f_inf in Example 5-1 near its solution, with g < 0 and with g <= 0 required."""
    x, y = np.array([-3.0, -1.0, 2.0]), np.array([-1.0, -1.0, 1.0])
    w, b = 2 / 3, -1 / 3
    slack = y * (w * x + b) - 1  # two of them are zero
    strict = w**2 if np.all(slack > 1e-12) else np.inf
    weak = w**2 if np.all(slack > -1e-12) else np.inf
    v, c = cp.Variable(), cp.Variable()
    truth = cp.Problem(cp.Minimize(cp.square(v)), [cp.multiply(y, v * x + c) >= 1]).solve(solver=cp.CLARABEL)
    return [("IH (5.6): f_inf at the solution of Example 5-1", strict, weak, float(truth))]


def figures() -> list[Figure]:
    """Every formula of this file."""
    return [*margins(), *kernel_sums(), *barrier()]


if __name__ == "__main__":
    for what, printed, corrected, truth in figures():
        print(f"{what}: printed {printed:.4f}, corrected {corrected:.4f}, truth {truth:.4f}")
