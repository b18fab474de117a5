"""Further inputs of a spec reach an estimator as frames or arrays, over the examples or over a set of their own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import kdsl
from kdsl.sklearn import FitError, KernelClassifier, KernelRegressor

MODELS = Path(__file__).resolve().parents[1] / "algebra" / "models"
MONOTONE, PRIVILEGED = str(MODELS / "pinball_monotone.kspec"), str(MODELS / "privileged.kspec")
RNG = np.random.default_rng(3)
X = pd.DataFrame(RNG.normal(size=(40, 2)), columns=["age", "income"])
Y = X["age"] + 0.3 * RNG.normal(size=40)
LOW = pd.DataFrame(RNG.normal(size=(15, 2)), columns=["age", "income"])
HIGH = LOW.add([0.5, 0.0])
Z = pd.DataFrame(RNG.normal(size=(40, 3)), columns=["one", "two", "three"])
LABELS = np.where(Y > 0, 1, -1)


def value_of(low: object, high: object, points: object = X) -> float:
    machine = KernelRegressor(MONOTONE, tol=1e-9).fit(points, Y, data={"lo": low, "hi": high})
    return float(machine.certificate_.value)


def test_frames_and_arrays_of_pairs_are_the_same_problem() -> None:
    arrays = {"x": X.to_numpy(), "y": Y.to_numpy(), "lo": LOW.to_numpy(), "hi": HIGH.to_numpy()}
    expected = kdsl.solve(MONOTONE, arrays, tol=1e-9).value
    assert value_of(LOW, HIGH) == pytest.approx(expected, rel=1e-9)
    assert value_of(LOW.to_numpy(), HIGH.to_numpy()) == pytest.approx(expected, rel=1e-9)
    assert value_of(LOW.to_numpy().tolist(), HIGH.to_numpy(), X.to_numpy()) == pytest.approx(expected, rel=1e-9)
    frames = {"x": X, "y": Y.to_numpy(), "lo": LOW, "hi": HIGH}
    assert kdsl.solve(MONOTONE, frames, tol=1e-9).value == pytest.approx(expected, rel=1e-9)


def test_columns_of_frames_go_by_name() -> None:
    turned = ["income", "age"]
    assert value_of(LOW[turned], HIGH) == pytest.approx(value_of(LOW, HIGH), rel=1e-9)
    with pytest.raises(FitError, match="K527"):
        value_of(LOW.rename(columns={"age": "years"}), HIGH)


def test_a_frame_over_the_examples_loses_the_rows_without_weight() -> None:
    weights = np.where(np.arange(40) < 30, 1.0, 0.0)
    machine = KernelClassifier(PRIVILEGED, tol=1e-9).fit(X, LABELS, sample_weight=weights, data={"z": Z})
    expected = KernelClassifier(PRIVILEGED, tol=1e-9).fit(X[:30], LABELS[:30], data={"z": Z[:30].to_numpy()})
    assert machine.certificate_.value == pytest.approx(expected.certificate_.value, rel=1e-8)


def test_a_frame_beside_an_array_of_points_keeps_its_names() -> None:
    choice = {"k": "rbf(gamma = 0.5)", "q": "linear on one, three"}
    machine = KernelClassifier(PRIVILEGED, kernel=choice, tol=1e-9).fit(X.to_numpy(), LABELS, data={"z": Z})
    choice["q"] = "linear"
    two = KernelClassifier(PRIVILEGED, kernel=choice, tol=1e-9).fit(X, LABELS, data={"z": Z[["one", "three"]]})
    assert machine.certificate_.value == pytest.approx(two.certificate_.value, rel=1e-8)
