"""Newton's method on duals whose every multiplier has an entropy: logistic and multinomial regression.

minimise  1/2 t'Qt + c't + sum e(t - low) + sum e(high - t)  subject to  A t = a,   e(x) = x log x

The entropies are barriers of their own box, so the boxes need no other care (Boyd and Vandenberghe 2004, section 10.3).
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from numpy.typing import NDArray

from kdsl.solving.backends.interface import Options, Progress, part_of_kdsl
from kdsl.solving.expand import quadratic_part
from kdsl.solving.facts import Facts
from kdsl.solving.normal_form import Entropies, Floats, NormalForm
from kdsl.solving.raw_solution import RawSolution, Status

LARGEST = 8000  # coordinates beyond which the dense Hessian is not formed
_STEPS = 100
_REDUNDANT = 1e-13
_INSIDE = 0.99  # of the way to the nearest end of the box


class _Barriers(NamedTuple):
    """The entropies of the coordinates that can move."""

    low: Floats
    high: Floats
    at_low: NDArray[np.bool_]
    at_high: NDArray[np.bool_]

    def slope(self, t: Floats) -> Floats:
        below = np.where(self.at_low, np.log(np.where(self.at_low, t - self.low, 1.0)) + 1.0, 0.0)
        above = np.where(self.at_high, np.log(np.where(self.at_high, self.high - t, 1.0)) + 1.0, 0.0)
        return np.asarray(below - above)

    def curvature(self, t: Floats) -> Floats:
        below = np.where(self.at_low, 1.0 / np.where(self.at_low, t - self.low, 1.0), 0.0)
        above = np.where(self.at_high, 1.0 / np.where(self.at_high, self.high - t, 1.0), 0.0)
        return np.asarray(below + above)

    def longest(self, t: Floats, step: Floats) -> float:
        """The longest step of at most 1 that stays inside."""
        down = self.at_low & (step < 0)
        up = self.at_high & (step > 0)
        room = np.concatenate([(self.low - t)[down] / step[down], (self.high - t)[up] / step[up]])
        return min(1.0, _INSIDE * float(room.min(initial=np.inf)))


def solve(
    problem: NormalForm, options: Options, start: Floats | None = None, progress: Progress | None = None
) -> RawSolution:
    """From `inside` rather than from `start`, which may lie where the entropies are steep."""
    began = time.perf_counter()
    h, entropies = problem.separable, problem.entropies
    assert entropies is not None
    free = np.flatnonzero(_moves(problem, entropies))
    kept = _Barriers(h.lower[free], h.upper[free], entropies.at_low[free], entropies.at_high[free])
    quadratic, linear, _ = quadratic_part(problem)
    quadratic[np.diag_indices_from(quadratic)] += h.curvature
    hessian, linear = quadratic[np.ix_(free, free)], (linear + h.slope)[free]
    rows = sp.csr_array(sp.csc_array(problem.rows.matrix)[:, free])
    held = np.flatnonzero(np.diff(rows.indptr) > 0)
    rows, target = rows[held].toarray(), problem.rows.target[held]
    limit = _STEPS if options.max_iterations is None else options.max_iterations
    t, nu = entropies.inside[free], np.zeros(len(target))
    status: Status = "stalled" if options.max_iterations is None else "iteration_limit"
    message = "the Newton decrement is above the tolerance"
    iterations = 0

    def residual(t: Floats, nu: Floats) -> tuple[Floats, Floats]:
        return hessian @ t + linear + kept.slope(t) + rows.T @ nu, rows @ t - target

    dual, primal = residual(t, nu)
    size = _size(dual, primal)
    for iterations in range(1, limit + 1):
        try:
            step, moved = _newton_step(hessian, kept.curvature(t), rows, dual, primal)
        except la.LinAlgError:  # kernel values so large
            message = "rounding made the Hessian indefinite"
            break
        length = kept.longest(t, step)
        while True:
            ahead, price = t + length * step, nu + length * moved
            dual, primal = residual(ahead, price)
            if _size(dual, primal) <= (1.0 - 0.01 * length) * size or length < 1e-10:
                break
            length *= 0.5
        before, size = size, _size(dual, primal)
        t, nu = ahead, price
        decrement = abs(float(step @ (kept.curvature(t) * step + hessian @ step)))
        if length == 1.0 and decrement <= 1e-3 * options.tol * max(1.0, abs(float(linear @ t))):
            status, message = "solved", "the Newton decrement is within the tolerance"
            if decrement <= 1e-20 or size >= 0.5 * before:
                break
        if progress is not None and progress(iterations, decrement):
            status, message = "interrupted", "stopped by the callback"
            break
        if time.perf_counter() - began > options.time_limit:
            status, message = "time_limit", "the time limit was reached"
            break
    theta = entropies.inside.copy()
    theta[free] = t
    return RawSolution(theta, iterations, status, message, time.perf_counter() - began)


def _moves(problem: NormalForm, entropies: Entropies) -> NDArray[np.bool_]:
    """Which coordinates have an entropy of some weight: the others stay where they are."""
    h, t = problem.separable, entropies.inside
    return (entropies.at_low & (t > h.lower)) | (entropies.at_high & (t < h.upper))


def _newton_step(
    hessian: Floats, curvature: Floats, rows: Floats, dual: Floats, primal: Floats
) -> tuple[Floats, Floats]:
    """The step of t and of the multipliers of the rows."""
    matrix = hessian.copy()
    matrix[np.diag_indices_from(matrix)] += curvature
    factor = la.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    direct = la.cho_solve(factor, dual, check_finite=False)
    if not len(rows):
        return -direct, np.zeros(0)
    through = la.cho_solve(factor, rows.T, check_finite=False)
    schur = rows @ through
    schur[np.diag_indices_from(schur)] *= 1.0 + _REDUNDANT  # rows that depend on one another leave it singular
    moved = la.solve(schur, primal - rows @ direct, assume_a="pos", check_finite=False)
    return -direct - through @ moved, np.asarray(moved)


def _size(dual: Floats, primal: Floats) -> float:
    return float(np.sqrt(dual @ dual + primal @ primal))


def _accepts(facts: Facts) -> str | None:
    if facts.entropies < facts.size or facts.size == 0 or facts.kinks or facts.inequalities:
        return "it takes duals whose every multiplier has an entropy, with smooth costs and equations beside"
    if facts.size > LARGEST:
        return f"it factorises dense matrices; its limit is {LARGEST:,} coordinates, here are {facts.size:,}"
    return None


BACKEND = part_of_kdsl(
    name="newton",
    takes=f"duals of up to {LARGEST:,} coordinates that each have an entropy: logistic and multinomial losses",
    accuracy=1e-12,
    accepts=_accepts,
    solve=solve,
    entropies=True,
)
