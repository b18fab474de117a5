"""Interior point method for separable quadratic programs that are coupled through a few columns only.

Solves   min over s, max over v of  sum_p (c_p/2 s_p^2 + g_p s_p) + v'(B's + e) - 1/2 v'Mv,  lower <= s <= upper
Given    B with one row for each coordinate (s stands for its sum over the coordinate's segments) and q columns;
         M >= 0 of size q: the identity for the columns of a factor of Q, 0 for the rows A of the normal form
Returns  s strictly inside its bounds, v, and how far the conditions are from holding
How      Mehrotra's (1992) predictor and corrector, then Gondzio's (1996) centrality corrector, with one step length for
         all unknowns; ds is eliminated, which leaves (M + B'WB) dv = ... with W diagonal (Fine and Scheinberg 2001;
         Ferris and Munson 2003), factorised by LAPACK
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kdsl.numerics.arrays import Floats
from kdsl.numerics.quiet_products import dot
from kdsl.solving.segments import Segments

if TYPE_CHECKING:
    from kdsl import _core

ITERATIONS = 100
STAGNANT = 25  # iterations without a better point after which rounding is blamed
TO_THE_BOUND = 0.995  # of the way to the nearest bound
SLIGHT = (1e-16, 1e-14, 1e-12)  # added to the diagonal of a factorised matrix, relative to it: the first that will do
LOOSE = 1e-9  # the curvature of a coordinate that has neither a bound nor its own, relative to the rows of B
BEGIN = 1.0  # complementarity to begin with, relative to the bounds times the slopes
RESUME = 0.3  # the same where a guess is given
LATE = 1e-5  # the error below which directions are refined, and residuals are told by what they cost
BEHIND = 2.0  # the true gap over complementarity from which on the residuals come first
REFINEMENTS = 10
LEFT = 0.01  # of a residual, which a refined direction may leave
GOOD = 0.95  # a step that needs no centrality corrector
POOR = 0.1  # a step so short that the corrections are dropped
TARGET = (0.1, 10.0)  # complementarity products, relative to their target, that a corrector leaves alone

Watch = Callable[[int, float], bool]


class Program(NamedTuple):
    """The data of the problem above."""

    B: _core.RowPass
    segments: Segments
    M: Floats
    e: Floats


class Interior(NamedTuple):
    """`error` is the gap as far as it can be told, relative to max(1, |value|), or what a row lacks.

    zl and zu are the multipliers of the bounds, the barriers these over the distances to the bounds.
    """

    s: Floats
    v: Floats
    zl: Floats
    zu: Floats
    low_barrier: Floats
    high_barrier: Floats
    error: float
    iterations: int
    stopped: bool = False


def solve_interior(
    program: Program, tol: float, start: Floats | None = None, constant: float = 0.0, watch: Watch | None = None
) -> Interior:
    """To a relative error of `tol`, or as near as rounding allows; `start` is a guess of v."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return _solve(_Iterate(program, start), tol, constant, watch)


def _solve(state: _Iterate, tol: float, constant: float, watch: Watch | None) -> Interior:
    """A point that is not finite ends the search: rounding, or a problem that has no solution."""
    state.error(constant)
    state.widen()
    best = state.interior(np.inf, 0)
    since = 0
    for iteration in range(ITERATIONS + 1):
        error = state.error(constant)
        since = 0 if error < 0.9 * best.error else since + 1
        if error < best.error:
            best = state.interior(error, iteration)
        if error <= tol or iteration == ITERATIONS or since > STAGNANT or not np.isfinite(error):
            break
        if watch is not None and watch(iteration, error):
            return best._replace(stopped=True)
        if not state.advance():
            break
    return best


class _Direction(NamedTuple):
    ds: Floats
    dv: Floats
    dzl: Floats
    dzu: Floats
    alpha: float


