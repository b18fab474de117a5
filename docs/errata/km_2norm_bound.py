"""KM Theorem 7.38: the first term of the bound, sum xi^2/(l gamma^2) in (7.13), is mu^2 ||alpha||^2/(l gamma^4)."""

from __future__ import annotations

import cvxpy as cp
import numpy as np


def at(mu: float) -> list[tuple[str, float, float, float]]:
    """The term, and ||w||^2 in the original space, against the hyperplane of the primal."""
    rng = np.random.default_rng(4)
    y = np.array([1.0, -1.0] * 10)
    x = rng.normal(size=(20, 2)) + np.outer(y, [2.0, 1.0])
    size = len(y)

    alpha = cp.Variable(size, nonneg=True)
    value = -cp.sum_squares(x.T @ cp.multiply(y, alpha)) - mu * cp.sum_squares(alpha)
    square = -cp.Problem(cp.Maximize(value), [y @ alpha == 0, cp.sum(alpha) == 1]).solve(solver=cp.CLARABEL)
    a2 = float(np.sum(alpha.value**2))  # square is gamma*^2 = -W(alpha*)

    # Truth: the hard margin for kappa + mu delta, as the soft primal that it is, scaled to functional margin 1.
    w, b, xi = cp.Variable(2), cp.Variable(), cp.Variable(size)
    fit = [cp.multiply(y, x @ w + b) >= 1 - xi]
    cp.Problem(cp.Minimize(cp.sum_squares(w) + cp.sum_squares(xi) / mu), fit).solve(solver=cp.CLARABEL)
    norm = float(np.linalg.norm(w.value))
    gamma, slacks = 1 / norm, xi.value / norm  # of the hyperplane of norm 1
    first = float(np.sum(slacks**2)) / (size * gamma**2)
    # The weight vector of the algorithm has functional margin gamma*^2, so it is gamma*^2 times the one found here.
    return [
        (f"first term at mu = {mu}", mu * a2 / (size * square**2), mu**2 * a2 / (size * square**2), first),
        (f"||w||^2 at mu = {mu}", square, square - mu * a2, (square * norm) ** 2),
    ]


def figures() -> list[tuple[str, float, float, float]]:
    """A small and a large mu: the printed first term is too large for mu < 1 and too small for mu > 1."""
    return [*at(0.3), *at(3.0)]


if __name__ == "__main__":
    for what, printed, corrected, truth in figures():
        print(f"{what}: printed {printed:.4f}, corrected {corrected:.4f}, truth {truth:.4f}")
