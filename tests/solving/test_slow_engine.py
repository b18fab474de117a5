"""What pairs are slow at is given to methods whose time hardly depends on the numbers, before the engine goes on."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kdsl.models.solution import Solution
from kdsl.solving import routing
from kdsl.solving import solve as solving
from kdsl.solving.api import read_model, solve
from kdsl.solving.backends.interface import Backend
from kdsl.solving.backends.registry import find_backend
from kdsl.solving.raw_solution import RawSolution


def overlapping(n: int, C: float, **options: Any) -> Solution:
    """Two clouds, one over the other, in two dimensions: with a large C the dual is nearly a linear program."""
    rng = np.random.default_rng(1)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    X = rng.normal(size=(n, 2)) + y[:, None] / (2 * np.sqrt(2))
    return solve(read_model("svm_1norm"), {"x": X, "y": y}, {"C": C}, {"k": "rbf(gamma = 0.5)"}, **options)


def only(monkeypatch: pytest.MonkeyPatch, expected: float, *others: Backend) -> None:
    """These are the steady backends, and the engine is expected to be done in so many steps."""
    usual = solving.chosen_route

    def routed(*given: Any) -> routing.Route:
        return replace(usual(*given), steady=others or (find_backend("lowrank"),), expected=expected)

    monkeypatch.setattr(solving, "chosen_route", routed)


@pytest.mark.parametrize("C", [1e4, 1e6, 1e8])
def test_a_large_price_is_met_by_an_interior_point(C: float) -> None:
    found = overlapping(700, C)
    assert found.status == "optimal" and found.certificate.rel_gap <= 1e-6
    assert found.backend == "lowrank"
    assert [warning.code for warning in found.warnings] == ["K608"]
    assert "not done after 270,000 steps" in str(found.warnings[0].why)


def test_classes_that_a_cubic_kernel_hardly_tells_apart_are_met_by_one_too() -> None:
    rng = np.random.default_rng(0)
    data = {"x": rng.normal(size=(80, 2)), "y": rng.integers(0, 3, 80), "delta": 1 - np.eye(3)}
    found = solve(read_model("multiclass_delta"), data, {"C": 100.0}, {"q": "poly(degree = 3)"})
    assert (found.status, found.backend) == ("optimal", "qpsolvers:clarabel")
    assert [warning.code for warning in found.warnings] == ["K608"]


def test_the_same_input_gives_the_same_bits() -> None:
    """What is unusual is told in steps: no clock has a say."""
    first, second = overlapping(700, 1e6), overlapping(700, 1e6)
    assert first.theta.tobytes() == second.theta.tobytes()


def test_the_engine_goes_on_from_the_best_where_nobody_gets_there(monkeypatch: pytest.MonkeyPatch) -> None:
    starts = []

    def lost(problem: Any, options: Any, start: Any = None, progress: Any = None) -> RawSolution:
        starts.append(start)
        return RawSolution(np.zeros(problem.size), 7, "time_limit", "lost", 0.0)

    only(monkeypatch, 100, replace(find_backend("lowrank"), name="lost", solve=lost))
    found = overlapping(300, 10.0)
    assert len(starts) == 1 and starts[0].any()  # where the engine was: what it hands on to a backend of its own
    assert (found.status, found.backend) == ("optimal", "engine")
    assert "`lost` was tried" in found.warnings[0].message


def test_a_time_limit_holds_for_all_of_them_together() -> None:
    found = overlapping(700, 1e6, tol=1e-14, time_limit=1.0)
    assert found.status == "user_limit"
    assert "K608" in [warning.code for warning in found.warnings]
    assert found.seconds["solve"] < 10


def test_the_better_answer_is_kept_where_the_engine_does_not_get_there() -> None:
    """The gap of the interior point's answer is far below what the engine makes of it in a moment."""
    found = overlapping(700, 1e6, tol=1e-14, time_limit=8.0)
    assert found.status in ("user_limit", "optimal_inaccurate")  # the limit comes first, or rounding ends progress
    assert found.certificate.rel_gap < 1e-6


def test_a_limit_of_iterations_holds_for_both_tries_of_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first counts for the second, and for who had a try in between."""
    asked = []

    def quick(problem: Any, options: Any, start: Any = None, progress: Any = None) -> RawSolution:
        asked.append(options.max_iterations)
        return RawSolution(np.zeros(problem.size), 7, "stalled", "lost", 0.0)

    only(monkeypatch, 100_000, replace(find_backend("lowrank"), name="quick", solve=quick))
    found = overlapping(700, 1e6, tol=1e-12, max_iterations=300_000)
    assert found.status == "user_limit" and len(asked) == 1
    assert 199_000 <= asked[0] <= 200_000
    assert found.iterations <= 301_000


def test_a_norm_that_nothing_holds_to_its_bound_does_not_take_for_ever() -> None:
    """The hulls of the classes meet: pairs bring the distance to 0 without end, for an answer of w = 0."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 2))
    y = np.where(np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 3 * rng.normal(size=500) > 0, 1.0, -1.0)
    data, kernel = {"x": X, "y": y}, {"k": "rbf(gamma = 1.1)"}
    found = solve(read_model("svm_1norm_unit"), data, {"C": 0.05}, kernel)
    assert found.status == "optimal_inaccurate" and found.certificate.rel_gap <= 1e-6
    assert [warning.code for warning in found.warnings] == ["K608", "K623"]


def test_what_cannot_be_told_better_ends_inaccurate(monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(problem: Any, options: Any, start: Any = None, progress: Any = None) -> RawSolution:
        return RawSolution(start, 0, "stalled", "lost", 0.0)

    only(monkeypatch, 100_000, replace(find_backend("lowrank"), name="lost", solve=lost))
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 2))
    y = np.where(np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 3 * rng.normal(size=500) > 0, 1.0, -1.0)
    found = solve(read_model("svm_1norm_unit"), {"x": X, "y": y}, {"C": 0.05}, {"k": "rbf(gamma = 1.1)"})
    assert found.status == "optimal_inaccurate" and 1e-6 < found.certificate.rel_gap <= 1e-3
    assert "not tight" in found.message
    assert [warning.code for warning in found.warnings] == ["K608", "K623"]


def test_a_limit_below_what_is_expected_is_the_engines_alone() -> None:
    found = overlapping(700, 1e6, max_iterations=10_000)
    assert (found.status, found.backend) == ("user_limit", "engine")
    assert found.warnings == ()


def test_who_is_steady_depends_on_the_size() -> None:
    from test_routing import BOX_WITH_ROW

    def asked(size: int) -> tuple[list[str], float]:
        route = routing.route(replace(BOX_WITH_ROW, size=size))
        return [backend.name for backend in route.steady], route.expected

    assert asked(4000) == (["lowrank"], 600_000)
    assert asked(100_000) == ([], math.inf)
