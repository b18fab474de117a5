"""Solves normal forms without rows by exact minimisation along one coordinate after the other.

Solves   min 1/2 t'Qt + p't + sum_k h_k(t_k), every h_k convex piecewise quadratic on a box; no rows
Given    rows of Q when they are first needed; they are kept while they fit in memory
Returns  t whose duality gap sum_k h_k(t_k) + h_k*(-g_k) + t_k g_k, g = Qt + p, meets the tolerance
How      the coordinate whose violation^2 / curvature is largest is minimised over exactly, piece by piece (dual
         coordinate ascent: Hsieh, Chang, Lin, Keerthi and Sundararajan 2008; greedy as in Platt 1998); now and then
         all coordinates inside a piece move together, by the same exact step along their Newton direction
"""

from __future__ import annotations

import time

import numpy as np
import scipy.sparse as sp

from kdsl.numerics.arrays import Floats, Ints
from kdsl.solving.backends.interface import Options, Progress, part_of_kdsl
from kdsl.solving.backends.reference import exact_step, one_sided
from kdsl.solving.facts import Facts
from kdsl.solving.normal_form import NormalForm, Separable
from kdsl.solving.raw_solution import Fact, RawSolution, Status

SETTLED = 0.05  # share of the coordinates that may have come to a break, or left it, since the last look
TOGETHER = 3000  # coordinates that are moved together at most
NEWTON_STEPS = 10  # such moves in a row; each ends at the first break beyond its projection on the pieces
CHECK = 256  # steps between two looks at gap, clock and progress, at least
MEMORY = 2e9  # bytes for rows of Q, unless told otherwise
STAGNANT = 40  # looks in a row that find neither a smaller gap nor a smaller violation


def solve(
    problem: NormalForm, options: Options, start: Floats | None = None, progress: Progress | None = None
) -> RawSolution:
    began = time.perf_counter()
    h, n = problem.separable, problem.size
    hessian = _Hessian(problem, options.memory or MEMORY)
    t = np.clip(np.zeros(n) if start is None else start, h.lower, h.upper).astype(float)
    own = hessian.diagonal()
    sides = np.array([one_sided(h, k, t[k]) for k in range(n)]).reshape(-1, 2)
    gradient = hessian.gradient(t)
    gap, m = np.inf, np.inf
    best, stagnant, idle = np.inf, 0, False
    settled = np.zeros(n, bool)

    def finish(status: Status, message: str, ray: Floats | None = None) -> RawSolution:
        facts: dict[str, Fact] = {"relative_gap": gap, "kkt_gap": m, "rows_computed": hessian.computed}
        return RawSolution(t, iteration, status, message, time.perf_counter() - began, facts, ray)

    for iteration in range((options.max_iterations or 1000 * n + 100_000) + 1):
        violation = np.maximum(-(gradient + sides[:, 1]), gradient + sides[:, 0])
        m = float(violation.max(initial=0.0))
        if iteration % max(CHECK, n) == 0 or m <= 0 or idle:
            gradient = hessian.gradient(t)
            value = float(t @ (gradient + hessian.linear) / 2) + hessian.constant + at(h, t)
            gap = float(duality_gaps(h, t, gradient).sum()) / max(1.0, abs(value))
            if gap <= options.tol / 4 if options.kkt_tol is None else m <= options.kkt_tol:
                return finish("solved", "the duality gap is within the tolerance")
            stagnant = stagnant + 1 if min(gap, m) >= best else 0
            best = min(best, gap, m)
            if m <= 0 or stagnant > STAGNANT:
                return finish("stalled", "rounding in double precision stopped progress before the tolerance")
            if progress is not None and progress(iteration, m):
                return finish("interrupted", "stopped by the callback")
            inside = sides[:, 0] == sides[:, 1]
            if np.count_nonzero(inside != settled) <= SETTLED * n:
                _move_together(h, hessian, t, gradient, sides)
                inside = sides[:, 0] == sides[:, 1]
                violation = np.maximum(-(gradient + sides[:, 1]), gradient + sides[:, 0])
            settled = inside
        if iteration % CHECK == 0 and time.perf_counter() - began > options.time_limit:
            return finish("time_limit", "the time limit was reached")
        with np.errstate(over="ignore", invalid="ignore"):
            decrease = np.where(np.isfinite(violation), np.maximum(violation, 0) ** 2 / (own + 1e-300), np.inf)
        k = int(np.argmax(decrease))
        row = hessian.row(k)
        speed = np.array([1.0 if -(gradient[k] + sides[k, 1]) >= gradient[k] + sides[k, 0] else -1.0])
        step = exact_step(h, t, [k], speed, float(gradient[k] * speed[0]), float(row[k]))
        if step.unbounded:
            ray = np.zeros(n)
            ray[k] = speed[0]
            return finish("unbounded", "the objective falls for ever along a coordinate", ray)
        change = float(step.value[0] - t[k])
        if change == 0.0 and idle:
            return finish("stalled", "the best step is smaller than rounding")
        idle = change == 0.0
        t[k] = step.value[0]
        gradient += change * row
        sides[k] = one_sided(h, k, t[k])
    return finish("iteration_limit", "the iteration limit was reached")


