"""What depends on the model alone is made once, and made anew where the model is another."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kdsl
from kdsl.solving.api import read_model
from kdsl.solving.derived import derivation_of, energies_for

SPEC = """\
index  i in 1..l
data   x[i] : input, y[i] : real
param  lambda : in (0, inf) = 1
kernel k = rbf(gamma = 0.5)
var    w : H(k)
minimize lambda * ||w||^2 + sum[i] (y[i] - <w, phi(x[i])>)^2
predict value(t) = <w, phi(t)>
"""


def test_a_spec_that_is_read_again_is_the_same_model_until_its_text_changes(tmp_path: Path) -> None:
    path = tmp_path / "own.kspec"
    path.write_text(SPEC)
    first = read_model(path)
    assert read_model(path) is first
    assert energies_for(derivation_of(first, {})) is energies_for(derivation_of(read_model(path), {}))
    path.write_text(SPEC.replace("0.5", "0.25"))
    changed = read_model(path)
    assert changed != first
    assert "0.25" in changed.source


def test_kept_parts_serve_every_value_of_a_parameter(tmp_path: Path) -> None:
    path = tmp_path / "own.kspec"
    path.write_text(SPEC)
    random = np.random.default_rng(0)
    X, y = random.normal(size=(30, 2)), random.normal(size=30)
    K = np.exp(-0.5 * ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2))
    for value in (0.1, 1.0, 10.0):
        solution = kdsl.solve(path, {"x": X, "y": y}, {"lambda": value}, tol=1e-9)
        expected = value * float(y @ np.linalg.solve(K + value * np.eye(30), y))
        assert solution.value == pytest.approx(expected, rel=1e-8)
