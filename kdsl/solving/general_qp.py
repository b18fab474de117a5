"""Solves general quadratic programs by the backends that take matrices, each answer certified by our own code.

minimise 1/2 x'Px + q'x + constant  subject to  l <= Ax <= u, lower <= x <= upper.
With multipliers y, z (positive at upper ends, negative at lower ends) the dual value is
-1/2 x'Px - sum_i max(y_i u_i, y_i l_i) - sum_j max(z_j upper_j, z_j lower_j) + constant where Px + q + A'y + z = 0.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
import scipy.sparse as sp

from kdsl.binding.psd import PsdReport
from kdsl.language.diagnostics import Diagnostic, KdslError
from kdsl.numerics.arrays import Floats
from kdsl.solving.backends import cvxpy_backend, direct, osqp_backend, qpsolvers_backends
from kdsl.solving.backends.explicit import Answer, nothing_found, remaining
from kdsl.solving.backends.interface import Options
from kdsl.solving.backends.registry import find_backend, shipped
from kdsl.solving.expand import ExplicitQP
from kdsl.solving.polish_qp import polish
from kdsl.solving.psd_sparse import audit_sparse

Outcome = Literal[
    "optimal", "optimal_inaccurate", "infeasible", "unbounded", "infeasible_or_unbounded", "user_limit", "solver_error"
]
Policy = Literal["refuse", "accept"]  # what to do about a P that is not positive semidefinite
PREFERRED = ("qpsolvers:piqp", "qpsolvers:clarabel", "qpsolvers:highs", "osqp")
INACCURATE = 1e-3


class Certificate(NamedTuple):
    """Figures of a point (x, y, z) in the units of the problem; `relative` ones are measured against its terms."""

    value: float
    dual: float
    gap: float
    rel_gap: float
    primal_residual: float
    dual_residual: float
    relative_primal: float
    relative_dual: float

    @property
    def worst(self) -> float:
        """What the tolerance is compared with."""
        return max(self.rel_gap, self.relative_primal, self.relative_dual)


@dataclass(frozen=True, eq=False)
class QPSolution:
    """`witness` proves infeasibility (multipliers of rows and bounds) or unboundedness (a direction)."""

    status: Outcome
    backend: str
    reason: str
    x: Floats
    y: Floats
    z: Floats
    certificate: Certificate
    psd: PsdReport
    iterations: int
    seconds: dict[str, float]
    warnings: tuple[Diagnostic, ...] = ()
    witness: Floats | None = None


def solve_qp(
    program: ExplicitQP, backend: str | None = None, psd: Policy = "refuse", options: Options | None = None
) -> QPSolution:
    """Solve and certify; the next backend is tried where one falls short, and each such step is a warning."""
    options = options or Options()
    began = time.perf_counter()
    report = audit_sparse(program.P)
    warnings = list(_judge(report, psd))
    audited = time.perf_counter()
    names, reason = _choose(program, backend)
    best: tuple[str, Answer, Certificate] | None = None
    claim: tuple[Outcome, Floats] | None = None
    for name in names:
        left = remaining(options, time.perf_counter() - began)
        if best is not None and left.time_limit <= 1e-3:
            break
        answer = _run(name, program, left)
        answer, certificate = _sharpened(program, answer, options.tol)
        if best is None or certificate.worst < best[2].worst:
            best = (name, answer, certificate)
        if certificate.worst <= options.tol:
            break
        if answer.status in ("infeasible", "unbounded"):
            claim = _witnessed(program)
            if claim is not None:
                best = (name, answer, certificate)
                break
        if name != names[-1]:
            warnings.append(_fell_short(name, answer, certificate, options.tol))
    assert best is not None
    name, answer, certificate = best
    solved = time.perf_counter()
    status = claim[0] if claim else _status(answer, certificate, options.tol, report.verdict == "indefinite")
    ended = time.perf_counter()
    seconds = {
        "audit": audited - began,
        "solve": solved - audited,
        "certify": ended - solved,
        "total": ended - began,
    }
    return QPSolution(
        status,
        name,
        reason,
        answer.x,
        answer.y,
        answer.z,
        certificate,
        report,
        answer.iterations,
        seconds,
        tuple(warnings),
        claim[1] if claim else None,
    )


def minimise_convex(program: ExplicitQP, tol: float = 1e-10) -> tuple[Answer, Certificate]:
    """The minimiser of a program that is known to be convex, as sharp as float64 allows: every answer is polished.

    The answer with the best certificate among the backends' ones, tried in order until one is within `tol`.
    """
    names, _ = _choose(program, None)
    found: list[tuple[Answer, Certificate]] = []
    for name in names:
        answer = _run(name, program, Options())
        polished = polish(program, answer) if answer.status in ("solved", "stalled") else None
        found += [(a, certify(program, a)) for a in (answer, polished) if a is not None]
        if min(certificate.worst for _, certificate in found) <= tol:
            break
    return min(found, key=lambda pair: pair[1].worst)


def certify(program: ExplicitQP, answer: Answer) -> Certificate:
    """Value, dual value and residuals of a backend's point; multipliers of absent ends are not believed."""
    x = answer.x
    y, z = _believable(answer.y, program.l, program.u), _believable(answer.z, program.lower, program.upper)
    Ax, Px, Ay = program.A @ x, program.P @ x, program.A.T @ y
    primal = max(_outside(Ax, program.l, program.u), _outside(x, program.lower, program.upper))
    stationarity = float(np.abs(Px + program.q + Ay + z).max(initial=0.0))
    value = program.value(x)
    support = _support(y, program.l, program.u) + _support(z, program.lower, program.upper)
    dual = program.constant - float(x @ Px) / 2 - support
    gap = abs(value - dual)
    return Certificate(
        value=value,
        dual=dual,
        gap=gap,
        rel_gap=gap / max(1.0, abs(value), abs(dual)),
        primal_residual=primal,
        dual_residual=stationarity,
        relative_primal=primal / max(1.0, _largest(Ax), _largest(x)),
        relative_dual=stationarity / max(1.0, _largest(Px), _largest(program.q), _largest(Ay)),
    )


