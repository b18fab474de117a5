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
from kdsl.numerics.arrays import Floats, Ints
from kdsl.numerics.quiet_products import dot
from kdsl.solving.backends.interface import Options, Progress, part_of_kdsl
from kdsl.solving.entropy_mirror import Mirror, OnRows, RowSystem, reflect_onto_rows
from kdsl.solving.equations import with_equations
from kdsl.solving.expand import quadratic_part
from kdsl.solving.facts import Facts
from kdsl.solving.held_pieces import HeldPieces
from kdsl.solving.hessian_products import HessianProducts
from kdsl.solving.newton_directions import Direction, Effort, Weights, by_columns, by_matrix, by_products
from kdsl.solving.normal_form import NormalForm
from kdsl.solving.raw_solution import Fact, RawSolution, Status

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
_ROUNDING = {True: 1e-9, False: 1e-13}  # of the objective: by so much it may seem to rise; in single precision
_HEADWAY = {True: 1e-7, False: 1e-11}  # of the objective; the same
_PULL, _WEAKER, _LEAST = 0.1, 5.0, 1e-4  # of the Hessian's diagonal; by so much less each time, to so much of it
_FIRST, _CLOSER = 1e-3, 100.0  # relative gap to get to while coordinates are held, and by how much less each time
_FINEST = 1e-15  # relative gap: no step makes it less
_SLIP = 0.1  # of the tolerance
_RELEASES = 30
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
    task = _Task.of(with_equations(problem), options)
    limit = _STEPS if options.max_iterations is None else options.max_iterations
    search = _Search(task, limit, began + options.time_limit, progress)
    goal = _BEYOND * options.tol
    near = np.zeros(len(task.resting))
    if start is not None:
        near[: problem.size] = start
        task.hold(near[task.free])
    state = task.begin(near[task.free])
    closest = goal if task.mirror.held is None else _FIRST
    while True:
        state, status, message = search.descend(state, closest)
        if status != "solved" or (closest <= goal and task.is_settled(state, options.tol)):
            break
        if task.releases >= _RELEASES:
            status = "stalled"
            break
        if closest <= goal and task.is_released(state, options.tol):
            if state.relative < _FINEST:
                break
            closest = min(closest, state.relative) / _CLOSER  # what is left between t and p shows in conditions
            continue
        task.release(state)
        state, closest = task.begin(state.t), max(goal, closest / _CLOSER)
    if status == "iteration_limit" and options.max_iterations is None:
        status = "stalled"
    facts: dict[str, Fact] = {
        "relative_gap": state.relative,
        "products": task.hessian.exact,
        "single_products": task.hessian.rough,
        "factorisations": task.factorisations,
    }
    theta = task.resting.copy()
    theta[task.free] = state.point.point
    message = message or _MESSAGES[status]
    return RawSolution(theta[: problem.size], search.iteration, status, message, time.perf_counter() - began, facts)


