"""Solves large normal forms without a box whose cost is quadratic, by products with the Gram matrix only.

Solves   min 1/2 t'Ht + p't  subject to  At = a,   H = Q + diag(curvature), Q = sum_H S'KS
Given    the Gram oracles' products with a vector; the rows A, few and dense or many and sparse
Returns  t whose duality gap sum_k r_k^2 / (2 curvature_k), r = H t + p + A'm, meets the tolerance; or, where m - M
         is asked for, which is at most 2 max |r|, t with a residual so small
How      projected preconditioned conjugate gradients (Gould, Hribar and Nocedal 2001): residuals are projected on the
         null space of A in the metric of diag(H); residuals are recomputed from t where they have drifted. Products
         are in single precision where the core knows the kernel and that leads on: then residuals are those of double
         precision at every start, each start being a step of iterative refinement
"""

from __future__ import annotations

import time

import numpy as np
import scipy.sparse as sp

from kdsl.numerics.arrays import Floats
from kdsl.solving.backends.interface import Options, Progress, part_of_kdsl
from kdsl.solving.facts import Facts
from kdsl.solving.hessian_products import HessianProducts
from kdsl.solving.normal_form import NormalForm
from kdsl.solving.raw_solution import RawSolution, Status

REFRESH = 50  # iterations between two residuals computed from t itself
DRIFT = 0.1  # of the residual: single precision has lost it when its own is as far off
DIGITS = 1e-5  # of the residual at a start: what single precision is trusted with
HEADWAY = 0.1  # of the residual at a start that must be left at most, else single precision is not for this problem
STAGNANT = 20  # refreshes without progress after which rounding is blamed
ROUNDING = "rounding in double precision stopped progress before the tolerance was reached"


def solve(
    problem: NormalForm, options: Options, start: Floats | None = None, progress: Progress | None = None
) -> RawSolution:
    began = time.perf_counter()
    system = _System(problem, options.threads)
    limit = options.max_iterations or max(2000, 20 * problem.size)
    t, rows_met = system.feasible(np.zeros(problem.size) if start is None else np.asarray(start, float))
    if not rows_met:
        seconds = time.perf_counter() - began
        return RawSolution(t, 0, "infeasible", "the rows contradict each other", seconds)
    gap, best, stagnant, iteration = np.inf, np.inf, 0, 0
    size = 1.0
    r = system.residual(t)
    d, before, norm = np.zeros(problem.size), np.inf, float(np.linalg.norm(r))
    while True:
        late = time.perf_counter() - began > options.time_limit
        spent = iteration >= limit
        known = system.single and np.linalg.norm(r) <= DIGITS * norm
        if iteration % REFRESH == 0 or late or spent or known or system.excess(r, options, size) <= 1 / 2:
            exact = system.residual(t)
            size = max(1.0, abs(system.value))
            gap = system.gap(exact) / size
            if system.single and (known or not np.linalg.norm(exact - r) <= DRIFT * np.linalg.norm(exact)):
                left, before = float(np.linalg.norm(exact)), np.inf
                system.single = left <= HEADWAY * norm
                r, norm = exact, left
            elif not system.single:
                r = exact
            stagnant = 0 if gap < best / 2 else stagnant + 1
            best = min(best, gap)
            stopped = progress is not None and progress(iteration, gap)
            status, message = _outcome(system.excess(exact, options, size) <= 1, stagnant, bool(stopped), late, spent)
            if status is not None:
                break
        g = system.project(r)
        rg = float(r @ g)
        d = rg / before * d - g
        along = system.hessian.times(d, system.single)
        bend = float(d @ along)
        if system.single and not bend > 0:
            system.single, r, before = False, system.residual(t), np.inf
            continue
        if rg <= 0 or bend <= 0:
            status, message = "stalled", ROUNDING
            break
        t = t + rg / bend * d
        r = system.reduce(r + rg / bend * along)
        before = rg
        iteration += 1
    facts = {"relative_gap": gap, "products": system.hessian.exact, "single_products": system.hessian.rough}
    return RawSolution(t, iteration, status, message, time.perf_counter() - began, facts)


