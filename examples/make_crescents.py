"""Writes crescents.csv: two interleaved half circles of 100 points each, with noise."""

from __future__ import annotations

import sys

import numpy as np


def crescents(count: int = 100, noise: float = 0.22, seed: int = 7) -> str:
    """The table as text: x1, x2 and the label y, `upper` or `lower`."""
    generator = np.random.default_rng(seed)
    angle = generator.uniform(0, np.pi, (2, count))
    upper = np.column_stack([np.cos(angle[0]), np.sin(angle[0])])
    lower = np.column_stack([1 - np.cos(angle[1]), 0.5 - np.sin(angle[1])])
    points = np.concatenate([upper, lower]) + noise * generator.normal(size=(2 * count, 2))
    labels = ["upper"] * count + ["lower"] * count
    rows = [f"{a:.4f},{b:.4f},{label}" for (a, b), label in zip(points, labels, strict=True)]
    return "\n".join(["x1,x2,y", *rows]) + "\n"


if __name__ == "__main__":
    sys.stdout.write(crescents())
