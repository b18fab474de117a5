"""What a backend is: a name, what it can take and how exactly it solves it, and one function."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from kdsl.numerics.arrays import Floats
from kdsl.solving.facts import Facts
from kdsl.solving.normal_form import NormalForm
from kdsl.solving.raw_solution import RawSolution

Progress = Callable[[int, float], bool | None]  # iterations and a gap; True stops the solve
STOPPED = "stopped by the callback"


@dataclass(frozen=True)
class Options:
    """What is asked of a solve; a backend obeys the limits that it can.

    The relative duality gap is to be at most `tol`, or, where `kkt_tol` is given, LIBSVM's m - M at most that.
    """

    tol: float = 1e-6
    kkt_tol: float | None = None
    max_iterations: int | None = None
    time_limit: float = math.inf
    threads: int | None = None
    memory: float | None = None
    seed: int = 0
    verbose: bool = False


class Solve(Protocol):
    def __call__(
        self, problem: NormalForm, options: Options, start: Floats | None = None, progress: Progress | None = None
    ) -> RawSolution: ...


@dataclass(frozen=True)
class Backend:
    """A solver of normal forms. `takes` is for people; `accepts` gives the reason why a problem is refused.

    `entropies` says that problems with entropies are taken, of which all others are spared.
    `accuracy` is the rel_gap that it reaches on problems that it accepts; `package` is the distribution that must be
    installed, "" for a part of kdsl.
    """

    name: str
    takes: str
    accuracy: float
    licence: str
    package: str
    accepts: Callable[[Facts], str | None]
    installed: Callable[[], bool]
    version: Callable[[], str]
    solve: Solve
    entropies: bool = False

    def refusal(self, facts: Facts) -> str | None:
        """Why a problem with these facts is refused, None if it is taken."""
        if facts.entropies and not self.entropies:
            return "it takes no entropies, which logistic and multinomial losses have in the dual"
        return self.accepts(facts)

    def answer(
        self, problem: NormalForm, options: Options, start: Floats | None = None, progress: Progress | None = None
    ) -> RawSolution:
        """What it finds, unless the callback stops it before its first step."""
        if is_stopped(progress):
            t = np.zeros(problem.size) if start is None else start
            theta = np.clip(t, problem.separable.lower, problem.separable.upper)
            return RawSolution(theta, 0, "interrupted", STOPPED, 0.0)
        if problem.size == 0:
            return RawSolution(np.zeros(0), 0, "solved", "there is no multiplier", 0.0)
        return self.solve(problem, options, start, progress)


def is_stopped(progress: Progress | None) -> bool:
    """Whether the callback wants no first step."""
    return progress is not None and bool(progress(0, math.inf))


def is_importable(module: str) -> bool:
    """Whether a module is there, without importing it (its parent package is imported)."""
    from importlib.util import find_spec

    if sys.modules.get(module) is not None:
        return True
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def version_of(distribution: str) -> str:
    """The installed version of a distribution, "" if there is none."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""


def part_of_kdsl(
    name: str,
    takes: str,
    accuracy: float,
    accepts: Callable[[Facts], str | None],
    solve: Solve,
    *,
    compiled: bool = False,
    entropies: bool = False,
) -> Backend:
    """A backend that comes with kdsl; `compiled` says that it needs the core."""
    return Backend(
        name=name,
        takes=takes,
        accuracy=accuracy,
        licence="BSD-3-Clause",
        package="",
        accepts=accepts,
        installed=lambda: not compiled or is_importable("kdsl._core"),
        version=_own_version,
        solve=solve,
        entropies=entropies,
    )


def _own_version() -> str:
    from kdsl import __version__

    return __version__
