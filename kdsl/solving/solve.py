"""Derivation + data -> Solution: lower, route, solve, recover, certify, each by its own module."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from kdsl.algebra.energies import conic_form
from kdsl.language.diagnostics import Diagnostic
from kdsl.models.solution import Solution
from kdsl.numerics.arrays import Floats
from kdsl.solving.attempts import FELL_SHORT, Asked, for_more, is_known_convex, solved
from kdsl.solving.backends.explicit import remaining
from kdsl.solving.backends.interface import Options, Progress
from kdsl.solving.certificate import Certificate
from kdsl.solving.certify import Point, certify
from kdsl.solving.conic_route import may_be_a_cone, solve_beyond
from kdsl.solving.explain import explain_conflict, explain_ray, explain_reach
from kdsl.solving.facts import facts_of
from kdsl.solving.infeasibility import ON_ROWS, RAY_SHARES, conflict_of, energy_scale, measure_ray, recession_of
from kdsl.solving.loose_norms import NOT_TIGHT, loose_norms
from kdsl.solving.lowering import Lowered
from kdsl.solving.norm_search import reach_within, search_norm
from kdsl.solving.planning import chosen_route, normal_form
from kdsl.solving.posed import Posed
from kdsl.solving.predicting import predictor_of
from kdsl.solving.raw_solution import RawSolution
from kdsl.solving.rounding import ROUNDED, kernel_rounding, rounding_note
from kdsl.solving.routing import Route, route
from kdsl.solving.scalars import is_wider
from kdsl.solving.summary import quantities_of, scalars_of, support_of
from kdsl.solving.warm_start import Trail

_UNPROVEN = "a stationary point; no gap can be closed under an indefinite Gram matrix"
_LOOSE_NORM = "K623"
_PROBE = 5000  # iterations of a first look, and 50 for each coordinate
_LOOK = 0.25  # of the time limit, that is spent on looking for a ray
_INTERRUPTED = "interrupted; the best so far"
_LIMITS = {"iteration_limit": "user_limit", "time_limit": "user_limit", "interrupted": "user_limit"}


def solve_posed(
    posed: Posed,
    options: Options,
    backend: str | None = None,
    trail: Trail | None = None,
    progress: Progress | None = None,
) -> Solution:
    """The certified solution of a posed problem; NoSolution, with a witness, where there is none.

    `trail` is what the last solve of the same problem has left; it is brought up to date.
    """
    trail = Trail() if trail is None else trail
    began = time.perf_counter()
    lowered = normal_form(posed, trail.lowered_alike(posed))
    conflict = conflict_of(lowered.problem)  # the multiplier of a norm is in no row
    if conflict is not None:
        raise explain_conflict(posed, lowered, conflict)
    if not posed.energies.conic:
        _look_for_a_ray(posed, lowered, options, progress)
    lowered_at = time.perf_counter()
    if posed.energies.outer is not None:
        raw, chosen, outer = search_norm(posed, options, backend, progress)
        point = certify(posed, raw.theta, outer)
        if point.certificate.size < 1.0 and point.certificate.status(options.tol) != "optimal":
            more = for_more(remaining(options, time.perf_counter() - began), point, 0)
            raw, chosen, outer = search_norm(posed, more, backend, progress)
            point = certify(posed, raw.theta, outer)
        left = remaining(options, time.perf_counter() - began)
        whole = _as_a_cone(posed, point, raw, left, backend)
        if whole is not None:
            posed, point, raw, chosen = whole
    elif posed.energies.dual.entropies or posed.energies.conic:
        raw, point, chosen = solve_beyond(posed, lowered, options, backend, progress)
    else:
        chosen = chosen_route(posed, lowered, options, backend)
        problem, begin = trail.start(lowered.problem)
        lowered = replace(lowered, problem=problem)
        raw, point, chosen = solved(Asked(posed, options, progress, began), lowered, chosen, begin)
    trail.leave(posed, point)
    ended = time.perf_counter()
    seconds = {
        "lower": lowered_at - began,
        "solve": raw.seconds,
        "certify": max(ended - lowered_at - raw.seconds, 0.0),
        "total": ended - began,
    }
    return _solution(posed, point, raw, chosen, options, seconds)


def _as_a_cone(
    posed: Posed, point: Point, raw: RawSolution, options: Options, backend: str | None
) -> tuple[Posed, Point, RawSolution, Route] | None:
    """The conic program, if better, where no search finds the norm's multiplier: it is 0, and the kernel singular."""
    short = raw.status in FELL_SHORT or (raw.status == "iteration_limit" and options.max_iterations is None)
    settled = point.certificate.status(options.tol) == "optimal" or not short
    if settled or not may_be_a_cone(posed) or backend is not None:
        return None
    conic = replace(posed, energies=conic_form(posed.derivation))
    found, reached, chosen = solve_beyond(conic, normal_form(conic), options, None, None)
    if not reached.certificate.rel_gap < point.certificate.rel_gap:
        return None
    return conic, reached, found, chosen


