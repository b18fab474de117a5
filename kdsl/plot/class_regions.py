"""The decision surface of several classes: which class wins where, and the examples that decide it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kdsl.binding.faults import fault
from kdsl.language import syntax as s
from kdsl.numerics.arrays import Floats
from kdsl.plot import sheets
from kdsl.plot.fits import Fit, Mask, grid_over, held
from kdsl.plot.laws import marks_of
from kdsl.plot.sheets import INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from kdsl.plot.sheets import Entry

MARKS = (
    ("o", "#d95f02", "#ffffff"),
    ("^", "#2166ac", "#e4e4e4"),
    ("s", "#1b7837", "#f4f4f4"),
    ("D", "#762a83", "#d6d6d6"),
    ("v", "#8c510a", "#ececec"),
    ("P", "#4d4d4d", "#cccccc"),
)  # the marker, the ink and the ground of each class
SIZE = {"markersize": 3.6, "markeredgewidth": 0.5}


def class_regions(fit: Fit, shown: tuple[int, ...], columns: int) -> Figure:
    """Where each class has the largest decision value; the boundaries, and the examples, support vectors filled."""
    body = fit.clause.body
    assert isinstance(body, s.Argmax)
    names, codes = fit.names(body.letter.id), fit.codes(body.letter.id)
    if len(names) > len(MARKS):
        raise fault(
            "K661",
            f"`decision` tells {len(MARKS)} classes apart at most, and `{fit.model.name}` has {len(names)}",
            help="draw a model of some of the classes",
        )
    rows = fit.shown()
    active, codes = marks_of(fit).active[rows], codes[rows]
    raw = fit.raw_points()[rows][:, list(shown)]
    x, y, values = grid_over(fit, shown, raw)
    with sheets.printed():
        figure, (axes,) = sheets.sheet(columns, 0.98 if columns == 1 else 0.7)
        draw_regions(axes, x, y, values)
        for k, (marker, ink, _) in enumerate(MARKS[: len(names)]):
            for gid, kept, face in (("others", ~active, "white"), ("support vectors", active, ink)):
                chosen = raw[(codes == k) & kept]
                style: dict[str, Any] = {
                    "marker": marker,
                    "s": 12.0,
                    "linewidths": 0.5,
                    "edgecolors": ink,
                    "facecolors": face,
                }
                axes.scatter(chosen[:, 0], chosen[:, 1], zorder=3, **style).set_gid(f"{gid} of class {names[k]}")
        axes.set(xlabel=sheets.plain(fit.features[shown[0]]), ylabel=sheets.plain(fit.features[shown[1]]))
        axes.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]))
        sheets.framed_all_round(axes)
        sheets.note(axes, held(fit, shown))
        sheets.legend_below(figure, legend(names, active), 4 if columns == 1 else 8)
    return figure


def draw_regions(axes: Axes, x: Floats, y: Floats, values: Floats) -> None:
    """The ground of every class up to the line where another one takes over."""
    for k, (_, _, ground) in enumerate(MARKS[: values.shape[2]]):
        lead = values[:, :, k] - np.delete(values, k, axis=2).max(axis=2)
        if lead.max() > 0:
            axes.contourf(x, y, lead, levels=[0.0, np.inf], colors=[ground])
        if lead.min() < 0 < lead.max():
            axes.contour(x, y, lead, levels=[0.0], colors=[INK], linewidths=0.8)


def legend(names: tuple[str, ...], active: Mask) -> list[Entry]:
    entries: list[Entry] = [
        (sheets.plain(name), sheets.mark(marker, color=ink, **SIZE))
        for name, (marker, ink, _) in zip(names, MARKS, strict=False)
    ]
    entries.append(("SV", sheets.mark("o", color=INK, **SIZE)))
    if not active.all():
        entries.append(("not an SV", sheets.mark("o", markerfacecolor="white", markeredgecolor=INK, **SIZE)))
    return entries
