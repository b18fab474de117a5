"""Writes demand.csv: the demand for a perishable good over 80 evenings, by the temperature of the day."""

from __future__ import annotations

from pathlib import Path

import numpy as np

rng = np.random.default_rng(1)
temperature = np.sort(rng.uniform(0, 6, 80))
demand = 2 + np.sin(temperature) + 0.15 * temperature + rng.normal(0, 0.25, 80) + rng.exponential(0.25, 80)
rows = [f"{t:.3f},{d:.3f}" for t, d in zip(temperature, demand, strict=True)]
Path(__file__).with_name("demand.csv").write_text("\n".join(["temperature,y", *rows]) + "\n", encoding="utf-8")
