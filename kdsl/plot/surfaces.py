"""The decision surface over two features, with the margins and the support vectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from kdsl.binding.bound import LabelMap
from kdsl.numerics.arrays import Floats
from kdsl.plot import sheets
from kdsl.plot.class_regions import class_regions
from kdsl.plot.fits import Fit, Mask, Solved, chosen_features, fit_of, grid_over, held, placed, refuse_kind
from kdsl.plot.laws import Laws, marks_of
from kdsl.plot.sheets import BLUE, FAINT, INK, MIDDLE, ORANGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from kdsl.plot.sheets import Entry

CLASSES = ((-1, "o", ORANGE), (1, "^", BLUE))


def decision(
    solution: Solved, pair: tuple[str, str] | None = None, at: Mapping[str, str] | None = None, *, columns: int = 1
) -> Figure:
    """The sign of the decision, or the class that wins, over a pair of features, the others at their medians.

    at: the labels that the prediction takes beside the point; only the examples that have them are shown.

    The level 0 is solid, the margins are dashed. Support vectors are filled, and ringed if they are free where a bound
    exists; a cross marks what lies on the wrong side of its margin.
    """
    fit = fit_of(solution)
    if fit.kind not in ("sign", "class"):
        raise refuse_kind(fit, "decision", "where a decision changes")
    fit = placed(fit, at)
    shown = chosen_features(fit, pair, 2)
    if fit.kind == "class":
        return class_regions(fit, shown, columns)
    rows = fit.shown()
    found = marks_of(fit).kept(rows)
    raw = fit.raw_points()[rows][:, list(shown)]
    with sheets.printed():
        figure, (axes,) = sheets.sheet(columns, 0.98 if columns == 1 else 0.7)
        x, y, values = grid_over(fit, shown, raw)
        axes.contourf(x, y, values, levels=[0.0, np.inf], colors=[FAINT], extend="neither")
        level_lines(axes, x, y, values, margin_levels(found))
        draw_points(axes, found, raw)
        sheets.framed_all_round(axes)
        axes.set(xlabel=sheets.plain(fit.features[shown[0]]), ylabel=sheets.plain(fit.features[shown[1]]))
        axes.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]))
        sheets.note(axes, held(fit, shown))
        sheets.legend_below(figure, legend(fit, found, values), 4 if columns == 1 else 8)
    return figure


def margin_levels(found: Laws) -> list[float]:
    """Where y f(x) begins to cost: the margin, on both sides; [] where nothing has a margin."""
    level = top_level(found)
    return [] if level is None else [-level, level]


def top_level(found: Laws) -> float | None:
    """The margin: the last level, where it is above 0."""
    levels = found.levels()
    return levels[-1] if levels and levels[-1] > 1e-9 * float(np.abs(found.u).max()) else None


def level_lines(axes: Axes, x: Floats, y: Floats, values: Floats, margins: list[float]) -> None:
    """The level 0, and the margins dashed."""
    if margins:
        axes.contour(x, y, values, levels=margins, colors=[MIDDLE], linestyles="dashed", linewidths=0.8)
    if values.min() < 0 < values.max():
        axes.contour(x, y, values, levels=[0.0], colors=[INK], linestyles="solid", linewidths=1.2)


def draw_points(axes: Axes, found: Laws, raw: Floats) -> None:
    """The examples: shape by class, filled for support vectors, ringed where these are free, crossed out of place."""
    labels, active, bound = found.measure, found.active, found.at_bound
    for value, marker, colour in CLASSES:
        rows = labels == value
        style = {"marker": marker, "s": 12.0, "linewidths": 0.5, "edgecolors": colour}
        scatter(axes, raw, rows & ~active, f"others of class {value}", facecolors="white", **style)
        scatter(axes, raw, rows & active, f"support vectors of class {value}", facecolors=colour, **style)
    free = active & ~bound & found.bounded
    scatter(axes, raw, free, "free", marker="o", s=34.0, facecolors="none", edgecolors=INK, linewidths=0.7)
    scatter(axes, raw, margin_errors(found), "margin errors", marker="x", s=5.5, c="white", linewidths=0.6)


def margin_errors(found: Laws) -> Mask:
    """The support vectors on the wrong side of their margin; where there is a bound, the free ones lie on it."""
    level = top_level(found)
    if level is None:
        return np.zeros(len(found.u), dtype=bool)
    suspects = found.at_bound if found.bounded else found.active
    return np.asarray(suspects & (found.u < (1.0 - 1e-6) * level))


def legend(fit: Fit, found: Laws, values: Floats) -> list[Entry]:
    """The two classes, what is done to their marks, and the lines; nothing that is not in the picture."""
    size = {"markersize": 3.6, "markeredgewidth": 0.5}
    filled = sheets.mark("o", color=INK, **size)
    entries: list[Entry] = [
        (label_word(fit, found.target, value), sheets.mark(marker, color=colour, **size))
        for value, marker, colour in CLASSES
        if (found.measure == value).any()
    ]
    if not found.active.all():
        entries.append(("not an SV", sheets.mark("o", markerfacecolor="white", markeredgecolor=INK, **size)))
    if not found.bounded and found.active.any():
        entries.append(("SV", filled))
    if found.bounded and (found.active & ~found.at_bound).any():
        ring = sheets.mark("o", markerfacecolor="none", markeredgecolor=INK, markersize=6.4, markeredgewidth=0.7)
        entries.append(("free SV", (filled, ring)))
    if found.at_bound.any():
        entries.append(("SV at bound", filled))
    if margin_errors(found).any():
        entries.append(("margin error", (filled, sheets.mark("x", color="white", markersize=2.6, markeredgewidth=0.6))))
    if values.min() < 0 < values.max():
        entries.append(("$f = 0$", sheets.stroke(INK, 1.2)))
    margins = margin_levels(found)
    if any(values.min() < level < values.max() for level in margins):
        entries.append((f"$f = \\pm{margins[1]:.3g}$", sheets.stroke(MIDDLE, 0.8, "dashed")))
    return entries


def scatter(axes: Axes, points: Floats, rows: Mask, gid: str, **style: Any) -> None:
    """Markers for the chosen rows, known by `gid`."""
    axes.scatter(points[rows, 0], points[rows, 1], zorder=3, **style).set_gid(gid)


def label_word(fit: Fit, target: str, value: float) -> str:
    """The class as the data spell it, a minus as it is printed."""
    known = fit.bound.label_maps.get(target)
    if not isinstance(known, LabelMap):
        return sheets.plain(f"{fit.column(target)} = {value:+g}")
    word = known.positive if value == known.high else known.negative
    if word.startswith("-"):
        word = "\N{MINUS SIGN}" + word[1:]
    return sheets.plain(f"{fit.column(target)} = {word}")
