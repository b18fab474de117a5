"""The level sets of a novelty function over two features, with the zero level that encloses what is normal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from kdsl.plot import sheets
from kdsl.plot.fits import Mask, Solved, chosen_features, fit_of, grid_over, held, placed, refuse_kind
from kdsl.plot.laws import marks_of
from kdsl.plot.sheets import BLUE, FAINT, INK, MIDDLE, ORANGE
from kdsl.plot.surfaces import label_word, scatter

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kdsl.plot.sheets import Entry

LEVELS = 8  # level sets, about; the picture says their values


def novelty(
    solution: Solved, pair: tuple[str, str] | None = None, at: Mapping[str, str] | None = None, *, columns: int = 1
) -> Figure:
    """Level sets of the novelty: shaded inside 0, which is solid; the novel examples crossed.

    Examples that are labelled as outliers are triangles.
    """
    fit = fit_of(solution)
    if fit.kind != "novelty":
        raise refuse_kind(fit, "novelty", "how far a point is from what is normal")
    fit = placed(fit, at)
    shown = chosen_features(fit, pair, 2)
    rows = fit.shown()
    found = marks_of(fit).kept(rows)
    raw = fit.raw_points()[rows][:, list(shown)]
    with sheets.printed():
        from matplotlib.ticker import MaxNLocator

        figure, (axes,) = sheets.sheet(columns, 0.98 if columns == 1 else 0.7)
        x, y, values = grid_over(fit, shown, raw)
        levels = [v for v in MaxNLocator(LEVELS).tick_values(values.min(), values.max()) if abs(v) > 1e-12]
        axes.contourf(x, y, values, levels=[-np.inf, 0.0], colors=[FAINT])
        lines = axes.contour(x, y, values, levels=levels, colors=[MIDDLE], linewidths=0.5, negative_linestyles="dotted")
        axes.clabel(lines, fmt=lambda v: f"{v:.3g}".replace("-", "\N{MINUS SIGN}"), fontsize=6.0, inline_spacing=1)
        if values.min() < 0 < values.max():
            axes.contour(x, y, values, levels=[0.0], colors=[INK], linewidths=1.3)
        groups = {"others": ~found.active, "free": found.active & ~found.at_bound, "bound": found.at_bound}
        outliers = found.measure < 0
        for name, rows in groups.items():
            scatter(axes, raw, rows & ~outliers, name, **STYLES[name])
            scatter(axes, raw, rows & outliers, f"{name} outliers", **{**STYLES[name], **OUTLIERS})
        axes.set(xlabel=sheets.plain(fit.features[shown[0]]), ylabel=sheets.plain(fit.features[shown[1]]))
        axes.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]))
        sheets.framed_all_round(axes)
        sheets.note(axes, held(fit, shown))
        entries = legend(groups, found.bounded, bool(values.min() < 0 < values.max()))
        if outliers.any():
            entries.append((label_word(fit, found.target, -1), sheets.mark("v", **OUTLINE)))
        sheets.legend_below(figure, entries, 3 if columns == 1 else 5)
    return figure


STYLES: dict[str, dict[str, Any]] = {
    "others": {"marker": "o", "s": 8.0, "facecolors": "white", "edgecolors": MIDDLE, "linewidths": 0.5},
    "free": {"marker": "o", "s": 11.0, "facecolors": BLUE, "edgecolors": INK, "linewidths": 0.5},
    "bound": {"marker": "X", "s": 17.0, "facecolors": ORANGE, "edgecolors": INK, "linewidths": 0.4},
}
OUTLIERS: dict[str, Any] = {"marker": "v", "s": 17.0}
OUTLINE: dict[str, Any] = {
    "markersize": 4.2,
    "markeredgewidth": 0.5,
    "markerfacecolor": "white",
    "markeredgecolor": MIDDLE,
}


def legend(groups: dict[str, Mask], bounded: bool, enclosed: bool) -> list[Entry]:
    words = {"others": "not an SV", "free": "free SV" if bounded else "SV", "bound": "SV at bound"}
    entries: list[Entry] = [("novelty 0", sheets.stroke(INK, 1.3))] if enclosed else []
    entries.append(("other levels", sheets.stroke(MIDDLE, 0.5)))
    for name, rows in groups.items():
        if rows.any():
            style = STYLES[name]
            colours = {"markerfacecolor": style["facecolors"], "markeredgecolor": style["edgecolors"]}
            entries.append(
                (words[name], sheets.mark(str(style["marker"]), markersize=3.8, markeredgewidth=0.4, **colours))
            )
    return entries
