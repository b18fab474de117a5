"""Guards the backends of other distributions: one that raises, or returns no point, has failed and broken nothing."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from kdsl.numerics.arrays import Floats
from kdsl.solving.backends.interface import Backend, Options, Progress
from kdsl.solving.normal_form import NormalForm
from kdsl.solving.raw_solution import RawSolution


def guarded(backend: Backend) -> Backend:
    """The same backend, whose failures are answers with the status `solver_error`; the callback's are its own."""

    def solve(
        problem: NormalForm, options: Options, start: Floats | None = None, progress: Progress | None = None
    ) -> RawSolution:
        began = time.perf_counter()
        heard = None if progress is None else _Heard(progress)
        try:
            found: object = backend.solve(problem, options, start, heard)
        except Exception as error:  # whatever a stranger's solver does wrong
            fault = f"raised {type(error).__name__}: {error}"
        else:
            fault = _fault(found, problem.size)
        if heard is not None and heard.error is not None:
            raise heard.error
        if not fault:
            assert isinstance(found, RawSolution)
            return found
        theta = np.zeros(problem.size) if start is None else start
        return RawSolution(theta, 0, "solver_error", f"`{backend.name}` {fault}", time.perf_counter() - began)

    return replace(backend, solve=solve)


class _Heard:
    """A callback that remembers what it raised, whatever the solver makes of it."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self.error: Exception | None = None

    def __call__(self, iterations: int, gap: float) -> bool | None:
        try:
            return self._progress(iterations, gap)
        except Exception as error:
            self.error = error
            raise


def _fault(found: object, size: int) -> str:
    """What is wrong with an answer, "" for nothing."""
    if not isinstance(found, RawSolution):
        return f"returned {type(found).__name__}, not a RawSolution"
    if np.shape(found.theta) != (size,):
        return f"returned a point of shape {np.shape(found.theta)}, not of {size} coordinates"
    return "" if bool(np.isfinite(found.theta).all()) else "returned a point that is not finite"
