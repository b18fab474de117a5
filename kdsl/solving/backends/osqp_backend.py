"""Solves any small normal form by operator splitting (OSQP), with polishing.

Solves   the explicit quadratic program of kdsl/solving/expand.py
Given    all of Q; OSQP takes the upper triangle, and rows and bounds as l <= Ax <= u
Returns  a point whose residuals meet tight tolerances, or OSQP's last iterate with a true status
How      Stellato, Banjac, Goulart, Bemporad and Boyd (2020); the final active set is solved for exactly (polish)
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp

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

ITERATIONS = 50_000
_STATUSES: dict[str, Status] = {
    "solved": "solved",
    "solved inaccurate": "stalled",
    "primal infeasible": "infeasible",
    "primal infeasible inaccurate": "infeasible",
    "dual infeasible": "unbounded",
    "dual infeasible inaccurate": "unbounded",
    "maximum iterations reached": "iteration_limit",
    "run time limit reached": "time_limit",
    "interrupted": "interrupted",
}


def solve_explicit(program: ExplicitQP, options: Options) -> Answer:
    """OSQP on an explicit program."""
    import osqp

    boxed = np.flatnonzero(np.isfinite(program.lower) | np.isfinite(program.upper))
    identity = sp.csr_array((np.ones(len(boxed)), (np.arange(len(boxed)), boxed)), (len(boxed), program.size))
    matrix = sp.csc_matrix(sp.vstack([program.A, identity]))
    tolerance = inner_tolerance(options)
    settings = {
        "eps_abs": tolerance,
        "eps_rel": tolerance,
        "max_iter": options.max_iterations or ITERATIONS,
        "polishing": True,
        "polish_refine_iter": 10,
        "verbose": options.verbose,
    }
    if math.isfinite(options.time_limit):
        settings["time_limit"] = options.time_limit
    solver = osqp.OSQP()
    with off_stdout(options.verbose):
        solver.setup(
            P=sp.csc_matrix(sp.triu(program.P, format="csc")),
            q=program.q,
            A=matrix,
            l=np.r_[program.l, program.lower[boxed]],
            u=np.r_[program.u, program.upper[boxed]],
            **settings,
        )
        result = solver.solve(raise_error=False)
    status = _STATUSES.get(str(result.info.status).lower(), "solver_error")
    message = f"OSQP: {result.info.status}"
    ray = np.asarray(result.dual_inf_cert, float) if status == "unbounded" else None
    if result.x is None or not np.isfinite(np.asarray(result.x, float)).all():
        return nothing_found(program, status, message)._replace(iterations=int(result.info.iter), ray=ray)
    z = np.zeros(program.size)
    z[boxed] = result.y[len(program.l) :]
    facts = {"polish": int(result.info.status_polish)}
    x, y = np.asarray(result.x, float), np.asarray(result.y[: len(program.l)], float)
    return Answer(x, y, z, status, message, int(result.info.iter), ray, facts)


def solve(
    problem: NormalForm, options: Options, start: Floats | None = None, progress: Progress | None = None
) -> RawSolution:
    return through_explicit(problem, options, solve_explicit)


BACKEND = Backend(
    name="osqp",
    takes="any normal form of up to 5,000 coordinates; a first-order method, best below 1,000",
    accuracy=1e-3,
    licence="Apache-2.0",
    package="osqp",
    accepts=too_large,
    installed=lambda: is_importable("osqp"),
    version=lambda: version_of("osqp"),
    solve=solve,
)
