"""Conjugate gradients in mixed precision: what is asked for is met in double precision, and found to be the minimum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl.models.solution import Solution

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 3))
Y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=400)


def solved(spec: str, kernel: str, lambda_: float, backend: str, **options: Any) -> Solution:
    return kdsl.solve(spec, {"x": X, "y": Y}, {"lambda": lambda_}, {"k": kernel}, backend=backend, **options)


@pytest.mark.parametrize("spec", ["ridge", "ridge_bias"])
@pytest.mark.parametrize("tol", [1e-3, 1e-6, 1e-10])
def test_m_minus_M_is_what_stops_it_where_it_is_asked_for(spec: str, tol: float) -> None:
    found = solved(spec, "rbf(gamma = 0.3)", 1.0, "cg", kkt_tol=tol)
    assert found.status == "optimal" and found.certificate.kkt_gap is not None
    assert found.certificate.kkt_gap <= tol
    exact = solved(spec, "rbf(gamma = 0.3)", 1.0, "direct", tol=1e-12)
    assert np.abs(found.theta - exact.theta).max() <= 10 * tol


def test_less_is_done_where_less_is_asked_for() -> None:
    steps = [solved("ridge", "rbf(gamma = 0.3)", 1.0, "cg", kkt_tol=tol).iterations for tol in (1e-2, 1e-5, 1e-9)]
    assert steps == sorted(steps) and steps[0] < steps[-1] / 2


@pytest.mark.parametrize("kernel", ["rbf(gamma = 0.3)", "laplacian(gamma = 0.3)"])
def test_most_products_are_in_single_precision(kernel: str) -> None:
    facts = solved("ridge", kernel, 0.1, "cg", tol=1e-12).facts
    assert float(facts["single_products"]) > 3 * float(facts["products"]) > 0


def test_kernels_that_may_overflow_stay_in_double_precision() -> None:
    facts = solved("ridge", "poly(degree = 3)", 1.0, "cg").facts
    assert facts["single_products"] == 0


@pytest.mark.parametrize("lambda_", [1e-3, 1e-6])
def test_where_single_precision_makes_no_headway_double_precision_goes_on(lambda_: float) -> None:
    """A kernel that is nearly constant on the points: conditioning up to 1e9, past what single precision resolves."""
    found = solved("ridge", "rbf(gamma = 0.001)", lambda_, "cg", tol=1e-9)
    exact = solved("ridge", "rbf(gamma = 0.001)", lambda_, "direct", tol=1e-9)
    assert found.status == "optimal" and found.certificate.rel_gap <= 1e-9
    assert found.value == pytest.approx(exact.value, rel=1e-8)
    assert lambda_ > 1e-4 or float(found.facts["products"]) > 30
