"""Newton's method for losses whose dual holds entropies: logistic and multinomial regression.

Solves   min 1/2 t'Gt + c't + E(t)  subject to  At = a,  E(t) = sum e(t - low) + sum e(high - t),  e(x) = x log x
How      the weights t of an expansion give slopes u = -(Gt + c), the slopes a point p(t) inside every box and on all
         rows (entropy_mirror.py). The primal objective P(t) = 1/2 t'Gt + E*(u) at its best scalars is smooth, convex
         and free of bounds; its gradient is G(t - p). Newton's directions are found as precisely as is of use
         (newton_directions.py), and P along them without further products. The answer is p, whose duality gap is
         known from Gp = Gt - G(t - p)
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from kdsl import allowance
from kdsl.solving.backends.interface import Options, Progress, part_of_kdsl
from kdsl.solving.entropy_mirror import Mirror, OnRows, RowSystem, reflect_onto_rows
from kdsl.solving.expand import quadratic_part
from kdsl.solving.facts import Facts
from kdsl.solving.hessian_products import HessianProducts
from kdsl.solving.newton_directions import Direction, Effort, Weights, by_columns, by_matrix, by_products
from kdsl.solving.normal_form import Floats, Ints, NormalForm
from kdsl.solving.quiet_products import dot
from kdsl.solving.raw_solution import RawSolution, Status

_STEPS = 100
_BEYOND = 1e-2  # of the gap that is asked for: a step more costs little where convergence is quadratic
_SHARE = 0.1  # of a residual that a direction may leave at most
_STIFF = 20  # products for a direction, beside which one in double precision is little
_CLOSE = 1e-5  # relative gap from which on products that stay are in double precision
_LARGEST = 8000  # coordinates beyond which a dense matrix is not factorised
_COLUMNS = 1000  # of a known factor of G up to which it is inverted together with the identity
_PATIENCE = (50, 8)  # products, or one for so many coordinates, that are less than a factorisation
_MOST = 1000  # products for a direction where there is nothing else
_SHORTEST = 1e-6  # part of a step
_ROUNDING = 1e-9  # of the objective: by so much it may seem to rise
_HEADWAY = 1e-7  # of the objective
_STAGNANT = 5  # steps that neither lower it so much nor halve the gap
_MESSAGES: dict[Status, str] = {
    "solved": "the duality gap is within the tolerance",
    "stalled": "rounding stopped progress before the tolerance was reached",
    "iteration_limit": "the iteration limit was reached",
    "time_limit": "the time limit was reached",
    "interrupted": "stopped by the callback",
}


def solve(
    problem: NormalForm, options: Options, start: Floats | None = None, progress: Progress | None = None
) -> RawSolution:
    began = time.perf_counter()
    until = began + options.time_limit
    task = _Task.of(problem, options)
    limit = _STEPS if options.max_iterations is None else options.max_iterations
    goal = _BEYOND * options.tol
    state = task.begin(np.zeros(task.size) if start is None else np.asarray(start, np.float64)[task.free])
    best, stagnant, iteration = state, 0, 0
    while True:
        if state.relative <= goal and not state.exact:
            best = state = task.begin(state.t)
        status, message = _outcome(state, goal, stagnant)
        if progress is not None and progress(iteration, state.relative):
            status = "interrupted"
        elif status is None and iteration >= limit:
            status = "iteration_limit" if options.max_iterations is not None else "stalled"
        elif status is None and time.perf_counter() > until:
            status = "time_limit"
        following = None
        if status is None:
            following, message = task.following(state, goal, until)
            status = "stalled" if following is None else None
        if status == "stalled" and task.hessian.single:  # for want of digits, as it may be
            task.hessian.single = False
            best = state = task.begin(state.t)
            stagnant = 0
            continue
        if following is None:
            break
        lower = state.value - following.value > _HEADWAY * state.size
        stagnant = 0 if lower or following.gap < best.gap / 2 else stagnant + 1
        iteration, state = iteration + 1, following
        best = min(best, state, key=lambda one: one.gap)
    assert status is not None
    facts = {
        "relative_gap": best.relative,
        "products": task.hessian.exact,
        "single_products": task.hessian.rough,
        "factorisations": task.factorisations,
    }
    theta = task.resting.copy()
    theta[task.free] = best.point.point
    message = message or _MESSAGES[status]
    return RawSolution(theta, iteration, status, message, time.perf_counter() - began, facts)


class _State(NamedTuple):
    """Expansion weights t with G t, the point that they lead to, what is between them, and the point's gap."""

    t: Floats
    image: Floats
    point: OnRows
    between: Floats  # G (t - p)
    gap: float
    size: float  # of the objective
    exact: bool  # from products in double precision

    @property
    def value(self) -> float:
        """P(t)."""
        return 0.5 * dot(self.t, self.image) + self.point.value

    @property
    def relative(self) -> float:
        return self.gap / self.size


def _outcome(state: _State, goal: float, stagnant: int) -> tuple[Status | None, str]:
    """Why to stop here, or None."""
    if not np.isfinite(state.value):
        return "stalled", "the objective is not finite"
    if state.relative <= goal:
        return "solved", ""
    if stagnant <= _STAGNANT:
        return None, ""
    return "stalled", "" if state.point.met else "no point inside the boxes meets the rows"


