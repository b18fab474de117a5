"""Writes patients.csv: 70 patients, two symptoms, one of them noisy, and what the biopsy said of each afterwards."""

from __future__ import annotations

from pathlib import Path

import numpy as np

rng = np.random.default_rng(37)
size, depth = rng.normal(0, 1, (2, 70))
noise = rng.normal(0, 0.7, 70)
stage = size + 0.8 * np.sin(1.5 * depth)
malignant = stage > 0
towards = np.where(malignant, noise, -noise)
columns = zip(size + noise, depth, np.abs(stage), towards, malignant, strict=True)
rows = [f"{a:.3f},{b:.3f},{c:.3f},{d:.3f},{'malignant' if m else 'benign'}" for a, b, c, d, m in columns]
header = "x.pain,x.fever,z.clarity,z.error,y"
Path(__file__).with_name("patients.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
