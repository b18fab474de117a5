"""Draws two_kernel_sum.png: the two parts of the sum, each with the rest of the load when the other is taken off."""

from __future__ import annotations

import csv

import matplotlib
import numpy as np

import kdsl

matplotlib.use("agg")
from matplotlib import pyplot

with open("load.csv", encoding="utf-8") as file:
    table = np.array([[float(value) for value in row.values()] for row in csv.DictReader(file)])
points, load = table[:, :2], table[:, 2]
solution = kdsl.solve("two_kernel_sum.kspec", "load.csv", tol=1e-9)
_, trend_clause = solution.predictor.model.predictions
b = solution.scalars["b"]


def parts(at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(the trend, the smooth part) at points."""
    trend = solution.predictor.decision(at, trend_clause)
    return trend, solution.predict(at) - trend - b


trend, smooth = parts(points)
pyplot.rcParams.update({"font.family": "STIXGeneral", "mathtext.fontset": "stix", "font.size": 8})
figure, axes = pyplot.subplots(1, 2, figsize=(6.9, 2.5), dpi=300, layout="constrained", sharey=True)
for number, (name, rest) in enumerate({"year": load - b - smooth, "temperature": load - b - trend}.items()):
    along = np.linspace(points[:, number].min(), points[:, number].max(), 301)
    at = np.zeros((301, 2))
    at[:, number] = along
    axes[number].scatter(points[:, number], rest, s=9, facecolors="white", edgecolors="#6b6b6b", linewidths=0.5)
    axes[number].plot(along, parts(at)[number], color="#1a1a1a", linewidth=1.2)
    axes[number].set(xlabel=name, ylabel=("load less $b$ and $h$", "load less $b$ and $g$")[number])
    axes[number].spines[["top", "right"]].set_visible(False)
figure.savefig("two_kernel_sum.png", metadata={"Software": None})