def _move_together(h: Separable, hessian: _Hessian, t: Floats, gradient: Floats, sides: Floats) -> None:
    """Newton steps on the coordinates strictly inside a piece, which change t, gradient and sides in place."""
    for _ in range(NEWTON_STEPS):
        owner, piece_t = _spread(h, t)
        inside = np.flatnonzero((h.left < piece_t) & (piece_t < h.right))
        free = owner[inside]
        if len(free) == 0 or len(free) > min(TOGETHER, hessian.room):
            return
        rows = np.array([hessian.row(int(k)) for k in free])
        block = rows[:, free]
        slope = gradient[free] + sides[free, 0]
        bent = block + np.diag(h.curvature[inside])
        bent[np.diag_indices_from(bent)] += 1e-13 * np.trace(bent) / len(free)
        try:
            direction = np.linalg.solve(bent, -slope)
        except np.linalg.LinAlgError:
            return
        clipped = np.clip(t[free] + direction, h.left[inside], h.right[inside]) - t[free]
        done = bool((clipped == direction).all())
        if float(slope @ clipped) < 0:
            direction = clipped
        moving = np.flatnonzero(direction)
        fall = float(gradient[free] @ direction)
        if float(slope @ direction) >= 0:
            return
        touched = [int(k) for k in free[moving]]
        step = exact_step(h, t, touched, direction[moving], fall, float(direction @ block @ direction))
        change = step.value - t[touched]
        if step.unbounded or not change.any():
            return
        t[touched] = step.value
        gradient += change @ rows[moving]
        sides[touched] = [one_sided(h, k, t[k]) for k in touched]
        if done:
            return


def at(h: Separable, t: Floats) -> float:
    """sum_k h_k(t_k)."""
    owner, piece_t = _spread(h, t)
    inside = (piece_t >= h.left) & (piece_t <= h.right)
    values = np.where(inside, h.curvature / 2 * piece_t**2 + h.slope * piece_t + h.value, -np.inf)
    return float(np.maximum.reduceat(values, h.offsets[:-1]).sum()) if len(owner) else 0.0


def duality_gaps(h: Separable, t: Floats, gradient: Floats) -> Floats:
    """h_k(t_k) + h_k*(-g_k) + t_k g_k = max_s [h_k(t_k) + t_k g_k] - [h_k(s) + s g_k]: 0 where k is optimal."""
    if h.size == 0:
        return np.zeros(0)
    owner, piece_t = _spread(h, t)
    slope = h.slope + gradient[owner]
    with np.errstate(divide="ignore", invalid="ignore"):
        vertex = np.where(h.curvature > 0, -slope / h.curvature, np.where(slope > 0, -np.inf, np.inf))
        vertex = np.where((h.curvature <= 0) & (slope == 0), piece_t, vertex)
        s = np.clip(vertex, h.left, h.right)
        least = h.curvature / 2 * s**2 + slope * s + h.value
    least = np.where(np.isfinite(s), least, -np.inf)
    inside = (piece_t >= h.left) & (piece_t <= h.right)
    here = np.where(inside, h.curvature / 2 * piece_t**2 + slope * piece_t + h.value, -np.inf)
    gaps: Floats = np.maximum.reduceat(here, h.offsets[:-1]) - np.minimum.reduceat(least, h.offsets[:-1])
    return np.maximum(gaps, 0.0)


def _spread(h: Separable, t: Floats) -> tuple[Ints, Floats]:
    """For each piece its coordinate, and t there."""
    owner = np.repeat(np.arange(h.size), np.diff(h.offsets))
    return owner, t[owner]


class _Hessian:
    """Rows of Q = sum_H S'KS, computed when first asked for."""

    def __init__(self, problem: NormalForm, memory: float) -> None:
        n = problem.size
        self.blocks = [(b, sp.csr_array(b.atoms), sp.csr_array(b.atoms.T)) for b in problem.blocks]
        self.linear, self.constant = np.zeros(n), problem.constant
        for block, _, across in self.blocks:
            if block.shift is not None:
                image = block.gram.matvec(block.shift)
                self.linear += across @ image
                self.constant += 0.5 * float(block.shift @ image)
        self.size, self.kept, self.computed = n, dict[int, Floats](), 0
        self.room = max(1, int(memory / (8 * max(1, n))))

    def gradient(self, t: Floats) -> Floats:
        """Qt + p."""
        image = self.linear.copy()
        for block, atoms, across in self.blocks:
            image += across @ block.gram.matvec(atoms @ t)
        return image

    def row(self, k: int) -> Floats:
        if k not in self.kept:
            if len(self.kept) >= self.room:
                self.kept.pop(next(iter(self.kept)))
            self.kept[k] = self._compute(k)
        return self.kept[k]

    def diagonal(self) -> Floats:
        """Q_kk, exact for atoms of one point; sum_i |S_ik| sqrt(K_ii) squared bounds it for others."""
        total = np.zeros(self.size)
        for block, _, across in self.blocks:
            total += (abs(across) @ np.sqrt(np.maximum(block.gram.diagonal(), 0.0))) ** 2
        return total

    def _compute(self, k: int) -> Floats:
        self.computed += 1
        row = np.zeros(self.size)
        for block, _, across in self.blocks:
            points = across.indices[across.indptr[k] : across.indptr[k + 1]].astype(np.int64)
            if len(points):
                weights = across.data[across.indptr[k] : across.indptr[k + 1]]
                row += across @ (weights @ block.gram.rows(points))
        return row


def _accepts(facts: Facts) -> str | None:
    if facts.rows:
        return "it moves one multiplier at a time, which rows (a bias, a nu) do not allow"
    return None


BACKEND = part_of_kdsl(
    name="coordinate",
    takes="problems without rows (no bias): a box and any piecewise quadratic cost; best below 5,000",
    accuracy=1e-9,
    accepts=_accepts,
    solve=solve,
)
