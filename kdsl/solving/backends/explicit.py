"""What solvers of explicit quadratic programs share: their answer, and the way from and to a normal form."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from typing import NamedTuple

import numpy as np

from kdsl.numerics.arrays import Floats
from kdsl.solving.backends.interface import Options
from kdsl.solving.expand import ExplicitQP, expand
from kdsl.solving.factors import WORTHWHILE, low_rank
from kdsl.solving.facts import Facts, beyond_memory
from kdsl.solving.normal_form import NormalForm
from kdsl.solving.raw_solution import Fact, RawSolution, Status

MATRICES = 4  # of the Hessian's size: itself, its symmetrisation, the solver's copy and its factors
LARGEST = 5000  # coordinates: the whole Hessian and its factors are stored


class Answer(NamedTuple):
    """x, and multipliers with Px + q + A'y + z = 0: y_i > 0 where row i is at u, < 0 at l; z likewise for the box."""

    x: Floats
    y: Floats
    z: Floats
    status: Status
    message: str
    iterations: int
    ray: Floats | None = None
    facts: Mapping[str, Fact] = {}


def too_large(facts: Facts) -> str | None:
    """Why a solver that stores the whole Hessian refuses a problem."""
    if facts.gram_rank is not None and WORTHWHILE * facts.gram_rank <= facts.size:
        entries = facts.size * facts.gram_rank
        return None if entries <= LARGEST**2 else f"its factor has {entries:.2g} entries; the limit is {LARGEST**2:.2g}"
    if facts.size > LARGEST:
        return (
            f"it needs the whole Hessian of {facts.size:,} coordinates ({facts.dense_bytes / 1e9:.1f} GB); "
            f"its limit is {LARGEST:,}"
        )
    return None


def through_explicit(
    problem: NormalForm, options: Options, solve: Callable[[ExplicitQP, Options], Answer]
) -> RawSolution:
    """Expand, solve, and cut the coordinates of the normal form out of x."""
    began = time.perf_counter()
    h, n = problem.separable, problem.size
    excess = beyond_memory(MATRICES, n, options.memory)
    if excess is not None and low_rank(problem) is None:
        return RawSolution(np.clip(np.zeros(n), h.lower, h.upper), 0, "solver_error", excess, 0.0)
    program = expand(problem)
    spent = time.perf_counter() - began
    answer = solve(program, remaining(options, spent))
    theta = np.clip(np.nan_to_num(answer.x[:n], posinf=0.0, neginf=0.0), h.lower, h.upper)
    ray = None if answer.ray is None else answer.ray[:n]
    facts: dict[str, Fact] = {"variables": program.size, "rows": len(program.l), **answer.facts}
    seconds = time.perf_counter() - began
    return RawSolution(theta, answer.iterations, answer.status, answer.message, seconds, facts, ray)


@contextmanager
def off_stdout(verbose: bool) -> Iterator[None]:
    """What a solver prints goes to standard error, or nowhere: standard output is for the result."""
    with redirect_stdout(sys.stderr if verbose else io.StringIO()):
        yield


def remaining(options: Options, spent: float) -> Options:
    """The options with `spent` seconds taken off the time limit."""
    from dataclasses import replace

    return replace(options, time_limit=max(options.time_limit - spent, 1e-3))


def nothing_found(program: ExplicitQP, status: Status, message: str) -> Answer:
    """An answer without a point: 0, brought into the box."""
    x = np.clip(np.zeros(program.size), program.lower, program.upper)
    return Answer(x, np.zeros(len(program.l)), np.zeros(program.size), status, message, 0)


def inner_tolerance(options: Options, factor: float = 1e-3, floor: float = 1e-10) -> float:
    """What to ask of a solver so that the certificate's tolerance is met: its residuals enter the gap multiplied."""
    wanted = options.tol if options.kkt_tol is None else min(options.tol, options.kkt_tol)
    return max(wanted * factor, floor)
