"""A linear program in a few scalars and many slacks, narrowed to the slacks whose line is in doubt near the minimiser.

Solves   min q'v + sum_j c_j max over the lines of slack j of (slope v + height), subject to G v + g <= 0 (= 0)
Returns  an exact minimiser v, or None where it was not found in a few rounds
How      Within a box around v a slack whose highest line leads the others by more than they can gain there is that
         line: it joins the linear part. The program over the rest is solved by HiGHS. A minimiser strictly inside the
         box minimises the whole function, which is convex; else the box moves there and doubles.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kdsl.numerics.arrays import Floats

DOUBTFUL = 400  # slacks that the first box leaves in doubt
ROUNDS = 40
WORTHWHILE = 600  # slacks from which narrowing pays


@dataclass(frozen=True, eq=False)
class Lines:
    """Lines sorted by owner 0, 1, ..., each owner with at least one; `price` is what a unit of a slack costs."""

    owner: NDArray[np.int64]
    slopes: Floats
    height: Floats
    price: Floats


@dataclass(frozen=True, eq=False)
class Linear:
    """q'v subject to rows v + offset <= 0, = 0 where `equality`."""

    cost: Floats
    rows: Floats
    offset: Floats
    equality: NDArray[np.bool_]


def narrowed_minimum(lines: Lines, linear: Linear) -> Floats | None:
    """The minimiser of the whole program."""
    count = len(lines.price)
    sample = np.unique(np.linspace(0, count - 1, DOUBTFUL).astype(np.int64))
    thinned = Lines(lines.owner, lines.slopes, lines.height, lines.price * (count / len(sample)))
    centre = _solve(thinned, linear, sample, None, np.zeros(len(linear.cost)), np.inf)
    if centre is None:
        return None
    radius = _first_radius(lines, centre)
    for _ in range(ROUNDS):
        doubtful, leader = _in_doubt(lines, centre, radius)
        found = _solve(lines, linear, doubtful, leader, centre, radius)
        if found is None:
            return None
        if np.abs(found - centre).max(initial=0.0) < 0.999 * radius:
            return found
        centre, radius = found, 2.0 * radius
    return None


def _starts(owner: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.flatnonzero(np.r_[True, np.diff(owner) > 0])


def _lead(lines: Lines, v: Floats) -> tuple[NDArray[np.int64], Floats, Floats]:
    """(the highest line of each slack, how far it leads the second, how fast that lead can shrink per unit of v)."""
    at = lines.slopes @ v + lines.height
    order = np.lexsort((at, lines.owner))
    ends = np.r_[_starts(lines.owner)[1:], len(at)] - 1
    first = order[ends]
    several = np.diff(np.r_[-1, ends]) > 1
    second = order[np.where(several, ends - 1, ends)]
    lead = np.where(several, at[first] - at[second], np.inf)
    size = np.abs(lines.slopes).sum(axis=1)
    widest = np.maximum.reduceat(size, _starts(lines.owner))
    return first, lead, size[first] + widest


def _first_radius(lines: Lines, centre: Floats) -> float:
    _, lead, speed = _lead(lines, centre)
    reach = np.sort(lead / np.maximum(speed, 1e-300))
    radius = float(reach[min(DOUBTFUL, len(reach) - 1)])
    return radius if np.isfinite(radius) and radius > 0 else 1.0


def _in_doubt(lines: Lines, centre: Floats, radius: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    leader, lead, speed = _lead(lines, centre)
    return np.flatnonzero(lead <= radius * speed), leader


def _solve(
    lines: Lines,
    linear: Linear,
    doubtful: NDArray[np.int64],
    leader: NDArray[np.int64] | None,
    centre: Floats,
    radius: float,
) -> Floats | None:
    """The minimiser in the box, slacks outside `doubtful` on their leading line (left out where there is none)."""
    from scipy.optimize import linprog

    m = len(linear.cost)
    cost = linear.cost.copy()
    if leader is not None:
        settled = np.ones(len(lines.price), dtype=bool)
        settled[doubtful] = False
        cost = cost + lines.price[settled] @ lines.slopes[leader[settled]]
    place = np.full(len(lines.price), -1)
    place[doubtful] = np.arange(len(doubtful))
    mine = np.flatnonzero(place[lines.owner] >= 0)
    pick = sp.csr_array(
        (-np.ones(len(mine)), (np.arange(len(mine)), place[lines.owner[mine]])), (len(mine), len(doubtful))
    )
    above = sp.hstack([sp.csr_array(lines.slopes[mine]), pick])
    hard = sp.hstack([sp.csr_array(linear.rows), sp.csr_array((len(linear.rows), len(doubtful)))], format="csr")
    equal, less = np.flatnonzero(linear.equality), np.flatnonzero(~linear.equality)
    answer = linprog(
        np.concatenate([cost, lines.price[doubtful]]),
        A_ub=sp.csr_array(sp.vstack([above, hard[less]])),
        b_ub=np.concatenate([-lines.height[mine], -linear.offset[less]]),
        A_eq=hard[equal] if len(equal) else None,
        b_eq=-linear.offset[equal] if len(equal) else None,
        bounds=[*((c - radius, c + radius) for c in centre), *[(None, None)] * len(doubtful)],
        method="highs",
    )
    return np.asarray(answer.x[:m], dtype=np.float64) if answer.status == 0 else None
