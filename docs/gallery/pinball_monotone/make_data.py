"""Writes growth.csv, 90 heights that scatter more at a higher age, and pairs.csv, 30 neighbouring pairs of ages."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

here = Path(__file__).parent
rng = np.random.default_rng(3)
age = np.sort(rng.uniform(0, 6, 90))
height = 1.5 * (1 - np.exp(-0.8 * age)) + rng.normal(0, 0.05 + 0.06 * age)
rows = [f"{a:.3f},{h:.3f}" for a, h in zip(age, height, strict=True)]
(here / "growth.csv").write_text("\n".join(["age,y", *rows]) + "\n", encoding="utf-8")
grid = np.linspace(0, 6, 31)
pairs = [f"{low:.1f},{high:.1f}" for low, high in pairwise(grid)]
(here / "pairs.csv").write_text("\n".join(["lo.age,hi.age", *pairs]) + "\n", encoding="utf-8")
