"""KM Remark 7.13: k values of gamma cost ln(k)/(2 l) under the square root."""

from __future__ import annotations

from math import log


def figures() -> list[tuple[str, float, float, float]]:
    """The growth of ln(2/delta)/(2 l) when delta becomes delta/k."""
    size, delta, k = 100, 0.05, 10

    def under_the_root(confidence: float) -> float:
        return log(2 / confidence) / (2 * size)

    grown = under_the_root(delta / k) - under_the_root(delta)
    return [("penalty for k = 10, l = 100", log(k) / size, log(k) / (2 * size), grown)]


if __name__ == "__main__":
    for what, printed, corrected, truth in figures():
        print(f"{what}: printed {printed:.4f}, corrected {corrected:.4f}, truth {truth:.4f}")