def _sharpened(program: ExplicitQP, answer: Answer, tol: float) -> tuple[Answer, Certificate]:
    """A backend's answer, or its polished form where it falls short of the tolerance and that is better."""
    certificate = certify(program, answer)
    if certificate.worst <= tol or answer.status in ("infeasible", "unbounded", "solver_error"):
        return answer, certificate
    polished = polish(program, answer)
    if polished is None:
        return answer, certificate
    better = certify(program, polished)
    return (polished, better) if better.worst < certificate.worst else (answer, certificate)


def infeasibility(program: ExplicitQP) -> Floats | None:
    """Multipliers (y, z) with A'y + z = 0 and support(y) + support(z) < 0, or None: no point meets all rows.

    For a feasible x, 0 = y'Ax + z'x <= support(y) + support(z); the certificate's own arithmetic checks both.
    They are the multipliers of the linear program that makes the violations of the rows smallest.
    """
    from scipy.optimize import linprog

    up, low = np.flatnonzero(np.isfinite(program.u)), np.flatnonzero(np.isfinite(program.l))
    m, n = len(up) + len(low), program.size
    rows = sp.vstack([program.A[up], -program.A[low]], format="csr")
    found = linprog(
        np.r_[np.zeros(n), np.ones(m)],
        A_ub=sp.hstack([rows, -sp.eye_array(m)], format="csr") if m else None,
        b_ub=np.r_[program.u[up], -program.l[low]] if m else None,
        bounds=np.column_stack([np.r_[program.lower, np.zeros(m)], np.r_[program.upper, np.full(m, np.inf)]]),
        method="highs",
    )
    if found.x is None or not m:
        return None
    y = np.zeros(len(program.l))
    y[up] -= found.ineqlin.marginals[: len(up)]
    y[low] += found.ineqlin.marginals[len(up) :]
    z = _believable(-(program.A.T @ y), program.lower, program.upper)
    error = np.abs(program.A.T @ y + z).max(initial=0.0)
    support = _support(y, program.l, program.u) + _support(z, program.lower, program.upper)
    return np.r_[y, z] if support < -1e-9 * (1 + _largest(y)) and error <= 1e-9 * _largest(y) else None


def falling_direction(program: ExplicitQP) -> Floats | None:
    """d with Pd = 0 and q'd < 0 that no row or bound ever stops, or None; found as a linear program."""
    from scipy.optimize import linprog

    upper = np.where(np.isfinite(program.upper), 0.0, 1.0)
    lower = np.where(np.isfinite(program.lower), 0.0, -1.0)
    stops_up, stops_low = program.A[np.isfinite(program.u)], program.A[np.isfinite(program.l)]
    found = linprog(
        program.q,
        A_ub=sp.vstack([stops_up, -stops_low], format="csr"),
        b_ub=np.zeros(stops_up.shape[0] + stops_low.shape[0]),
        A_eq=program.P.tocsr(),
        b_eq=np.zeros(program.size),
        bounds=np.column_stack([lower, upper]),
        method="highs",
    )
    if found.x is None:
        return None
    d: Floats = found.x
    flat = np.abs(program.P @ d).max(initial=0.0) <= 1e-9 * max(1.0, abs(program.P).max())
    return d if flat and float(program.q @ d) < -1e-9 * max(1.0, _largest(program.q)) else None


def _judge(report: PsdReport, policy: Policy) -> tuple[Diagnostic, ...]:
    """What the audit says about solving at all."""
    if report.verdict == "psd":
        return ()
    what = "is not" if report.verdict == "indefinite" else "may not be"
    message, why = f"P {what} positive semidefinite", report.describe()
    if policy == "refuse" and report.verdict == "indefinite":
        help = "mend P; or `--psd accept` for a point that meets the optimality conditions, never called optimal"
        raise KdslError([Diagnostic("K611", message, why=f"{why}; the program is not convex", help=help)])
    return (Diagnostic("K612", message, why=why, help="a stationary point is all that is certain", severity="warning"),)


