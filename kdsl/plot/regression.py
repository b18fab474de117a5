"""The regression tube: the curve over one feature, the band in which an error costs nothing, the support vectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from kdsl.plot import sheets
from kdsl.plot.fits import Mask, Solved, chosen_features, fit_of, framed, held, placed, refuse_kind, slice_points
from kdsl.plot.laws import marks_of
from kdsl.plot.sheets import BLUE, FAINT, INK, MIDDLE, ORANGE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kdsl.plot.sheets import Entry

GRID = 601  # points along the feature


def tube(
    solution: Solved, feature: str | None = None, at: Mapping[str, str] | None = None, *, columns: int = 1
) -> Figure:
    """The fitted curve over a feature, the others at their medians, with the tube where there is one.

    Where an example is compared with two numbers, between which its response lies, a line joins them; where with
    none, as in a ranking, its mark is on the curve.
    """
    fit = fit_of(solution)
    if fit.kind != "value":
        raise refuse_kind(fit, "tube", "a number over a feature")
    fit = placed(fit, at)
    (shown,) = chosen_features(fit, None if feature is None else (feature,), 1)
    rows = fit.shown()
    found = marks_of(fit).kept(rows)
    x = fit.raw_points()[rows, shown]
    heights = {name: values[rows] for name, values in fit.responses().items()}
    if not heights:
        heights = {"f": fit.training_decision()[rows]}
    along = np.linspace(*framed(x, 0.03), GRID)
    curve = fit.decision(slice_points(fit, (shown,), along[:, None]))
    low, high = found.costless()
    with sheets.printed():
        figure, (axes,) = sheets.sheet(columns, 0.74 if columns == 1 else 0.45)
        if high > low:
            axes.fill_between(along, curve + low, curve + high, facecolor=FAINT, linewidth=0, zorder=0).set_gid("tube")
            for edge in (low, high):
                axes.plot(along, curve + edge, color=MIDDLE, linewidth=0.7, linestyle="dashed", zorder=1)
        axes.plot(along, curve, color=INK, linewidth=1.2, zorder=2)[0].set_gid("curve")
        groups = {"others": ~found.active, "free": found.active & ~found.at_bound, "bound": found.at_bound}
        for name, chosen in groups.items():
            for y in heights.values():
                axes.scatter(x[chosen], y[chosen], zorder=3, **STYLES[name]).set_gid(name)
        if len(heights) > 1:  # known only to lie between two numbers
            ends = np.array(list(heights.values()))
            whole = np.isfinite(ends).all(axis=0)
            axes.vlines(
                x[whole], ends.min(axis=0)[whole], ends.max(axis=0)[whole], color=MIDDLE, linewidth=0.5, zorder=1
            )
        axes.set(xlabel=sheets.plain(fit.features[shown]))
        axes.set(ylabel=sheets.plain(fit.column(next(iter(heights))) if len(heights) == 1 else ", ".join(heights)))
        axes.set_xlim(along[0], along[-1])
        sheets.note(axes, held(fit, (shown,)))
        sheets.legend_below(figure, legend(groups, low, high, found.bounded), 3 if columns == 1 else 6)
    return figure


STYLES: dict[str, dict[str, Any]] = {
    "others": {"marker": "o", "s": 9.0, "facecolors": "white", "edgecolors": MIDDLE, "linewidths": 0.5},
    "free": {"marker": "D", "s": 12.0, "facecolors": BLUE, "edgecolors": INK, "linewidths": 0.5},
    "bound": {"marker": "o", "s": 9.0, "facecolors": ORANGE, "edgecolors": ORANGE, "linewidths": 0.5},
}


def legend(groups: dict[str, Mask], low: float, high: float, bounded: bool) -> list[Entry]:
    words = {"others": "not an SV", "free": "free SV" if bounded else "SV", "bound": "SV along bound"}
    size = {"markersize": 3.2, "markeredgewidth": 0.5}
    entries: list[Entry] = [("$f$", sheets.stroke(INK, 1.2))]
    if high > low:
        tube = f"$f \\pm {high:.3g}$" if abs(high + low) <= 1e-9 * high else f"$f {low:+.3g}$, $f {high:+.3g}$"
        entries.append((tube, sheets.stroke(MIDDLE, 0.7, "dashed")))
    for name, rows in groups.items():
        if rows.any():
            style = STYLES[name]
            colours = {"markerfacecolor": style["facecolors"], "markeredgecolor": style["edgecolors"]}
            entries.append((words[name], sheets.mark(str(style["marker"]), **colours, **size)))
    return entries
