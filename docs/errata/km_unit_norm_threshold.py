"""KM Code Fragments 7.6 and 7.7: the power of Q in lambda and the scale of b in the decision function."""

from __future__ import annotations

import cvxpy as cp
import numpy as np


def figures() -> list[tuple[str, float, float, float]]:
    """b and gamma of lines 6 and 7, and the distance of the decision boundary of line 8 from the origin."""
    rng = np.random.default_rng(1)
    y = np.array([1.0, -1.0] * 10)
    x = rng.normal(size=(20, 2)) + np.outer(y, [1.4, 0.7]) + [0.3, 0.2]
    cost = 0.08

    alpha = cp.Variable(20, nonneg=True)
    rows = [y @ alpha == 0, cp.sum(alpha) == 1, alpha <= cost]
    q = -cp.Problem(cp.Maximize(-cp.sum_squares(x.T @ cp.multiply(y, alpha))), rows).solve(solver=cp.CLARABEL)
    a = alpha.value
    free = (a > 1e-5) & (a < cost - 1e-5)
    i, j = np.flatnonzero(free & (y < 0))[0], np.flatnonzero(free & (y > 0))[0]
    g = x @ (x.T @ (y * a))  # sum_k alpha_k y_k kappa(x_k, .)

    def lines_6_and_7(lam: float) -> tuple[float, float]:
        b = -lam * (g[i] + g[j])
        return b, 2 * lam * g[j] + b

    b_printed, gamma_printed = lines_6_and_7(q**0.5 / 2)
    b_corrected, gamma_corrected = lines_6_and_7(q**-0.5 / 2)

    w, b, gamma = cp.Variable(2), cp.Variable(), cp.Variable()
    slacks = cp.pos(gamma - cp.multiply(y, x @ w + b))
    cp.Problem(cp.Minimize(-gamma + cost * cp.sum(slacks)), [cp.norm(w) <= 1]).solve(solver=cp.CLARABEL)
    return [
        ("b of line 6", b_printed, b_corrected, float(b.value)),
        ("gamma of line 7", gamma_printed, gamma_corrected, float(gamma.value)),
        # Line 8 adds b to the weight vector of line 9, whose norm is sqrt(Q), not 1.
        ("b of line 8 over the norm of w", b_corrected / q**0.5, b_corrected, float(b.value)),
    ]


if __name__ == "__main__":
    for what, printed, corrected, truth in figures():
        print(f"{what}: printed {printed:.4f}, corrected {corrected:.4f}, truth {truth:.4f}")