def _look_for_a_ray(posed: Posed, lowered: Lowered, options: Options, progress: Progress | None) -> None:
    """NoSolution where the multipliers of hard constraints can grow for ever: looked at first, for it would not end.

    More and more is asked of the least energy of a direction, until it is proven to be nothing or to be something, or
    so many steps have not told, or a share of the time that the solve has.
    """
    halves = recession_of(lowered.problem)
    if halves is None or conflict_of(halves.problem) is not None:
        return
    recession = halves.problem
    began, scale = time.perf_counter(), energy_scale(recession)
    chosen = route(facts_of(recession, options.memory), None, options.tol)
    theta: Floats | None = None
    for stage, share in enumerate(RAY_SHARES):
        left = _LOOK * options.time_limit - (time.perf_counter() - began)
        accuracy = share * scale
        steps = (_PROBE + 50 * recession.size) * 4**stage  # a ray may be found long before nothing better is known
        asked = replace(options, tol=accuracy, kkt_tol=None, time_limit=max(left, 0.0), max_iterations=steps)
        found = chosen.backend.answer(recession, asked, theta, progress)
        if found.status == "interrupted":
            return
        theta = found.theta
        ray = measure_ray(recession, theta)
        direction = halves.joined(ray.direction)
        if ray.proves:
            raise explain_ray(posed, lowered, replace(ray, direction=direction))
        if posed.energies.outer is not None and ray.residual <= ON_ROWS:
            reach = reach_within(posed, direction)
            if reach < 1.0:
                raise explain_reach(posed, lowered, direction, reach)
        if left <= 0 or (found.status == "solved" and ray.excess > 2.0 * accuracy * max(1.0, ray.energy)):
            return


# ---------------------------------------------------------------- the solution


def given_solution(posed: Posed, theta: Floats, wanted: Sequence[Options], giver: str, reason: str) -> Solution:
    """A dual point that another program found, certified as it is; `giver` stands where a backend would.

    Of the tolerances that are wanted the first counts that the certificate proves.
    """
    began = time.perf_counter()
    point = certify(posed, theta)
    proven = (o for o in wanted if point.certificate.status(o.tol, o.kkt_tol) == "optimal")
    options = next(proven, wanted[0])
    raw = RawSolution(theta, 0, "solved", f"certified as {giver} left it", 0.0)
    taken = time.perf_counter() - began
    seconds = {"lower": 0.0, "solve": 0.0, "certify": taken, "total": taken}
    solution = _solution(posed, point, raw, route(facts_of(point.lowered.problem)), options, seconds)
    asked = {"tol": options.tol, "kkt_tol": options.kkt_tol}
    return replace(solution, backend=giver, reason=reason, asked=asked)


