"""Solves any small normal form by CVXPY, an independent road from the formulas to an answer.

Solves   the explicit quadratic program of kdsl/solving/expand.py
Given    all of Q, declared positive semidefinite: the audit of K has decided that before
Returns  the point of CVXPY's solver (Clarabel)
How      Diamond and Boyd (2016)
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from kdsl.numerics.arrays import Floats
from kdsl.solving.backends.explicit import (
    Answer,
    inner_tolerance,
    nothing_found,
    off_stdout,
    through_explicit,
    too_large,
)
from kdsl.solving.backends.interface import Backend, Options, Progress, is_importable, version_of
from kdsl.solving.expand import ExplicitQP
from kdsl.solving.normal_form import NormalForm
from kdsl.solving.raw_solution import RawSolution, Status

_STATUSES: dict[str, Status] = {
    "optimal": "solved",
    "optimal_inaccurate": "stalled",
    "infeasible": "infeasible",
    "infeasible_inaccurate": "infeasible",
    "unbounded": "unbounded",
    "unbounded_inaccurate": "unbounded",
    "user_limit": "iteration_limit",
}


def solve_explicit(program: ExplicitQP, options: Options) -> Answer:
    """CVXPY with Clarabel on an explicit program."""
    import cvxpy

    x = cvxpy.Variable(program.size)
    equal = np.flatnonzero(program.l == program.u)
    up = np.flatnonzero((program.l != program.u) & np.isfinite(program.u))
    low = np.flatnonzero((program.l != program.u) & np.isfinite(program.l))
    above = np.flatnonzero(np.isfinite(program.upper))
    below = np.flatnonzero(np.isfinite(program.lower))
    conditions = [
        program.A[equal] @ x == program.l[equal],
        program.A[up] @ x <= program.u[up],
        program.A[low] @ x >= program.l[low],
        x[above] <= program.upper[above],
        x[below] >= program.lower[below],
    ]
    sizes = [len(equal), len(up), len(low), len(above), len(below)]
    kept = [condition for condition, size in zip(conditions, sizes, strict=True) if size]
    quadratic = cvxpy.quad_form(x, cvxpy.psd_wrap(program.P)) if program.P.nnz else 0
    problem = cvxpy.Problem(cvxpy.Minimize(quadratic / 2 + program.q @ x), kept)
    tolerance = inner_tolerance(options)
    settings: dict[str, Any] = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), tolerance)
    if options.max_iterations is not None:
        settings["max_iter"] = options.max_iterations
    if math.isfinite(options.time_limit):
        settings["time_limit"] = options.time_limit
    try:
        with warnings.catch_warnings(), off_stdout(options.verbose):
            warnings.simplefilter("ignore")
            problem.solve(solver="CLARABEL", verbose=options.verbose, **settings)
    except cvxpy.SolverError as error:
        return nothing_found(program, "solver_error", f"CVXPY: {error}")
    status = _STATUSES.get(problem.status, "solver_error")
    message = f"CVXPY with Clarabel: {problem.status}"
    iterations = int(problem.solver_stats.num_iters or 0)
    if x.value is None or not np.isfinite(x.value).all():
        return nothing_found(program, status, message)._replace(iterations=iterations)
    duals = iter(kept)
    y_equal, y_up, y_low, z_above, z_below = (
        np.asarray(next(duals).dual_value, float) if size else np.zeros(0) for size in sizes
    )
    y, z = np.zeros(len(program.l)), np.zeros(program.size)
    y[equal] = y_equal
    y[up] += y_up
    y[low] -= y_low
    z[above] += z_above
    z[below] -= z_below
    return Answer(np.asarray(x.value, float), y, z, status, message, iterations)


def solve(
    problem: NormalForm, options: Options, start: Floats | None = None, progress: Progress | None = None
) -> RawSolution:
    return through_explicit(problem, options, solve_explicit)


BACKEND = Backend(
    name="cvxpy",
    takes="any normal form of up to 5,000 coordinates; interior point (Clarabel)",
    accuracy=1e-6,
    licence="Apache-2.0",
    package="cvxpy",
    accepts=too_large,
    installed=lambda: is_importable("cvxpy"),
    version=lambda: version_of("cvxpy"),
    solve=solve,
)
