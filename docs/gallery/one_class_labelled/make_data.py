"""Writes parts.csv: 70 sound parts, 8 known to be defective, and how far the inspector trusts each verdict."""

from __future__ import annotations

from pathlib import Path

import numpy as np

rng = np.random.default_rng(5)
angle = rng.uniform(0, 2 * np.pi, 70)
radius = 1.5 + 0.25 * rng.normal(size=70)
sound = np.column_stack([1.4 * radius * np.cos(angle), radius * np.sin(angle)])
defective = np.array([0.0, 0.2]) + 0.35 * rng.normal(size=(8, 2))
trust = np.concatenate([rng.choice([0.5, 1.0], 70), rng.choice([1.0, 2.0], 8)])
points = np.concatenate([sound, defective])
verdicts = [1] * 70 + [-1] * 8
rows = [f"{a:.3f},{b:.3f},{v},{s:g}" for (a, b), v, s in zip(points, verdicts, trust, strict=True)]
Path(__file__).with_name("parts.csv").write_text("\n".join(["width,height,y,s", *rows]) + "\n", encoding="utf-8")
