"""Working sets solved in two halves by two threads at once: as exact as without, the same each time, and stoppable."""

from __future__ import annotations

import time

import numpy as np
import pytest
import scipy.sparse as sp
from engine_problems import (
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
from test_engine_behaviour import PointsGram

from kdsl.numerics.native_kernel import NativeKernel
from kdsl.solving.backends import engine
from kdsl.solving.normal_form import HilbertBlock, NormalForm, Separable

N = 2000


def classification():
    X, y = clouds(N)
    return svc(gaussian(X), y, 50.0)


def twins():
    """Every point twice, once in either half: what one half does the other has done as well."""
    X, y = clouds(N // 2)
    return svc(gaussian(np.repeat(X, 2, axis=0)), np.repeat(y, 2), 50.0)


def two_rows():
    """A nu-SVC: as much weight in either class."""
    X, y = clouds(N)
    h = Separable.single(np.zeros(N), np.ones(N), np.zeros(N), np.zeros(N))
    rows = make_rows(np.stack([y > 0, y < 0]).astype(float), [0.35 * N / 2, 0.35 * N / 2])
    return NormalForm((HilbertBlock("w", gaussian(X), signed_atoms(y)),), h, rows)


def regression(*, row=True, curvature=0.0):
    """A kink at 0, with a bias or without, and linear or quadratic beyond."""
    X, _ = clouds(N)
    h = pieces(*([(-20.0, 0.0, curvature, -v - 0.05), (0.0, 20.0, curvature, -v + 0.05)] for v in waves(X)))
    rows = make_rows(np.ones(N), 0.0) if row else no_rows(N)
    return NormalForm((HilbertBlock("w", gaussian(X, 0.2), sp.csc_array(sp.eye_array(N))),), h, rows)


PROBLEMS = {
    "classification": classification,
    "every point twice": twins,
    "two rows": two_rows,
    "regression": regression,
    "regression without a row": lambda: regression(row=False),
    "regression with a curved loss": lambda: regression(curvature=0.02),
}


def solve(problem, threads=2, **asked):
    return engine.solve(problem, **{"tol": 1e-8, "strategy": "working_set", **asked}, threads=threads)


@pytest.mark.parametrize("name", PROBLEMS)
def test_halves_lead_where_one_thread_leads(name):
    problem = PROBLEMS[name]()
    halved, alone = solve(problem), solve(problem, threads=1)
    assert halved.facts["halved"] > 0 and alone.facts["halved"] == 0
    assert halved.status == alone.status == "solved"
    assert violation(problem, halved.theta) < 1e-9
    assert np.isclose(value(problem, halved.theta), value(problem, alone.theta), rtol=1e-7)


@pytest.mark.parametrize("name", ["classification", "every point twice", "regression"])
@pytest.mark.parametrize("threads", [2, 3])
def test_same_bits_twice(name, threads):
    problem = PROBLEMS[name]()
    first, second = solve(problem, threads=threads), solve(problem, threads=threads)
    assert first.facts["halved"] > 0
    assert np.array_equal(first.theta, second.theta)
    assert first.iterations == second.iterations


def test_halves_in_double_precision():
    problem = svc(gaussian(clouds(N)[0]), clouds(N)[1], 50.0)
    got = solve(problem, tol=1e-12)
    assert got.status == "solved" and got.facts["halved"] > 0
    assert got.facts["relative_gap"] <= 1e-12


@pytest.mark.parametrize("steps", [1, 1500, 3000, 6000])
def test_the_iteration_limit_is_kept(steps):
    problem = classification()
    got = solve(problem, max_iterations=steps)
    assert got.status == "iteration_limit" and got.iterations <= steps
    assert violation(problem, got.theta) < 1e-9


def test_the_time_limit_is_kept():
    X, y = clouds(20_000)
    problem = svc(PointsGram(NativeKernel("gaussian", X, 0.1)), y, 1e4)
    began = time.perf_counter()
    got = solve(problem, time_limit=0.5)
    assert got.status == "time_limit" and time.perf_counter() - began < 20
    assert abs(y @ got.theta) <= 1e-9 * np.abs(got.theta).sum()


def test_a_callback_stops_it():
    seen = []

    def enough(iterations, gap):
        seen.append((iterations, gap))
        return len(seen) == 2

    X, y = clouds(20_000)
    got = solve(svc(PointsGram(NativeKernel("gaussian", X, 0.1)), y, 1e4), callback=enough)
    assert got.status == "interrupted" and len(seen) == 2
    assert abs(y @ got.theta) <= 1e-9 * np.abs(got.theta).sum()
