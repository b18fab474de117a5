"""Writes machines.csv: 80 machines inspected now and then; each broke between two visits, or outlived the study."""

from __future__ import annotations

from pathlib import Path

import numpy as np

rng = np.random.default_rng(31)
load = np.sort(rng.uniform(0, 5, 80))
broke = 3 + np.cos(load) - 0.3 * load + rng.normal(0, 0.3, 80)
last = broke - rng.uniform(0.1, 0.8, 80)
first = broke + rng.uniform(0.1, 0.8, 80)
ends = (first < 3.5).astype(int)
first = np.where(ends == 1, first, 3.5)
last = np.minimum(last, 3.5)
rows = [f"{a:.3f},{low:.3f},{high:.3f},{e}" for a, low, high, e in zip(load, last, first, ends, strict=True)]
Path(__file__).with_name("machines.csv").write_text("\n".join(["load,lo,hi,ends", *rows]) + "\n", encoding="utf-8")
