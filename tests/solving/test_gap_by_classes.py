"""m - M under several rows: classes of parallel columns against the linear program."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import kdsl
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


@pytest.mark.parametrize("rows", [0, 1, 2, 3])
def test_what_is_in_no_row_counts_by_its_slope(rows: int) -> None:
    """One coordinate that may fall, beside rows of others that are all at rest."""
    matrix = np.zeros((rows, 7))
    for row in range(rows):
        matrix[row, 2 * row : 2 * row + 2] = [1.0, -1.0]
    slope = np.zeros(7)
    slope[6] = 0.25
    h = Separable.single(np.full(7, -1.0), np.ones(7), np.zeros(7), slope)
    problem = NormalForm((), h, Rows(sp.csr_array(matrix), np.zeros(rows), np.ones(rows, dtype=bool)))
    assert kkt_gap(problem, np.zeros(7), Products((), ())) == pytest.approx(0.25)
    left, right = gradient(problem, np.zeros(7), Products((), ()))
    if rows:
        by_program = _linear_program_gap(problem.rows, np.ones(rows, dtype=bool), left, right)
        assert by_program == pytest.approx(0.25, abs=1e-9)


def test_it_is_what_the_engine_goes_by() -> None:
    """Where two groups have a bias each and monotone pairs have no row."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(60, 2))
    y = np.where(x.sum(1) + rng.normal(size=60) > 0, 1, -1)
    low = rng.normal(size=(10, 2))
    data = {"x": x, "y": y, "group": np.array(["p", "q"])[np.arange(60) % 2], "lo": low, "hi": low + 0.3}
    kernels = {"k": "rbf(gamma = 0.5)"}
    found = kdsl.solve("monotone_groups", data, kernels=kernels, kkt_tol=1e-3, tol=1e-2, backend="engine")
    assert found.status == "optimal"
    assert found.certificate.kkt_gap == pytest.approx(float(found.facts["kkt_gap"]), rel=1e-5, abs=1e-9)
