"""KM Code Fragments 7.13 and 7.14: a step of length 1 settles only for kappa(x, x) < 2; 1/kappa(x, x) always does."""

from __future__ import annotations

from scipy.optimize import minimize_scalar


def figures() -> list[tuple[str, float, float, float]]:
    """One example with kappa(x, x) = 2.5, where the dual alpha - kappa alpha^2 / 2 is largest at 1 / kappa."""
    kappa = 2.5

    def run(step: float) -> float:
        alpha = 0.0
        for _ in range(1001):
            alpha = max(0.0, alpha + step * (1 - kappa * alpha))
        return alpha

    truth = minimize_scalar(lambda a: -(a - kappa * a**2 / 2), bounds=(0, 10), method="bounded").x
    return [("alpha after 1001 updates", run(1.0), run(1 / kappa), float(truth))]


if __name__ == "__main__":
    for what, printed, corrected, truth in figures():
        print(f"{what}: printed {printed:.4f}, corrected {corrected:.4f}, truth {truth:.4f}")