def _outcome(done: bool, stagnant: int, stopped: bool, late: bool, spent: bool) -> tuple[Status | None, str]:
    """Why to stop here, or None."""
    if done:
        return "solved", "the residual is within the tolerance"
    if stopped:
        return "interrupted", "stopped by the callback"
    if stagnant > STAGNANT:
        return "stalled", ROUNDING
    if late:
        return "time_limit", "the time limit was reached"
    return ("iteration_limit", "the iteration limit was reached") if spent else (None, ROUNDING)


class _System:
    """H as an operator, and the projection on the null space of A in the metric of diag(H)."""

    def __init__(self, problem: NormalForm, threads: int | None) -> None:
        self.hessian = HessianProducts(problem, threads)
        self.single = self.hessian.single
        self.curvature = self.hessian.curvature
        diagonal = self.hessian.diagonal()
        self.metric = np.where(diagonal > 0, diagonal, 1.0)
        self.A, self.a = sp.csr_array(problem.rows.matrix), np.asarray(problem.rows.target, float)
        self.inverse = np.linalg.pinv((self.A @ sp.diags_array(1 / self.metric) @ self.A.T).toarray(), hermitian=True)
        self.plain = np.linalg.pinv((self.A @ self.A.T).toarray(), hermitian=True)
        self.value = 0.0

    def residual(self, t: Floats) -> Floats:
        """H t + p + A'm; the objective at t is left in `value`."""
        image = self.hessian.times(t)
        self.value = float(t @ (image / 2 + self.hessian.linear)) + self.hessian.constant
        return self.reduce(image + self.hessian.linear)

    def feasible(self, t: Floats) -> tuple[Floats, bool]:
        """The nearest point that meets the rows, and whether there is one."""
        for _ in range(3):
            t = t - self.A.T @ (self.plain @ (self.A @ t - self.a))
        allowed = 1e-10 * (1 + np.abs(self.a) + abs(self.A) @ np.abs(t))
        return t, bool((np.abs(self.A @ t - self.a) <= allowed).all())

    def reduce(self, r: Floats) -> Floats:
        """r + A'm with the multipliers m that make it smallest in the metric; keeps r free of what rows carry."""
        if not len(self.a):
            return r
        reduced: Floats = r - self.A.T @ (self.inverse @ (self.A @ (r / self.metric)))
        return reduced

    def project(self, r: Floats) -> Floats:
        g = r / self.metric
        if not len(self.a):
            return g
        projected: Floats = g - (self.A.T @ (self.inverse @ (self.A @ g))) / self.metric
        return projected

    def excess(self, r: Floats, options: Options, size: float) -> float:
        """By how many times the residual exceeds what is asked for."""
        if options.kkt_tol is not None:
            return float(np.abs(r).max(initial=0.0)) * (2 if len(self.a) else 1) / options.kkt_tol
        return self.gap(r) / size / (options.tol / 4)

    def gap(self, r: Floats) -> float:
        """sum_k r_k^2 / (2 curvature_k): h_k(t_k) + h_k*(-gradient_k) + t_k gradient_k of a quadratic h_k."""
        return float((r**2 / (2 * self.curvature)).sum())


def _accepts(facts: Facts) -> str | None:
    if not facts.linear_system:
        return "it solves linear systems; here some multiplier has a bound or a cost of several pieces"
    if not facts.curved:
        return "its stopping test needs a curved cost for every multiplier, and some have none"
    return None if facts.rows <= 2000 else f"it eliminates at most 2,000 rows; here are {facts.rows:,}"


BACKEND = part_of_kdsl(
    name="cg",
    takes="linear systems (no box, curved quadratic cost, equality rows) of any size; conjugate gradients",
    accuracy=1e-9,
    accepts=_accepts,
    solve=solve,
)
