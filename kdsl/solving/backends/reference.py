"""The readable solver of the normal form: one exact step at a time, the oracle of the engine's tests.

Solves   min 1/2 sum_H (S_H t + s_H)'K_H(S_H t + s_H) + sum_k h_k(t_k)   subject to  A t = a  (some rows <=)
Given    a NormalForm small enough for its dense Hessian Q = sum_H S_H'K_H S_H.
Returns  a RawSolution whose steepest feasible descent is at most `tol` (LIBSVM's m - M when the row is +-1).
How      Let G+_k and G-_k be the right and left derivatives of the objective in t_k. The direction d with A d = 0
         and sum_k w_k |d_k| = 2, w_k = ||A_k||_inf, along which the derivative is smallest is a vertex of a linear
         program, hence touches at most rows + 1 coordinates: one without a row, the maximal violating pair for one
         row (Keerthi et al. 2001), in general what a simplex method finds. With no or one row the last coordinate
         is chosen to second order (Fan, Chen and Lin 2005). Along d the objective is piecewise quadratic in one
         variable and is minimised exactly, as Platt (1998) does for a box. An inequality has a slack coordinate.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from kdsl.numerics.arrays import Floats
from kdsl.solving.normal_form import NormalForm, Separable
from kdsl.solving.raw_solution import RawSolution, Status

Callback = Callable[[int, float], bool]


class Dense(NamedTuple):
    """min 1/2 t'Qt + p't + sum h_k(t_k), A t = a: equalities only, all arrays dense."""

    Q: Floats
    p: Floats
    h: Separable
    A: Floats
    a: Floats


class Step(NamedTuple):
    """The new values of the coordinates touched; `unbounded` when the objective falls for ever."""

    value: Floats
    unbounded: bool


def solve(
    problem: NormalForm,
    start: Floats | None = None,
    tol: float = 1e-8,
    max_iterations: int = 1_000_000,
    callback: Callback | None = None,
) -> RawSolution:
    """Minimise until no feasible direction descends faster than `tol`; `callback(iteration, gap)` may stop it."""
    began = time.perf_counter()
    dense = _dense(problem)
    t = _feasible(dense, problem, start)

    def finish(status: Status, message: str, iteration: int, ray: Floats | None = None) -> RawSolution:
        theta = np.zeros(problem.size) if t is None else t[: problem.size]
        return RawSolution(theta, iteration, status, message, time.perf_counter() - began, {"gap": gap}, ray)

    h, gap = dense.h, np.inf
    if t is None:
        return finish("infeasible", "no point within the bounds meets the rows", 0)
    gradient = dense.Q @ t + dense.p
    sides = np.array([one_sided(h, k, t[k]) for k in range(h.size)]).reshape(-1, 2)
    for iteration in range(max_iterations):
        touched, speed, gap = steepest(gradient + sides[:, 1], gradient + sides[:, 0], dense)
        if gap <= tol:
            return finish("solved", "no feasible direction descends", iteration)
        if callback is not None and callback(iteration, gap):
            return finish("interrupted", "stopped by the callback", iteration)
        curvature = float(speed @ dense.Q[np.ix_(touched, touched)] @ speed)
        step = exact_step(h, t, touched, speed, float(gradient[touched] @ speed), curvature)
        if step.unbounded:
            ray = np.zeros(h.size)
            ray[touched] = speed
            return finish("unbounded", "the objective falls for ever along a ray", iteration, ray[: problem.size])
        change = step.value - t[touched]
        if not change.any():
            return finish("stalled", "the best step is smaller than rounding", iteration)
        t[touched] = step.value
        gradient += dense.Q[:, touched] @ change
        sides[touched] = [one_sided(h, k, t[k]) for k in touched]
    return finish("iteration_limit", f"stopped after {max_iterations} steps", max_iterations)


def one_sided(h: Separable, k: int, t: float) -> tuple[float, float]:
    """h_k'(t-) and h_k'(t+), which are -inf and +inf at the bounds."""
    pieces = range(h.offsets[k], h.offsets[k + 1])
    below = [h.curvature[p] * t + h.slope[p] for p in pieces if h.left[p] < t]
    above = [h.curvature[p] * t + h.slope[p] for p in pieces if h.right[p] > t]
    return (below[-1] if below else -np.inf), (above[0] if above else np.inf)


def steepest(up: Floats, down: Floats, dense: Dense) -> tuple[list[int], Floats, float]:
    """The feasible direction of steepest descent: coordinates, speeds, and how fast it descends."""
    rows = len(dense.a)
    if rows == 0:
        best = int(np.argmax(np.maximum(-up, down)))
        return [best], np.where(-up[[best]] >= down[[best]], 1.0, -1.0), float(max(-up[best], down[best]))
    if rows == 1 and dense.A.all():
        return _pair(up / dense.A[0], down / dense.A[0], dense)
    weight = np.abs(dense.A).max(axis=0)
    weight[weight == 0] = 2.0
    plus, minus = np.flatnonzero(np.isfinite(up)), np.flatnonzero(np.isfinite(down))
    cost = np.concatenate([up[plus], -down[minus]])
    keep = np.vstack([np.hstack([dense.A[:, plus], -dense.A[:, minus]]), np.r_[weight[plus], weight[minus]]])
    from scipy.optimize import linprog  # slow to import, and every solve looks at every backend

    size = min(1.0, float(np.abs(cost).max(initial=0.0))) or 1.0  # costs are compared in absolute terms
    vertex = linprog(
        cost / size,
        A_eq=keep,
        b_eq=np.r_[np.zeros(rows), 2.0],
        bounds=(0, None),
        method="highs-ds",
        options={"dual_feasibility_tolerance": 1e-10},
    )
    if vertex.x is None:
        return [], np.empty(0), 0.0
    d = np.zeros(len(up))
    d[plus] += vertex.x[: len(plus)]
    d[minus] -= vertex.x[len(plus) :]
    touched = [int(k) for k in np.flatnonzero(d)]
    return touched, d[touched], float(-vertex.fun) * size


def _pair(up: Floats, down: Floats, dense: Dense) -> tuple[list[int], Floats, float]:
    """One row without zeros, in the coordinates v_k = A_k t_k: i may rise, j may fall, v_i + v_j is kept."""
    a = dense.A[0]
    rising, falling = np.where(a > 0, up, down), np.where(a > 0, down, up)
    i = int(np.argmin(rising))
    violation = falling - rising[i]
    able = np.flatnonzero(violation > 0)
    if len(able) == 0:
        return [i], np.zeros(1), 0.0
    own, cross = np.diag(dense.Q) / a**2, dense.Q[i] / (a[i] * a)
    curvature = np.maximum(own[i] + own - 2 * cross, 1e-14 * (own[i] + own) + 1e-300)
    j = int(able[np.argmax(violation[able] ** 2 / curvature[able])])
    return [i, j], np.array([1 / a[i], -1 / a[j]]), float(violation.max())


def exact_step(h: Separable, t: Floats, touched: list[int], speed: Floats, slope: float, curvature: float) -> Step:
    """Minimise tau slope + 1/2 tau^2 curvature + sum_k h_k(t_k + tau d_k) over tau >= 0, piece by piece."""
    value = t[touched].copy()
    for _ in range(sum(int(h.offsets[k + 1] - h.offsets[k]) for k in touched) + 1):
        pieces = [_ahead(h, k, x, d) for k, x, d in zip(touched, value, speed, strict=True)]
        if None in pieces:
            break
        p = np.array(pieces, dtype=np.int64)
        fall = slope + float(speed @ (h.curvature[p] * value + h.slope[p]))
        if fall >= 0:
            break
        bend = max(curvature, 0.0) + float(speed**2 @ h.curvature[p])
        end = np.where(speed > 0, h.right[p], h.left[p])
        room = (end - value) / speed
        tau = min(-fall / bend if bend > 0 else np.inf, room.min())
        if not np.isfinite(tau):
            return Step(value, True)
        value = np.where(room <= tau, end, value + tau * speed)
        slope += tau * curvature
        if tau < room.min():
            break
    return Step(value, False)


def _ahead(h: Separable, k: int, t: float, speed: float) -> int | None:
    """The piece entered when t_k = t moves with this sign; None at a bound."""
    pieces = range(h.offsets[k], h.offsets[k + 1])
    inside = [p for p in pieces if (h.right[p] > t if speed > 0 else h.left[p] < t)]
    return (inside[0] if speed > 0 else inside[-1]) if inside else None


def _dense(problem: NormalForm) -> Dense:
    """Q = S'KS and p = S'Ks summed over the Hilbert variables, and a slack t >= 0 for each inequality."""
    n, rows, h = problem.size, problem.rows, problem.separable
    slack = np.flatnonzero(~rows.equality)
    size = n + len(slack)
    Q, p = np.zeros((size, size)), np.zeros(size)
    for block in problem.blocks:
        K, S = block.gram.rows(np.arange(block.gram.size)), sp.csr_array(block.atoms.T)
        Q[:n, :n] += S @ (S @ K).T
        if block.shift is not None:
            p[:n] += S @ (K @ block.shift)
    identity = np.zeros((len(rows.target), len(slack)))
    identity[slack, np.arange(len(slack))] = 1.0
    zero = np.zeros(len(slack))
    extended = Separable(
        np.concatenate([h.offsets, h.offsets[-1] + 1 + np.arange(len(slack))]),
        np.concatenate([h.left, zero]),
        np.concatenate([h.right, zero + np.inf]),
        np.concatenate([h.curvature, zero]),
        np.concatenate([h.slope, zero]),
        np.concatenate([h.value, zero]),
    )
    return Dense(Q, p, extended, np.hstack([rows.matrix.toarray(), identity]), np.asarray(rows.target, float))


def _feasible(dense: Dense, problem: NormalForm, start: Floats | None) -> Floats | None:
    """`start` (or 0) within the bounds with its slacks if it meets the rows, else any vertex that does, else None."""
    h, n = dense.h, problem.size
    t = np.clip(np.zeros(h.size), h.lower, h.upper)
    t[:n] = np.clip(t[:n] if start is None else start, h.lower[:n], h.upper[:n])
    t[n:] = np.maximum((dense.a - dense.A[:, :n] @ t[:n])[~problem.rows.equality], 0.0)
    if np.allclose(dense.A @ t, dense.a, rtol=0, atol=1e-12 * (1 + np.abs(dense.a).max(initial=0.0))):
        return t
    from scipy.optimize import linprog  # slow to import, and every solve looks at every backend

    vertex = linprog(np.zeros(h.size), A_eq=dense.A, b_eq=dense.a, bounds=np.c_[h.lower, h.upper], method="highs-ds")
    return None if vertex.x is None else np.clip(vertex.x, h.lower, h.upper)
