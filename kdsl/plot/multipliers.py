"""Multipliers against margins or residuals, on the ground of what KKT permits; the examples that break it are named."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from kdsl.binding.faults import fault
from kdsl.numerics.arrays import Floats
from kdsl.plot import sheets
from kdsl.plot.fits import Fit, Mask, Solved, fit_of, framed
from kdsl.plot.laws import Law, Laws, constant, laws_of
from kdsl.plot.sheets import BLUE, FAINT, INK, MIDDLE, ORANGE, PALE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from kdsl.plot.sheets import Entry

NAMED = 8  # violators that are named, at most
SAMPLES = 400  # points of a curved law


@dataclass(frozen=True, eq=False)
class Plane:
    """Every example as a point (u, height) in units in which one law holds for all, and that law as a line.

    The height is the force, upwards for margins, which multipliers push to the right. `violation` is the distance of
    a point from the line, where the spread of the margins and the largest force are 1.
    """

    u: Floats
    height: Floats
    line: Floats
    violation: Floats
    levels: list[float]
    largest: float
    shifted: bool
    scaled: bool


def margins(solution: Solved, *, tol: float = 1e-2, columns: int = 1) -> Figure:
    """The multiplier of every example against its margin, residual or novelty.

    The band is where KKT lets a point lie. Examples further from it than `tol` times the spread of the margins, or the
    largest multiplier, are marked, and the worst are named by their place in the data, counted from 1.
    """
    fit = fit_of(solution)
    found = laws_of(fit)
    plane = plane_of(fit, found)
    broken = plane.violation > tol
    with sheets.printed():
        figure, (axes,) = sheets.sheet(columns, 0.86 if columns == 1 else 0.5)
        limits(axes, plane)
        draw_regions(axes, plane, ordinate(found, plane))
        rows: dict[str, Mask] = {
            "free": found.active & ~found.at_bound,
            "bound": found.at_bound,
            "others": ~found.active,
        }
        draw(axes, plane, rows["others"] & ~broken, "others", "o", "white", MIDDLE)
        draw(axes, plane, rows["bound"] & ~broken, "at bound", "s", PALE, INK)
        draw(axes, plane, rows["free"] & ~broken, "free", "o", BLUE, BLUE)
        draw(axes, plane, broken, "violators", "D", ORANGE, ORANGE)
        name_violators(axes, plane, tol)
        axes.set(xlabel=abscissa(found, plane), ylabel=f"${ordinate(found, plane)}$")
        sheets.note(axes, remark(plane, tol))
        sheets.legend_below(figure, legend(rows, broken), 3 if columns == 1 and broken.any() else 5)
    return figure


# ------------------------------------------------------------------ the numbers


def plane_of(fit: Fit, found: Laws) -> Plane:
    """The points and the law in common units; K663 where every example has a law of its own."""
    everywhere = all(bool(relation.members.all()) for relation in found.relations)
    n = len(found.u)
    scale = np.max([largest_force(relation.law) for relation in found.relations], axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    level = np.max([top_break(relation.law, n) for relation in found.relations], axis=0)
    scaled, shifted = not constant(scale), not constant(level)
    scale, shift = (scale if scaled else np.ones(n)), (level if shifted else np.zeros(n))
    laws = [relation.law.stretched(scale, shift) for relation in found.relations]
    if not everywhere or not all(map(in_common, laws)):
        raise fault(
            "K663",
            f"every example of `{fit.model.name}` has a loss of another shape, so no one region is right for all",
            help="draw the residuals of the examples of one shape: solve on their rows alone",
        )
    u, force = found.u - shift, found.force / scale
    levels = sorted({float(b) for law in laws for b in law.breaks[:, 0] if np.isfinite(b)})
    size = float(np.std(u)) or 1.0
    finite = [abs(float(s)) for law in laws for s in law.slope[:, 0] if np.isfinite(s) and s != 0]
    straight = all((law.curvature[[0, -1]] == 0).all() and law.logistic is None for law in laws)
    largest = max(finite) if finite and straight else float(np.abs(force).max(initial=0.0)) or 1.0
    line = law_line(laws, framed(u), 2.0 * max(largest, float(np.abs(force).max(initial=0.0))))
    violation = distances(u, force, line, size, largest)
    sense = -1.0 if found.kind == "sign" else 1.0
    height = sense * line[:, 1] + 0.0
    return Plane(u, sense * force, np.stack([line[:, 0], height], axis=1), violation, levels, largest, shifted, scaled)


def largest_force(law: Law) -> Floats:
    """What the force is measured by: its bound, else its growth."""
    if law.logistic is not None:
        return law.logistic
    straight = np.where((law.curvature == 0) & np.isfinite(law.slope), np.abs(law.slope), 0.0).max(axis=0)
    return np.asarray(np.where(straight > 0, straight, law.curvature.max(axis=0)))


def top_break(law: Law, n: int) -> Floats:
    return np.asarray(law.breaks.max(axis=0)) if len(law.breaks) else np.zeros(n)


def in_common(law: Law) -> bool:
    """Whether the law is the same for all examples."""
    rows = [*law.breaks, *law.curvature, *law.slope, *([] if law.logistic is None else [law.logistic])]
    return all(bool(np.isinf(row).all()) or constant(row) for row in rows)


def law_line(laws: list[Law], span: tuple[float, float], highest: float) -> Floats:
    """The graph of the summed force from left to right, walls cut at +-highest; samples of what is curved."""
    breaks = {float(b) for law in laws for b in law.breaks[:, 0] if np.isfinite(b)}
    if any(law.logistic is not None for law in laws):
        breaks |= {float(u) for u in np.linspace(*span, SAMPLES)}
    width = span[1] - span[0]
    inner = sorted(breaks)
    ends = [min([span[0], *inner]) - width, max([span[1], *inner]) + width]
    corners = []
    for u in [ends[0], *inner, ends[1]]:
        for right in (False, True):
            total = float(sum(law.force(np.array([u]), right)[0] for law in laws))
            corners.append((u, total if np.isfinite(total) else float(np.copysign(highest, total))))
    return np.array(corners)


def distances(u: Floats, force: Floats, line: Floats, across: float, up: float) -> Floats:
    """How far each point is from the line, in units of (across, up)."""
    points = np.stack([u / across, force / up], axis=1)
    corners = line / np.array([across, up])
    nearest = np.full(len(u), np.inf)
    for start, end in pairwise(corners):
        along = end - start
        length = float(along @ along)
        share = np.clip((points - start) @ along / length, 0.0, 1.0) if length > 0 else np.zeros(len(u))
        nearest = np.minimum(nearest, np.linalg.norm(points - start - share[:, None] * along, axis=1))
    return nearest


# ------------------------------------------------------------------ the picture


def limits(axes: Axes, plane: Plane) -> None:
    """Room for all points and for the law between them, walls apart, and headroom for what is written above."""
    span = framed(np.array([*plane.u, *plane.levels]))
    ends = np.interp(span, *plane.line.T)
    heights = [0.0, *plane.height, *ends[np.abs(ends) < 1.5 * np.abs(plane.height).max(initial=plane.largest)]]
    low, high = min(heights), max(heights)
    axes.set_xlim(*span)
    axes.set_ylim(low - 0.06 * (high - low), high + (0.1 if low < 0 else 0.18) * (high - low))


def draw_regions(axes: Axes, plane: Plane, name: str) -> None:
    """Shade where a multiplier is at its bound, say what it is there, and draw the band in which a point may lie."""
    left, right = axes.get_xlim()
    cuts = [left, *(b for b in plane.levels if left < b < right), right]
    top = axes.get_ylim()[1]
    for a, b in pairwise(cuts):
        ends = np.interp([a + 0.25 * (b - a), a + 0.75 * (b - a)], *plane.line.T)
        flat = abs(ends[1] - ends[0]) <= 1e-9 * plane.largest
        if abs(ends[0]) > 1e-9 * plane.largest and len(cuts) > 2:
            axes.axvspan(a, b, facecolor=FAINT, linewidth=0, zorder=0).set_gid("costs")
        if flat and b - a > 0.22 * (right - left):
            axes.text(
                (a + b) / 2,
                top - 0.035 * (top - axes.get_ylim()[0]),
                f"${name} = {ends[0]:.3g}$",
                ha="center",
                va="top",
                fontsize=7.0,
                color=MIDDLE,
            )
    for level in plane.levels:
        axes.axvline(level, color=MIDDLE, linewidth=0.6, linestyle=(0, (4, 2)), zorder=1)
    (band,) = axes.plot(*plane.line.T, color=PALE, linewidth=5.0, solid_joinstyle="round", zorder=1.5)
    band.set_gid("permitted")


def draw(axes: Axes, plane: Plane, rows: Mask, gid: str, marker: str, face: str, edge: str) -> None:
    points = axes.scatter(
        plane.u[rows],
        plane.height[rows],
        s=9.0,
        marker=marker,
        facecolors=face,
        edgecolors=edge,
        linewidths=0.5,
        zorder=3,
    )
    points.set_gid(gid)


def worst_first(plane: Plane, tol: float) -> list[int]:
    """The worst violators, worst first, by place in the data."""
    order = np.argsort(-plane.violation, kind="stable")[:NAMED]
    return [int(k) for k in order if plane.violation[k] > tol]


def name_violators(axes: Axes, plane: Plane, tol: float) -> None:
    """The worst by their place in the data, beside their marks; one that would cover another's name stays without."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    taken: list[tuple[float, float]] = []
    for k in worst_first(plane, tol):
        x, y = (plane.u[k] - left) / (right - left), (plane.height[k] - low) / (high - low)
        if any(abs(x - a) < 0.08 and abs(y - b) < 0.05 for a, b in taken):
            continue
        taken.append((x, y))
        name = axes.annotate(
            str(k + 1),
            (plane.u[k], plane.height[k]),
            xytext=(3.0, 2.5),
            textcoords="offset points",
            fontsize=6.5,
            color=INK,
            zorder=4,
        )
        name.set_gid("violator")