@dataclass(eq=False)
class _Task:
    """The coordinates that can move, and how a direction is found for them."""

    free: Ints
    resting: Floats  # where the others stay
    mirror: Mirror
    hessian: HessianProducts
    linear: Floats
    constant: float
    rows: RowSystem
    target: Floats
    factor: Floats | None  # F with G = F F', where it is known and narrow
    dense: NormalForm | None  # whose matrix may be formed where products are many
    matrix: Floats | None = None
    factorisations: int = 0

    @property
    def size(self) -> int:
        return len(self.free)

    @staticmethod
    def of(problem: NormalForm, options: Options) -> _Task:
        h, entropies = problem.separable, problem.entropies
        assert entropies is not None
        lower, upper, inside = h.lower, h.upper, entropies.inside
        moves = (entropies.at_low & (inside > lower)) | (entropies.at_high & (inside < upper))
        free = np.flatnonzero(moves)
        resting = np.where(moves, 0.0, inside)
        mirror = Mirror(lower[free], upper[free], entropies.at_low[free], entropies.at_high[free])
        hessian = HessianProducts(problem, options.threads, None if moves.all() else free)
        linear, constant, target = hessian.linear, hessian.constant, np.asarray(problem.rows.target, np.float64)
        if resting.any():
            whole = HessianProducts(problem, options.threads)
            image = whole.times(resting)
            constant += 0.5 * dot(resting, image) + dot(whole.linear, resting)
            linear = linear + image[free]
            target = target - problem.rows.matrix @ resting
        matrix = sp.csr_array(sp.csc_array(problem.rows.matrix)[:, free])
        held = np.flatnonzero(np.diff(matrix.indptr) > 0)
        rows = RowSystem(sp.csr_array(matrix[held]))
        factor = hessian.linear_factor() if not hessian.curvature.any() else None
        if factor is not None and factor.shape[1] > min(_COLUMNS, len(free)):
            factor = None
        memory = allowance.memory() / 4 if options.memory is None else options.memory
        small = len(free) <= _LARGEST and 24.0 * problem.size**2 <= memory
        dense = problem if small else None
        return _Task(free, resting, mirror, hessian, linear, constant, rows, target[held], factor, dense)

    def begin(self, t: Floats) -> _State:
        """The state at t, from products in double precision."""
        image = self.hessian.times(t) if t.any() else np.zeros(self.size)
        return self._state(t, image, self._reflected(image, np.zeros(len(self.target))), True)

    def _reflected(self, image: Floats, nu: Floats) -> OnRows:
        """The point that weights t with G t = image lead to."""
        return reflect_onto_rows(self.mirror, self.rows, self.target, -(image + self.linear), nu)

    def _state(self, t: Floats, image: Floats, at: OnRows, exact: bool) -> _State:
        between = self.hessian.times(t - at.point, self.hessian.single and not exact)
        there = image - between
        below = self._reflected(there, at.nu)
        entropy = self.mirror.entropy(at.point)
        gap = entropy + below.value + dot(at.point, there + self.linear)
        objective = 0.5 * dot(at.point, there) + dot(at.point, self.linear) + entropy + self.constant
        gap = max(gap, 0.0) if at.met and np.isfinite(gap) else np.inf
        return _State(t, image, at, between, gap, max(1.0, abs(objective)), exact or not self.hessian.single)

    def following(self, state: _State, goal: float, until: float) -> tuple[_State | None, str]:
        """The state after a Newton step; None, and perhaps why, where there is no step or it leads nowhere."""
        found = self._direction(state, goal, until)
        return (None, found.fault) if found.fault else (self._along(state, found), "")

    def _direction(self, state: _State, goal: float, until: float) -> Direction:
        """As precise as the gap that is wanted and the one that is there ask for."""
        weights, e = Weights(state.point.weight, self.rows), state.t - state.point.point
        if self.factor is not None:
            return by_columns(self.factor, weights, e)
        if self.matrix is None:
            enough, useful = 0.3 * float(np.sqrt(goal / state.relative)), float(np.sqrt(state.relative))
            patience = _MOST if self.dense is None else max(_PATIENCE[0], self.size // _PATIENCE[1])
            effort = Effort(max(enough, min(_SHARE, useful)), patience, until)
            found = by_products(self.hessian, weights, e, state.between, effort)
            if self.dense is None or (found.products < patience and not found.fault):
                return found
            self.matrix = self._matrix(self.dense)
        self.factorisations += 1
        return by_matrix(self.matrix, weights, e, state.between)

    def _matrix(self, problem: NormalForm) -> Floats:
        """G."""
        quadratic, _, _ = quadratic_part(problem)
        quadratic[np.diag_indices_from(quadratic)] += problem.separable.curvature
        return quadratic if self.size == problem.size else quadratic[np.ix_(self.free, self.free)]

    def _along(self, state: _State, direction: Direction) -> _State | None:
        """The state after as much of the step as lowers P enough; None where nothing does."""
        slope, length = dot(state.t - state.point.point, direction.image), 1.0
        if not slope < 0:
            return None
        while length >= _SHORTEST:
            t, there = state.t + length * direction.s, state.image + length * direction.image
            at = self._reflected(there, state.point.nu)
            level = 0.5 * dot(t, there) + at.value
            if level <= state.value + 1e-4 * length * slope + _ROUNDING * state.size:
                stiff = direction.products >= _STIFF or self.matrix is not None
                if state.gap > _CLOSE * state.size and not stiff:
                    return self._state(t, there, at, False)
                image = self.hessian.times(t)
                return self._state(t, image, self._reflected(image, at.nu), True)
            length *= 0.5
        return None


def _accepts(facts: Facts) -> str | None:
    if facts.entropies < facts.size or facts.size == 0 or facts.kinks or facts.inequalities:
        return "it takes duals whose every multiplier has an entropy, with smooth costs and equations beside"
    return None


BACKEND = part_of_kdsl(
    name="newton",
    takes="duals of any size whose every multiplier has an entropy: logistic and multinomial losses",
    accuracy=1e-12,
    accepts=_accepts,
    solve=solve,
    entropies=True,
)
