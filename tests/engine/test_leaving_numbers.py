"""Where rounding makes Q indefinite and nothing holds a multiplier, it may go on for ever: it is noticed and undone."""

from __future__ import annotations

import numpy as np
import pytest

import kdsl
from kdsl.models.solution import Solution
from kdsl.solving.backends import engine
from kdsl.solving.certificate import Products, kkt_gap
from kdsl.solving.normal_form import NormalForm


def contradictory(n: int, pairs: int, **options: object) -> Solution:
    """Pairs of points that are to be in order, and many of which ask for the opposite of others."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(n, 2))
    y = np.where(x.sum(1) + rng.normal(size=n) > 0, 1, -1)
    groups = np.array(["p", "q"])[rng.integers(0, 2, n)]
    low = rng.normal(size=(pairs, 2))
    high = low + rng.uniform(-0.3, 0.3, size=(pairs, 2))
    data = {"x": x, "y": y, "group": groups, "lo": low, "hi": high}
    kernels = {"k": "rbf(gamma = 0.5)"}
    return kdsl.solve("monotone_groups", data, {"C": 1.0}, kernels, time_limit=20.0, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(("n", "pairs"), [(300, 300), (400, 200), (700, 700)])
def test_unbounded_multipliers_stay_among_numbers(n: int, pairs: int) -> None:
    found = contradictory(n, pairs, backend="engine", max_iterations=200_000)
    assert np.isfinite(found.theta).all()
    assert np.isfinite([found.value, found.dual]).all()
    assert np.abs(found.theta).max() < 1e9


def test_nothing_that_is_no_number_is_within_a_tolerance() -> None:
    found = contradictory(400, 200, backend="engine", kkt_tol=1e-2, tol=1e-1)
    assert found.status == "optimal"
    assert found.certificate.kkt_gap is not None and found.certificate.kkt_gap <= 1e-2


def posed(n: int = 400) -> NormalForm:
    from scipy import sparse as sp

    from kdsl.binding.gram import KernelGram
    from kdsl.binding.kernels import Gaussian
    from kdsl.solving.normal_form import HilbertBlock, Rows, Separable

    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) > 0.5, 1.0, -1.0)
    block = HilbertBlock("w", KernelGram(Gaussian(0.5), rng.normal(size=(n, 3))), sp.csc_array(sp.diags_array(y)))
    h = Separable.single(np.zeros(n), np.ones(n), np.zeros(n), -np.ones(n))
    return NormalForm((block,), h, Rows(sp.csr_array(y[None, :]), np.zeros(1), np.ones(1, dtype=bool)))


@pytest.mark.parametrize("strategy", ["full", "working_set"])
@pytest.mark.parametrize("steps", [5, 20, 100, 300])
def test_after_a_limit_nothing_is_said_of_a_point_that_was_left(steps: int, strategy: str) -> None:
    problem = posed()
    found = engine.solve(problem, kkt_tol=1e-6, max_iterations=steps, strategy=strategy)  # type: ignore[arg-type]
    assert found.status == "iteration_limit" and found.theta.any()
    said = float(found.facts["kkt_gap"])
    assert np.isnan(said) == np.isnan(float(found.facts["value"]))
    assert np.isnan(said) or said == pytest.approx(kkt_gap(problem, found.theta, Products.at(problem, found.theta)))


def test_what_was_measured_is_said() -> None:
    found = engine.solve(posed(), kkt_tol=1e-3)
    assert found.status == "solved" and found.message == "m - M is within the tolerance"
    assert float(found.facts["kkt_gap"]) <= 1e-3
