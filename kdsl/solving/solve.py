"""Derivation + data -> Solution: lower, route, solve, recover, certify, each by its own module."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from kdsl.algebra.energies import conic_form
from kdsl.algebra.numeric import evaluate
from kdsl.algebra.primal import Condition
from kdsl.binding.psd import Repair
from kdsl.language.diagnostics import Diagnostic
from kdsl.models.solution import Solution
from kdsl.solving.backends.interface import Options, Progress
from kdsl.solving.certificate import Certificate
from kdsl.solving.certify import Point, certify
from kdsl.solving.conic_route import LARGEST, solve_beyond
from kdsl.solving.explain import explain_conflict, explain_ray
from kdsl.solving.facts import facts_of
from kdsl.solving.infeasibility import RAY_SHARES, energy_scale, measure_ray, recession_problem, row_conflict
from kdsl.solving.lowering import Lowered, lower
from kdsl.solving.norm_search import search_norm
from kdsl.solving.normal_form import Floats
from kdsl.solving.posed import Posed
from kdsl.solving.predicting import predictor_of
from kdsl.solving.raw_solution import RawSolution
from kdsl.solving.rounding import ROUNDED, kernel_rounding, rounding_note
from kdsl.solving.routing import Route, instead_of, next_route, route
from kdsl.solving.scalars import is_wider
from kdsl.solving.summary import quantities_of, scalars_of, support_of
from kdsl.solving.unknowns import with_unknowns
from kdsl.solving.warm_start import Start, moved

_STRICTER = (1e-2, 1e-4)  # how much more is asked for where the certificate is not satisfied
_FELL_SHORT = ("solved", "stalled", "solver_error")  # what a backend may say when another is worth a try
_NOT_TIGHT = "the bound on the norm is not tight"
_UNPROVEN = "a stationary point; no gap can be closed under an indefinite Gram matrix"
_LOOSE_NORM = "K623"
_PATIENCE = 10.0  # seconds that a fallback may take, and times what the first choice took
_PROBE = 5000  # iterations of a first look, and 50 for each coordinate
_LOOSE = 1e-3  # of the bound on a norm, left unused where it is called loose
_INTERRUPTED = "interrupted; the best so far"
_LIMITS = {"iteration_limit": "user_limit", "time_limit": "user_limit", "interrupted": "user_limit"}


def solve_posed(
    posed: Posed,
    options: Options,
    backend: str | None = None,
    start: Start | None = None,
    progress: Progress | None = None,
) -> Solution:
    """The certified solution of a posed problem; NoSolution, with a witness, where there is none."""
    began = time.perf_counter()
    outer = None
    if posed.energies.outer is not None:
        at_one = lower(posed.energies, posed.values, posed.spaces, 1.0, posed.saturated)
        conflict = row_conflict(at_one.problem)  # the multiplier of the norm is in no row
        if conflict is not None:
            raise explain_conflict(posed, at_one, conflict)
        raw, chosen, outer = search_norm(posed, options, backend, progress)
        lowered_at = began
        point = certify(posed, raw.theta, outer)
        whole = _as_a_cone(posed, point, raw, options, backend)
        if whole is not None:
            posed, point, raw, chosen = whole
    else:
        lowered = lower(posed.energies, posed.values, posed.spaces, saturated=posed.saturated)
        lowered_at = time.perf_counter()
        conflict = row_conflict(lowered.problem)
        if conflict is not None:
            raise explain_conflict(posed, lowered, conflict)
        if posed.energies.dual.entropies or posed.energies.conic:
            raw, chosen = solve_beyond(posed, lowered, options, backend, progress)
            point = certify(posed, raw.theta)
        else:
            _look_for_a_ray(posed, lowered, options)
            chosen = route(facts_of(lowered.problem), backend, options.tol)
            begin = None if start is None else moved(start, lowered.problem.separable)
            asked = _Asked(posed, options, progress, began)
            first = _first(asked, lowered, chosen, begin)
            raw, point, chosen = _by_others(asked, _tightened(asked, first))
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
    small = max(space.size for space in posed.spaces.values()) <= LARGEST
    settled = point.certificate.status(options.tol) == "optimal" or raw.status not in _FELL_SHORT
    if settled or not small or backend is not None:
        return None
    conic = replace(posed, energies=conic_form(posed.derivation))
    lowered = lower(conic.energies, conic.values, conic.spaces, saturated=conic.saturated)
    found, chosen = solve_beyond(conic, lowered, options, None, None)
    reached = certify(conic, found.theta)
    if not reached.certificate.rel_gap < point.certificate.rel_gap:
        return None
    return conic, reached, found, chosen


def _look_for_a_ray(posed: Posed, lowered: Lowered, options: Options) -> None:
    """NoSolution where the multipliers of hard constraints can grow for ever: looked at first, for it would not end.

    More and more is asked of the least energy of a direction, until it is proven to be nothing or to be something.
    """
    recession = recession_problem(lowered.problem)
    if recession is None or row_conflict(recession) is not None:
        return
    began, scale = time.perf_counter(), energy_scale(recession)
    chosen = route(facts_of(recession), None, options.tol)
    theta: Floats | None = None
    for stage, share in enumerate(RAY_SHARES):
        left = options.time_limit - (time.perf_counter() - began)
        accuracy = share * scale
        asked = replace(options, tol=accuracy, kkt_tol=None, time_limit=max(left, 0.0))
        if share > RAY_SHARES[-1]:  # a ray may be found long before a solver knows that nothing is better
            asked = replace(asked, max_iterations=(_PROBE + 50 * recession.size) * 4**stage)
        found = chosen.backend.solve(recession, asked, theta)
        theta = found.theta
        ray = measure_ray(recession, theta)
        if ray.proves:
            raise explain_ray(posed, lowered, ray)
        if left <= 0 or (found.status == "solved" and ray.excess > 2.0 * accuracy * max(1.0, ray.energy)):
            return


class _Asked(NamedTuple):
    """What is asked for, of what, and since when: the same for each attempt."""

    posed: Posed
    options: Options
    progress: Progress | None
    began: float

    @property
    def left(self) -> float:
        return self.options.time_limit - (time.perf_counter() - self.began)


class _Attempt(NamedTuple):
    """A backend's answer, and what it proves."""

    raw: RawSolution
    point: Point
    chosen: Route


