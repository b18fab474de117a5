"""A stranger's backend that raises, or returns no point, ends as a solver_error with its own words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from random_forms import KINDS, random_form

from kdsl.solving.backends.guarded import guarded
from kdsl.solving.backends.interface import Backend, Options, Progress
from kdsl.solving.backends.registry import find_backend
from kdsl.solving.raw_solution import RawSolution

PROBLEM = random_form(next(kind for kind in KINDS if kind.name == "svm_without_bias"))


def backend_with(answer: Any) -> Backend:
    def solve(*_: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    return replace(find_backend("engine"), name="stranger", solve=solve)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (ValueError("no licence"), "`stranger` raised ValueError: no licence"),
        (np.zeros(3), "`stranger` returned ndarray, not a RawSolution"),
        (RawSolution(np.zeros(1), 1, "solved", "", 0.0), "`stranger` returned a point of shape (1,), not of "),
        (
            RawSolution(np.full(PROBLEM.size, np.nan), 1, "solved", "", 0.0),
            "`stranger` returned a point that is not finite",
        ),
    ],
)
def test_its_failure_is_an_answer(answer: Any, message: str) -> None:
    found = guarded(backend_with(answer)).solve(PROBLEM, Options())
    assert (found.status, found.message[: len(message)]) == ("solver_error", message)
    assert found.theta.shape == (PROBLEM.size,)
    start = np.ones(PROBLEM.size)
    assert guarded(backend_with(answer)).solve(PROBLEM, Options(), start).theta is start


def test_its_success_passes_through() -> None:
    answer = RawSolution(np.zeros(PROBLEM.size), 1, "solved", "", 0.0)
    assert guarded(backend_with(answer)).solve(PROBLEM, Options()) is answer


@pytest.mark.parametrize("careless", [False, True])
def test_what_the_callback_raises_is_none_of_its_failures(careless: bool) -> None:
    def progress(iterations: int, gap: float) -> bool:
        raise ZeroDivisionError

    def solve(problem: Any, options: Any, start: Any, told: Progress) -> RawSolution:
        try:
            told(1, 0.5)
        except ZeroDivisionError:
            if not careless:
                raise
        return RawSolution(np.zeros(PROBLEM.size), 1, "solved", "", 0.0)

    with pytest.raises(ZeroDivisionError):
        guarded(replace(backend_with(None), solve=solve)).solve(PROBLEM, Options(), None, progress)


def test_an_interrupt_is_none_of_its_failures() -> None:
    def solve(*_: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        guarded(replace(backend_with(None), solve=solve)).solve(PROBLEM, Options())
