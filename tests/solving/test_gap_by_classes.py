"""m - M under several rows: classes of parallel columns against the linear program."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from kdsl.solving.certificate import Products, _linear_program_gap, gradient, kkt_gap
from kdsl.solving.normal_form import NormalForm, Rows, Separable


def problem_with(matrix: np.ndarray, random: np.random.Generator) -> tuple[NormalForm, np.ndarray]:
    """No energies, slopes at random, some coordinates at a bound."""
    n = matrix.shape[1]
    lower, upper = np.where(random.random(n) < 0.3, 0.0, -1.0), np.where(random.random(n) < 0.3, 0.0, 1.0)
    upper[lower == upper] = 1.0
    h = Separable.single(lower, upper, random.random(n), random.normal(size=n))
    rows = Rows(sp.csr_array(matrix), np.zeros(len(matrix)), np.ones(len(matrix), dtype=bool))
    return NormalForm((), h, rows), np.zeros(n)


def classes_of_columns(random: np.random.Generator, n: int, rows: int, lengths: tuple[float, ...]) -> np.ndarray:
    directions = random.normal(size=(rows, rows))
    scale = random.choice([-1.0, 1.0], n) * random.choice(lengths, n)
    columns = (directions[random.integers(rows, size=n)] * scale[:, None]).T
    columns[:, random.random(n) < 0.2] = 0.0
    return columns


@pytest.mark.parametrize("lengths", [(1.0,), (1.0, 2.0)], ids=["one length", "several lengths"])
@pytest.mark.parametrize("seed", range(20))
def test_the_gap_is_that_of_the_linear_program(seed: int, lengths: tuple[float, ...]) -> None:
    random = np.random.default_rng(seed)
    problem, theta = problem_with(classes_of_columns(random, 25, 2 + seed % 3, lengths), random)
    left, right = gradient(problem, theta, Products((), ()))
    expected = _linear_program_gap(problem.rows, np.ones(len(problem.rows.target), dtype=bool), left, right)
    found = kkt_gap(problem, theta, Products((), ()))
    assert found == pytest.approx(expected, abs=1e-9)
    assert found is not None and found > 0