def _choose(program: ExplicitQP, requested: str | None) -> tuple[tuple[str, ...], str]:
    """Backends in order, and the reason."""
    n, m = program.size, len(program.l)
    only_equal = bool((program.l == program.u).all())
    free = bool(np.isneginf(program.lower).all() and np.isposinf(program.upper).all())
    size = f"{n:,} variable{'' if n == 1 else 's'}, {m:,} row{'' if m == 1 else 's'}"
    if requested is not None:
        backend = find_backend(requested)
        if backend.name not in _SOLVERS or (backend.name == "direct" and not (only_equal and free)):
            linear = "it solves linear systems; here are inequalities"
            raise KdslError(
                [
                    Diagnostic(
                        "K601",
                        f"the backend `{requested}` cannot take this problem",
                        why=linear if backend.name in _SOLVERS else "it takes normal forms only",
                        help=f"choose one of {', '.join(PREFERRED)}, or leave the choice to kdsl",
                    )
                ]
            )
        return (requested,), f"asked for: {size}"
    by_name = {backend.name: backend for backend in shipped()}
    general = tuple(name for name in PREFERRED if by_name[name].installed())
    if only_equal and free and n + m <= direct.LARGEST // 4:
        return ("direct", *general), f"{size}, no inequalities: a linear system, by factorisation"
    if not general:
        raise KdslError(
            [
                Diagnostic(
                    "K607",
                    "no installed backend takes this problem",
                    why=f"{size}; wanted is one of {', '.join(PREFERRED)}",
                    help="`pip install qpsolvers clarabel`",
                )
            ]
        )
    return general, f"{size}: an explicit quadratic program, by {general[0]}"


def _direct(program: ExplicitQP, options: Options) -> Answer:
    found = direct.solve_system(program.P.toarray(), program.q, program.A.toarray(), program.l)
    return Answer(found.t, found.m, np.zeros(program.size), found.status, found.message, found.refinements, found.ray)


_SOLVERS: dict[str, Callable[[ExplicitQP, Options], Answer]] = {
    "direct": _direct,
    "osqp": osqp_backend.solve_explicit,
    "cvxpy": cvxpy_backend.solve_explicit,
    **{
        f"qpsolvers:{name}": partial(qpsolvers_backends.solve_explicit, name=name)
        for name in qpsolvers_backends.SOLVERS
    },
}


def _run(name: str, program: ExplicitQP, options: Options) -> Answer:
    """One backend; whatever it throws is its failure, not ours."""
    try:
        return _SOLVERS[name](program, options)
    except (KeyboardInterrupt, MemoryError, KdslError):
        raise
    except Exception as error:  # a stranger's solver
        return nothing_found(program, "solver_error", f"{name}: {type(error).__name__}: {error}")


def _witnessed(program: ExplicitQP) -> tuple[Outcome, Floats] | None:
    """A proof of what a backend claims, whichever of the two it claims."""
    multipliers = infeasibility(program)
    if multipliers is not None:
        return "infeasible", multipliers
    direction = falling_direction(program)
    return None if direction is None else ("unbounded", direction)


def _status(answer: Answer, certificate: Certificate, tol: float, indefinite: bool) -> Outcome:
    """The status that the certificate allows."""
    if certificate.worst <= tol:
        return "optimal_inaccurate" if indefinite else "optimal"
    if answer.status in ("infeasible", "unbounded"):
        return "infeasible_or_unbounded"
    if certificate.worst <= max(INACCURATE, 10 * tol):
        return "optimal_inaccurate"
    return "user_limit" if answer.status in ("time_limit", "iteration_limit", "interrupted") else "solver_error"


def _fell_short(name: str, answer: Answer, certificate: Certificate, tol: float) -> Diagnostic:
    return Diagnostic(
        "K613",
        f"the backend `{name}` fell short of {tol:g}, and the next one was tried",
        why=f"{answer.message}; relative gap {certificate.rel_gap:.1e}, residuals "
        f"{certificate.relative_primal:.1e} and {certificate.relative_dual:.1e}",
        help="name a backend with `--backend` to have no other",
        severity="warning",
    )


def _believable(multipliers: Floats, low: Floats, up: Floats) -> Floats:
    """Multipliers that push against an end that is there."""
    y = np.nan_to_num(multipliers, posinf=0.0, neginf=0.0)
    return np.where((y > 0) & np.isposinf(up) | (y < 0) & np.isneginf(low), 0.0, y)


def _support(y: Floats, low: Floats, up: Floats) -> float:
    """sum_i max over [low_i, up_i] of y_i s."""
    return float((y[y > 0] * up[y > 0]).sum() + (y[y < 0] * low[y < 0]).sum())


def _outside(s: Floats, low: Floats, up: Floats) -> float:
    """By how much s leaves [low, up] at worst."""
    worst = max(float((low - s).max(initial=0.0)), float((s - up).max(initial=0.0)))
    return worst if math.isfinite(worst) else math.inf


def _largest(vector: Floats) -> float:
    return float(np.abs(vector).max(initial=0.0))
