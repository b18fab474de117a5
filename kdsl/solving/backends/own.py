"""The two solvers of kdsl that take every normal form: the compiled engine, and the readable reference."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from kdsl.numerics.arrays import Floats
from kdsl.solving.backends.interface import Options, Progress, part_of_kdsl
from kdsl.solving.facts import Facts
from kdsl.solving.normal_form import NormalForm
from kdsl.solving.raw_solution import RawSolution

if TYPE_CHECKING:
    from kdsl.solving.backends.engine import Strategy

LARGEST_REFERENCE = 1000
STRATEGIES: tuple[Strategy, ...] = ("full", "stored_rows", "working_set")


def _engine(
    problem: NormalForm,
    options: Options,
    start: Floats | None = None,
    progress: Progress | None = None,
    strategy: Strategy = "automatic",
) -> RawSolution:
    from kdsl.solving.backends import engine

    return engine.solve(
        problem,
        start,
        options.tol,
        options.max_iterations,
        progress,
        kkt_tol=options.kkt_tol,
        time_limit=options.time_limit,
        threads=options.threads,
        memory=options.memory,
        strategy=strategy,
    )


def _reference(
    problem: NormalForm, options: Options, start: Floats | None = None, progress: Progress | None = None
) -> RawSolution:
    """The reference stops on m - M; its gap is asked to be a hundredth of the duality gap wanted."""
    from kdsl.solving.backends import reference

    began = time.perf_counter()
    late = False

    def watch(iteration: int, gap: float) -> bool:
        nonlocal late
        late = time.perf_counter() - began > options.time_limit
        return late or (progress is not None and iteration % 64 == 0 and bool(progress(iteration, gap)))

    tolerance = max(options.tol / 100, 1e-11) if options.kkt_tol is None else options.kkt_tol
    found = reference.solve(problem, start, tolerance, options.max_iterations or 1_000_000, watch)
    return replace(found, status="time_limit", message="the time limit was reached") if late else found


def _small(facts: Facts) -> str | None:
    if facts.size > LARGEST_REFERENCE:
        return f"it is written to be read; its limit is {LARGEST_REFERENCE:,} coordinates, here are {facts.size:,}"
    return None


def _any(facts: Facts) -> str | None:
    return None


ENGINE = part_of_kdsl(
    name="engine",
    takes="every normal form of any size; sequential minimal optimisation in compiled code",
    accuracy=1e-9,
    accepts=_any,
    compiled=True,
    solve=_engine,
)
REFERENCE = part_of_kdsl(
    name="reference",
    takes="every normal form of up to 1,000 coordinates; the engine's algorithm, written to be read",
    accuracy=1e-6,
    accepts=_small,
    solve=_reference,
)
BACKENDS = (ENGINE, REFERENCE)
# By name only: the engine chooses for itself. What a kernel cannot offer stays its own choice.
FORCED = tuple(
    replace(ENGINE, name=f"engine:{strategy}", solve=partial(_engine, strategy=strategy)) for strategy in STRATEGIES
)
