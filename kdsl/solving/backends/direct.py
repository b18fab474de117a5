"""Solves normal forms without a box whose cost is quadratic: a bordered linear system, by factorisation.

Solves   min 1/2 t'Ht + p't  subject to  At = a,   H = Q + diag(curvature), Q = sum_H S'KS
Given    all of H in memory
Returns  t with H t + A'm = -p; or a witness that the rows contradict each other, or a ray of unboundedness
How      Cholesky of H and the Schur complement A H^-1 A' of the rows, then iterative refinement: the factors of a
         large H are those of single precision where the refinement shows that they suffice; where H is singular, the
         null-space method: t = t_0 + Zy with AZ = 0, and the eigenvalues of Z'HZ
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from kdsl.numerics.arrays import Floats
from kdsl.solving.backends.interface import Options, Progress, part_of_kdsl
from kdsl.solving.expand import quadratic_part
from kdsl.solving.facts import Facts, beyond_memory
from kdsl.solving.normal_form import NormalForm
from kdsl.solving.raw_solution import RawSolution, Status

LARGEST = 20_000
MATRICES, SINGULAR_MATRICES = 3, 8  # of H's size at a time: H with its symmetrisation or factors, or its eigenvectors
REFINEMENTS = 5
_WIDE = 1e-6  # of the largest number on H's diagonal: with a smaller one, each equation gets a unit of its own
SINGLE_FROM, SINGLE_REFINEMENTS = 2000, 15  # equations from which single precision is tried, and its refinements
EPS, SINGLE_EPS = float(np.finfo(np.float64).eps), float(np.finfo(np.float32).eps)


class Linear(NamedTuple):
    """A solved system; `residual` is relative, `ray` goes with "unbounded"."""

    t: Floats
    m: Floats
    status: Status
    message: str
    residual: float
    refinements: int = 0
    ray: Floats | None = None


def solve_system(H: Floats, p: Floats, A: Floats, a: Floats) -> Linear:
    """t and m with H t + A'm = -p and A t = a, for a positive semidefinite H."""
    size = np.diagonal(H)
    if size.min(initial=np.inf) < _WIDE * size.max(initial=0.0):
        scale = 1.0 / np.sqrt(np.where(size > 0, size, 1.0))
        scaled = H * scale
        scaled *= scale[:, None]
        found = _solved(scaled, p * scale, A * scale, a)
        return found._replace(t=found.t * scale, ray=None if found.ray is None else found.ray * scale)
    return _solved(H, p, A, a)


def _solved(H: Floats, p: Floats, A: Floats, a: Floats) -> Linear:
    inverse = _inverse(H, single=True) if len(p) >= SINGLE_FROM else None
    if inverse is not None:
        found = _refined(H, p, A, a, inverse, SINGLE_REFINEMENTS)
        if found.status == "solved" and _as_double(H, p, A, a, found):
            return found._replace(message=f"{found.message}, factors in single precision")
    inverse = _inverse(H, single=False)
    if inverse is not None:
        found = _refined(H, p, A, a, inverse, REFINEMENTS)
        if found.status == "solved":
            return found
    return _null_space(H, p, A, a)  # also where H is regular by rounding alone: it judges the rows without H


def _inverse(H: Floats, single: bool) -> Callable[[Floats], Floats] | None:
    """b -> H^-1 b by Cholesky; None where H is too nearly singular for the precision."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    size = float(np.diagonal(H).max(initial=0.0))
    if single and not 1e-18 < size < 1e18:
        return None
    try:
        factor = cho_factor(H.astype(np.float32) if single else H, lower=True, overwrite_a=single, check_finite=True)
    except LinAlgError:
        return None
    pivots = np.diagonal(factor[0]).astype(np.float64)
    least = 10 * len(H) * SINGLE_EPS if single else 100 * len(H) * EPS
    if pivots.min(initial=np.inf) ** 2 <= least * pivots.max(initial=0.0) ** 2:
        return None

    def solve_single(b: Floats) -> Floats:
        scale = float(np.abs(b).max(initial=0.0)) or 1.0
        return scale * np.asarray(cho_solve(factor, (b / scale).astype(np.float32)), np.float64)

    def solve_double(b: Floats) -> Floats:
        return np.asarray(cho_solve(factor, b), np.float64)

    return solve_single if single else solve_double


def _as_double(H: Floats, p: Floats, A: Floats, a: Floats, found: Linear) -> bool:
    """Whether the residuals are those of double precision: LAPACK's criterion in dsposv, for both equations."""

    def small(residual: Floats, matrix: Floats, x: Floats) -> bool:
        size = float(np.abs(matrix).sum(axis=1).max(initial=0.0)) * float(np.abs(x).max(initial=0.0))
        return bool(np.abs(residual).max(initial=0.0) <= np.sqrt(len(p)) * EPS * size)

    first, second = H @ found.t + A.T @ found.m + p, A @ found.t - a
    return small(first, H, found.t) and (len(a) == 0 or small(second, A, found.t))


