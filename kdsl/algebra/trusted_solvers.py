"""Solves a CVXPY problem by one solver after another, until one of them is sure of its answer."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from enum import Enum
from typing import Any


class Answer(Enum):
    """SOLVED: the optimum is in the problem; NO_OPTIMUM: infeasible or unbounded; UNKNOWN: no solver could tell."""

    SOLVED = 1
    NO_OPTIMUM = 2
    UNKNOWN = 3


_SOLVERS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("CLARABEL", {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}),
    ("CLARABEL", {}),
    ("HIGHS", {}),
    ("OSQP", {"eps_abs": 1e-8, "eps_rel": 1e-8, "max_iter": 50_000}),
    ("SCS", {"eps_abs": 1e-8, "eps_rel": 1e-8, "max_iters": 50_000}),
)


def solve(problem: Any) -> Answer:
    """The answer of the first solver that reaches its accuracy; that there is no optimum, only one may say."""
    import cvxpy

    for name, options in _SOLVERS:
        try:
            with warnings.catch_warnings():  # what is inaccurate is not taken for an answer
                warnings.simplefilter("ignore", UserWarning)
                problem.solve(solver=name, **options)
        except (cvxpy.error.SolverError, ValueError):
            continue  # it failed, or takes no problems of this kind
        if problem.status == "optimal":
            return Answer.SOLVED
        if name == "CLARABEL" and problem.status in ("infeasible", "unbounded"):
            return Answer.NO_OPTIMUM
    return Answer.UNKNOWN
