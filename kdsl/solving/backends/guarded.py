"""Guards the backends of other distributions: one that raises, or returns no point, has failed and broken nothing."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from kdsl.solving.backends.interface import Backend, Options, Progress
from kdsl.solving.normal_form import Floats, NormalForm
from kdsl.solving.raw_solution import RawSolution


def guarded(backend: Backend) -> Backend:
    """The same backend, whose failures are answers with the status `solver_error`."""

    def solve(
        problem: NormalForm, options: Options, start: Floats | None = None, progress: Progress | None = None
    ) -> RawSolution:
        began = time.perf_counter()
        try:
            found: object = backend.solve(problem, options, start, progress)
        except Exception as error:  # whatever a stranger's solver does wrong
            fault = f"`{backend.name}` raised {type(error).__name__}: {error}"
        else:
            fault = _fault(found, problem.size)
            if not fault:
                assert isinstance(found, RawSolution)
                return found
            fault = f"`{backend.name}` {fault}"
        theta = np.zeros(problem.size) if start is None else start
        return RawSolution(theta, 0, "solver_error", fault, time.perf_counter() - began)

    return replace(backend, solve=solve)


def _fault(found: object, size: int) -> str:
    """What is wrong with an answer, "" for nothing."""
    if not isinstance(found, RawSolution):
        return f"returned {type(found).__name__}, not a RawSolution"
    if np.shape(found.theta) != (size,):
        return f"returned a point of shape {np.shape(found.theta)}, not of {size} coordinates"
    return "" if bool(np.isfinite(found.theta).all()) else "returned a point that is not finite"