@dataclass(eq=False)
class _Search:
    """Newton's method within limits, which all descents share."""

    task: _Task
    limit: int
    until: float
    progress: Progress | None
    iteration: int = 0

    def descend(self, state: _State, goal: float) -> tuple[_State, Status, str]:
        """The best state on the way to a relative gap of `goal`, and why the way ended there."""
        task, best, stagnant = self.task, state, 0
        while True:
            if state.relative <= goal and not state.exact:
                best = state = task.begin(state.t)
            status, message = self._outcome(state, goal, stagnant)
            following = None
            if status is None:
                following, message = task.following(state, goal, self.until)
                status = "stalled" if following is None else None
            if status == "stalled" and task.hessian.single:  # for want of digits, as it may be
                task.hessian.single = False
                best = state = task.begin(state.t)
                stagnant = 0
                continue
            if status is not None or following is None:
                return best, status or "stalled", message
            lower = state.value - following.value > _HEADWAY[task.hessian.single] * state.size
            stagnant = 0 if lower or following.gap < best.gap / 2 else stagnant + 1
            self.iteration, state = self.iteration + 1, following
            best = min(best, state, key=lambda one: one.gap)

    def _outcome(self, state: _State, goal: float, stagnant: int) -> tuple[Status | None, str]:
        """Why to stop here, or None."""
        if self.progress is not None and self.progress(self.iteration, state.relative):
            return "interrupted", ""
        if not np.isfinite(state.value):
            return "stalled", "the objective is not finite"
        if state.relative <= goal:
            return "solved", ""
        if stagnant > _STAGNANT:
            return "stalled", "" if state.point.met else "no point inside the boxes meets the rows"
        if self.iteration >= self.limit:
            return "iteration_limit", ""
        return ("time_limit", "") if time.perf_counter() > self.until else (None, "")


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
    releases: int = 0
    least_pull: float = 0.0

    @property
    def size(self) -> int:
        return len(self.free)

    @staticmethod
    def of(problem: NormalForm, options: Options) -> _Task:
        h, entropies = problem.separable, problem.entropies
        assert entropies is not None
        lower, upper, inside = h.lower, h.upper, entropies.inside
        smooth = entropies.at_low | entropies.at_high
        moves = (entropies.at_low & (inside > lower)) | (entropies.at_high & (inside < upper))
        moves |= ~smooth & (lower < upper)
        free = np.flatnonzero(moves)
        resting = np.where(moves, 0.0, inside)
        mirror = Mirror(lower[free], upper[free], entropies.at_low[free], entropies.at_high[free])
        hessian = HessianProducts(problem, options.threads, None if moves.all() else free, smooth)
        apart = np.flatnonzero(~smooth[free])
        if len(apart):
            pull = _PULL * float(hessian.diagonal()[apart].mean()) or _PULL
            mirror = mirror._replace(held=HeldPieces.of(h, free[apart], apart, pull))
        linear, constant, target = hessian.linear, hessian.constant, np.asarray(problem.rows.target, np.float64)
        if resting.any():
            whole = HessianProducts(problem, options.threads, None, smooth)
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
        if factor is not None and not target.any():
            hessian.factor = factor = rows.apart_from(factor)
        memory = allowance.memory() / 4 if options.memory is None else options.memory
        small = len(free) <= _LARGEST and 24.0 * problem.size**2 <= memory
        dense = problem if small else None
        task = _Task(free, resting, mirror, hessian, linear, constant, rows, target[held], factor, dense)
        task.least_pull = 0.0 if mirror.held is None else _LEAST * mirror.held.pull
        return task

    def hold(self, t: Floats) -> None:
        """Held coordinates are held near t."""
        held = self.mirror.held
        if held is not None:
            centre = np.clip(t, self.mirror.low, self.mirror.high)[held.place]
            self.mirror = self.mirror._replace(held=held._replace(centre=centre))

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
        cost = self.mirror.cost(at.point)
        gap = cost + below.value + dot(at.point, there + self.linear)
        objective = 0.5 * dot(at.point, there) + dot(at.point, self.linear) + cost + self.constant
        gap = max(gap, 0.0) if at.met and np.isfinite(gap) else np.inf
        return _State(t, image, at, between, gap, max(1.0, abs(objective)), exact or not self.hessian.single)

    def is_released(self, state: _State, tol: float) -> bool:
        """Whether what holds coordinates near points is of no consequence any more."""
        held = self.mirror.held
        if held is None:
            return True
        t = state.point.point[held.place]
        slips = held.slips(t)
        return bool(slips.max() <= _SLIP * tol and dot(slips, np.abs(t)) <= _SLIP * tol * state.size)

    def is_settled(self, state: _State, tol: float) -> bool:
        """Whether their slopes are those of the point p, too: conditions without slacks are as far from holding."""
        held = self.mirror.held
        near = held is None or bool(np.abs(state.between[held.place]).max() <= _SLIP * tol)
        return near and self.is_released(state, tol)

    def release(self, state: _State) -> None:
        """Held coordinates are held where they are now, and less."""
        held = self.mirror.held
        assert held is not None
        pull, centre = max(held.pull / _WEAKER, self.least_pull), state.point.point[held.place]
        self.mirror = self.mirror._replace(held=held._replace(pull=pull, centre=centre))
        self.releases += 1

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
        matrix = quadratic if self.size == problem.size else quadratic[np.ix_(self.free, self.free)]
        matrix[np.diag_indices_from(matrix)] += self.hessian.curvature
        return matrix

    def _along(self, state: _State, direction: Direction) -> _State | None:
        """The state after as much of the step as lowers P enough; None where nothing does."""
        slope, length = dot(state.t - state.point.point, direction.image), 1.0
        if not slope < 0:
            return None
        while length >= _SHORTEST:
            t, there = state.t + length * direction.s, state.image + length * direction.image
            at = self._reflected(there, state.point.nu)
            level = 0.5 * dot(t, there) + at.value
            if level <= state.value + 1e-4 * length * slope + _ROUNDING[self.hessian.single] * state.size:
                stiff = direction.products >= _STIFF or self.matrix is not None
                if state.gap > _CLOSE * state.size and not stiff:
                    return self._state(t, there, at, False)
                image = self.hessian.times(t)
                return self._state(t, image, self._reflected(image, at.nu), True)
            length *= 0.5
        return None


def _accepts(facts: Facts) -> str | None:
    return None if facts.entropies else "it takes duals in which some multipliers have an entropy"


BACKEND = part_of_kdsl(
    name="newton",
    takes="duals of any size in which some multipliers have an entropy: logistic and multinomial losses",
    accuracy=1e-12,
    accepts=_accepts,
    solve=solve,
    entropies=True,
)