def _solution(
    posed: Posed, point: Point, raw: RawSolution, chosen: Route, options: Options, seconds: Mapping[str, float]
) -> Solution:
    proven = point.certificate.status(options.tol, options.kkt_tol)
    status, message = proven or _LIMITS.get(raw.status, "solver_error"), raw.message
    if status == "solver_error" and raw.status == "solved":
        message = f"{message}, its solver says; the certificate shows {point.certificate.shortcoming()}"
    message = _INTERRUPTED if raw.status == "interrupted" else message
    if status == "optimal_inaccurate" and raw.status in _LIMITS:
        status = "user_limit"
    repairs = {name: space.repair for name, space in posed.spaces.items() if space.repair is not None}
    if any(not is_known_convex(r) for r in repairs.values()):
        status = _stationary(status, point.certificate, options)
        message = _UNPROVEN if status == "optimal_inaccurate" else message
    notes = _notes(posed, point)
    if status == "optimal" and any(note.code == _LOOSE_NORM for note in notes):
        status, message = "optimal_inaccurate", NOT_TIGHT  # of the relaxed problem: the norm asked for is not reached
    rounding = kernel_rounding(posed, point) if status == "optimal" and options.kkt_tol is None else 0.0
    if rounding > options.tol * point.certificate.size:
        status, message, notes = "optimal_inaccurate", ROUNDED, (*notes, rounding_note(rounding))
    families = point.scalar_problem.families
    slacks = {name: family.read(point.scalars.z) for name, family in families.items() if family.unknown.indices}
    intervals = {}
    if point.scalars.interval is not None and is_wider(point.scalars.interval, 100 * options.tol):
        name = next(n for n, f in families.items() if point.scalars.column in f.members)
        intervals[name] = point.scalars.interval
    return Solution(
        status,
        message,
        chosen.backend.name,
        chosen.reason,
        point.certificate,
        scalars_of(posed, point),
        slacks,
        point.multipliers,
        intervals,
        support_of(point),
        quantities_of(posed, point),
        posed.parameters,
        raw.iterations,
        seconds,
        (
            *posed.bound.warnings,
            *(w for r in repairs.values() for w in r.warnings),
            *chosen.warnings,
            *notes,
        ),
        posed.derivation,
        posed.bound,
        predictor_of(posed, point),
        point.theta,
        point.outer,
        {name: r.report for name, r in repairs.items()},
        facts=raw.facts,
    )


def _stationary(status: str, certificate: Certificate, options: Options) -> str:
    """The status under an indefinite Gram matrix: no gap is to be closed, a point that meets the conditions is all."""
    limit = max(1e-3, 10 * options.tol)
    steepest = math.inf if certificate.kkt_gap is None else certificate.kkt_gap
    met = max(steepest, certificate.primal_residual, certificate.dual_residual) <= limit
    return "optimal_inaccurate" if status == "optimal" or (status == "solver_error" and met) else status


def _notes(posed: Posed, point: Point) -> tuple[Diagnostic, ...]:
    """What a person should know about a solution that is an answer all the same."""
    notes = []
    saturated = posed.saturated
    if saturated is not None:
        shown = posed.derivation.primal.unknown(saturated).shown
        notes.append(
            Diagnostic(
                "K622",
                f"`{shown}` is 0 and every multiplier is at its upper bound",
                (),
                "the penalty of the slacks is so low that leaving every example outside is cheapest",
                "raise the price of the slacks: `C` above 1/l, or `nu` below 1 where the price is 1/(nu l)",
                "warning",
            )
        )
    for condition in loose_norms(posed, point):
        notes.append(
            Diagnostic(
                _LOOSE_NORM,
                f"the bound `{condition.label}` on the norm is not tight: its multiplier is 0",
                (),
                "the best value is reached with a smaller norm than the one asked for (for a margin: the hulls "
                "of the classes, reduced by the bounds on the multipliers, meet)",
                "the answer is that of the bound, not of the equation: lower the weight of the slacks, or ask for less",
                "warning",
            )
        )
    return tuple(notes)
