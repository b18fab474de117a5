"""Averages of groups, monotone pairs and a bias for each group, from their text to the certificate."""

from __future__ import annotations

import numpy as np
import pytest

from kdsl.bench.own import SPECS, margins
from kdsl.pipeline import parse_spec
from kdsl.solving.api import solve

KERNEL = {"k": "rbf(gamma = 0.3)"}
AVERAGES = margins(
    data=", g[i] : real",
    more="  over: sum[i] g[i] * (<w, phi(x[i])> + b) <= 0.1\n  under: sum[i] g[i] * (<w, phi(x[i])> + b) >= -0.1\n",
)


def examples(n=700):
    rng = np.random.default_rng(0)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    X = rng.normal(size=(n, 4)) + 0.5 * y[:, None]
    first = X[:, 0] > 0
    low = X[rng.choice(n, 30, replace=False)]
    more = {
        "g": np.where(first, 1 / first.sum(), -1 / (~first).sum()),
        "lo": low,
        "hi": low + np.eye(4)[rng.integers(4, size=30)],
        "group": [f"g{n}" for n in rng.integers(8, size=n)],
    }
    return {"x": X, "y": y}, more


@pytest.mark.parametrize(
    ("text", "names"),
    [(AVERAGES, "g"), (SPECS["pairs"], "lo hi"), (SPECS["biases"], "group")],
    ids=["averages", "pairs", "biases"],
)
def test_the_certificate_proves_them_optimal_at_the_first_attempt(text, names):
    data, more = examples()
    got = solve(parse_spec(text), {**data, **{name: more[name] for name in names.split()}}, kernels=KERNEL)
    assert got.status == "optimal" and got.backend == "engine"
    assert got.certificate.rel_gap <= 1e-6 and got.certificate.primal_residual <= 1e-6
    assert got.certificate.dual_residual <= 1e-12
    assert not got.warnings


def test_averages_that_balance_leave_the_bias_alone():
    """sum g = 0 but for rounding: over and under have no entry in b's row, and b stays of the size of f."""
    data, more = examples()
    assert 0 < abs(more["g"].sum()) < 1e-14
    got = solve(parse_spec(AVERAGES), {**data, "g": more["g"]}, kernels=KERNEL)
    assert abs(got.scalars["b"]) < 2
    assert max(r.value for r in got.certificate.residuals if r.condition in ("over", "under")) <= 1e-6
