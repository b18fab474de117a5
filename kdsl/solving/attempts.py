"""Asks backends for an answer that is proven: more of the first, then others, while what they say is not enough."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import NamedTuple

from kdsl.binding.psd import Repair
from kdsl.numerics.arrays import Floats
from kdsl.solving.backends.interface import Options, Progress
from kdsl.solving.certify import Point, certify
from kdsl.solving.loose_norms import NOT_TIGHT, loose_norms
from kdsl.solving.lowering import Lowered
from kdsl.solving.posed import Posed
from kdsl.solving.raw_solution import RawSolution
from kdsl.solving.routing import Route, instead_of, next_route

# What a backend may say when another is worth a try.
FELL_SHORT = ("solved", "stalled", "solver_error", "infeasible", "unbounded")
_STRICTER = (1e-2, 1e-4)  # how much more is asked for where the certificate is not satisfied,
_SMALLER = (0.5, 1e-2)  # and where that may be for the problem is smaller than what backends measure by
_ROUND = 20.0  # times the steps that a backend is expected to take, after which it is asked whether the gap falls:
_FALLS, _FRUITLESS = 0.9, 3  # to less than this share of what it was, or so many rounds are enough
_PATIENCE = 10.0  # seconds that a fallback may take, and times what the first choice took


class Asked(NamedTuple):
    """What is asked for, of what, and since when: the same for each attempt."""

    posed: Posed
    options: Options
    progress: Progress | None
    began: float

    @property
    def left(self) -> float:
        return self.options.time_limit - (time.perf_counter() - self.began)


class Attempt(NamedTuple):
    """A backend's answer, and what it proves."""

    raw: RawSolution
    point: Point
    chosen: Route


def solved(asked: Asked, lowered: Lowered, chosen: Route, begin: Floats | None) -> Attempt:
    """The best answer of the chosen backend and of those that stand in for it."""
    return _by_others(asked, _by_choice(asked, lowered, chosen, begin))


def _by_choice(asked: Asked, lowered: Lowered, chosen: Route, begin: Floats | None) -> Attempt:
    """The answer of the chosen backend; where that takes unusually long, steady ones have a try before it goes on.

    What is unusual is told in steps, not in seconds: the same input gives the same answer.
    """
    options = asked.options
    most = math.inf if options.max_iterations is None else options.max_iterations
    usual = chosen.expected if is_convex(asked.posed) else math.inf

    def attempt(route: Route, from_there: Floats | None, seconds: float, steps: float) -> Attempt:
        return one_backend(asked, lowered, route, from_there, seconds, steps)

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
        other = attempt(taken, best.raw.theta, max(_PATIENCE, _PATIENCE * best.raw.seconds), most - steps)
        spent += other.raw.seconds
        if other.point.certificate.rel_gap < best.point.certificate.rel_gap:
            best = other
        ended = other.raw.status == "interrupted"
        if ended or best.point.certificate.status(options.tol, options.kkt_tol) == "optimal":
            status = "interrupted" if ended else best.raw.status
            return best._replace(raw=replace(best.raw, status=status, seconds=spent))
    proven = best.point.certificate.status(options.tol, options.kkt_tol)
    if proven == "optimal_inaccurate" and loose_norms(asked.posed, best.point):  # more would say no more
        raw = replace(best.raw, status="stalled", message=NOT_TIGHT, seconds=spent)
        return best._replace(raw=raw, chosen=replace(best.chosen, warnings=taken.warnings))
    return _while_it_falls(asked, lowered, replace(chosen, warnings=taken.warnings), best, steps, spent)


def _while_it_falls(asked: Asked, lowered: Lowered, chosen: Route, best: Attempt, steps: int, spent: float) -> Attempt:
    """The backend goes on from there, for as long as its gap falls; it has taken so many steps and seconds before."""
    most = math.inf if asked.options.max_iterations is None else asked.options.max_iterations
    fruitless, mark, here = 0, best.point.certificate.rel_gap, best.raw.theta
    while True:
        some = max(min(most - steps, _ROUND * chosen.expected), 0)
        again = one_backend(asked, lowered, chosen, here, steps=some)
        here = again.raw.theta
        steps, spent = steps + again.raw.iterations, spent + again.raw.seconds
        raw = replace(again.raw, iterations=steps, seconds=spent)
        if again.point.certificate.rel_gap > best.point.certificate.rel_gap:  # it may rise before it falls
            kept = replace(raw, theta=best.raw.theta)
            best = best._replace(raw=kept, chosen=replace(best.chosen, warnings=chosen.warnings))
        else:
            best = again._replace(raw=raw)
        if raw.status != "iteration_limit" or steps >= most or asked.left <= 0:
            return best
        gap = best.point.certificate.rel_gap
        fruitless, mark = (0, gap) if gap < _FALLS * mark else (fruitless + 1, mark)
        if fruitless == _FRUITLESS:
            message = f"the gap has not fallen in the last {_FRUITLESS * some:,.0f} of {steps:,} steps"
            return best._replace(raw=replace(best.raw, status="stalled", message=message))


