"""Writes loans.csv: 120 applicants, half in each of two groups; the measured income favours one of them unduly."""

from __future__ import annotations

from pathlib import Path

import numpy as np

rng = np.random.default_rng(17)
group = rng.permutation(np.repeat([0, 1], 60))
means = rng.normal(0, 1, 120)
income = means + 1.1 * group + rng.normal(0, 0.4, 120)
years = rng.normal(0, 1, 120)
repaid = np.where(means + 0.6 * years + 0.5 * group + rng.normal(0, 0.5, 120) > 0.25, "repaid", "default")
rows = [f"{m:.3f},{t:.3f},{g - 0.5},{r}" for m, t, g, r in zip(income, years, group, repaid, strict=True)]
Path(__file__).with_name("loans.csv").write_text("\n".join(["income,years,a,y", *rows]) + "\n", encoding="utf-8")