class _Iterate:
    """s, v and, for each finite bound, the distance to it and its multiplier.

    Where a bound is infinite the distance stays 1 and the multiplier 0.
    """

    def __init__(self, program: Program, start: Floats | None) -> None:
        self.program = program
        self.segments = seg = program.segments
        self.low, self.high = np.isfinite(seg.lower).astype(float), np.isfinite(seg.upper).astype(float)
        self.sides = max(1.0, float(self.low.sum() + self.high.sum()))
        squares = program.B.squares()
        self.size = float(squares.mean()) if len(squares) else 1.0
        self.size = self.size or 1.0
        held = (self.low == 0) & (self.high == 0) & (seg.curvature == 0)
        self.curvature = seg.curvature + np.where(held, LOOSE * self.size, 0.0)
        self.inverse = _inverse(program.M)
        self.late = self.behind = False  # behind: residuals cost more than complementarity
        self.v = np.zeros(len(program.e)) if start is None else start.copy()
        self.begin(BEGIN if start is None else RESUME)

    def begin(self, share: float) -> None:
        """The point of the central path for v as it is, every cost between two bounds taken as linear.

        g = mu/x - mu/(L - x) at x = L / (1 + a + sqrt(1 + a^2)) with a = g L / 2 mu.
        """
        seg = self.segments
        slope = seg.slope + self.up(self.v)
        between = (self.low > 0) & (self.high > 0)
        span = np.where(between, seg.upper - np.where(between, seg.lower, 0.0), 1.0)
        usual = float(np.abs(slope).mean()) if len(slope) else 1.0
        usual = max(usual, self.size * float(np.abs(self.program.e).max(initial=0.0)) / max(len(slope), 1)) or 1.0
        width = float(span[between].mean()) if between.any() else usual / self.size
        mu = share * usual * width
        a = span * slope / (2 * mu)
        root = np.sqrt(1.0 + a * a)
        below, above = _part(a, root) * span, _part(-a, root) * span
        inward = np.where(self.low > 0, slope, -slope)
        bend = seg.curvature + self.size
        lone = 2 * mu / (inward + np.sqrt(inward * inward + 4 * bend * mu))
        self.below = np.where(between, below, np.where(self.low > 0, lone, 1.0))
        self.above = np.where(between, above, np.where(self.high > 0, lone, 1.0))
        self.s = np.where(
            self.low > 0,
            np.where(self.low > 0, seg.lower, 0.0) + self.below,
            np.where(self.high > 0, np.where(self.high > 0, seg.upper, 0.0) - self.above, 0.0),
        )
        self.zl, self.zu = self.low * mu / self.below, self.high * mu / self.above

    def interior(self, error: float, iteration: int) -> Interior:
        barriers = self.zl / self.below, self.zu / self.above
        return Interior(self.s, self.v, self.zl, self.zu, *barriers, error, iteration)

    def down(self, x: Floats) -> Floats:
        """B'x."""
        return self.program.B.down(np.ascontiguousarray(self.segments.gathered(x)))

    def up(self, v: Floats) -> Floats:
        """Bv for every segment."""
        return self.segments.spread(self.program.B.up(v))

    def error(self, constant: float) -> float:
        """Complementarity and what the residuals may cost; the residuals are kept for the step."""
        seg, program = self.segments, self.program
        slopes = seg.curvature * self.s + seg.slope + self.up(self.v)
        self.rd = slopes - self.zl + self.zu
        Mv = program.M @ self.v
        self.rp = self.down(self.s) + program.e - Mv
        self.gap = dot(self.below * self.low, self.zl) + dot(self.above * self.high, self.zu)
        value = constant + dot(0.5 * seg.curvature * self.s + seg.slope, self.s) + 0.5 * float(self.v @ Mv)
        cost = dot(np.abs(self.rd), np.abs(self.s)) + float(np.abs(self.rp) @ np.abs(self.v))
        cost += 0.5 * dot(self.rd / (seg.curvature + self.size), self.rd)
        cost += 0.5 * float(self.rp @ (np.diag(program.M) * self.rp))
        rows = np.diag(program.M) == 0
        lacking = float(np.abs(self.rp[rows]).max(initial=0.0))
        size = max(1.0, float(np.abs(program.e).max(initial=0.0)), float(np.abs(self.s).max(initial=0.0)))
        error = max((self.gap + cost) / max(1.0, abs(value)), lacking / size)
        self.late, self.behind = error < LATE, False
        if self.late:
            true = self.gap_of(slopes + self.up(self.inverse @ self.rp)) + float(np.abs(self.rp * self.v)[rows].sum())
            error = max(true / max(1.0, abs(value)), lacking / size)
            self.behind = true > BEHIND * self.gap
        return error

    def gap_of(self, slopes: Floats) -> float:
        """The duality gap of s, where `slopes` are those at M v = B's + e: what moving s along its intervals gains.

        A residual rp may cost bounds times B M^-1 rp, which no norm of rp alone would tell.
        """
        c = np.abs(self.segments.curvature)  # of -0 the sign would count
        least = np.where(self.low > 0, -self.below, -np.inf)
        most = np.where(self.high > 0, self.above, np.inf)
        move = np.clip(np.where(slopes == 0, 0.0, -slopes / c), least, most)
        gained = -(slopes + 0.5 * c * move) * move
        endless = np.abs(slopes * self.s) + slopes * slopes / self.size  # as if bent like the rest of the objective
        return float(np.where(np.isfinite(gained), gained, endless).sum())

    def factorised(self) -> Callable[[Floats, Floats], _Direction] | None:
        """Directions at this point, as a function of the right sides of the bounds; None where there are none."""
        seg, program, q = self.segments, self.program, len(self.program.e)
        ql, qu = self.zl / self.below, self.zu / self.above
        W = 1.0 / (self.curvature + ql + qu)
        solve = solver_of(program.M + program.B.weigh(np.ascontiguousarray(seg.gathered(W))).reshape(q, q))
        if solve is None:
            return None

        def direction(rl: Floats, ru: Floats) -> _Direction:
            """D ds + B dv = -rd + rl - ru,  B'ds - M dv = -rp; refined where rounding begins to tell."""
            first = (rl - ru - self.rd) * W
            dv = solve(self.rp + self.down(first))
            ds = first - W * self.up(dv)
            enough, before = LEFT * float(np.abs(self.rp).max(initial=0.0)), np.inf
            for _ in range(REFINEMENTS if self.late else 0):
                more = self.rp + self.down(ds) - program.M @ dv
                left = float(np.abs(more).max(initial=0.0))
                if not left < 0.5 * before:
                    break
                change = solve(more)
                ds, dv = ds - W * self.up(change), dv + change
                if left <= enough:
                    break
                before = left
            dzl, dzu = rl - ql * ds, ru + qu * ds
            return _Direction(ds, dv, dzl, dzu, self.longest(ds, dzl, dzu))

        return direction

    def widen(self) -> None:
        """Coordinates with one bound begin as far from it as a full step would take them: their scale is not known."""
        lone = self.low + self.high == 1
        direction = self.factorised() if lone.any() else None
        if direction is None:
            return
        step = direction(-self.zl, -self.zu)
        if not np.isfinite(step.ds).all():
            return
        far = np.where(lone, np.maximum(np.abs(self.below + step.ds) * self.low, self.below * self.low), 0.0)
        far += np.where(lone, np.maximum(np.abs(self.above - step.ds) * self.high, self.above * self.high), 0.0)
        self.s = np.where(lone, self.s + self.low * (far - self.below) - self.high * (far - self.above), self.s)
        self.below = np.where(lone & (self.low > 0), far, self.below)
        self.above = np.where(lone & (self.high > 0), far, self.above)
        self.zl = np.where(lone, np.maximum(self.zl, self.low * np.abs(self.zl + step.dzl)), self.zl)
        self.zu = np.where(lone, np.maximum(self.zu, self.high * np.abs(self.zu + step.dzu)), self.zu)

    def advance(self) -> bool:
        """One step; False where nothing can be factorised or the step has no length."""
        direction = self.factorised()
        if direction is None:
            return False
        best = direction(*self.towards(self.gap / self.sides)) if self.behind else self.corrected(direction)
        ds, dv, dzl, dzu, alpha = best
        if not np.isfinite(alpha) or not np.isfinite(dv).all():
            return False
        alpha *= TO_THE_BOUND if self.gap > 0 else 1.0
        self.s, self.v = self.s + alpha * ds, self.v + alpha * dv
        self.below, self.above = self.below + alpha * ds * self.low, self.above - alpha * ds * self.high
        self.zl, self.zu = self.zl + alpha * dzl, self.zu + alpha * dzu
        return alpha > 1e-10

    def towards(self, target: float) -> tuple[Floats, Floats]:
        """The right sides of the bounds for products of distances and multipliers that are all `target`."""
        return self.low * target / self.below - self.zl, self.high * target / self.above - self.zu

    def corrected(self, direction: Callable[[Floats, Floats], _Direction]) -> _Direction:
        """Predictor, corrector, and what keeps to the middle."""
        ds, _, dzl, dzu, alpha = direction(-self.zl, -self.zu)
        there = dot((self.below + alpha * ds) * self.low, self.zl + alpha * dzl)
        there += dot((self.above - alpha * ds) * self.high, self.zu + alpha * dzu)
        target = (max(there, 0.0) / self.gap) ** 3 * self.gap / self.sides if self.gap > 0 else 0.0
        rl = self.low * (target - ds * dzl) / self.below - self.zl
        ru = self.high * (target + ds * dzu) / self.above - self.zu
        best = direction(rl, ru)
        if best.alpha < GOOD:
            cl, cu = self.centring(best, target)
            again = direction(rl + cl, ru + cu)
            best = again if again.alpha >= best.alpha + 0.01 else best
        if best.alpha < POOR:  # the corrections lead astray: head for the middle of what there is
            again = direction(*self.towards(0.5 * self.gap / self.sides))
            best = again if again.alpha > best.alpha else best
        return best

    def centring(self, step: _Direction, target: float) -> tuple[Floats, Floats]:
        """What brings the products that a longer step would leave behind or blow up towards the target."""
        wanted = min(1.0, 1.5 * step.alpha + 0.1)
        pl = (self.below + wanted * step.ds) * (self.zl + wanted * step.dzl)
        pu = (self.above - wanted * step.ds) * (self.zu + wanted * step.dzu)
        least, most = TARGET[0] * target, TARGET[1] * target
        cl = np.maximum(np.clip(pl, least, most) - pl, -most)
        cu = np.maximum(np.clip(pu, least, most) - pu, -most)
        return self.low * cl / self.below, self.high * cu / self.above

    def longest(self, ds: Floats, dzl: Floats, dzu: Floats) -> float:
        """The longest step of at most 1 that keeps distances and multipliers from falling below 0."""
        rate = max(
            float(np.max(-ds * self.low / self.below, initial=0.0)),
            float(np.max(ds * self.high / self.above, initial=0.0)),
            float(np.max(-dzl / np.where(self.low > 0, self.zl, 1.0), initial=0.0)),
            float(np.max(-dzu / np.where(self.high > 0, self.zu, 1.0), initial=0.0)),
        )
        return min(1.0, 1.0 / rate) if rate > 0 else 1.0


