"""What the engine says of m - M: the most that a gradient allows of which a sample has been computed afresh."""

from __future__ import annotations

import numpy as np
import pytest
from test_halved_sets import N, classification, regression, two_rows

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
