"""A backend that falls short is followed by the next one, and the report says so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kdsl.language.report import render_text
from kdsl.numerics.arrays import Floats
from kdsl.solving import routing
from kdsl.solving.api import solve
from kdsl.solving.backends import registry
from kdsl.solving.backends.interface import Backend, Options, Progress
from kdsl.solving.backends.registry import shipped
from kdsl.solving.normal_form import NormalForm
from kdsl.solving.raw_solution import RawSolution


def broken(
    problem: NormalForm, options: Options, start: Floats | None = None, progress: Progress | None = None
) -> RawSolution:
    return RawSolution(np.zeros(problem.size), 0, "solver_error", "it broke", 0.0)


def data() -> dict[str, Floats]:
    generator = np.random.default_rng(0)
    x = generator.normal(size=(40, 2))
    return {"x": x, "y": np.where(x[:, 0] + 0.3 * generator.normal(size=40) > 0, 1.0, -1.0)}


@pytest.fixture
def engine_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    known: tuple[Backend, ...] = tuple(replace(b, solve=broken) if b.name == "engine" else b for b in shipped())
    monkeypatch.setattr(registry, "shipped", lambda: known)
    monkeypatch.setattr(routing, "find_backend", lambda name: next(b for b in known if b.name == name))


@pytest.mark.usefixtures("engine_is_broken")
def test_the_next_backend_is_tried_and_said() -> None:
    solution = solve("svm_1norm", data())
    assert solution.status == "optimal"
    assert solution.backend != "engine"
    assert "it broke" in next(w.why for w in solution.warnings if w.code == "K608")


def test_those_that_fell_short_are_told_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever their names are: `reference` before `qpsolvers:piqp`."""
    known = tuple(replace(b, solve=broken) if b.name in ("engine", "reference") else b for b in shipped())
    monkeypatch.setattr(registry, "shipped", lambda: known)
    solution = solve("svm_1norm", data())
    told = [w.message for w in solution.warnings if w.code == "K608"]
    assert ["`engine`" in told[0], "`reference`" in told[1]] == [True, True]
    printed = render_text(solution.warnings, "", "")
    assert printed.index(told[0]) < printed.index(told[1])


@pytest.mark.usefixtures("engine_is_broken")
def test_a_backend_that_was_asked_for_is_not_replaced() -> None:
    solution = solve("svm_1norm", data(), backend="engine")
    assert solution.status == "solver_error"
    assert solution.backend == "engine"
