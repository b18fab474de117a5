"""Whatever units targets and features come in, an answer is called optimal for the same reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl.models.solution import Solution

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
CURVE = np.sin(X[:, 0])
Y = CURVE + 0.1 * RNG.normal(size=60)
LABELS = np.where(CURVE + 0.3 * RNG.normal(size=60) > 0, 1, -1)
UNITS = (1.0, 1e-3, 1e-6, 1e-9)


def value_in(unit: float, power: int, spec: str, params: dict[str, float], **data: Any) -> float:
    """The value in units of unit^power, of an answer that must be optimal."""
    kernel = "rbf(gamma = 0.5)" if "y" in data and data["y"].dtype == np.float64 else "linear"
    found = kdsl.solve(spec, data, params, {"k": kernel})
    assert found.status == "optimal", (unit, found.message)
    assert found.certificate.rel_gap <= 1e-6
    return found.value / unit**power


@pytest.mark.parametrize("unit", UNITS[1:])
@pytest.mark.parametrize(
    ("spec", "params", "in_units"),
    [
        ("ridge", {"lambda": 1.0}, ()),
        ("ridge_bias", {"lambda": 1.0}, ()),
        ("svr_quadratic_eps", {"C": 1.0, "eps": 0.1}, ("eps",)),
        ("svr_linear_eps", {"C": 1.0, "eps": 0.1}, ("eps", "C")),
        ("ridge_ball", {"B": 0.7}, ("B",)),
    ],
)
def test_targets_in_small_units(spec: str, params: dict[str, float], in_units: tuple[str, ...], unit: float) -> None:
    """All of the problem scales with the square of the unit, and so does its value."""
    scaled = {name: value * (unit if name in in_units else 1.0) for name, value in params.items()}
    expected = value_in(1.0, 2, spec, params, x=X, y=Y)
    assert value_in(unit, 2, spec, scaled, x=X, y=Y * unit) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("unit", UNITS[1:])
def test_margins_in_small_units(unit: float) -> None:
    """A margin has the units of the features."""
    separable = np.where(X[:, 0] > 0, 1, -1)
    hard = value_in(1.0, -2, "svm_hard", {}, x=X, y=separable)
    assert value_in(unit, -2, "svm_hard", {}, x=X * unit, y=separable) == pytest.approx(hard, rel=1e-5)
    nu = value_in(1.0, 1, "svm_nu", {"nu": 0.3}, x=X, y=LABELS)
    assert value_in(unit, 1, "svm_nu", {"nu": 0.3}, x=X * unit, y=LABELS) == pytest.approx(nu, rel=1e-5)


def test_a_value_that_is_small_beside_its_kin() -> None:
    """The objective of the sum form of nu is of the order of 1/l^2: a gap of 1e-6 would be a third of it."""
    rough, fine = (kdsl.solve("svm_nu_sum", {"x": X, "y": LABELS}, {"nu": 0.2}, tol=tol) for tol in (1e-6, 1e-9))
    assert rough.status == fine.status == "optimal"
    assert abs(fine.value) < 0.1
    assert rough.value == pytest.approx(fine.value, rel=1e-5)
    new = RNG.normal(size=(40, 3))
    size = np.abs(fine.decision(new)).max()
    np.testing.assert_allclose(rough.decision(new), fine.decision(new), atol=1e-2 * size)


def solved(objective: str, weights: np.ndarray, targets: np.ndarray) -> Solution:
    text = f"""index  i in 1..l
data   x[i] : input, y[i] : real, s[i] : real >= 0
kernel k = rbf(gamma = 0.5)
var    w : H(k), b : real
minimize {objective}
predict value(t) = <w, phi(t)> + b
"""
    return kdsl.solve(kdsl.parse_spec(text), {"x": X[: len(targets)], "y": targets, "s": weights})


RESIDUAL = "(y[i] - <w, phi(x[i])> - b)"


@pytest.mark.parametrize("loss", [f"{RESIDUAL}^2", f"absolute({RESIDUAL})", f"squared_hinge(1 + {RESIDUAL})"])
@pytest.mark.parametrize("penalty", ["1/2 * ||w||^2", "||w||"])
def test_an_optimum_of_nothing_is_optimal(loss: str, penalty: str) -> None:
    """Constant targets leave no size to measure a gap by but that of the data."""
    found = solved(f"{penalty} + sum[i] s[i] * {loss}", np.ones(12), np.full(12, 5.0))
    assert found.status == "optimal", found.message
    assert found.value == pytest.approx(0.0, abs=1e-9)


def test_the_unit_is_of_no_account_where_the_value_is_large() -> None:
    found = kdsl.solve("svm_1norm", {"x": X, "y": LABELS})
    assert found.certificate.unit == 1.0
    assert found.certificate.size == max(abs(found.value), abs(found.dual)) > 1
