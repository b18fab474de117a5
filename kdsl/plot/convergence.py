"""The gap against time: what a solver reported while it ran, and what was certified at the end."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, NamedTuple

from kdsl.binding.faults import fault
from kdsl.models.solution import Solution
from kdsl.plot import sheets
from kdsl.plot.sheets import BLUE, INK, MIDDLE
from kdsl.solving.backends.interface import Progress

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from kdsl.plot.sheets import Entry


class Moment(NamedTuple):
    """What a backend reported, and when."""

    seconds: float
    iterations: int
    gap: float


class Record:
    """The `progress` of a solve that keeps every report, and hands it on to another one if there is one."""

    def __init__(self, then: Progress | None = None) -> None:
        self._then = then
        self._began = time.perf_counter()
        self.moments: list[Moment] = []

    def __call__(self, iterations: int, gap: float) -> bool:
        """Called by a backend now and then."""
        self.moments.append(Moment(time.perf_counter() - self._began, iterations, gap))
        return bool(self._then(iterations, gap)) if self._then is not None else False


def gap(record: Record | list[Moment], solution: Solution | None = None, *, columns: int = 1) -> Figure:
    """The reported gaps against seconds, iterations above, on a logarithmic scale, and the certified gap of `solution`.

    What the solvers of kdsl report is LIBSVM's m - M, the worst violation of KKT by a pair.
    """
    moments = [
        m for m in (record.moments if isinstance(record, Record) else record) if m.gap > 0 and math.isfinite(m.gap)
    ]
    if len(moments) < 2:
        raise fault(
            "K664",
            f"the solver reported {'no gap' if not moments else 'one gap'}: there is no curve to draw",
            "it reports now and then, and was done before",
            "record the solve of more data, or take a backend that reports often, such as `reference`",
        )
    with sheets.printed():
        figure, (axes,) = sheets.sheet(columns, 0.7 if columns == 1 else 0.42)
        seconds, gaps = [m.seconds for m in moments], [m.gap for m in moments]
        marker = "o" if len(moments) <= 40 else ""
        axes.plot(seconds, gaps, color=BLUE, marker=marker, markersize=2.4)[0].set_gid("reported")
        entries: list[Entry] = [("reported by the solver", sheets.stroke(BLUE, 1.0))]
        if solution is not None:
            certificate = solution.certificate
            kind, level = "$m - M$", certificate.kkt_gap
            if level is None:
                kind, level = "duality gap", certificate.gap
            if level > 0:
                axes.axhline(level, color=INK, linewidth=0.8, linestyle="dashed").set_gid("certified")
                entries.append((f"certified {kind}: {scientific(level)}", sheets.stroke(INK, 0.8, "dashed")))
        axes.set(yscale="log", xlabel="time in s", ylabel="gap", xlim=(0.0, None))
        iterations_above(axes, moments)
        sheets.legend_below(figure, entries, 2)
    return figure


def iterations_above(axes: Axes, moments: list[Moment]) -> None:
    """A second scale above: how many iterations were done at four of the reports, over restarts too."""
    total, before, done = 0, 0, []
    for moment in moments:
        total += moment.iterations - before if moment.iterations >= before else moment.iterations
        before = moment.iterations
        done.append(total)
    end = moments[-1].seconds
    chosen = sorted(
        {min(range(len(moments)), key=lambda k: abs(moments[k].seconds - end * n / 4)) for n in (1, 2, 3, 4)}
    )
    above = axes.secondary_xaxis("top")
    above.set_xticks([moments[k].seconds for k in chosen], [rounded(done[k]) for k in chosen])
    above.set_xlabel("iterations")
    above.tick_params(length=2.0, colors=MIDDLE)
    above.xaxis.label.set_color(MIDDLE)


def scientific(value: float) -> str:
    """`2.6 x 10^-5`, typeset."""
    digits, _, power = f"{value:.1e}".partition("e")
    return rf"${digits} \times 10^{{{int(power)}}}$"


def rounded(count: int) -> str:
    """`850`, `12k`, `3.4M`: what fits above a narrow column."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if count >= 10 * size:
            return f"{count // size:,}{unit}"
        if count >= size:
            return f"{count / size:.1f}{unit}"
    return str(count)
