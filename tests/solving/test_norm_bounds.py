"""Bounds on a norm: in any units of the features, where they do not bind, and where a margin is nothing."""

from __future__ import annotations

import time

import numpy as np
import pytest

import kdsl

FIT = """index i in 1..l
data x[i] : input, y[i] : real
param B : in (0, inf) = 3
kernel k = linear
var w : H(k), b : real
minimize {objective}
subject to
  ball: ||w|| <= B
predict value(t) = <w, phi(t)> / ||w||
predict score(t) = <w, phi(t)>
"""


@pytest.mark.parametrize("unit", [1.0, 1e3, 1e4, 1e5, 1e7])
def test_features_in_any_units(unit: float) -> None:
    """One feature: w is that of least squares, or at its bound."""
    x, y = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, -1.0, 2.0, 0.0])
    found = kdsl.solve("ridge_ball", {"x": (x * unit)[:, None], "y": y}, {"B": 0.1 / unit}, {"k": "linear"})
    assert found.status == "optimal"
    assert found.value == pytest.approx(np.square(y - 0.1 * x).sum(), rel=1e-6)
    assert found.decision(np.array([[unit]]))[0] == pytest.approx(0.1, rel=1e-6)


@pytest.mark.parametrize("factor", [1.5, 3.0, 10.0])
def test_a_bound_that_does_not_bind(factor: float) -> None:
    """w and its norm are those of least squares, not what rounding leaves of a multiplier that is almost 0."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    y = X @ [1.0, 2.0] + rng.normal(size=20)
    text = FIT.format(objective="sum[i] (y[i] - <w, phi(x[i])>)^2 + b^2")
    u = np.linalg.lstsq(X, y, rcond=None)[0]
    length = float(np.linalg.norm(u))
    found = kdsl.solve(kdsl.parse_spec(text), {"x": X, "y": y}, {"B": factor * length})
    assert found.status == "optimal"
    assert found.value == pytest.approx(np.square(y - X @ u).sum(), rel=1e-6)
    assert found.quantities["||w||^2"] == pytest.approx(length**2, rel=1e-4)
    np.testing.assert_allclose(found.predict(np.eye(2)), u / length, rtol=1e-4)


def test_one_that_does_not_bind_beside_kinks_does_not_take_for_ever() -> None:
    x = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.5], [7.1]])
    y = np.array([0.0, 1.0, 1.0, 2.9, 4.2, 5.0, 8.0])
    text = FIT.format(objective="sum[i] absolute(y[i] - <w, phi(x[i])> - b)")
    began = time.perf_counter()
    found = kdsl.solve(kdsl.parse_spec(text), {"x": x, "y": y}, {"B": 10.0})
    assert time.perf_counter() - began < 15  # it took half a minute
    assert found.status == "optimal"
    assert found.value == pytest.approx(2.66, rel=1e-5)


@pytest.mark.parametrize(
    ("spec", "params"), [("svm_hard_unit", {}), ("svm_1norm_unit", {"C": 10.0}), ("svm_nu", {"nu": 0.6})]
)
def test_a_margin_of_nothing_is_no_direction(spec: str, params: dict[str, float]) -> None:
    """No line tells the middle point from its neighbours: what is left of w is rounding, and is not blown up."""
    x, y = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]), np.array([1.0, -1.0, 1.0])
    found = kdsl.solve(spec, {"x": x, "y": y}, params, {"k": "linear"})
    assert found.status == "optimal_inaccurate"
    assert "K623" in [warning.code for warning in found.warnings]
    np.testing.assert_array_equal(found.decision(x), np.zeros(3))


def test_what_rounding_hides_is_not_called_optimal() -> None:
    """Without another way to go, the norm is what no digit tells of."""
    x, y = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, -1.0, 2.0, 0.0])
    data = {"x": (x * 1e7)[:, None], "y": y}
    found = kdsl.solve("ridge_ball", data, {"B": 1e5}, {"k": "linear"}, backend="direct")
    assert found.status != "optimal" or found.certificate.primal_residual <= 1e-6
