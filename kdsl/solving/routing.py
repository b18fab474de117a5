"""Chooses the backend for a normal form from its facts, says why in one sentence, and records every fallback."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile

from kdsl.language.diagnostics import Diagnostic, KdslError
from kdsl.solving.backends import registry
from kdsl.solving.backends.interface import Backend
from kdsl.solving.backends.registry import find_backend
from kdsl.solving.facts import Facts

FACTORISED = 5000  # equations up to which a linear system is factorised rather than iterated upon
PATIENT = 1000  # coordinates up to which one at a time is quick enough to stand in for the engine
NARROW = 1000  # coordinates from which on a Hessian of few columns is worth its own method
COLUMNS = 1000  # columns of the Hessian's factor and rows together that are few
SPARSE_COLUMNS = 300  # the same where the points are sparse: most of the factor's entries would be 0
LONG = 8  # coordinates for each of these
LOOSE_ROWS = 2  # rows that coordinate descent meets without much ado
READABLE = 200  # coordinates up to which the reference is quick enough to stand in for the engine
EXPECTED = (200_000, 100)  # steps, and for each coordinate, within which the engine is done, but for a few problems
# Whose time hardly depends on the numbers in a problem, and who keep to a limit of time, with the coordinates up to
# which they may be asked after that.
STEADY = {"lowrank": 50_000, "qpsolvers:clarabel": 800}


@dataclass(frozen=True)
class Route:
    """Who solves, why, what is to be known about the choice, and who could be asked if the answer falls short.

    `steady` may have a try where the backend takes more than `expected` steps, before it goes on. Whether any of those
    others are installed is asked when they are needed: it takes a search for their modules.
    """

    backend: Backend
    reason: str
    warnings: tuple[Diagnostic, ...] = ()
    alternatives: tuple[Backend, ...] = ()
    steady: tuple[Backend, ...] = ()
    expected: float = math.inf


def route(facts: Facts, requested: str | None = None, tol: float = 1e-6) -> Route:
    """The backend for a problem with these facts; `requested` overrides the choice.

    Only kdsl's own backends are chosen unasked, so nobody's entry points are read for that.
    """
    if requested is not None:
        return _as_asked(facts, requested, tol)
    by_name = {backend.name: backend for backend in registry.shipped()}
    names = preferences(facts)
    fit = tuple(by_name[name] for name in names if by_name[name].refusal(facts) is None)
    here = _installed(fit)
    if not here:
        raise KdslError([_nobody(facts, names)])
    backend, *others = here
    fallback = [] if backend is fit[0] else [_fallback(fit[0].name, backend.name)]
    warnings = (*fallback, *_inexact(backend, tol))
    chosen = Route(backend, _reason(facts, backend.name), warnings, tuple(others))
    if backend.name != "engine":
        return chosen
    able = (by_name[name] for name, most in STEADY.items() if facts.size <= most)
    steady = tuple(one for one in able if one.refusal(facts) is None)
    return replace(chosen, steady=steady, expected=EXPECTED[0] + EXPECTED[1] * facts.size if steady else math.inf)


def _installed(backends: tuple[Backend, ...]) -> tuple[Backend, ...]:
    """The backends from the first one on that is installed."""
    return tuple(dropwhile(lambda backend: not backend.installed(), backends))


def next_route(taken: Route, why: str) -> Route | None:
    """The route to the next backend after one that fell short, as its warning says; None if there is no other."""
    here = _installed(taken.alternatives)
    if not here:
        return None
    backend, *others = here
    return replace(instead_of(taken, backend, why), alternatives=tuple(others))


def instead_of(taken: Route, backend: Backend, why: str) -> Route:
    """The route to `backend` after one that fell short, as its warning says."""
    warning = Diagnostic(
        "K608",
        f"the backend `{taken.backend.name}` fell short, and `{backend.name}` was tried",
        why=why,
        help="name a backend with `--backend` to have no other",
        severity="warning",
    )
    reason = f"{taken.reason}; it fell short: by {backend.name}"
    return Route(backend, reason, (*taken.warnings, warning), taken.alternatives)


def preferences(facts: Facts) -> tuple[str, ...]:
    """The backends that fit, the best first."""
    general = _preferences(facts)
    if facts.gram_rank is None:
        return general
    columns = facts.gram_rank + facts.rows
    if facts.linear_system and facts.size <= FACTORISED:  # where rounding hides what is added to the Gram matrix
        return (general[0], "lowrank", *general[1:]) if columns <= COLUMNS else general
    if facts.size < NARROW:
        return general
    if columns <= (SPARSE_COLUMNS if facts.sparse else COLUMNS) and LONG * columns <= facts.size:
        return ("lowrank", *general)
    if facts.sparse and facts.rows <= LOOSE_ROWS and not facts.linear_system:
        return ("sparse-linear", *general)
    return general


def _preferences(facts: Facts) -> tuple[str, ...]:
    """The same for Hessians of any rank."""
    explicit = ("qpsolvers:piqp", "qpsolvers:clarabel", "osqp")
    if facts.entropies:
        return ("newton",)
    if facts.linear_system:
        first = ("direct", "cg") if facts.size <= FACTORISED or not facts.curved else ("cg", "direct")
        return (*first, "engine", *explicit)
    if facts.rows == 0:
        return ("engine", "coordinate", *explicit) if facts.size <= PATIENT else ("engine", *explicit, "coordinate")
    if facts.size <= READABLE:
        return ("engine", "reference", *explicit)
    return ("engine", *explicit, "reference")


def _as_asked(facts: Facts, requested: str, tol: float) -> Route:
    backend = find_backend(requested)
    refusal = backend.refusal(facts)
    if refusal is not None:
        raise KdslError(
            [
                Diagnostic(
                    "K601",
                    f"the backend `{requested}` cannot take this problem",
                    why=f"{refusal}; the problem has {facts.describe()}",
                    help="leave the choice to kdsl, or see `kdsl backends` for what each can take",
                )
            ]
        )
    return Route(backend, f"asked for: {_problem(facts)}", tuple(_inexact(backend, tol)))


def _inexact(backend: Backend, tol: float) -> list[Diagnostic]:
    if backend.accuracy <= tol:
        return []
    return [
        Diagnostic(
            "K605",
            f"the backend `{backend.name}` declares a relative gap of {backend.accuracy:g}, and {tol:g} is asked for",
            why="it may stop short; the certificate will say so",
            help=f"choose another backend, or `--tol {backend.accuracy:g}`",
            severity="warning",
        )
    ]


def _fallback(name: str, instead: str) -> Diagnostic:
    return Diagnostic(
        "K606",
        f"the backend `{name}` comes first for this problem; `{instead}` solves it instead",
        why=f"`{name}` is not installed",
        help="build kdsl with its compiled core" if name == "engine" else "`kdsl backends` says what is missing",
        severity="warning",
    )


def _nobody(facts: Facts, names: Sequence[str]) -> Diagnostic:
    return Diagnostic(
        "K607",
        "no installed backend takes this problem",
        why=f"the problem has {facts.describe()}; tried in vain: {', '.join(names)}",
        help="`kdsl backends` lists what is installed; the engine takes every problem",
    )


def _problem(facts: Facts) -> str:
    """What kind of problem it is, in a few words."""
    if facts.linear_system:
        rows = "" if facts.rows == 0 else f" and {_number(facts.rows, 'row')}"
        return f"no box and a quadratic cost: a linear system of {_number(facts.size, 'equation')}{rows}"
    if facts.entropies:
        return f"{_number(facts.rows, 'row')} and entropies, {_number(facts.size, 'multiplier')}"
    box = "a box" if facts.boxed else "no box"
    cost = ", a piecewise cost" if facts.kinks else ""
    return f"{_number(facts.rows, 'row')} and {box}{cost}, {_number(facts.size, 'multiplier')}"


def _reason(facts: Facts, name: str) -> str:
    method = METHODS.get(name)
    how = method(facts) if method else f"solved by {name}"
    return f"{_problem(facts)}{',' if facts.linear_system else ':'} {how}"


def _directions(facts: Facts) -> str:
    """How the engine moves on this problem."""
    if facts.rows == 0:
        moves = "one multiplier at a time"
    elif facts.shared == 0 or facts.row_rank == 1:
        moves = "sequential minimal optimisation on pairs"
    else:
        moves = f"sequential minimal optimisation on up to {facts.row_rank + 1} multipliers"
    return f"{moves}, by the engine"


def _primal_side(facts: Facts) -> str:
    columns = _number((facts.gram_rank or 0) + facts.rows, "unknown")
    if facts.linear_system:
        return f"solved by Cholesky on the primal side, with {columns}"
    return f"an interior point method on the primal side, with {columns}"


METHODS: dict[str, Callable[[Facts], str]] = {
    "direct": lambda facts: "solved by Cholesky",
    "cg": lambda facts: "too large to factorise, solved by conjugate gradients",
    "engine": _directions,
    "lowrank": _primal_side,
    "sparse-linear": lambda facts: "coordinate descent with w at hand, for linear kernels on sparse points",
    "newton": lambda facts: "Newton's method",
    "reference": lambda facts: "small enough for the reference",
    "coordinate": lambda facts: "one multiplier at a time",
    "osqp": lambda facts: "an explicit quadratic program, by osqp",
    "qpsolvers:piqp": lambda facts: "an explicit quadratic program, by piqp",
    "qpsolvers:clarabel": lambda facts: "an explicit quadratic program, by clarabel",
}


def _number(count: int, noun: str) -> str:
    words = {0: "no", 1: "one", 2: "two", 3: "three"}
    return f"{words.get(count, f'{count:,}')} {noun}" + ("" if count == 1 else "s")
