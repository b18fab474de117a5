"""Solves any small normal form by each of the quadratic programming solvers that the qpsolvers package reaches.

Solves   the explicit quadratic program of kdsl/solving/expand.py
Given    all of Q, dense or sparse as the solver wants it
Returns  the solver's point; tolerances are set tightly in each solver's own words
How      `qpsolvers:NAME`; the table below says what each one is and what it needs
"""

from __future__ import annotations

import math
import time
import warnings
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from kdsl.numerics.arrays import Floats
from kdsl.solving.backends.explicit import (
    LARGEST,
    Answer,
    inner_tolerance,
    nothing_found,
    off_stdout,
    through_explicit,
    too_large,
)
from kdsl.solving.backends.interface import Backend, Options, Progress, is_importable, version_of
from kdsl.solving.expand import ExplicitQP
from kdsl.solving.facts import Facts
from kdsl.solving.normal_form import NormalForm
from kdsl.solving.raw_solution import RawSolution, Status

DENSE_ENOUGH = 0.2  # piqp: its dense solver from this share of entries on


class Solver(NamedTuple):
    """`residual`, `limit` and `clock` are the solver's own names for tolerances, iterations and seconds."""

    module: str
    package: str
    licence: str
    method: str
    accuracy: float
    residual: tuple[str, ...] = ()
    limit: str = ""
    clock: str = ""
    dense: bool = False
    boxes: bool = False  # takes bounds with infinities; the others get rows
    definite: bool = False  # needs a positive definite Hessian
    fixed: tuple[tuple[str, object], ...] = ()
    floor: float = 1e-10  # the tightest tolerance that it can use


SOLVERS = {
    "clarabel": Solver(
        "clarabel",
        "clarabel",
        "Apache-2.0",
        "interior point",
        1e-9,
        ("tol_gap_abs", "tol_gap_rel", "tol_feas"),
        "max_iter",
        "time_limit",
    ),
    "piqp": Solver(
        "piqp",
        "piqp",
        "BSD-2-Clause",
        "proximal interior point",
        1e-9,
        ("eps_abs", "eps_rel", "eps_duality_gap_abs", "eps_duality_gap_rel"),
        "max_iter",
        boxes=True,
        fixed=(("max_iter", 500),),
    ),
    "highs": Solver(
        "highspy",
        "highspy",
        "MIT",
        "active set",
        1e-3,
        ("primal_feasibility_tolerance", "dual_feasibility_tolerance"),
        "qp_iteration_limit",
        "time_limit",
        boxes=True,
    ),
    "proxqp": Solver(
        "proxsuite",
        "proxsuite",
        "BSD-2-Clause",
        "augmented Lagrangian",
        1e-4,
        ("eps_abs", "eps_duality_gap_abs", "eps_duality_gap_rel"),
        "max_iter",
        dense=True,
        fixed=(("check_duality_gap", True), ("eps_rel", 0.0)),
    ),
    "daqp": Solver(
        "daqp",
        "daqp",
        "MIT",
        "dual active set",
        1e-6,
        ("primal_tol", "dual_tol"),
        "iter_limit",
        dense=True,
        boxes=True,
        floor=1e-11,
        fixed=(("iter_limit", 100_000), ("eps_prox", 1e-6)),  # unasked, it takes a flat Hessian for a definite one
    ),
    "quadprog": Solver("quadprog", "quadprog", "GPL-2.0-or-later", "dual active set", 1e-6, dense=True, definite=True),
    "cvxopt": Solver(
        "cvxopt",
        "cvxopt",
        "GPL-3.0-or-later",
        "interior point",
        1e-6,
        ("abstol", "reltol", "feastol"),
        "maxiters",
        dense=True,
    ),
    "ecos": Solver(
        "ecos",
        "ecos",
        "GPL-3.0-or-later",
        "interior point on cones",
        1e-4,
        ("abstol", "reltol", "feastol"),
        "max_iters",
        dense=True,
        definite=True,
        floor=1e-9,
    ),
    "scs": Solver(
        "scs",
        "scs",
        "MIT",
        "operator splitting",
        1e-3,
        ("eps_abs", "eps_rel"),
        "max_iters",
        "time_limit_secs",
        floor=1e-9,
    ),
    "osqp": Solver(
        "osqp",
        "osqp",
        "Apache-2.0",
        "operator splitting",
        1e-3,
        ("eps_abs", "eps_rel"),
        "max_iter",
        "time_limit",
        boxes=True,
        fixed=(("polishing", True), ("max_iter", 50_000)),
    ),
    "qpalm": Solver("qpalm", "qpalm", "LGPL-3.0-or-later", "augmented Lagrangian", 1e-4, ("eps_abs", "eps_rel")),
    "qpoases": Solver("qpoases", "qpoases", "LGPL-2.1-or-later", "active set", 1e-4, dense=True),
    "qpswift": Solver("qpSWIFT", "qpSWIFT", "GPL-3.0", "interior point", 1e-4, ("RELTOL", "ABSTOL"), "MAXITER"),
    "gurobi": Solver(
        "gurobipy",
        "gurobipy",
        "commercial",
        "interior point",
        1e-4,
        ("FeasibilityTol", "OptimalityTol", "BarConvTol"),
        "BarIterLimit",
        "TimeLimit",
        boxes=True,
        floor=1e-9,
    ),
    "mosek": Solver("mosek", "mosek", "commercial", "interior point", 1e-4),
}