def _first(asked: _Asked, lowered: Lowered, chosen: Route, begin: Floats | None) -> _Attempt:
    """The answer of the chosen backend; where that takes unusually long, steady ones have a try before it goes on.

    What is unusual is told in steps, not in seconds: the same input gives the same answer.
    """
    options = asked.options
    most = math.inf if options.max_iterations is None else options.max_iterations
    usual = chosen.expected if _is_convex(asked.posed) else math.inf

    def attempt(route: Route, from_there: Floats | None, seconds: float, steps: float) -> _Attempt:
        limit = None if math.isinf(steps) else int(steps)
        patient = replace(options, time_limit=min(asked.left, seconds), max_iterations=limit)
        raw = route.backend.solve(lowered.problem, patient, from_there, asked.progress)
        return _Attempt(raw, certify(asked.posed, raw.theta, lowered=lowered), route)

    best = attempt(chosen, begin, math.inf, min(most, usual))
    if best.raw.status != "iteration_limit" or usual >= most or asked.left <= 0:
        return best
    taken, steps, spent = chosen, best.raw.iterations, best.raw.seconds
    for backend in chosen.steady:
        if asked.left <= 0 or not backend.installed():
            continue
        gap = best.point.certificate.rel_gap
        why = f"it was not done after {chosen.expected:,.0f} steps; the relative gap is {gap:.1e}"
        taken = instead_of(taken, backend, why)
        seconds = max(_PATIENCE, _PATIENCE * best.raw.seconds)
        other = _tightened(asked, attempt(taken, best.raw.theta, seconds, most - steps))
        spent += other.raw.seconds
        if other.point.certificate.rel_gap < best.point.certificate.rel_gap:
            best = other
        ended = other.raw.status == "interrupted"
        if ended or best.point.certificate.status(options.tol, options.kkt_tol) == "optimal":
            status = "interrupted" if ended else best.raw.status
            return best._replace(raw=replace(best.raw, status=status, seconds=spent))
    proven = best.point.certificate.status(options.tol, options.kkt_tol)
    if proven == "optimal_inaccurate" and _loose_norms(asked.posed, best.point):  # more would say no more
        raw = replace(best.raw, status="stalled", message=_NOT_TIGHT, seconds=spent)
        return best._replace(raw=raw, chosen=replace(best.chosen, warnings=taken.warnings))
    again = attempt(replace(chosen, warnings=taken.warnings), best.raw.theta, math.inf, max(most - steps, 0))
    raw = replace(again.raw, iterations=steps + again.raw.iterations, seconds=spent + again.raw.seconds)
    if again.point.certificate.rel_gap > best.point.certificate.rel_gap:  # it may rise before it falls
        return best._replace(
            raw=replace(raw, theta=best.raw.theta), chosen=replace(best.chosen, warnings=taken.warnings)
        )
    return again._replace(raw=raw)


