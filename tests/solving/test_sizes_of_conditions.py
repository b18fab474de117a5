"""Conditions are met in the units of the numbers that they compare, and a problem that needs nothing done is solved."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl.models.solution import Solution
from kdsl.solving.infeasibility import NoSolution

HEAD = """index i in 1..l
data x[i] : input, y[i] : real
param g : in (0, inf) = 1
kernel k = rbf(gamma = 0.5)
var w : H(k), b : real
"""
F = "<w, phi(x[i])> + b"
MARGIN = f"minimize 1/2 ||w||^2\nsubject to\n  margin[i]: y[i] * ({F}) >= g\n"
TUBE = f"minimize 1/2 ||w||^2\nsubject to\n  up[i]: {F} <= y[i] + g\n  low[i]: {F} >= y[i] - g\n"
TAIL = f"predict value(t) = {F.replace('x[i]', 't').replace('phi(t)', 'phi(t)')}\n"
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(12, 2))
Y = np.sign(X[:, 0] + 0.3)
Z = np.abs(RANDOM.normal(size=12)) + 0.5


def solved(body: str, y: np.ndarray, **options: Any) -> Solution:
    params = {"g": options.pop("g", 1.0)}
    return kdsl.solve(kdsl.parse_spec(HEAD + body + TAIL), {"x": X, "y": y}, params, **options)


@pytest.mark.parametrize("unit", [1e-12, 1e-7, 1e-3, 1.0, 1e6, 1e9])
def test_a_hard_margin_is_met_in_its_own_unit(unit: float) -> None:
    """A margin of 1e-7 is not met by w = 0, which lacks all of it."""
    at_one, found = solved(MARGIN, Y), solved(MARGIN, Y, g=unit)
    assert at_one.status == found.status == "optimal"
    assert found.value / unit**2 == pytest.approx(at_one.value, rel=2e-6)
    assert (Y * found.predict(X)).min() >= unit * (1 - 1e-5)


@pytest.mark.parametrize("unit", [1e-10, 1e-5, 1.0, 1e8])
def test_a_tube_holds_in_the_unit_of_its_targets(unit: float) -> None:
    at_one, found = solved(TUBE, Z, g=0.1), solved(TUBE, unit * Z, g=0.1 * unit)
    assert at_one.status == found.status == "optimal"
    assert found.value / unit**2 == pytest.approx(at_one.value, rel=2e-6)
    assert np.abs(found.predict(X) - unit * Z).max() <= 0.1 * unit * (1 + 1e-5)


@pytest.mark.parametrize("backend", [None, "engine", "osqp", "qpsolvers:clarabel", "cvxpy"])
def test_nothing_to_be_done_is_optimal(backend: str | None) -> None:
    """w = 0 meets the conditions: value and dual are 0, and what rounding leaves of multipliers is no gap."""
    body = f"minimize 1/2 ||w||^2\nsubject to\n  above[i]: {F} >= y[i]\n"
    found = solved(body, -np.ones(12), backend=backend)
    assert (found.status, found.value, found.dual) == ("optimal", 0.0, 0.0)


@pytest.mark.parametrize("penalty", ["||w||", "1/2 ||w||^2"])
def test_targets_of_nothing_are_fitted(penalty: str) -> None:
    body = f"minimize {penalty} + 10 * sum[i] eps_insensitive(y[i] - <w, phi(x[i])> - b; 0.1)\n"
    found = solved(body, np.zeros(12))
    assert (found.status, found.value) == ("optimal", 0.0)


def test_one_class_beside_a_bound_on_the_norm() -> None:
    found = solved(MARGIN + "  ball: ||w||^2 <= 1/4\n", np.ones(12))
    assert (found.status, found.value) == ("optimal", 0.0)
    assert found.scalars["b"] >= 1 - 1e-9


@pytest.mark.parametrize(
    "conditions",
    [
        f"  m[i]: y[i] * ({F}) >= 1\n  ball: ||w||^2 <= 0.01\n",
        f"  m[i]: {F} >= 1\n  n[i]: {F} <= -1\n  ball: ||w||^2 <= 9\n",
        f"  m[i]: abs({F}) <= 0.1\n  s: sum[i] ({F}) = 5\n",
        f"  m[i]: abs({F}) <= 0.1\n  s: sum[i] ({F}) >= 5\n",
    ],
    ids=["beyond the ball", "whatever the ball", "abs and a sum", "abs and a bound"],
)
def test_contradictions_are_named(conditions: str) -> None:
    with pytest.raises(NoSolution) as refused:
        solved("minimize 1/2 ||w||^2\nsubject to\n" + conditions, Y)
    assert refused.value.status == "infeasible"
    assert refused.value.diagnostics[0].code == "K621"


def test_a_bound_on_the_norm_that_just_allows_it_is_no_contradiction() -> None:
    least = float(np.sqrt(2 * solved(MARGIN, Y).value))
    inside = solved(MARGIN + f"  ball: ||w||^2 <= {(1.01 * least) ** 2}\n", Y)
    assert inside.status == "optimal"
    with pytest.raises(NoSolution, match="`ball` allows at most"):
        solved(MARGIN + f"  ball: ||w||^2 <= {(0.99 * least) ** 2}\n", Y)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_a_conic_objective_of_any_unit(unit: float) -> None:
    """The dual is a bound: it is not above the value."""
    body = f"minimize g/2 * ||w|| + 10 * g * sum[i] hinge(y[i] * ({F}))\n"
    found = solved(body, Y, g=unit)
    assert found.status == "optimal"
    assert found.value / unit == pytest.approx(solved(body, Y).value, rel=2e-6)
    assert found.dual <= found.value * (1 + 1e-12)


@pytest.mark.parametrize(
    "loss", ["hinge(y[i] * (%s))", "logistic(y[i] * (%s))", "squared(y[i] - %s)", "absolute(y[i] - %s)"]
)
def test_a_penalty_of_nothing_is_named(loss: str) -> None:
    head = HEAD.replace("(0, inf)", "[0, inf)")
    text = f"{head}minimize g * ||w||^2 + sum[i] {loss % F}\n{TAIL}"
    with pytest.raises(kdsl.KdslError, match=r"K625: the penalty of `w` is 0, for `g` is"):
        kdsl.solve(kdsl.parse_spec(text), {"x": X, "y": Y}, {"g": 0.0})


@pytest.mark.parametrize("unit", [1e-9, 1.0])
def test_an_objective_without_end_in_any_unit(unit: float) -> None:
    with pytest.raises(NoSolution) as refused:
        solved(f"minimize 1/2 ||w||^2 + g * sum[i] hinge(-({F})) - 20 * g * b\n", Y, g=unit)
    assert refused.value.status == "unbounded"


@pytest.mark.parametrize("strategy", ["full", "stored_rows", "working_set"])
def test_a_strategy_of_the_engine_is_forced_by_name(strategy: str) -> None:
    body = f"minimize 1/2 ||w||^2 + g * sum[i] hinge(y[i] * ({F}))\n"
    forced, free = solved(body, Y, backend=f"engine:{strategy}"), solved(body, Y)
    assert forced.status == free.status == "optimal"
    assert forced.facts["strategy"] == strategy and "as was asked for" in str(forced.facts["how"])
    assert forced.value == pytest.approx(free.value, rel=2e-6)


def test_a_backend_that_gets_nowhere_is_stalled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three points of features of 1e8 and a weight of 1e-4: pairs went on for ever."""
    rng = np.random.default_rng(0)
    X, y = 1e8 * rng.normal(size=(3, 3)), rng.normal(size=3)
    data = {"x": X, "y": y}
    found = kdsl.solve("loss_absolute", data, {"lambda": 1e-4}, {"k": "linear"}, time_limit=60.0)
    assert found.status != "user_limit"
