"""Writes switches.csv: two classes of 60 points each around two arcs, with every tenth label wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np

rng = np.random.default_rng(29)
angle = rng.uniform(0, np.pi, (2, 60))
upper = np.column_stack([np.cos(angle[0]), np.sin(angle[0])])
lower = np.column_stack([1 - np.cos(angle[1]), 0.4 - np.sin(angle[1])])
points = np.concatenate([upper, lower]) + rng.normal(0, 0.15, (120, 2))
labels = ["on"] * 60 + ["off"] * 60
for place in range(5, 120, 10):
    labels[place] = "off" if labels[place] == "on" else "on"
rows = [f"{a:.3f},{b:.3f},{label}" for (a, b), label in zip(points, labels, strict=True)]
Path(__file__).with_name("switches.csv").write_text("\n".join(["x1,x2,y", *rows]) + "\n", encoding="utf-8")
