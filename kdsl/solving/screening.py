"""Solves problems with explicit rows: large ones on samples first, then on what the samples leave undecided.

Solves   min over t, max over v of  sum_k h_k(t_k) + v'(B't + e) - 1/2 v'Mv   (kdsl/solving/explicit_rows.py)
Returns  t, v and the duality gap over all coordinates, computed from t and v alone
How      v is guessed from two random samples, whose difference tells how far off their mean may be. A coordinate whose
         price -B_k v stays clear of every kink of h_k within that distance is decided: at a break point, or inside a
         curved piece, where t_k is a linear function of v. An interior point method solves for the others. The next
         pass measures the gap of all coordinates: a wrong decision costs another round with a wider reach, never
         a wrong answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kdsl.numerics.arrays import Floats, Ints
from kdsl.solving.explicit_rows import ExplicitRows
from kdsl.solving.interior_point import Interior, Program, solve_interior
from kdsl.solving.normal_form import Separable
from kdsl.solving.segments import segments_of
from kdsl.solving.snapping import snapped

if TYPE_CHECKING:
    from kdsl import _core

DIRECT = 6_000  # coordinates that are solved for without a sample
SHARE = 24  # coordinates for each one in a sample; there are two samples
TELLING = 50  # coordinates in a sample for each column of B, below which it says too little
ROUGH = 1e-4  # the relative error that is asked of a sample
REACH = 3.0  # how many times the usual difference between guesses a price is taken to be uncertain
ROUNDS = 6
ASTRAY = 0.01  # a relative error from which on v says nothing: what was undecided could not meet the rows, say
WORTHWHILE = 3  # a round is worth it where at most one coordinate in so many is undecided
SHARPER = 0.1  # what is asked of the interior point method, relative to what is asked of the gap

Watch = Callable[[int, float], bool]


class Solved(NamedTuple):
    """`error` is the largest of: the gap relative to max(1, |value|); what a row lacks relative to max(1, |t|); how
    far a price is from where its h_k - z_k t is bounded.

    `rounds` of screening were made, the last with `kept` coordinates.
    """

    t: Floats
    v: Floats
    error: float
    value: float
    iterations: int
    rounds: int
    kept: int
    stopped: bool = False


def solve_rows(rows: ExplicitRows, slacks: int, tol: float, threads: int, watch: Watch | None = None) -> Solved:
    """To a relative gap of `tol`, or as near as rounding allows; the last `slacks` coordinates are in every sample."""
    passes = rows.passes(threads)
    best = None
    if rows.size > 2 * DIRECT and _sample_size(rows, slacks) >= TELLING * rows.columns:
        best = _by_screening(rows, passes, slacks, tol, threads, watch)
    if best is not None and (best.error <= tol or best.stopped):
        return best
    found = _directly(rows, passes, tol, watch)
    if best is None:
        return found
    better = found if found.error < best.error else best
    return better._replace(iterations=best.iterations + found.iterations)


def _directly(rows: ExplicitRows, passes: _core.RowPass, tol: float, watch: Watch | None) -> Solved:
    """The interior point method on everything; what it snaps to bounds counts where that is no worse."""
    segments = segments_of(rows.h)
    program = Program(passes, segments, np.diag(rows.metric), rows.e + passes.down(segments.base))
    found = solve_interior(program, SHARPER * tol, constant=rows.constant, watch=watch)
    inside = measured(rows, passes, segments.total(found.s), found.v)
    best = inside
    if not found.stopped:
        s, v = snapped(program, found)
        best = measured(rows, passes, segments.total(s), v)
        best = best if best.error <= max(inside.error, tol) else inside
    return best._replace(iterations=found.iterations, kept=rows.size, stopped=found.stopped)


def _by_screening(
    rows: ExplicitRows, passes: _core.RowPass, slacks: int, tol: float, threads: int, watch: Watch | None
) -> Solved | None:
    """Round after round; None where too much is undecided, or a sample has no answer."""
    v, reach = _guess(rows, slacks, threads)
    best: Solved | None = None
    iterations = 0
    for number in range(1, ROUNDS + 1):
        if not np.isfinite(v).all():
            return best
        among = _among(rows, passes, v, reach, SHARPER * tol, threads, watch)
        if among is None:
            return best
        iterations += among.interior.iterations
        solved = measured(rows, passes, among.t, among.v)
        solved = solved._replace(iterations=iterations, rounds=number, kept=among.kept, stopped=among.interior.stopped)
        previous = np.inf if best is None else best.error
        best = solved if solved.error < previous else best
        if solved.error <= tol or solved.stopped:
            break
        reach = reach * (0.5 if solved.error < 0.1 * previous and number > 1 else 2.0)
        v = among.v if solved.error < ASTRAY else v
    return best


class _Among(NamedTuple):
    t: Floats
    v: Floats
    kept: int
    interior: Interior


def _among(
    rows: ExplicitRows,
    passes: _core.RowPass,
    v: Floats,
    reach: Floats,
    tol: float,
    threads: int,
    watch: Watch | None = None,
) -> _Among | None:
    """The solution where everything that v decides within its reach is as decided; None where that is too little."""
    from kdsl import _core

    found = passes.decide(rows.h.for_core(), v, reach)
    chosen: Ints = found["undecided"]
    if len(chosen) * WORTHWHILE > rows.size:
        return None
    B = _core.RowPass(rows.gathered(chosen), None, None, threads)
    segments = segments_of(rows.h, chosen)
    M = np.diag(rows.metric) + found["curved"].reshape(rows.columns, rows.columns)
    program = Program(B, segments, M, rows.e + found["image"] + B.down(segments.base))
    interior = solve_interior(program, tol, v, rows.constant + found["cost"], watch)
    s, v = (interior.s, interior.v) if interior.stopped else snapped(program, interior)
    t: Floats = found["t"]
    t[chosen] = segments.total(s)
    return _Among(t, v, len(chosen), interior)


def measured(rows: ExplicitRows, passes: _core.RowPass, t: Floats, v: Floats) -> Solved:
    """t with its gaps filled in, and sum_k (h_k(t_k) + h_k*(z_k) - t_k z_k) plus what the conditions on v lack."""
    found = passes.measure(rows.h.for_core(), v, t)
    image = found["image"] + rows.e
    short = image - rows.metric * v
    gap = found["gap"] + 0.5 * float(rows.metric @ short**2) + float((1 - rows.metric) @ np.abs(short * v))
    value = found["cost"] + 0.5 * float(rows.metric @ image**2) + rows.constant
    lacking = np.abs((1 - rows.metric) * short).max(initial=0.0)
    size = max(1.0, float(np.abs(rows.e).max(initial=0.0)), float(np.abs(found["t"]).max(initial=0.0)))
    error = max(gap / max(1.0, abs(value)), found["outside"], float(lacking) / size)
    return Solved(found["t"], v, error, value, 0, 0, 0)


# --------------------------------------------------------------------- samples


def _sample_size(rows: ExplicitRows, slacks: int) -> int:
    real = rows.size - slacks
    return max(real // SHARE, min(DIRECT // 3, real // 4))


def _guess(rows: ExplicitRows, slacks: int, threads: int, seed: int = 0) -> tuple[Floats, Floats]:
    """v as the mean of two samples say, and for each column of B how far it may be off."""
    random = np.random.default_rng(seed)
    real = rows.size - slacks
    count = _sample_size(rows, slacks)
    drawn = np.arange(2 * count) * real // (2 * count) + random.integers(0, real // (2 * count), 2 * count)
    random.shuffle(drawn)
    always = np.arange(real, rows.size)
    guesses, sampled = [], rows
    for part in (drawn[:count], drawn[count:]):
        sampled = _sample(rows, np.r_[np.sort(part), always], slacks)
        guesses.append(_roughly(sampled, slacks, threads, seed + 1))
    v = (guesses[0] + guesses[1]) / 2
    off = sampled.passes(threads).up((guesses[0] - guesses[1]) / 2)[:count]
    usual = np.sqrt(np.mean(sampled.points[:count] ** 2, axis=0))
    usual[usual == 0] = 1.0
    return v, REACH * float(np.sqrt(np.mean(off**2))) / (np.sqrt(len(usual)) * usual)


def _roughly(rows: ExplicitRows, slacks: int, threads: int, seed: int) -> Floats:
    """v of a sample, as exactly as a sample deserves."""
    passes = rows.passes(threads)
    if rows.size > 2 * DIRECT:
        among = _among(rows, passes, *_guess(rows, slacks, threads, seed), ROUGH, threads)
        if among is not None and measured(rows, passes, among.t, among.v).error < ASTRAY:
            return among.v
    segments = segments_of(rows.h)
    program = Program(passes, segments, np.diag(rows.metric), rows.e + passes.down(segments.base))
    return solve_interior(program, ROUGH, constant=rows.constant).v


def _sample(rows: ExplicitRows, chosen: Ints, slacks: int) -> ExplicitRows:
    """The chosen coordinates, each standing for as many as were not: k h(t / k) has the conjugate k h*."""
    h, scale = rows.h, np.full(len(chosen), rows.size / max(1, len(chosen)))
    scale[len(chosen) - slacks :] = 1.0
    counts = h.offsets[chosen + 1] - h.offsets[chosen]
    offsets = np.zeros(len(chosen) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    piece = np.arange(offsets[-1]) + np.repeat(h.offsets[chosen] - offsets[:-1], counts)
    k = np.repeat(scale, counts)
    part = Separable(
        offsets, h.left[piece] * k, h.right[piece] * k, h.curvature[piece] / k, h.slope[piece], h.value[piece] * k
    )
    return rows._replace(points=rows.gathered(chosen), coefficient=None, row=None, h=part)
