"""SV Remark 7.9: max(0, -y f) is not the eps-insensitive loss |y - f|_eps at eps = 0, which is |y - f|."""

from __future__ import annotations

import numpy as np


def figures() -> list[tuple[str, float, float, float]]:
    """The eps-insensitive loss at eps = 1e-9 for y = 1 and two outputs, beside the printed cost and |y - f|."""

    def insensitive(y: float, f: float, eps: float = 1e-9) -> float:
        return max(0.0, abs(y - f) - eps)

    return [(f"loss at y = 1, f = {f}", max(0.0, -f), float(np.abs(1 - f)), insensitive(1.0, f)) for f in (2.0, -0.5)]


if __name__ == "__main__":
    for what, printed, corrected, truth in figures():
        print(f"{what}: printed {printed:.4f}, corrected {corrected:.4f}, truth {truth:.4f}")
