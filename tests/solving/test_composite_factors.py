"""Factors such as 1 - tau, which are divided by: solved, and bounded, as with a parameter in their place."""

from __future__ import annotations

import numpy as np
import pytest

from kdsl.algebra.derivation import derive
from kdsl.pipeline import parse_spec
from kdsl.solving.api import solve
from kdsl.solving.bounds import evaluate_bounds

HEAD = """
index  i in 1..l
data   x[i] : input, y[i] : real
param  tau : in (0, 1) = 0.8, rest : in (0, 1) = 0.2
kernel k = rbf(gamma = 0.5)
"""
LOSS = """var w : H(k), b : real
loss expectile(r; a) = tau * square(pos(r)) + a * square(pos(-r))
minimize ||w||^2 + sum[i] expectile(y[i] - <w, phi(x[i])> - b; {rest})
"""
SLACKS = """var w : H(k), b : real, xi[i] : real >= 0, xi'[i] : real >= 0
minimize ||w||^2 + tau * sum[i] xi[i]^2 + {rest} * sum[i] xi'[i]^2
subject to
  above[i]: y[i] - <w, phi(x[i])> - b <= xi[i]
  below[i]: <w, phi(x[i])> + b - y[i] <= xi'[i]
"""
TAIL = """var w : H(k), b : real, a : real
minimize 1/2 ||w||^2 + a + 1/({rest} * l) * sum[i] pos(-y[i] * (<w, phi(x[i])> + b) - a)
"""
SVM = """var w : H(k), b : real, xi[i] : real >= 0
minimize 1/2 ||w||^2 + 1/{rest} * sum[i] xi[i]
subject to
  margin[i]: y[i] * (<w, phi(x[i])> + b) >= 1 - xi[i]
"""


def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    return {"x": X, "y": np.sin(2 * X[:, 0]) + X[:, 1]}


@pytest.mark.parametrize("body", [LOSS, SLACKS, TAIL], ids=["loss", "slacks", "tail"])
def test_a_difference_is_a_factor_like_a_parameter(body):
    values = []
    for rest in ("(1 - tau)", "rest"):
        got = solve(parse_spec(HEAD + body.replace("{rest}", rest)), data())
        assert got.status == "optimal"
        values.append(got.certificate.value)
    assert values[0] == pytest.approx(values[1], rel=1e-6)


def test_both_signs_of_expectile_slacks_lose_their_multiplier():
    derivation = derive(parse_spec(HEAD + SLACKS.replace("{rest}", "(1 - tau)")))
    assert [v.label for v in derivation.dual.variables] == ["above", "below"]
    assert not derivation.dual.definitions


def test_the_bounds_of_a_price_with_a_difference_in_it():
    labels = {**data(), "y": np.sign(data()["y"])}
    figures = []
    for rest in ("(1 - tau)", "rest"):
        text = (HEAD + SVM).replace("{rest}", rest).replace("y[i] : real", "y[i] : {-1, 1}")
        figures.append([bound.value for bound in evaluate_bounds(solve(parse_spec(text), labels), 0.05)])
    assert figures[0] and figures[0] == pytest.approx(figures[1], rel=1e-4)
