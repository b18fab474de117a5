"""HB after Proposition 5.6: nu bounds fractions (nu m bounds numbers), and nu runs to 2 min(m+, m-)/m, not to 1."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog


def figures() -> list[tuple[str, float, float, float]]:
    """The largest lower bound on the number of support vectors that holds, and the largest feasible nu."""
    y = np.array([1.0] * 9 + [-1.0] * 5)
    m, nu = len(y), 0.5
    # sum alpha >= nu with every alpha <= 1/m needs this many positive multipliers, found by counting.
    fewest = next(n for n in range(m + 1) if n * (1 / m) >= nu)
    largest = -linprog(-np.ones(m), A_eq=[y], b_eq=[0.0], bounds=[(0, 1 / m)] * m).fun
    return [
        ("lower bound on the number of support vectors", nu, nu * m, float(fewest)),
        ("largest feasible nu", 1.0, 2 * 5 / m, float(largest)),
    ]


if __name__ == "__main__":
    for what, printed, corrected, truth in figures():
        print(f"{what}: printed {printed:.4f}, corrected {corrected:.4f}, truth {truth:.4f}")
