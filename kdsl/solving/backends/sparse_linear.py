"""Solves normal forms over sparse points with linear kernels by dual coordinate descent, w at hand.

Solves   min 1/2 sum_H (S_H t + s_H)'X_H X_H'(S_H t + s_H) + sum_k h_k(t_k)  subject to  At = a (some rows <=)
Given    sparse X_H of many features: a step costs what is stored of one row of S'X, not a row of the Gram matrix
Returns  t with a duality gap that was computed over all coordinates
How      kdsl/core/row_descent.hpp
"""

from __future__ import annotations

import time
from typing import Any, cast

import numpy as np
import scipy.sparse as sp

from kdsl.numerics.arrays import Floats
from kdsl.solving.backends.interface import Options, Progress, part_of_kdsl
from kdsl.solving.factors import linear_points
from kdsl.solving.facts import Facts
from kdsl.solving.normal_form import NormalForm
from kdsl.solving.raw_solution import Fact, RawSolution, Status

MOST_ROWS = 8
SAFETY = 2.0  # the gap is asked to be so much smaller than the tolerance
FINEST = 1e-11

_MESSAGES: dict[Status, str] = {
    "solved": "the duality gap is within the tolerance",
    "stalled": "the gap stopped falling before the tolerance was reached",
    "time_limit": "the time limit was reached",
    "iteration_limit": "the iteration limit was reached",
    "interrupted": "stopped by the callback",
}


def solve(
    problem: NormalForm, options: Options, start: Floats | None = None, progress: Progress | None = None
) -> RawSolution:
    from kdsl import _core

    began = time.perf_counter()
    slack = np.flatnonzero(~problem.rows.equality)
    n, size = problem.size, problem.size + len(slack)
    F, shift = _rows(problem, size)
    row = np.zeros((size, len(problem.rows.target)))
    row[:n] = problem.rows.matrix.T.toarray()
    row[n + np.arange(len(slack)), slack] = 1.0
    scale = np.abs(row).max(axis=0, initial=0.0)
    scale[scale == 0] = 1.0
    t = np.zeros(size)
    if start is not None:
        t[:n] = start
        t[n:] = np.maximum(problem.rows.target - problem.rows.matrix @ start, 0.0)[slack]
    answer = _core.descend(
        _core.Points.sparse(F.indptr.astype(np.int64), F.indices.astype(np.int32), F.data, F.shape[1]),
        row / scale,
        np.asarray(problem.rows.target / scale, np.float64),
        shift,
        problem.separable.with_slacks(len(slack)).for_core(),
        t,
        problem.constant,
        max(_wanted(options) / SAFETY, FINEST),
        options.seed,
        max(options.time_limit - (time.perf_counter() - began), 0.0),
        2**62 if options.max_iterations is None else options.max_iterations,
        progress,
    )
    gap = float(answer["relative_gap"])
    status = cast(Status, "solved" if gap <= _wanted(options) else answer["reason"])
    theta = np.clip(answer["t"][:n], problem.separable.lower, problem.separable.upper)
    names = ("relative_gap", "value", "rounds", "steps")
    facts: dict[str, Fact] = {"strategy": "coordinate descent", **{name: answer[name] for name in names}}
    seconds = time.perf_counter() - began
    return RawSolution(theta, int(answer["steps"]), status, _MESSAGES[status], seconds, facts)


def _wanted(options: Options) -> float:
    """The relative gap to aim at; a steepest descent m - M goes with the root of a gap."""
    return options.tol if options.kkt_tol is None else min(options.tol, options.kkt_tol**2)


def _rows(problem: NormalForm, size: int) -> tuple[sp.csr_array[Any], Floats]:
    """S'X of all blocks side by side with an empty row for each slack, and X's."""
    parts, shifts = [sp.csr_array((problem.size, 0))], [np.zeros(0)]
    for block in problem.blocks:
        X = linear_points(block)
        assert X is not None
        parts.append(sp.csr_array(sp.csr_array(block.atoms.T) @ sp.csr_array(X)))
        shifts.append(np.zeros(X.shape[1]) if block.shift is None else np.asarray(X.T @ block.shift))
    F = sp.csr_array(sp.hstack(parts, format="csr"), dtype=np.float64)
    F.resize((size, F.shape[1]))
    F.sum_duplicates()
    return F, np.concatenate(shifts)


def _accepts(facts: Facts) -> str | None:
    if facts.gram_rank is None:
        return "it takes linear kernels on points that it can see"
    return None if facts.rows <= MOST_ROWS else f"its limit is {MOST_ROWS} rows; here are {facts.rows:,}"


BACKEND = part_of_kdsl(
    name="sparse-linear",
    takes="linear kernels, sparse points of many features, up to 8 rows; dual coordinate descent with w at hand",
    accuracy=1e-6,
    accepts=_accepts,
    compiled=True,
    solve=solve,
)