_STATUSES: tuple[tuple[str, Status], ...] = (
    ("primalinfeasible", "infeasible"),
    ("dualinfeasible", "unbounded"),
    ("infeasible", "infeasible"),
    ("unbounded", "unbounded"),
    ("time", "time_limit"),
    ("iter", "iteration_limit"),
)


def solve_explicit(program: ExplicitQP, options: Options, name: str) -> Answer:
    """One solver of qpsolvers on an explicit program."""
    import qpsolvers

    solver = SOLVERS[name]
    rows = _Rows(program, solver.boxes)
    shape = partial(_shaped, dense=solver.dense or (name == "piqp" and _density(program) > DENSE_ENOUGH))
    problem = qpsolvers.Problem(
        shape(program.P),
        program.q,
        shape(rows.G) if len(rows.h) else None,
        rows.h if len(rows.h) else None,
        shape(rows.E) if len(rows.e) else None,
        rows.e if len(rows.e) else None,
        program.lower if rows.box else None,
        program.upper if rows.box else None,
    )
    began = time.perf_counter()
    try:
        with warnings.catch_warnings(), off_stdout(options.verbose):
            warnings.simplefilter("ignore")
            found = qpsolvers.solve_problem(problem, solver=name, verbose=options.verbose, **_settings(solver, options))
    except (ValueError, ArithmeticError, qpsolvers.QPError) as error:
        return nothing_found(program, "solver_error", f"{name}: {error}")
    info = found.extras.get("info")
    told = str(found.extras.get("status", getattr(info, "status", "")))
    if found.found or told:
        status, words = "solved" if found.found else _status(told), told or "solved"
    else:
        status, words = _given_up(solver, options, time.perf_counter() - began)
    message = f"{name}: {words}"
    if found.x is None or len(found.x) != program.size or not np.isfinite(found.x).all():
        failed: Status = "solver_error" if status in ("solved", "stalled") else status
        return nothing_found(program, failed, message)
    y, z = rows.multipliers(found.y, found.z, found.z_box)
    iterations = getattr(info, "iter", found.extras.get("iterations", 0))
    return Answer(np.asarray(found.x, float), y, z, status, message, int(np.max(iterations)))


