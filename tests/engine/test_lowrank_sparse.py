"""Coordinate descent on sparse points against the engine and a general QP solver, and where it is chosen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from engine_problems import by_general_qp, value, violation
from hypothesis import given, settings
from hypothesis import strategies as st
from test_lowrank import LOSSES, LinearGram, random_problem

from kdsl import _core
from kdsl.solving import api, routing
from kdsl.solving.backends import engine, sparse_linear
from kdsl.solving.backends.interface import Options
from kdsl.solving.facts import facts_of
from kdsl.solving.normal_form import HilbertBlock, NormalForm

ROWS = ("none", "bias", "inequality")


def made_sparse(problem: NormalForm, seed: int) -> NormalForm:
    """The same with about half of the entries of its points left out."""
    random = np.random.default_rng(seed)
    block = problem.blocks[0]
    X = block.gram.X * (random.random(block.gram.X.shape) < 0.5)
    return NormalForm(
        (HilbertBlock("w", LinearGram(sp.csr_array(X)), block.atoms),), problem.separable, problem.rows, 0.3
    )


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss(loss, rows):
    problem = made_sparse(random_problem(loss, rows, n=40, d=60, C=2.0, seed=3), 5)
    best, accurate = by_general_qp(problem)
    if not accurate:
        best = value(problem, engine.solve(problem, tol=1e-10, time_limit=20).theta)
    found = sparse_linear.solve(problem, Options(tol=1e-8))
    assert found.status == "solved", found.message
    assert violation(problem, found.theta) <= 1e-7
    assert abs(value(problem, found.theta) - best) <= 3e-7 * max(1.0, abs(best))


@settings(max_examples=40, deadline=None)
@given(
    loss=st.sampled_from(LOSSES),
    rows=st.sampled_from(ROWS),
    n=st.integers(2, 60),
    d=st.integers(1, 90),
    C=st.sampled_from([1e-3, 0.1, 1.0, 10.0]),
    seed=st.integers(0, 10**6),
    pairs=st.booleans(),
)
def test_random_forms_agree_with_the_engine(loss, rows, n, d, C, seed, pairs):
    """Solved, or said not to be: never a false claim."""
    problem = made_sparse(random_problem(loss, rows, n, d, C, seed, pairs=pairs), seed)
    found = sparse_linear.solve(problem, Options(tol=1e-6))
    other = engine.solve(problem, tol=1e-9, time_limit=20)
    assert found.status in ("solved", "stalled")
    if found.status == "solved":
        assert violation(problem, found.theta) <= 1e-5
        best = value(problem, other.theta)
        assert value(problem, found.theta) - best <= 2e-6 * max(1.0, abs(best))


def words(documents, d=3000, seed=0):
    """Documents of 30 words each, rare words rarer, and labels that some words tell."""
    random = np.random.default_rng(seed)
    share = 1 / np.arange(1, d + 1)
    columns = random.choice(d, size=(documents, 30), p=share / share.sum())
    rows = np.repeat(np.arange(documents), 30)
    X = sp.csr_array((random.exponential(1, documents * 30), (rows, columns.ravel())), (documents, d))
    X.sum_duplicates()
    X = sp.csr_array(sp.diags_array(1 / np.sqrt((X * X).sum(axis=1))) @ X)
    told = X @ random.standard_normal(d)
    return X, np.where(told + 0.1 * random.standard_normal(documents) > 0, 1.0, -1.0)


@pytest.mark.parametrize("spec", ["svm_1norm", "svm_no_bias", "svm_2norm"])
def test_text_is_routed_here_and_certified(spec):
    X, y = words(2000)
    solution = api.solve(spec, {"x": X, "y": y}, kernels={"k": "linear"})
    assert solution.backend == "sparse-linear"
    assert "coordinate descent with w at hand" in solution.reason
    assert solution.status == "optimal"
    assert solution.certificate.rel_gap <= 1e-6


def test_what_it_refuses_and_where_others_come_first():
    facts = facts_of(made_sparse(random_problem("hinge", "bias", 30, 3, 1.0, 0), 0))
    assert sparse_linear.BACKEND.accepts(facts) is None
    assert routing.route(facts).backend.name == "engine"
    wide = replace(facts, size=5000, gram_rank=4000)
    assert routing.route(wide).backend.name == "sparse-linear"
    assert routing.route(wide).alternatives[0].name == "engine"
    assert routing.route(replace(wide, sparse=False)).backend.name == "engine"
    assert routing.route(replace(wide, equalities=3, row_rank=3)).backend.name == "engine"
    assert sparse_linear.BACKEND.accepts(replace(facts, gram_rank=None)) is not None
    assert sparse_linear.BACKEND.accepts(replace(facts, equalities=9)) is not None


def test_limits_are_obeyed_and_named():
    X, y = words(3000)
    prepared = api.prepare("svm_1norm", {"x": X, "y": y}, {"C": 100.0}, kernels={"k": "linear"})
    late = prepared.solve(Options(tol=1e-9, time_limit=0.02), backend="sparse-linear")
    assert late.status == "user_limit"
    few = prepared.solve(Options(tol=1e-9, max_iterations=5000), backend="sparse-linear")
    assert few.status == "user_limit"
    stopped = prepared.solve(Options(tol=1e-9), backend="sparse-linear", progress=lambda i, gap: True)
    assert stopped.status == "user_limit"


def test_a_start_is_taken_up():
    problem = made_sparse(random_problem("hinge", "bias", 60, 10, 1.0, 1), 1)
    first = sparse_linear.solve(problem, Options(tol=1e-9))
    again = sparse_linear.solve(problem, Options(tol=1e-6), first.theta)
    assert again.facts["rounds"] < first.facts["rounds"]


def test_the_core_refuses_parts_that_do_not_fit():
    points = _core.Points.sparse(np.array([0, 1]), np.zeros(1, np.int32), np.ones(1), 2)
    one, none = np.ones(1), np.zeros(0)
    h = _core.Pieces(np.array([0, 1]), 0 * one, one, 0 * one, -one, 0 * one)
    arguments = [h, 0 * one, 0.0, 1e-6, 0, 1.0, 100, None]
    assert _core.descend(points, np.zeros((1, 0)), none, np.zeros(2), *arguments)["reason"] == "solved"
    with pytest.raises(ValueError, match="do not fit"):
        _core.descend(points, np.zeros((1, 0)), none, np.zeros(3), *arguments)
    with pytest.raises(ValueError, match="do not fit"):
        _core.descend(_core.Points.dense(np.ones((1, 2))), np.zeros((1, 0)), none, np.zeros(2), *arguments)
