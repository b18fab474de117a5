"""What the engine says of m - M: the most that a gradient allows of which a sample has been computed afresh."""

from __future__ import annotations

import numpy as np
import pytest
from engine_problems import KernelGram, svc
from test_engine_behaviour import kkt_gap
from test_halved_sets import N, classification, regression, two_rows

from kdsl.numerics.native_kernel import NativeKernel
from kdsl.solving.backends import engine
from kdsl.solving.normal_form import NormalForm

FARTHEST = 1e-3


def gap_of(problem: NormalForm, theta: np.ndarray) -> float:
    """m - M in double precision: of rows with entries 1 and -1, no two of which share a coordinate."""
    h = problem.separable
    f = sum((block.atoms.T @ (block.gram.K @ (block.atoms @ theta)) for block in problem.blocks), np.zeros(N))
    below, above = np.full(N, -np.inf), np.full(N, np.inf)
    for k in range(N):
        for p in range(h.offsets[k], h.offsets[k + 1]):
            derivative = f[k] + h.curvature[p] * theta[k] + h.slope[p]
            if h.left[p] < theta[k] <= h.right[p]:
                below[k] = derivative
            if h.left[p] <= theta[k] < h.right[p]:
                above[k] = derivative
    worst = -np.inf
    for row in problem.rows.matrix.toarray():
        up = np.concatenate([above[row > 0], -below[row < 0]])
        down = np.concatenate([below[row > 0], -above[row < 0]])
        worst = max(worst, float(down.max() - up.min()))
    return worst


PROBLEMS = {"classification": classification, "two rows": two_rows, "kink": regression}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("threads", [1, 2])
def test_what_is_said_is_a_bound_and_what_was_asked_is_met(name, threads):
    problem = PROBLEMS[name]()
    got = engine.solve(problem, kkt_tol=FARTHEST, strategy="working_set", threads=threads)
    assert got.status == "solved", got
    said = got.facts["kkt_gap"]
    assert gap_of(problem, got.theta) <= said + 1e-9
    assert said <= FARTHEST


def test_drift_that_a_sample_cannot_excuse_is_computed_afresh():
    """A tolerance near what single precision keeps of the gradient is met all the same."""
    problem = regression()
    got = engine.solve(problem, kkt_tol=2e-5, strategy="working_set")
    assert got.status == "solved"
    assert gap_of(problem, got.theta) <= 2e-5 + 1e-9


def test_a_sample_does_not_speak_for_kernel_values_of_any_size():
    """Values of a cubic over eleven decades: the points far away, which are few, have errors that no sample shows."""
    n, rng = 2500, np.random.default_rng(0)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    X = (rng.normal(size=(n, 5)) + 0.2 * y[:, None]) * np.exp(1.2 * rng.normal(size=(n, 1)))
    problem = svc(KernelGram(NativeKernel("polynomial", X, 0.3, 1.0, 3)), y, 0.1)
    got = engine.solve(problem, kkt_tol=0.1, strategy="working_set")
    assert got.status == "solved"
    assert kkt_gap(problem, got.theta) <= 0.1
