"""A radius that gave way to its difference from ||c||^2 is reported, predicted with and saved as it was declared."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kdsl
from kdsl.api import norm, phi, rbf, sum_over

SPEC = Path(__file__).resolve().parents[1] / "algebra" / "models" / "one_class_labelled.kspec"
RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 2))
Y = np.where(np.arange(30) < 26, 1.0, -1.0)
X[26:] += 3.0


def test_the_radius_is_what_the_conditions_say() -> None:
    solution = kdsl.solve(str(SPEC), {"x": X, "y": Y}, {"C": 0.2}, tol=1e-9)
    radius = solution.quantities["R"]
    assert radius == pytest.approx(solution.scalars["R - ||c||^2"] + solution.quantities["||c||^2"], abs=1e-12)
    alpha = solution.multipliers["side"]
    free = (alpha > 1e-6) & (alpha < 0.2 - 1e-6)
    assert free.any()
    assert np.abs(solution.decision(X)[free]).max() < 1e-4  # on the sphere
    slack = np.maximum(0.0, Y * solution.decision(X))
    assert radius + 0.2 * slack.sum() == pytest.approx(solution.value, rel=1e-6)


def test_a_model_file_predicts_with_it(tmp_path: Path) -> None:
    solution = kdsl.solve(str(SPEC), {"x": X, "y": Y}, {"C": 0.2})
    solution.save(tmp_path / "sphere.kdsl")
    loaded = kdsl.load_model(tmp_path / "sphere.kdsl")
    assert np.allclose(loaded.predict(X), solution.predict(X), atol=1e-12)


def test_a_problem_in_python_knows_it() -> None:
    p = kdsl.Problem("sphere")
    i = p.index("i", 1, "l")
    x, y = p.data("x", i, kind="input"), p.data("y", i, values=(-1, 1))
    c, radius = p.hilbert("c", p.kernel("k", rbf(gamma=0.5))), p.real("R")
    xi = p.real("xi", i, lower=0)
    p.minimize(radius + 0.2 * sum_over(i)(xi[i]))
    p.subject_to("side", i, y[i] * (radius - norm(phi(x[i]) - c) ** 2) >= -xi[i])
    solution = p.solve({"x": X, "y": Y})
    assert radius.value == pytest.approx(solution.quantities["R"])
