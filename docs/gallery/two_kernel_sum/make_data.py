"""Writes load.csv: 90 days of ten years, each with its temperature and the load of a power grid."""

from __future__ import annotations

from pathlib import Path

import numpy as np

rng = np.random.default_rng(23)
year = np.sort(rng.uniform(0, 10, 90))
temperature = rng.uniform(-3, 3, 90)
load = 4 + 0.12 * year + 0.25 * temperature**2 - 0.2 * temperature + rng.normal(0, 0.15, 90)
rows = [f"{a:.3f},{t:.3f},{y:.3f}" for a, t, y in zip(year, temperature, load, strict=True)]
Path(__file__).with_name("load.csv").write_text("\n".join(["year,temperature,y", *rows]) + "\n", encoding="utf-8")
