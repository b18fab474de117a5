"""Newton steps inside the engine share a factor: coordinates are held or appended, and answers are as exact."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse as sp
from engine_problems import (
    MatrixGram,
    by_general_qp,
    clouds,
    gaussian,
    make_rows,
    no_rows,
    pieces,
    signed_atoms,
    svc,
    value,
    violation,
    waves,
)

from kdsl.solving.backends import engine
from kdsl.solving.normal_form import HilbertBlock, NormalForm, Rows, Separable

N = 600


def gram(n: int = N):
    return gaussian(clouds(n)[0])


def classification(n: int = N, C: float = 50.0) -> NormalForm:
    return svc(gram(n), clouds(n)[1], C)


def every_point_twice() -> NormalForm:
    X, y = clouds(N // 2)
    return svc(gaussian(np.repeat(X, 2, axis=0)), np.repeat(y, 2), 50.0)


def two_rows() -> NormalForm:
    y = clouds(N)[1]
    h = Separable.single(np.zeros(N), np.full(N, 50.0), np.zeros(N), np.zeros(N))
    rows = make_rows(np.stack([y > 0, y < 0]).astype(float), [5.0 * N, 5.0 * N])
    return NormalForm((HilbertBlock("w", gram(), signed_atoms(y)),), h, rows)


def regression(rows: Rows) -> NormalForm:
    """Pieces of three curvatures, between which multipliers go to and fro."""
    ends, curvatures = (-50, -5, 0, 5, 50), (0.004, 0.002, 0.001, 0.003)
    apart = (0.01, 0, 0, -0.01)
    h = pieces(*(list(zip(ends, ends[1:], curvatures, np.array(apart) - v, strict=False)) for v in waves(clouds(N)[0])))
    return NormalForm((HilbertBlock("w", gram(), sp.csc_array(sp.eye_array(N))),), h, rows)


def coupled_rows() -> Rows:
    """Three groups of columns in two rows: a step that keeps both may want all three."""
    group = np.arange(N) % 3
    return make_rows(np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.5]])[:, group], [3.0, -2.0])


PROBLEMS: dict[str, Callable[[], NormalForm]] = {
    "classification": classification,
    "every point twice": every_point_twice,
    "two rows": two_rows,
    "regression": lambda: regression(make_rows(np.ones(N), 0.0)),
    "regression without a row": lambda: regression(no_rows(N)),
    "regression with coupled rows": lambda: regression(coupled_rows()),
}


@pytest.mark.parametrize("strategy", ["working_set", "full"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_steps_that_share_a_factor_lead_where_a_general_solver_leads(name, strategy):
    problem = PROBLEMS[name]()
    got = engine.solve(problem, tol=1e-9, strategy=strategy, threads=2)
    best, accurate = by_general_qp(problem)
    assert got.status == "solved" and accurate
    assert violation(problem, got.theta) < 1e-9
    assert np.isclose(value(problem, got.theta), best, rtol=1e-8)
    assert got.facts["newton_steps"] >= got.facts["factorisations"] > 0
    if "regression" not in name:  # where pieces change, so do the numbers of the factor
        assert got.facts["newton_steps"] > got.facts["factorisations"]


def test_from_the_answer_for_another_price():
    """A factor of coordinates of which some are in no later set."""
    before = engine.solve(classification(2000, C=30.0), tol=1e-8)
    problem = classification(2000, C=50.0)
    warm = engine.solve(problem, before.theta * (50.0 / 30.0), tol=1e-10, strategy="working_set")
    cold = engine.solve(problem, tol=1e-10, strategy="working_set", threads=1)
    assert warm.status == cold.status == "solved"
    assert warm.facts["newton_steps"] > warm.facts["factorisations"] > 0
    assert np.isclose(value(problem, warm.theta), value(problem, cold.theta), rtol=1e-9)


def test_a_kernel_that_only_python_evaluates():
    problem = svc(MatrixGram(gram().K), clouds(N)[1], 50.0)
    got = engine.solve(problem, tol=1e-10, strategy="working_set")
    assert got.status == "solved" and got.facts["newton_steps"] > got.facts["factorisations"] > 0
    assert np.isclose(value(problem, got.theta), by_general_qp(problem)[0], rtol=1e-8)


@pytest.mark.parametrize("threads", [1, 2])
def test_same_bits_twice(threads):
    problem = classification(2000)
    first, second = (engine.solve(problem, tol=1e-9, strategy="working_set", threads=threads) for _ in range(2))
    assert first.facts["newton_steps"] > 0
    assert np.array_equal(first.theta, second.theta)


@pytest.mark.parametrize("limit", [1, 700, 3000])
def test_the_iteration_limit_counts_them(limit):
    got = engine.solve(classification(), tol=1e-10, max_iterations=limit)
    assert got.status == "iteration_limit" and got.iterations <= limit