def remark(plane: Plane, tol: float) -> str:
    """How many examples break KKT, and which most."""
    worst = worst_first(plane, tol)
    broken = int((plane.violation > tol).sum())
    if not worst:
        return f"no example breaks KKT by more than {100 * tol:g} %"
    verb = "example breaks" if broken == 1 else "examples break"
    most = ", ".join(str(k + 1) for k in worst)
    return f"{broken} {verb} KKT by more than {100 * tol:g} %" + (
        f",\nmost of all {most}" if broken > 1 else f": {most}"
    )


def abscissa(found: Laws, plane: Plane) -> str:
    letter = found.target
    words = {
        "sign": f"functional margin ${letter}_i f(x_i)$",
        "value": f"residual ${letter}_i - f(x_i)$",
        "novelty": f"${letter}_i$ times the novelty of $x_i$" if letter else "novelty of $x_i$",
    }[found.kind]
    return words + (", from its level" if plane.shifted else "")


def ordinate(found: Laws, plane: Plane) -> str:
    """The multiplier, or the difference of two, in TeX."""
    sense = -1.0 if found.kind == "sign" else 1.0
    ordered = sorted(found.relations, key=lambda relation: -sense * relation.direction)
    text = ""
    for relation in ordered:
        sign = "-" if sense * relation.direction < 0 else "+" if text else ""
        text += f"{sign}{tex_letter(relation.letter)}_i"
    if plane.scaled:
        return f"({text}) / C_i" if len(ordered) > 1 else f"{text} / C_i"
    return text


def tex_letter(letter: str) -> str:
    """`alpha^` as TeX."""
    name = letter.rstrip("^")
    base = f"\\{name}" if len(name) > 1 and name.isalpha() else f"{{{name}}}"
    return f"\\hat{{{base}}}" if letter.endswith("^") else base


def legend(rows: dict[str, Mask], broken: Mask) -> list[Entry]:
    size = {"markersize": 3.2, "markeredgewidth": 0.5}
    kinds: list[tuple[str, Mask, Entry]] = [
        ("others", ~broken, ("not an SV", sheets.mark("o", markerfacecolor="white", markeredgecolor=MIDDLE, **size))),
        ("free", ~broken, ("free SV", sheets.mark("o", color=BLUE, **size))),
        ("bound", ~broken, ("SV at bound", sheets.mark("s", markerfacecolor=PALE, markeredgecolor=INK, **size))),
    ]
    entries = [entry for name, kept, entry in kinds if (rows[name] & kept).any()]
    if broken.any():
        entries.append(("breaks KKT", sheets.mark("D", color=ORANGE, **size)))
    entries.append(("permitted by KKT", sheets.stroke(PALE, 5.0)))
    return entries