def _tightened(asked: _Asked, attempt: _Attempt) -> _Attempt:
    """Where a solver that says it is done is not done by the certificate: asked again for more, from where it is."""
    options = asked.options
    for factor in _STRICTER:
        raw, point, chosen = attempt
        left = asked.left
        proven = point.certificate.status(options.tol, options.kkt_tol)
        if proven == "optimal" or raw.status != "solved" or left <= 0:
            break
        kkt_tol = None if options.kkt_tol is None else options.kkt_tol * factor
        stricter = replace(options, tol=options.tol * factor, kkt_tol=kkt_tol, time_limit=left)
        again = chosen.backend.solve(point.lowered.problem, stricter, raw.theta, asked.progress)
        raw = replace(again, iterations=raw.iterations + again.iterations, seconds=raw.seconds + again.seconds)
        attempt = _Attempt(raw, certify(asked.posed, raw.theta, lowered=point.lowered), chosen)
    return attempt


def _by_others(asked: _Asked, attempt: _Attempt) -> _Attempt:
    """Where nothing can be claimed of an answer, others are tried in turn; the best answer is kept with its route."""
    posed, options = asked.posed, asked.options
    convex = _is_convex(posed)
    raw, point, chosen = attempt
    taken = chosen
    while convex and raw.status in _FELL_SHORT and not point.certificate.status(options.tol, options.kkt_tol):
        left = asked.left
        following = next_route(taken, f"{raw.message}; the relative gap is {point.certificate.rel_gap:.1e}")
        if following is None or left <= 0:
            break
        taken = following
        patience = max(_PATIENCE, _PATIENCE * raw.seconds)
        patient = replace(options, time_limit=min(left, patience))
        other = taken.backend.solve(point.lowered.problem, patient, raw.theta, asked.progress)
        if other.status in ("time_limit", "iteration_limit") and other.seconds < left:
            other = replace(other, status="stalled", message=f"{taken.backend.name} took too long")
        reached = certify(posed, other.theta, lowered=point.lowered)
        if reached.certificate.rel_gap < point.certificate.rel_gap:
            raw, point, chosen = other, reached, taken
        else:
            chosen = replace(chosen, warnings=taken.warnings)
    return _Attempt(raw, point, chosen)


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
    message = _INTERRUPTED if raw.status == "interrupted" else message
    if status == "optimal_inaccurate" and raw.status in _LIMITS:
        status = "user_limit"
    repairs = {name: space.repair for name, space in posed.spaces.items() if space.repair is not None}
    if any(not _is_known_convex(r) for r in repairs.values()):
        status = _stationary(status, point.certificate, options)
        message = _UNPROVEN if status == "optimal_inaccurate" else message
    notes = _notes(posed, point)
    if status == "optimal" and any(note.code == _LOOSE_NORM for note in notes):
        status, message = "optimal_inaccurate", _NOT_TIGHT  # of the relaxed problem: the norm asked for is not reached
    rounding = kernel_rounding(posed, point) if status == "optimal" and options.kkt_tol is None else 0.0
    if rounding > options.tol * max(1.0, abs(point.certificate.value)):
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
        start=Start(point.theta, point.lowered.problem.separable),
    )


def _is_convex(posed: Posed) -> bool:
    return all(space.repair is None or _is_known_convex(space.repair) for space in posed.spaces.values())


def _is_known_convex(repaired: Repair) -> bool:
    """Whether the Gram matrix solved with is positive semidefinite beyond doubt: else no gap proves anything."""
    verdict = repaired.report.verdict
    return verdict == "psd" or (verdict == "indefinite" and repaired.policy in ("clip", "shift"))


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
    for condition in _loose_norms(posed, point):
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


def _loose_norms(posed: Posed, point: Point) -> list[Condition]:
    """The bounds on a norm that are meant to be equations, and that the answer stays clear of."""
    bounds = (c for c in posed.derivation.primal.conditions if c.kind == "ball" and c.tight)
    return [condition for condition in bounds if _is_loose(condition, posed, point)]


def _is_loose(condition: Condition, posed: Posed, point: Point) -> bool:
    """Whether the unknowns stay clear of the norm that the condition asks for."""
    without = {name: unknown.scaled(0.0) for name, unknown in point.unknowns.items()}
    body, bound = (
        float(evaluate(condition.body, with_unknowns(posed.values, unknowns, posed.spaces)))
        for unknowns in (point.unknowns, without)
    )
    return body < _LOOSE * bound
