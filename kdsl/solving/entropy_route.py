"""Duals with entropies, which are no quadratic programs, solved whole by CVXPY."""

from __future__ import annotations

import time

import numpy as np

from kdsl.algebra.dual_program import DualProgram
from kdsl.language.diagnostics import Diagnostic, KdslError
from kdsl.solving.backends.interface import Options
from kdsl.solving.lowering import Lowered
from kdsl.solving.posed import Posed
from kdsl.solving.raw_solution import RawSolution, Status

LARGEST = 3000  # coordinates beyond which the dense factor of the Gram matrix is not formed
REASON = "an entropy in the dual: a conic program, solved by Clarabel through CVXPY"


def solve_entropy(posed: Posed, lowered: Lowered, options: Options) -> RawSolution:
    """The optimum of the whole dual as a conic program."""
    import cvxpy

    size = lowered.problem.size
    if size > LARGEST:
        raise KdslError(
            [
                Diagnostic(
                    "K616",
                    f"a dual with entropies in {size:,} coordinates",
                    why=f"it goes to a conic solver on a dense matrix, up to {LARGEST:,} coordinates",
                    help="use fewer examples, or a piecewise quadratic loss such as squared_hinge",
                )
            ]
        )
    began = time.perf_counter()
    program = DualProgram(posed.energies.dual, posed.values)
    problem = cvxpy.Problem(cvxpy.Maximize(program.objective()), program.constraints)
    accuracy = min(1e-9, options.tol * 1e-2)
    settings: dict[str, float] = {"tol_gap_abs": accuracy, "tol_gap_rel": accuracy, "tol_feas": accuracy}
    if np.isfinite(options.time_limit):
        settings["time_limit"] = options.time_limit
    try:
        problem.solve(solver=cvxpy.CLARABEL, **settings)
    except cvxpy.error.SolverError as error:
        return RawSolution(np.zeros(size), 0, "solver_error", str(error), time.perf_counter() - began)
    theta = np.zeros(size)
    for label, family in lowered.families.items():
        value = program.unknowns[label].value
        if value is not None:
            inside = family.positions.reshape(-1) >= 0
            theta[family.positions.reshape(-1)[inside]] = np.asarray(value)[inside]
    solved = problem.status in ("optimal", "optimal_inaccurate")
    iterations = int(getattr(problem.solver_stats, "num_iters", None) or 0)
    status: Status = "solved" if solved else "solver_error"
    return RawSolution(theta, iterations, status, str(problem.status), time.perf_counter() - began)