def one_backend(
    asked: Asked,
    lowered: Lowered,
    chosen: Route,
    begin: Floats | None = None,
    seconds: float = math.inf,
    steps: float = math.inf,
) -> Attempt:
    """The answer of one backend, which is asked for more while it says that it is done and its certificate does not."""
    patient = replace(asked.options, time_limit=min(asked.left, seconds), max_iterations=_whole(steps))
    return _tightened(asked, _attempt(asked, lowered, chosen, patient, begin), steps)


def _attempt(asked: Asked, lowered: Lowered, chosen: Route, options: Options, begin: Floats | None) -> Attempt:
    raw = chosen.backend.answer(lowered.problem, options, begin, asked.progress)
    return Attempt(raw, certify(asked.posed, raw.theta, lowered=lowered), chosen)


def _whole(steps: float) -> int | None:
    return None if math.isinf(steps) else int(steps)


def _tightened(asked: Asked, attempt: Attempt, most: float) -> Attempt:
    """Where a solver that says it is done is not done by the certificate: asked again for more, from where it is.

    `most` is the number of steps that it may take for all of it.
    """
    options = asked.options
    for before in range(len(_STRICTER)):
        raw, point, chosen = attempt
        left = asked.left
        proven = point.certificate.status(options.tol, options.kkt_tol)
        if proven == "optimal" or raw.status != "solved" or left <= 0:
            break
        steps = _whole(max(most - raw.iterations, 0))
        more = replace(for_more(options, point, before), time_limit=left, max_iterations=steps)
        again = _attempt(asked, point.lowered, chosen, more, raw.theta)
        iterations, seconds = raw.iterations + again.raw.iterations, raw.seconds + again.raw.seconds
        attempt = again._replace(raw=replace(again.raw, iterations=iterations, seconds=seconds))
    return attempt


def for_more(options: Options, point: Point, before: int) -> Options:
    """The tolerances when a backend was asked for more so often before.

    Backends measure by 1 what the certificate measures by its size, which may be less; where the value is a root, they
    see its square.
    """
    size = point.certificate.size ** (2 if point.lowered.squared else 1)
    factor = _SMALLER[before] * size if 0.0 < size < 1.0 else _STRICTER[before]
    kkt_tol = None if options.kkt_tol is None else options.kkt_tol * _STRICTER[before]
    return replace(options, tol=options.tol * factor, kkt_tol=kkt_tol)


def _by_others(asked: Asked, attempt: Attempt) -> Attempt:
    """Where nothing can be claimed of an answer, others are tried in turn; the best answer is kept with its route."""
    options, convex = asked.options, is_convex(asked.posed)
    raw, point, chosen = attempt
    taken = chosen
    while convex and raw.status in FELL_SHORT and not point.certificate.status(options.tol, options.kkt_tol):
        left = asked.left
        following = next_route(taken, f"{raw.message}; the relative gap is {point.certificate.rel_gap:.1e}")
        if following is None or left <= 0:
            break
        taken = following
        patience = max(_PATIENCE, _PATIENCE * raw.seconds)
        patient = replace(options, time_limit=min(left, patience))
        other, reached, _ = _attempt(asked, point.lowered, taken, patient, raw.theta)
        proven = reached.certificate.status(options.tol, options.kkt_tol) == "optimal"
        if other.status in ("time_limit", "iteration_limit") and other.seconds < left and not proven:
            other = replace(other, status="stalled", message=f"{taken.backend.name} took too long")
        if reached.certificate.rel_gap < point.certificate.rel_gap:
            raw, point, chosen = other, reached, taken
        else:
            chosen = replace(chosen, warnings=taken.warnings)
    return Attempt(raw, point, chosen)


def is_convex(posed: Posed) -> bool:
    return all(space.repair is None or is_known_convex(space.repair) for space in posed.spaces.values())


def is_known_convex(repaired: Repair) -> bool:
    """Whether the Gram matrix solved with is positive semidefinite beyond doubt: else no gap proves anything."""
    verdict = repaired.report.verdict
    return verdict == "psd" or (verdict == "indefinite" and repaired.policy in ("clip", "shift"))
