"""The paper that pictures are drawn on: sizes, type, greys and markers of print, and files that do not change."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kdsl.binding.faults import fault, listing

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    Entry = tuple[str, Artist | tuple[Artist, ...]]

COLUMNS = {1: 3.3, 2: 6.9}  # inches: the width of one column of a journal, and of two
FORMATS = ("png", "svg", "pdf")
RESOLUTION = 300  # dots an inch, for PNG

INK, MIDDLE, PALE, FAINT = "#1a1a1a", "#6b6b6b", "#bdbdbd", "#ececec"
BLUE, ORANGE = "#2166ac", "#d95f02"  # far apart in grey too, and for every kind of colour blindness

STYLE: Any = {
    "font.family": ["STIXGeneral", "DejaVu Sans"],  # the second for letters that the first lacks
    "mathtext.fontset": "stix",
    "font.size": 8.0,
    "axes.titlesize": 8.0,
    "axes.labelsize": 8.0,
    "xtick.labelsize": 7.0,
    "ytick.labelsize": 7.0,
    "legend.fontsize": 7.0,
    "axes.linewidth": 0.6,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": False,
    "axes.unicode_minus": True,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "xtick.minor.size": 1.5,
    "ytick.minor.size": 1.5,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.direction": "out",
    "ytick.direction": "out",
    "lines.linewidth": 1.0,
    "lines.solid_capstyle": "round",
    "patch.linewidth": 0.6,
    "hatch.linewidth": 0.4,
    "legend.frameon": False,
    "legend.handlelength": 1.6,
    "legend.handletextpad": 0.6,
    "legend.columnspacing": 1.2,
    "legend.labelspacing": 0.35,
    "legend.borderaxespad": 0.0,
    "svg.fonttype": "path",
    "svg.hashsalt": "kdsl",
    "pdf.fonttype": 42,
    "path.simplify": False,
}


@contextmanager
def printed() -> Iterator[None]:
    """The style, while artists are made or written; K660 where there is no matplotlib."""
    try:
        import matplotlib
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        raise fault(
            "K660",
            "pictures are drawn by matplotlib, which is not installed",
            help="`pip install 'kdsl[plot]'`",
        ) from None
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        yield


def sheet(columns: int, ratio: float, parts: int = 1) -> tuple[Figure, list[Axes]]:
    """A figure one or two columns wide, `ratio` times as high, with `parts` axes side by side; no pyplot behind it."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    if columns not in COLUMNS:
        raise fault("K662", f"a picture is 1 or 2 columns wide, not {columns}", help="choose columns=1 or columns=2")
    width = COLUMNS[columns]
    spacing = ConstrainedLayoutEngine(w_pad=0.03, h_pad=0.03, wspace=0.04)
    figure = Figure(figsize=(width, ratio * width), dpi=RESOLUTION, layout=spacing)
    FigureCanvasAgg(figure)
    return figure, list(figure.subplots(1, parts, squeeze=False)[0])


def legend_below(figure: Figure, entries: list[Entry], across: int) -> None:
    """One legend under the axes, `across` entries in a row, or fewer where the sheet is too narrow; read row by row."""
    for columns in range(min(across, len(entries)), 0, -1):
        rows = -(-len(entries) // columns)
        places = [(r, c) for c in range(columns) for r in range(rows) if r * columns + c < len(entries)]
        labels, handles = zip(*(entries[r * columns + c] for r, c in places), strict=True)
        legend = figure.legend(handles, labels, loc="outside lower center", ncols=columns)
        if columns == 1 or legend.get_window_extent().width <= figure.bbox.width:
            return
        legend.remove()


def framed_all_round(axes: Axes) -> None:
    """Axes whose whole area is a picture."""
    for side in ("top", "right"):
        axes.spines[side].set_visible(True)


def mark(marker: str, **style: Any) -> Line2D:
    """What a legend shows of a marker."""
    from matplotlib.lines import Line2D

    return Line2D([], [], linestyle="none", marker=marker, **style)


def stroke(colour: str, width: float, dashes: Any = "solid") -> Line2D:
    """What a legend shows of a line."""
    from matplotlib.lines import Line2D

    return Line2D([], [], color=colour, linewidth=width, linestyle=dashes)


def plain(text: str) -> str:
    """A name of the user's, not to be read as mathematics."""
    return text.replace("$", r"\$")


def note(axes: Axes, text: str) -> None:
    """A remark above the axes, at their left edge."""
    if text:
        axes.set_title(text, loc="left", fontsize=7.0, color=MIDDLE, pad=4.0)


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write the figure as its suffix says; the same figure gives the same bytes on every day."""
    from kdsl.whole_file import replacing

    name = os.fspath(path)
    kind = format_of(name)
    undated: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {"Software": None})
    with printed(), replacing(name) as file:
        figure.savefig(file, format=kind, dpi=RESOLUTION, metadata=undated)


def format_of(name: str) -> str:
    """What the suffix of a file's name asks for; K667 where that is no picture."""
    kind = os.path.splitext(name)[1].lower().removeprefix(".")
    if kind not in FORMATS:
        what = f"`.{kind}` is no format for pictures" if kind else f"`{name}` has no suffix that says its format"
        raise fault("K667", what, help=f"choose one of {listing([f'.{known}' for known in FORMATS])}")
    return kind
