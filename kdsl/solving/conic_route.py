"""Problems that are no quadratic programs (entropies, unsquared norms, several norm bounds): by Newton or CVXPY."""

from __future__ import annotations

import math
import time
from dataclasses import replace

from kdsl.language.diagnostics import Diagnostic, KdslError
from kdsl.solving.attempts import FELL_SHORT, Asked, one_backend
from kdsl.solving.backends.explicit import remaining
from kdsl.solving.backends.interface import STOPPED, Options, Progress, is_stopped
from kdsl.solving.backends.registry import find_backend
from kdsl.solving.certify import Point, certify
from kdsl.solving.conic_point import joined, nothing
from kdsl.solving.conic_primal import LIMIT, solve_conic_primal
from kdsl.solving.lowering import Lowered
from kdsl.solving.planning import chosen_route
from kdsl.solving.posed import Posed
from kdsl.solving.raw_solution import RawSolution, Status
from kdsl.solving.routing import Route, next_route

LARGEST = 3000  # points beyond which the dense factor of the Gram matrix is not formed


def solve_beyond(
    posed: Posed, lowered: Lowered, options: Options, backend: str | None, progress: Progress | None
) -> tuple[RawSolution, Point, Route]:
    """The solution of a problem that is no quadratic program, what it proves, and the route it took."""
    began = time.perf_counter()
    chosen = chosen_route(posed, lowered, options, backend)
    if chosen.backend.name == "cvxpy":
        by_cones = _conic(posed, lowered, options, progress)
        return by_cones, certify(posed, by_cones.theta, lowered=lowered), chosen
    steps = math.inf if options.max_iterations is None else options.max_iterations
    found, point, _ = one_backend(Asked(posed, options, progress, began), lowered, chosen, steps=steps)
    proven = point.certificate.status(options.tol, options.kkt_tol) == "optimal"
    if proven or backend is not None or found.status not in FELL_SHORT or _points(posed) > LARGEST:
        return found, point, chosen
    why = f"{found.message}; the relative gap is {point.certificate.rel_gap:.1e}"
    following = next_route(replace(chosen, alternatives=(find_backend("cvxpy"),)), why)
    assert following is not None
    other = _conic(posed, lowered, remaining(options, time.perf_counter() - began), progress)
    reached = certify(posed, other.theta, lowered=lowered)
    if not reached.certificate.rel_gap < point.certificate.rel_gap:
        if other.status != "solved":
            found = replace(found, message=f"{found.message}; {other.message}")
        return found, point, replace(chosen, warnings=following.warnings)
    if reached.certificate.status(options.tol, options.kkt_tol) != "optimal":
        left = remaining(options, time.perf_counter() - began)
        again = chosen.backend.answer(lowered.problem, left, other.theta, progress)
        nearer = certify(posed, again.theta, lowered=lowered)
        if nearer.certificate.rel_gap < reached.certificate.rel_gap:
            again = replace(again, seconds=found.seconds + other.seconds + again.seconds)
            return again, nearer, replace(chosen, reason=f"{chosen.reason}; begun again where Clarabel stopped")
    return other, reached, following


def _conic(posed: Posed, lowered: Lowered, options: Options, progress: Progress | None) -> RawSolution:
    """The optimum of the primal as a conic program, with the multipliers of its conditions as the dual point."""
    size = _points(posed)
    if size > LARGEST:
        raise KdslError(
            [
                Diagnostic(
                    "K616",
                    f"a conic program on {size:,} points",
                    why=f"it goes to a conic solver on a dense matrix, up to {LARGEST:,} points",
                    help="use fewer examples, squared norms, and piecewise quadratic losses such as squared_hinge",
                )
            ]
        )
    if is_stopped(progress):
        return RawSolution(nothing(posed, lowered), 0, "interrupted", STOPPED, 0.0)
    began = time.perf_counter()
    answer = solve_conic_primal(posed, min(1e-9, options.tol * 1e-2), options)
    seconds = time.perf_counter() - began
    if not answer.multipliers:
        status, message = _unanswered(answer.status, seconds >= options.time_limit)
        return RawSolution(nothing(posed, lowered), 0, status, message, seconds)
    theta = joined(posed, lowered, answer.multipliers, answer.vectors)
    return RawSolution(theta, answer.iterations, "solved", answer.status, seconds)


def _unanswered(told: str, late: bool) -> tuple[Status, str]:
    """What ended a solver without an answer, in kdsl's words."""
    if told != LIMIT:
        return "solver_error", f"Clarabel through CVXPY says: {told}"
    if late:
        return "time_limit", "the time limit was reached"
    return "iteration_limit", "the iteration limit was reached"


def may_be_a_cone(posed: Posed) -> bool:
    """Whether there are few enough points for a conic program."""
    return _points(posed) <= LARGEST


def _points(posed: Posed) -> int:
    return max((space.size for space in posed.spaces.values()), default=0)
