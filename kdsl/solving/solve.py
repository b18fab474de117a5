"""Derivation + data -> Solution: lower, route, solve, recover, certify, each by its own module."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kdsl.algebra.derivation import Derivation
from kdsl.algebra.energies import Energies, energies_of
from kdsl.algebra.numeric import Array, Values, evaluate
from kdsl.algebra.primal import Condition
from kdsl.algebra.terms import Vec
from kdsl.binding.bound import Bound
from kdsl.binding.kernels import DEFAULT_MEMORY, Kernel
from kdsl.language.diagnostics import Diagnostic, KdslError
from kdsl.models.predictor import Expanded, Predictor
from kdsl.models.solution import Solution, Support
from kdsl.solving.backends.interface import Options, Progress
from kdsl.solving.certificate import (
    Certificate,
    Products,
    Residual,
    kkt_gap,
    normal_form_value,
    relative_gap,
    residuals,
)
from kdsl.solving.facts import facts_of
from kdsl.solving.feasible import feasible_point
from kdsl.solving.lowering import Lowered, lower
from kdsl.solving.normal_form import Floats
from kdsl.solving.raw_solution import RawSolution
from kdsl.solving.routing import Route, route
from kdsl.solving.scalar_problem import ScalarProblem, scalar_problem
from kdsl.solving.scalars import Scalars, minimise_scalars
from kdsl.solving.spaces import Space, build_spaces, problem_values
from kdsl.solving.unknowns import HilbertUnknown, exact_multipliers, hilbert_unknowns, with_unknowns

_STRICTER = (1e-2, 1e-4)  # how much more is asked for where the certificate is not satisfied
_LIMITS = {"iteration_limit": "user_limit", "time_limit": "user_limit", "interrupted": "user_limit"}


@dataclass(frozen=True, eq=False)
class Posed:
    """A derivation with its data, ready to be solved."""

    derivation: Derivation
    bound: Bound
    parameters: Mapping[str, float]
    kernels: Mapping[str, Kernel]
    spaces: Mapping[str, Space]
    values: Values
    energies: Energies


@dataclass(frozen=True, eq=False)
class Point:
    """A primal and a dual point of a posed problem, and what they prove."""

    lowered: Lowered
    theta: Floats
    multipliers: Mapping[str, Array]
    unknowns: Mapping[str, HilbertUnknown]
    scalar_problem: ScalarProblem
    scalars: Scalars
    certificate: Certificate


def pose(
    derivation: Derivation,
    bound: Bound,
    parameters: Mapping[str, float],
    kernels: Mapping[str, Kernel],
    memory: int = DEFAULT_MEMORY,
) -> Posed:
    """What can be prepared before any choice of a solver."""
    energies = energies_of(derivation)
    if energies is None or energies.dual.entropies or energies.dual.cones:
        raise KdslError(
            [
                Diagnostic(
                    "K610",
                    "this dual is not a quadratic program in its multipliers",
                    why="entropies, cones and several norm bounds need a conic solver on explicit features",
                    help="`kdsl derive --verify` still derives and checks it",
                )
            ]
        )
    spaces = build_spaces(derivation, bound, kernels, memory)
    return Posed(derivation, bound, parameters, kernels, spaces, problem_values(bound, parameters, spaces), energies)


def solve_posed(
    posed: Posed,
    options: Options,
    backend: str | None = None,
    start: Floats | None = None,
    progress: Progress | None = None,
) -> Solution:
    """The certified solution of a posed problem."""
    began = time.perf_counter()
    if posed.energies.outer is not None:
        from kdsl.solving.norm_search import search_norm

        raw, chosen, outer = search_norm(posed, options, backend, progress)
    else:
        lowered = lower(posed.energies, posed.values, posed.spaces)
        chosen = route(facts_of(lowered.problem), backend, options.tol)
        raw = chosen.backend.solve(lowered.problem, options, start, progress)
        outer = None
    point = certify(posed, raw.theta, outer)
    if outer is None:
        raw, point = _tightened(posed, options, chosen, raw, point, began, progress)
    total = time.perf_counter() - began
    seconds = {"solve": raw.seconds, "total": total}
    return _solution(posed, point, raw, chosen, options, seconds)


def _tightened(
    posed: Posed,
    options: Options,
    chosen: Route,
    raw: RawSolution,
    point: Point,
    began: float,
    progress: Progress | None,
) -> tuple[RawSolution, Point]:
    """Where a solver that says it is done is not done by the certificate: asked again for more, from where it is."""
    for factor in _STRICTER:
        proven = point.certificate.status(options.tol, options.kkt_tol)
        left = options.time_limit - (time.perf_counter() - began)
        if proven == "optimal" or raw.status != "solved" or left <= 0:
            break
        kkt_tol = None if options.kkt_tol is None else options.kkt_tol * factor
        stricter = replace(options, tol=options.tol * factor, kkt_tol=kkt_tol, time_limit=left)
        again = chosen.backend.solve(point.lowered.problem, stricter, raw.theta, progress)
        raw = replace(again, iterations=raw.iterations + again.iterations, seconds=raw.seconds + again.seconds)
        point = certify(posed, raw.theta)
    return raw, point


# ------------------------------------------------------------------ certifying


def certify(posed: Posed, theta: Floats, outer: float | None = None) -> Point:
    """The best primal point for the Hilbert part of theta, the nearest feasible dual point, and their gap."""
    derivation, energies = posed.derivation, posed.energies
    lowered = lower(energies, posed.values, posed.spaces, outer)
    theta, row_residual = feasible_point(lowered.problem, theta)
    products = Products.at(lowered.problem, theta)
    pairs = energies.folding.pairs == derivation.folding.pairs
    kept = None if energies.outer is None or outer is None else (energies.outer, outer)
    multipliers = exact_multipliers(derivation, lowered, theta, posed.values, pairs, kept)
    norm = None if energies.norm is None else float(multipliers[energies.norm.label])
    unknowns = hilbert_unknowns(derivation, lowered, products, posed.spaces, norm)
    unknowns = _inside_balls(posed, unknowns)
    values = with_unknowns(posed.values, unknowns, posed.spaces)
    problem = scalar_problem(derivation, values)
    scalars = minimise_scalars(problem)
    value = problem.value(scalars.z)
    lowest = normal_form_value(lowered.problem, theta, products)
    dual = -float(np.sqrt(max(lowest, 0.0))) if lowered.squared else -lowest
    arrays = {**values.arrays, **{name: family.read(scalars.z) for name, family in problem.families.items()}}
    found = residuals(derivation, replace(values, arrays=arrays, multipliers=multipliers))
    sense = derivation.primal.sense
    certificate = Certificate(
        sense * value,
        sense * dual,
        abs(value - dual),
        relative_gap(value, dual),
        kkt_gap(lowered.problem, theta, products) if not lowered.squared else None,
        found,
        _feasibility(derivation, found),
        row_residual,
    )
    return Point(lowered, theta, multipliers, unknowns, problem, scalars, certificate)


def _feasibility(derivation: Derivation, found: tuple[Residual, ...]) -> float:
    labels = {condition.label for condition in derivation.primal.conditions}
    return max((r.value for r in found if r.condition in labels), default=0.0)


def _inside_balls(posed: Posed, unknowns: Mapping[str, HilbertUnknown]) -> dict[str, HilbertUnknown]:
    """Every unknown with a bound on its norm, shrunk to it where rounding or the search left it outside."""
    result = dict(unknowns)
    for condition in posed.derivation.primal.conditions:
        if condition.kind == "ball":
            name = next(name for role, name in condition.body.symbols() if role == "vector")
            values = with_unknowns(posed.values, result, posed.spaces)
            factor = _shrinking(condition, values, result[name])
            if factor < 1.0:
                result[name] = result[name].scaled(factor)
    return result


def _shrinking(condition: Condition, values: Values, unknown: HilbertUnknown) -> float:
    """The factor t <= 1 with a t^2 |w|^2 - c <= 0 where the condition reads a |w|^2 - c <= 0."""
    body = float(evaluate(condition.body, values))
    constant = float(evaluate(condition.body, _without_norm(values)))
    if body <= 0:
        return 1.0
    return float(np.sqrt(max(-constant, 0.0) / (body - constant)))


def _without_norm(values: Values) -> Values:
    def zero(vec: Vec) -> Array:
        return np.zeros_like(values.diagonal(vec))

    return replace(values, diagonal=zero)


# ---------------------------------------------------------------- the solution


def _solution(
    posed: Posed, point: Point, raw: RawSolution, chosen: Route, options: Options, seconds: Mapping[str, float]
) -> Solution:
    proven = point.certificate.status(options.tol, options.kkt_tol)
    status = proven or _LIMITS.get(raw.status, "solver_error")
    if status == "optimal_inaccurate" and raw.status in _LIMITS:
        status = "user_limit"
    families = point.scalar_problem.families
    scalars = {
        name: float(family.read(point.scalars.z)) for name, family in families.items() if not family.unknown.indices
    }
    slacks = {name: family.read(point.scalars.z) for name, family in families.items() if family.unknown.indices}
    intervals = {}
    if point.scalars.interval is not None and _is_wide(point.scalars.interval, options.tol):
        name = next(n for n, f in families.items() if point.scalars.column in f.members)
        intervals[name] = point.scalars.interval
    return Solution(
        status,
        raw.message,
        chosen.backend.name,
        chosen.reason,
        point.certificate,
        scalars,
        slacks,
        point.multipliers,
        intervals,
        _support(point),
        _quantities(posed, point),
        posed.parameters,
        raw.iterations,
        seconds,
        (*posed.bound.warnings, *chosen.warnings),
        posed.derivation,
        posed.bound,
        predictor_of(posed, point),
    )


def _is_wide(interval: tuple[float, float], tol: float) -> bool:
    """Whether an interval is more than the inaccuracy of the solution."""
    low, high = interval
    return high - low > 100 * tol * max(1.0, abs(low), abs(high))


def _support(point: Point) -> Support:
    h, theta = point.lowered.problem.separable, point.theta
    size = max(1.0, float(np.abs(theta).max(initial=0.0)))
    active = np.abs(theta) > 1e-9 * size
    at_bound = active & (_near(theta, h.lower, size) | _near(theta, h.upper, size))
    return Support(int(active.sum()), int(at_bound.sum()), int(active.sum() - at_bound.sum()))


def _near(theta: Floats, bound: Floats, size: float) -> NDArray[np.bool_]:
    finite = np.isfinite(bound)
    return np.asarray(finite & (np.abs(theta - np.where(finite, bound, 0.0)) <= 1e-9 * size))


def _quantities(posed: Posed, point: Point) -> dict[str, float]:
    """Squared norms of the Hilbert unknowns and the total of every family of slacks."""
    result = {}
    for name, unknown in point.unknowns.items():
        norms = unknown.squared_norms()
        if norms.size == 1:
            result[f"||{name}||^2"] = float(norms.reshape(-1)[0])
    for name, family in point.scalar_problem.families.items():
        if family.unknown.indices and family.unknown.origin == "declared":
            result[f"sum {name}"] = float(family.read(point.scalars.z).sum())
    return result


def predictor_of(posed: Posed, point: Point) -> Predictor:
    """The expansions cut down to the points that carry them."""
    used: dict[str, np.ndarray] = {}
    for unknown in point.unknowns.values():
        carrying = np.any(unknown.coefficients != 0, axis=0)
        used[unknown.space] = used.get(unknown.space, np.zeros(len(carrying), dtype=bool)) | carrying
    support = {}
    for name, mask in used.items():
        oracle = posed.spaces[name].oracle
        support[name] = oracle.points[np.flatnonzero(mask)]  # type: ignore[attr-defined]
    vectors = {
        name: Expanded(name, u.space, u.shape, u.coefficients[:, used[u.space]], u.squared_norms())
        for name, u in point.unknowns.items()
    }
    scalars: dict[str, Array] = {}
    for name, family in point.scalar_problem.families.items():
        value = family.read(point.scalars.z)
        if family.unknown.origin == "square":
            scalars[family.unknown.shown] = np.sqrt(np.maximum(value, 0.0))
        elif family.unknown.origin == "declared":
            scalars[name] = value
    return Predictor(
        posed.derivation.model, posed.kernels, support, vectors, scalars, dict(posed.parameters), posed.bound.sizes
    )
