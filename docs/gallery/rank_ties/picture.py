"""Draws rank_ties.png: the level sets of the score over the two measurements, each wine by its mark."""

from __future__ import annotations

import csv

import matplotlib
import numpy as np

import kdsl

matplotlib.use("agg")
from matplotlib import pyplot

with open("wines.csv", encoding="utf-8") as file:
    table = np.array([[float(value) for value in row.values()] for row in csv.DictReader(file)])
points, marks = table[:, :2], table[:, 2]
solution = kdsl.solve("rank_ties.kspec", "wines.csv", tol=1e-9)
along = np.linspace(-0.1, 3.1, 121)
grid = np.stack(np.meshgrid(along, along), axis=-1)
score = solution.predict(grid.reshape(-1, 2)).reshape(121, 121)

pyplot.rcParams.update({"font.family": "STIXGeneral", "mathtext.fontset": "stix", "font.size": 8})
figure, axes = pyplot.subplots(figsize=(3.3, 3.2), dpi=300, layout="constrained")
axes.contourf(along, along, score, levels=8, cmap="Greys", vmax=score.max() + 2.0 * np.ptp(score))
lines = axes.contour(along, along, score, levels=8, colors="#6b6b6b", linewidths=0.5)
axes.clabel(lines, fontsize=6)
for mark, colour in zip((1, 2, 3, 4), ("#1a1a1a", "#2166ac", "#7a3b00", "#d95f02"), strict=True):
    for x, y in points[marks == mark]:
        axes.text(x, y, str(mark), color=colour, fontsize=7.5, weight="bold", ha="center", va="center")
axes.set(xlabel="sugar", ylabel="acid", xlim=(-0.1, 3.1), ylim=(-0.1, 3.1))
figure.savefig("rank_ties.png", metadata={"Software": None})