def solver_of(H: Floats, least: float = 1e-300) -> Callable[[Floats], Floats] | None:
    """x -> H^-1 x for a positive definite H whose diagonal is scaled to 1 first; None where rounding leaves it none.

    `least`: what stands in for smaller entries of the diagonal.
    """
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    scale = 1.0 / np.sqrt(np.maximum(np.diag(H), least))
    scaled = H * scale[:, None] * scale
    for slight in SLIGHT:
        try:
            factor = cho_factor(scaled + slight * np.eye(len(H)), lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            continue
        return lambda x: scale * cho_solve(factor, scale * x, check_finite=False)
    return None


def _inverse(M: Floats) -> Floats:
    """The inverse of M on its range."""
    diagonal = np.diag(M)
    if np.count_nonzero(M) == np.count_nonzero(diagonal):
        return np.diag(np.divide(1.0, diagonal, out=np.zeros(len(M)), where=diagonal > 0))
    return np.asarray(np.linalg.pinv(M, hermitian=True), np.float64)


def _part(a: Floats, root: Floats) -> Floats:
    """1 / (1 + a + sqrt(1 + a^2)), without cancellation where a < 0."""
    return np.where(a >= 0, 1.0 / (1.0 + np.maximum(a, 0.0) + root), (1.0 - a + root) / (2.0 * (1.0 + root)))