def _refined(
    H: Floats, p: Floats, A: Floats, a: Floats, inverse: Callable[[Floats], Floats], refinements: int
) -> Linear:
    """The bordered system by an inverse of H that is nearly right, refined until rounding in double precision."""
    weighed = inverse(A.T) if len(a) else np.zeros((len(p), 0))
    schur = A @ weighed

    def bordered(first: Floats, second: Floats) -> tuple[Floats, Floats]:
        free = inverse(first)
        m = least_squares(schur, A @ free - second) if len(second) else np.zeros(0)
        return free - weighed @ m, m

    t, m = bordered(-p, a)
    size = _scale(H, p, A, a, t, m)
    error = np.inf
    for step in range(refinements + 1):
        first, second = -p - H @ t - A.T @ m, a - A @ t
        before, error = error, _error(first, second, size)
        if error <= 4 * EPS or error > before / 2 or step == refinements:
            break
        dt, dm = bordered(first, second)
        t, m = t + dt, m + dm
    if len(a) and np.abs(a - A @ t).max() > 1e-8 * size[1]:
        return Linear(t, m, "infeasible", "the rows contradict each other", error, step)
    return Linear(t, m, "solved", "Cholesky" + (", bordered by the rows" if len(a) else ""), error, step)


def least_squares(A: Floats, b: Floats) -> Floats:
    """The shortest x that makes ||Ax - b|| smallest."""
    return np.asarray(np.linalg.lstsq(A, b, rcond=None)[0], np.float64)


def _null_space(H: Floats, p: Floats, A: Floats, a: Floats) -> Linear:
    """The same for a singular H."""
    from scipy.linalg import null_space

    t0 = least_squares(A, a) if len(a) else np.zeros(len(p))
    if len(a) and np.abs(A @ t0 - a).max() > 1e-8 * (1 + np.abs(a).max()):
        return Linear(t0, np.zeros(len(a)), "infeasible", "the rows contradict each other", np.inf)
    Z = null_space(A) if len(a) else np.eye(len(p))
    values, vectors = np.linalg.eigh(Z.T @ (H @ Z))
    rhs = vectors.T @ (Z.T @ -(p + H @ t0))
    kept = values > 100 * len(p) * EPS * max(values.max(initial=0.0), EPS)
    t = t0 + Z @ (vectors[:, kept] @ (rhs[kept] / values[kept]))
    for _ in range(REFINEMENTS):
        rest = vectors.T @ (Z.T @ -(p + H @ t))
        t = t + Z @ (vectors[:, kept] @ (rest[kept] / values[kept]))
    m = least_squares(A.T, -(p + H @ t)) if len(a) else np.zeros(0)
    flat = Z @ (vectors[:, ~kept] @ rhs[~kept])
    size = _scale(H, p, A, a, t, m)
    error = _error(-p - H @ t - A.T @ m, a - A @ t, size)
    if np.abs(flat).max(initial=0.0) > 1e-7 * size[0]:
        return Linear(t, m, "unbounded", "the objective falls for ever along a ray", error, ray=flat)
    rank = int(kept.sum())
    return Linear(t, m, "solved", f"singular matrix: eigenvalues, rank {rank}", error, REFINEMENTS)


def _scale(H: Floats, p: Floats, A: Floats, a: Floats, t: Floats, m: Floats) -> tuple[float, float]:
    """What residuals of the two equations are measured against."""
    first = max(np.abs(p).max(initial=0.0), np.abs(H @ t).max(initial=0.0), np.abs(A.T @ m).max(initial=0.0))
    second = max(np.abs(a).max(initial=0.0), float((np.abs(A) @ np.abs(t)).max(initial=0.0)))
    return float(first) or 1.0, second or 1.0


def _error(first: Floats, second: Floats, size: tuple[float, float]) -> float:
    return max(float(np.abs(first).max(initial=0.0)) / size[0], float(np.abs(second).max(initial=0.0)) / size[1])


def solve(
    problem: NormalForm, options: Options, start: Floats | None = None, progress: Progress | None = None
) -> RawSolution:
    began = time.perf_counter()
    h = problem.separable
    H, p, _ = quadratic_part(problem)
    H[np.arange(problem.size), np.arange(problem.size)] += h.curvature
    p += h.slope
    found = solve_system(H, p, problem.rows.matrix.toarray(), np.asarray(problem.rows.target, float))
    if found.status == "unbounded" and (h.curvature > 0).all():
        message = "the Gram matrix is so large that rounding hides what is added to it"
        found = found._replace(status="stalled", message=message, ray=None)
    facts = {"residual": found.residual, "refinements": found.refinements}
    seconds = time.perf_counter() - began
    return RawSolution(found.t, found.refinements, found.status, found.message, seconds, facts, found.ray)


def _accepts(facts: Facts) -> str | None:
    if not facts.quadratic:
        return "it solves linear systems; here some multiplier has a bound or a cost of several pieces"
    if facts.inequalities:
        return "it solves linear systems; here some rows are inequalities"
    if facts.size > LARGEST:
        return f"it factorises all of the matrix; its limit is {LARGEST:,} equations, here are {facts.size:,}"
    return beyond_memory(MATRICES if facts.curved else SINGULAR_MATRICES, facts.size, facts.memory)


BACKEND = part_of_kdsl(
    name="direct",
    takes="linear systems (no box, quadratic cost, equality rows) of up to 20,000 equations; Cholesky",
    accuracy=1e-9,
    accepts=_accepts,
    solve=solve,
)
