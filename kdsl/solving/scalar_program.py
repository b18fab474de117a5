"""The scalar problem by general solvers, a linear program or a polished quadratic one, and its cost as a conic one."""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kdsl.numerics.arrays import Floats
from kdsl.solving.expand import ExplicitQP
from kdsl.solving.general_qp import minimise_convex
from kdsl.solving.scalar_problem import ScalarProblem

_ACCURACIES = (1e-11, 1e-9, 1e-7)  # that a conic solver is asked for, one after the other


def least_scalars(problem: ScalarProblem) -> Floats:
    """A minimiser z of the scalar problem."""
    if not problem.losses and problem.quadratic.nnz == 0:
        vertex = _linear_program(problem)
        if vertex is not None:
            return vertex
    answer, _ = minimise_convex(_quadratic_program(problem))
    return np.asarray(answer.x[: problem.size], dtype=np.float64)


def by_cones(problem: ScalarProblem) -> Floats:
    """A minimiser z where conditions hold squares of scalars; z = 0 where no solver finds one."""
    import cvxpy as cp

    assert problem.squares is not None
    x, cost, constraints = conic_cost(problem)
    z = x[: problem.size]
    less, equal = np.flatnonzero(~problem.equality), np.flatnonzero(problem.equality)
    squared = problem.squares[less] @ cp.square(z)
    constraints.append(squared + problem.matrix[less] @ z + problem.offset[less] <= 0)
    if len(equal):
        constraints.append(problem.matrix[equal] @ z + problem.offset[equal] == 0)
    program = cp.Problem(cp.Minimize(cost), constraints)
    for accuracy in _ACCURACIES:
        with suppress(cp.error.SolverError):
            solve_cones(program, accuracy)
        if z.value is not None:
            return np.asarray(z.value, dtype=np.float64)
    return np.zeros(problem.size)


def solve_cones(program: Any, accuracy: float, **limits: Any) -> None:
    """Solve a program of CVXPY by Clarabel; how exact it is, the certificate says.

    Beside norms a quadratic objective often makes Clarabel fail: then its squares become cones.
    """
    import cvxpy as cp

    asked = {**dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), accuracy), **limits}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            program.solve(solver=cp.CLARABEL, **asked)
        except cp.error.SolverError:
            program.solve(solver=cp.CLARABEL, use_quad_obj=False, **asked)


def conic_cost(problem: ScalarProblem) -> tuple[Any, Any, list[Any]]:
    """(x, whose first members are z, the objective of a scalar problem in it, what holds the others) for CVXPY."""
    import cvxpy as cp

    rows = replace(problem, matrix=problem.matrix[:0], offset=problem.offset[:0], equality=problem.equality[:0])
    explicit = _quadratic_program(rows)
    x = cp.Variable(len(explicit.q))
    cost = explicit.q @ x + problem.constant
    if explicit.P.nnz:
        cost += 0.5 * cp.quad_form(x, cp.psd_wrap(explicit.P))
    for loss in problem.smooth:
        scores = cp.reshape(x[loss.columns.reshape(-1)], loss.columns.shape, order="C")
        if loss.target is None:
            cost += loss.weight @ cp.logistic(-scores[:, 0])
        else:
            chosen = x[loss.columns[np.arange(len(loss.target)), loss.target]]
            cost += loss.weight @ (cp.log_sum_exp(scores, axis=1) - chosen)
    low, high = np.isfinite(explicit.lower), np.isfinite(explicit.upper)
    ties = explicit.A @ x == explicit.l
    return x, cost, [x[low] >= explicit.lower[low], x[high] <= explicit.upper[high], ties]


def _linear_program(problem: ScalarProblem) -> Floats | None:
    from scipy.optimize import linprog

    equal = problem.equality
    answer = linprog(
        problem.linear,
        A_ub=problem.matrix[np.flatnonzero(~equal)],
        b_ub=-problem.offset[~equal],
        A_eq=problem.matrix[np.flatnonzero(equal)] if equal.any() else None,
        b_eq=-problem.offset[equal] if equal.any() else None,
        bounds=(None, None),
        method="highs",
    )
    return None if answer.x is None else np.asarray(answer.x, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class _Segments:
    """z[columns] = anchor + sum sign * s, 0 <= s <= length, s costing slope s + 1/2 curvature s^2."""

    columns: NDArray[np.int64]
    sign: float
    length: Floats
    slope: Floats
    curvature: Floats


def _quadratic_program(problem: ScalarProblem) -> ExplicitQP:
    """z and the segments of every loss with break points."""
    n = problem.size
    linear, hessian = problem.linear.copy(), problem.quadratic
    segments: list[_Segments] = []
    ties: list[tuple[NDArray[np.int64], Floats]] = []
    for loss in problem.losses:
        if len(loss.pieces) == 1:
            _, _, q, c, _ = loss.pieces[0]
            linear[loss.columns] += c
            diagonal = np.zeros(n)
            diagonal[loss.columns] = q
            hessian = sp.csc_array(hessian + sp.diags_array(diagonal))
            continue
        ties.append((loss.columns, loss.pieces[0][1]))
        for number, (left, right, q, c, _) in enumerate(loss.pieces):
            sign, begin = (-1.0, right) if number == 0 else (1.0, left)
            segments.append(_Segments(loss.columns, sign, right - left, sign * (q * begin + c), q))
    extra = sum(len(segment.length) for segment in segments)
    own = sp.csr_array(sp.hstack([problem.matrix, sp.csr_array((problem.matrix.shape[0], extra))]))
    tied, anchors = _ties(ties, segments, n, n + extra)
    curvatures = [sp.diags_array(segment.curvature) for segment in segments]
    return ExplicitQP(
        P=sp.csc_array(sp.block_diag([hessian, *curvatures], format="csc")),
        q=np.concatenate([linear, *(segment.slope for segment in segments)]),
        A=sp.csr_array(sp.vstack([own, tied])),
        l=np.concatenate([np.where(problem.equality, -problem.offset, -np.inf), anchors]),
        u=np.concatenate([-problem.offset, anchors]),
        lower=np.concatenate([np.full(n, -np.inf), np.zeros(extra)]),
        upper=np.concatenate([np.full(n, np.inf), *(segment.length for segment in segments)]),
    )


def _ties(
    ties: list[tuple[NDArray[np.int64], Floats]], segments: list[_Segments], first: int, total: int
) -> tuple[sp.csr_array, Floats]:
    """z[column] - sum sign * s = anchor for every member of every loss with segments."""
    rows: list[sp.csr_array] = [sp.csr_array((0, total))]
    starts = first + np.cumsum([0, *(len(segment.length) for segment in segments)])
    for columns, _ in ties:
        count = len(columns)
        row = sp.csr_array((np.ones(count), (np.arange(count), columns)), (count, total))
        for segment, start in zip(segments, starts, strict=False):
            if segment.columns is columns:
                at = np.arange(int(start), int(start) + count)
                row = row - segment.sign * sp.csr_array((np.ones(count), (np.arange(count), at)), (count, total))
        rows.append(sp.csr_array(row))
    return sp.csr_array(sp.vstack(rows)), np.concatenate([np.zeros(0), *(anchor for _, anchor in ties)])
