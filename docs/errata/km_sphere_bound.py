"""KM Theorem 7.5 (and so 7.9, 7.12, 7.14): the pieces of the proof multiply to 12 R^2 / (gamma sqrt l), not 6."""

from __future__ import annotations

import numpy as np


def figures() -> list[tuple[str, float, float, float]]:
    """The coefficient of R^2/(gamma sqrt l), piece by piece on data of norm R; A(0) for a far-off small sphere."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(50, 3))
    radius, gamma, size = 2.0, 0.7, 50
    x *= radius / np.linalg.norm(x, axis=1, keepdims=True)  # the case in which the printed inequalities are equalities
    linear = 2 / size * np.sqrt(np.sum(4 * np.sum(x**2, axis=1) / radius**2))  # Theorem 4.12 with kernel 4 kappa / R^2
    shift = 2 * np.sqrt(np.mean(np.sum(x**2, axis=1) ** 2 / radius**4) / size)  # Theorem 4.15, part 5
    proved = 2 * radius**2 * (linear + shift) / gamma  # Theorem 4.15, part 4, as printed
    scale = radius**2 / (gamma * np.sqrt(size))

    # A(0) = 0 is used; A(0) is 0 only when r >= ||c||.
    c_norm, r = 1.5, 0.5
    at_zero = float(np.clip((c_norm**2 - r**2) / gamma, 0.0, 1.0))
    return [
        ("coefficient of R^2/(gamma sqrt l)", 6.0, 12.0, float(proved / scale)),
        ("A(0) at ||c|| = 1.5, r = 0.5", 0.0, 1.0, at_zero),
    ]


if __name__ == "__main__":
    for what, printed, corrected, truth in figures():
        print(f"{what}: printed {printed:.4f}, corrected {corrected:.4f}, truth {truth:.4f}")
