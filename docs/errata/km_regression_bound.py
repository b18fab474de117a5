"""KM, before Theorem 7.49: A(a) <= |a|_eps lacks the factor 1/(gamma - eps), and the empirical error its 1/l."""

from __future__ import annotations

import numpy as np


def figures() -> list[tuple[str, float, float, float]]:
    """The least factor c with A(a) <= c |a|_eps for every a, and with mean A <= c sum |a|_eps over l residuals."""
    eps, gamma, size = 0.1, 0.4, 2
    a = np.linspace(eps + 1e-6, 3.0, 200_001)
    loss = np.maximum(0.0, a - eps)
    ramp = np.clip((a - eps) / (gamma - eps), 0.0, 1.0)
    least = float(np.max(ramp / loss))
    residual = np.full(size, 0.3)  # all on the slope, where the bound is attained
    mean_ramp = float(np.mean((residual - eps) / (gamma - eps)))
    return [
        ("factor on |a|_eps", 1.0, 1 / (gamma - eps), least),
        (
            "upper bound of the empirical error at two residuals of 0.3",
            float(np.sum(residual - eps)),
            float(np.sum(residual - eps)) / (size * (gamma - eps)),
            mean_ramp,
        ),
    ]


if __name__ == "__main__":
    for what, printed, corrected, truth in figures():
        print(f"{what}: printed {printed:.4f}, corrected {corrected:.4f}, truth {truth:.4f}")
