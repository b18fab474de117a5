"""Solves normal forms whose Hessian is a product of few columns, by screening and an interior point method.

Solves   min 1/2 sum_H (S_H t + s_H)'K_H (S_H t + s_H) + sum_k h_k(t_k)  subject to  At = a (some rows <=)
Given    linear kernels on points of few features, or kernels whose pivoted Cholesky factor has few columns: the rank
         is measured, not guessed
Returns  t with a duality gap that was measured with the kernels themselves, not with their factors
How      kdsl/solving/screening.py on the explicit rows of [S'F, A']. Where F F' is not K to the last digits and the gap
         shows it, the engine goes on from t; where the rank is not small, the engine solves it all
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from kdsl import allowance
from kdsl.numerics.arrays import Floats
from kdsl.solving.backends.interface import Options, Progress, part_of_kdsl
from kdsl.solving.facts import Facts
from kdsl.solving.normal_form import NormalForm
from kdsl.solving.raw_solution import Fact, RawSolution, Status

if TYPE_CHECKING:
    from kdsl.solving.explicit_rows import ExplicitRows
    from kdsl.solving.screening import Solved

MOST_COLUMNS = 1000
MOST_ROWS = 64
SAFETY = 4.0  # the gap is asked to be so much smaller than the tolerance
FINEST = 1e-14  # the smallest gap that is asked for

_MESSAGES: dict[Status, str] = {
    "solved": "the duality gap is within the tolerance",
    "stalled": "rounding in double precision stopped progress before the tolerance was reached",
    "time_limit": "the time limit was reached",
    "iteration_limit": "the iteration limit was reached",
    "interrupted": "stopped by the callback",
}


class _Watch:
    """Says when to stop, and remembers why."""

    def __init__(self, options: Options, progress: Progress | None, began: float) -> None:
        self.until = began + options.time_limit
        self.most = math.inf if options.max_iterations is None else options.max_iterations
        self.progress, self.steps = progress, 0
        self.reason: Status = "stalled"

    def __call__(self, iteration: int, error: float) -> bool:
        self.steps += 1
        if time.perf_counter() > self.until:
            self.reason = "time_limit"
        elif self.steps > self.most:
            self.reason = "iteration_limit"
        elif self.progress is not None and self.progress(self.steps, error):
            self.reason = "interrupted"
        return self.reason != "stalled"


def solve(
    problem: NormalForm, options: Options, start: Floats | None = None, progress: Progress | None = None
) -> RawSolution:
    from kdsl.solving.explicit_rows import explicit_rows
    from kdsl.solving.screening import solve_rows

    began = time.perf_counter()
    threads = options.threads or allowance.processors()
    rows = explicit_rows(problem, MOST_COLUMNS, options.memory or allowance.memory() / 4, began + options.time_limit)
    if rows is None:
        return _by_the_engine(
            problem, options, start, progress, began, "the rank is not small for what is allowed: by the engine"
        )
    tol = _asked(options)
    watch = _Watch(options, progress, began)
    slacks = rows.size - problem.size
    solved = solve_rows(rows, slacks, tol, threads, watch)
    theta = np.clip(solved.t[: problem.size], problem.separable.lower, problem.separable.upper)
    error = solved.error if rows.residual == 0 else _true_error(problem, rows, solved, threads)
    facts = _facts(rows, solved, error, threads)
    if error > options.tol and not solved.stopped and rows.residual > 0:
        found = _by_the_engine(problem, options, theta, progress, began, "finished by the engine")
        if found.status != "solved" and not error > float(found.facts.get("relative_gap", math.inf)):  # it may be NaN
            found = replace(found, theta=theta, facts=facts)  # pairs may lose for long what an interior point has found
        return replace(found, iterations=found.iterations + solved.iterations, facts={**facts, **found.facts})
    status: Status = "solved" if error <= options.tol and not solved.stopped else watch.reason
    return RawSolution(theta, solved.iterations, status, _MESSAGES[status], time.perf_counter() - began, facts)


def _asked(options: Options) -> float:
    """The relative gap to aim at; a steepest descent m - M goes with the root of a gap."""
    wanted = options.tol if options.kkt_tol is None else min(options.tol, options.kkt_tol**2)
    return max(wanted / SAFETY, FINEST)


def _facts(rows: ExplicitRows, solved: Solved, error: float, threads: int) -> dict[str, Fact]:
    return {
        "strategy": "screening and interior point" if solved.rounds else "interior point",
        "rank": rows.points.shape[1],
        "residual": rows.residual,
        "rounds": solved.rounds,
        "kept": solved.kept,
        "relative_gap": error,
        "value": solved.value,
        "threads": threads,
    }


def _true_error(problem: NormalForm, rows: ExplicitRows, solved: Solved, threads: int) -> float:
    """The relative gap of t with the kernels themselves: one column, S'K(St + s), stands for those of F."""
    from kdsl.solving.screening import measured

    t = solved.t
    image, constant = np.zeros(rows.size), 0.0
    for block in problem.blocks:
        v = np.asarray(block.atoms @ t[: problem.size]) + (0.0 if block.shift is None else block.shift)
        product = block.gram.matvec(v)
        image[: problem.size] += block.atoms.T @ product
        constant += 0.5 * float(v @ product)
    wide = rows.points.shape[1]
    own = rows._replace(
        points=image[:, None].copy(),
        coefficient=None,
        e=np.r_[-float(image @ t), rows.e[wide:]],
        metric=np.zeros(1 + len(rows.e) - wide),
        constant=rows.constant + constant,
    )
    return measured(own, own.passes(threads), t, np.r_[1.0, solved.v[wide:]]).error


def _by_the_engine(
    problem: NormalForm,
    options: Options,
    start: Floats | None,
    progress: Progress | None,
    began: float,
    message: str,
) -> RawSolution:
    from kdsl.solving.backends.own import ENGINE

    left = max(options.time_limit - (time.perf_counter() - began), 1e-3)
    found = ENGINE.solve(problem, replace(options, time_limit=left), start, progress)
    return replace(found, message=f"{message}: {found.message}", seconds=time.perf_counter() - began)


def _accepts(facts: Facts) -> str | None:
    if facts.rows > MOST_ROWS:
        return f"its limit is {MOST_ROWS} rows; here are {facts.rows:,}"
    if facts.gram_rank is not None and facts.gram_rank > MOST_COLUMNS:
        return f"its limit is a rank of {MOST_COLUMNS:,}; here it may be {facts.gram_rank:,}"
    return None


BACKEND = part_of_kdsl(
    name="lowrank",
    takes="kernels of rank up to 1,000 (few features, or measured), up to 64 rows, any size; interior point method",
    accuracy=1e-9,
    accepts=_accepts,
    compiled=True,
    solve=solve,
)