class _Rows:
    """l <= Ax <= u as Gx <= h and Ex = e; finite bounds too, for solvers that do not take infinities among them."""

    def __init__(self, program: ExplicitQP, boxes: bool) -> None:
        A, l, u = program.A, program.l, program.u
        finite = bool(np.isfinite(program.lower).any() or np.isfinite(program.upper).any())
        self.box = boxes and finite
        self.program = program
        self.equal = np.flatnonzero(l == u)
        self.up = np.flatnonzero((l != u) & np.isfinite(u))
        self.low = np.flatnonzero((l != u) & np.isfinite(l))
        none = np.zeros(0, np.int64)
        self.box_up = none if boxes else np.flatnonzero(np.isfinite(program.upper))
        self.box_low = none if boxes else np.flatnonzero(np.isfinite(program.lower))
        unit = sp.eye_array(program.size, format="csr")
        self.G = sp.vstack([A[self.up], -A[self.low], unit[self.box_up], -unit[self.box_low]], format="csr")
        self.h = np.r_[u[self.up], -l[self.low], program.upper[self.box_up], -program.lower[self.box_low]]
        self.E, self.e = A[self.equal], l[self.equal]

    def multipliers(self, y: Any, z: Any, z_box: Any) -> tuple[Floats, Floats]:
        """Back to one multiplier for each row and each variable; missing ones are 0."""
        rows, box = np.zeros(len(self.program.l)), np.zeros(self.program.size)
        if y is not None and len(y) == len(self.equal):
            rows[self.equal] = y
        if z is not None and len(z) == len(self.h):
            parts = np.split(np.asarray(z, float), np.cumsum([len(self.up), len(self.low), len(self.box_up)]))
            rows[self.up] += parts[0]
            rows[self.low] -= parts[1]
            box[self.box_up] += parts[2]
            box[self.box_low] -= parts[3]
        if self.box and z_box is not None and len(z_box) == len(box):
            box += z_box
        return rows, box


def _shaped(matrix: Any, dense: bool) -> Any:
    return matrix.toarray() if dense else sp.csc_matrix(matrix)


def _density(program: ExplicitQP) -> float:
    return float(program.P.nnz) / max(1, program.size**2)


def _settings(solver: Solver, options: Options) -> dict[str, Any]:
    settings: dict[str, Any] = dict(solver.fixed)
    settings |= dict.fromkeys(solver.residual, inner_tolerance(options, floor=solver.floor))
    if solver.limit and options.max_iterations is not None:
        settings[solver.limit] = options.max_iterations
    if solver.clock and math.isfinite(options.time_limit):
        settings[solver.clock] = options.time_limit
    return settings


def _status(told: str) -> Status:
    plain = told.lower().replace("_", "").replace(" ", "")
    return next((status for word, status in _STATUSES if word in plain), "stalled")


def _given_up(solver: Solver, options: Options, seconds: float) -> tuple[Status, str]:
    """What to think of a solver that does not say why it gave up: a limit is why, where it was given one."""
    if solver.clock and seconds >= options.time_limit:
        return "time_limit", "gave up when its time was over"
    if solver.limit and options.max_iterations is not None:
        return "iteration_limit", f"gave up, with {options.max_iterations:,} as the limit of its iterations"
    return "stalled", "gave up"


def _solve(
    problem: NormalForm,
    options: Options,
    start: Floats | None = None,
    progress: Progress | None = None,
    *,
    name: str,
) -> RawSolution:
    return through_explicit(problem, options, partial(solve_explicit, name=name))


def _accepts(facts: Facts, solver: Solver) -> str | None:
    if facts.quadratic and facts.rows == 0:
        return "without rows or bounds the problem is a linear system, which qpsolvers hands to another solver"
    if solver.definite and (facts.kinks or not facts.curved):
        return "it needs a positive definite Hessian, which only curved costs of one piece make certain"
    if solver.dense and facts.size > LARGEST:
        return f"it works on dense matrices; its limit is {LARGEST:,} coordinates, here are {facts.size:,}"
    return too_large(facts)


def _backend(name: str, solver: Solver) -> Backend:
    needs = ", with curved costs of one piece" if solver.definite else ""
    clock = "" if solver.clock else "; obeys no time limit"
    return Backend(
        name=f"qpsolvers:{name}",
        takes=f"any normal form of up to 5,000 coordinates with rows or bounds{needs}; {solver.method}{clock}",
        accuracy=solver.accuracy,
        licence=solver.licence,
        package=solver.package,
        accepts=partial(_accepts, solver=solver),
        installed=lambda: is_importable("qpsolvers") and is_importable(solver.module),
        version=lambda: version_of(solver.package),
        solve=partial(_solve, name=name),
    )


BACKENDS = tuple(_backend(name, solver) for name, solver in SOLVERS.items())
