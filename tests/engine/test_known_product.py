"""What Q makes of a point that is known already: a solve that begins there, or at a multiple, does not compute it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from test_engine_behaviour import kkt_gap
from test_halved_sets import N, classification, regression
from test_refresh import gap_of

from kdsl import _core
from kdsl.solving.backends import engine
from kdsl.solving.normal_form import NormalForm, Product

TOL = 1e-3
PROBLEMS = {"classification": classification, "regression": regression}


def product(problem: NormalForm, theta: np.ndarray) -> np.ndarray:
    return sum((b.atoms.T @ (b.gram.K @ (b.atoms @ theta)) for b in problem.blocks), np.zeros(len(theta)))


def stretched(problem: NormalForm, factor: float) -> NormalForm:
    """The same with bounds that are so many times as far."""
    h = problem.separable
    return replace(problem, separable=replace(h, left=h.left * factor, right=h.right * factor))


@pytest.mark.parametrize("strategy", ["working_set", "full", "stored_rows"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_solve_from_a_multiple_spares_the_product(name: str, strategy: engine.Strategy) -> None:
    problem = PROBLEMS[name]()
    theta = engine.solve(problem, kkt_tol=TOL).theta
    further = stretched(problem, 1.5)
    start = 1.5 * theta
    known = replace(further, known=Product(theta, product(problem, theta)))
    without = engine.solve(further, start, kkt_tol=TOL, strategy=strategy)
    having = engine.solve(known, start, kkt_tol=TOL, strategy=strategy)
    assert having.status == without.status == "solved"
    assert gap_of(further, having.theta) <= having.facts["kkt_gap"] + 1e-9 <= TOL + 1e-9
    if strategy == "working_set":  # where all of Q is stored nothing is counted twice
        spared = np.count_nonzero(theta) * N
        assert having.facts["entries"] < without.facts["entries"] - 0.5 * spared


@pytest.mark.parametrize("scale", [1.0, -2.0, 0.3])
def test_rows_that_scale_and_slacks_that_have_no_kernel(scale: float) -> None:
    """In the engine's coordinates v = a t the product is divided by a; slacks of inequalities have none."""
    problem = classification()
    rows = replace(problem.rows, matrix=problem.rows.matrix * scale, equality=np.zeros(1, bool))
    problem = replace(problem, rows=rows)
    theta = engine.solve(problem, tol=1e-9).theta
    known = replace(problem, known=Product(theta, product(problem, theta)))
    again = engine.solve(known, theta, tol=1e-6)
    assert again.status == "solved"
    assert again.iterations <= 5  # what rounding of the slack leaves


def test_where_less_is_left_from_nothing_the_product_is_not_used() -> None:
    """A start that has little in common with the known point, and one at 0."""
    problem = classification()
    theta = engine.solve(problem, kkt_tol=TOL).theta
    known = replace(problem, known=Product(theta, product(problem, theta)))
    other = np.zeros(N)
    other[:40] = 1.0
    for start in (other, np.zeros(N), None):
        got = engine.solve(known, start, kkt_tol=TOL)
        assert got.status == "solved"
        assert kkt_gap(problem, got.theta) <= TOL


def test_a_product_that_is_wrong_is_found_out_before_anything_is_said() -> None:
    """Whoever gives one vouches for it; what the engine says at the end it has computed itself."""
    problem = classification()
    theta = engine.solve(problem, kkt_tol=TOL).theta
    wrong = replace(problem, known=Product(theta, product(problem, theta) + 0.05 * np.arange(N) / N))
    got = engine.solve(wrong, theta, kkt_tol=TOL)
    assert kkt_gap(problem, got.theta) <= got.facts["kkt_gap"] + 1e-9
    assert got.status == "solved"
    assert got.facts["kkt_gap"] <= TOL


def test_a_known_point_that_is_next_to_nothing_has_no_multiple() -> None:
    problem = classification()
    theta = engine.solve(problem, kkt_tol=TOL).theta
    tiny = np.where(theta != 0, 5e-324, 0.0)
    got = engine.solve(replace(problem, known=Product(tiny, np.zeros(N))), theta, kkt_tol=TOL)
    assert got.status == "solved"
    assert kkt_gap(problem, got.theta) <= TOL


def test_a_product_of_another_size_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = classification()
    assert _core.isa()
    monkeypatch.setattr(engine, "_known", lambda problem, form: (np.zeros(3), np.zeros(3)))
    with pytest.raises(ValueError, match="does not fit"):
        engine.solve(problem)
