"""The factors of a large linear system are those of single precision only where the answer is as good as in double."""

from __future__ import annotations

import numpy as np
import pytest

from kdsl.numerics.arrays import Floats
from kdsl.solving.backends.direct import SINGLE_FROM, solve_system


def system(n: int, ridge: float) -> tuple[Floats, Floats]:
    """A matrix of rank 60 plus `ridge` on its diagonal, and a right side."""
    rng = np.random.default_rng(0)
    F = rng.normal(size=(n, 60))
    H = F @ F.T / 60
    H[np.arange(n), np.arange(n)] += ridge
    return H, rng.normal(size=n)


@pytest.mark.parametrize("rows", [0, 2])
def test_single_precision_is_refined_to_double(rows: int) -> None:
    n = SINGLE_FROM + 50
    H, p = system(n, 1.0)
    A, a = np.random.default_rng(1).normal(size=(rows, n)), np.arange(rows, dtype=float)
    found = solve_system(H, p, A, a)
    assert found.status == "solved" and found.message.endswith("factors in single precision")
    assert found.refinements >= 2 and found.residual <= 1e-13
    bordered = np.block([[H, A.T], [A, np.zeros((rows, rows))]])
    exact = np.linalg.solve(bordered, np.r_[-p, a])
    assert np.abs(np.r_[found.t, found.m] - exact).max() <= 1e-11 * np.abs(exact).max()


@pytest.mark.parametrize("ridge", [1e-3, 1e-7])
def test_where_the_conditioning_does_not_allow_it_double_precision_solves(ridge: float) -> None:
    n = SINGLE_FROM + 50
    H, p = system(n, ridge)
    found = solve_system(H, p, np.zeros((0, n)), np.zeros(0))
    assert found.status == "solved" and found.message == "Cholesky"
    assert np.abs(H @ found.t + p).max() <= 1e-12 * np.abs(H).sum(axis=1).max() * np.abs(found.t).max()


def test_scale_is_no_obstacle_and_what_is_beyond_single_precision_is_left_to_double() -> None:
    n = SINGLE_FROM
    H, p = system(n, 1.0)
    for scale, single in ((1e-12, True), (1e12, True), (1e30, False)):
        found = solve_system(scale * H, 1e-3 * scale * p, np.zeros((0, n)), np.zeros(0))
        assert found.message.endswith("single precision") == single and found.residual <= 1e-13


def test_small_systems_are_factorised_in_double_precision() -> None:
    H, p = system(100, 1.0)
    assert solve_system(H, p, np.zeros((0, 100)), np.zeros(0)).message == "Cholesky"


@pytest.mark.parametrize("light", [1e-8, 1e-20, 1e-100])
@pytest.mark.parametrize("rows", [0, 1])
def test_weights_that_are_far_apart_are_no_singular_matrix(light: float, rows: int) -> None:
    """The lightest example adds 1 / (2 light) to its own equation and nothing to the others."""
    H, p = system(60, 1.0)
    H[0, 0] += 0.5 / light
    A = np.ones((rows, 60))
    found = solve_system(H, p, A, np.zeros(rows))
    rest = solve_system(H[1:, 1:], p[1:], A[:, 1:], np.zeros(rows))
    assert found.status == rest.status == "solved"
    assert found.t[1:] == pytest.approx(rest.t, rel=1e-6, abs=1e-7 * np.abs(rest.t).max())
    assert 0 < abs(found.t[0]) <= 1e3 * light
