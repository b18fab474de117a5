"""Small solved problems for pictures: every shipped spec that has a decision value for each example, on made data."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from kdsl.models.solution import Solution
from kdsl.pipeline import parse_spec
from kdsl.solving.api import read_model, solve

SIZE = 40
CLASSIFIERS = (
    "loss_hinge",
    "loss_huberized_squared_hinge",
    "loss_perceptron",
    "loss_squared_hinge",
    "svm_1norm",
    "svm_1norm_unit",
    "svm_2norm",
    "svm_2norm_unit",
    "svm_hard",
    "svm_hard_unit",
    "svm_no_bias",
    "svm_nu",
    "svm_nu_sum",
    "svm_weighted",
)
REGRESSIONS = (
    "loss_absolute",
    "loss_asymmetric",
    "loss_eps_insensitive",
    "loss_eps_insensitive_squared",
    "loss_huber",
    "loss_pinball",
    "loss_squared",
    "ridge",
    "ridge_ball",
    "ridge_bias",
    "svr_linear_eps",
    "svr_nu",
    "svr_quadratic_eps",
)
NOVELTIES = ("one_class", "sphere_hard", "sphere_nu", "sphere_soft")

PRIVILEGED = """model privileged "slacks that a teacher's points explain"
index  i in 1..l
data   x[i] : input, z[i] : input, y[i] : {-1, 1}
param  C : in (0, inf) = 1
kernel k = rbf(gamma = 1), q = linear
var    w : H(k), v : H(q), b : real, d : real
minimize 1/2 ||w||^2 + 1/2 * ||v||^2 + C * sum[i] (<v, phi(z[i])> + d)
subject to
  margin[i]: y[i] * (<w, phi(x[i])> + b) >= 1 - <v, phi(z[i])> - d
  slack[i]:  <v, phi(z[i])> + d >= 0
predict label(t) = sign(<w, phi(t)> + b)
"""
CENSORED = """model censored "responses known to lie between two numbers"
index  i in 1..l
data   x[i] : input, low[i] : real, high[i] : real
param  C : in (0, inf) = 10
kernel k = rbf(gamma = 1)
var    w : H(k), b : real, xi[i] : real >= 0, xi'[i] : real >= 0
let    f(t) = <w, phi(t)> + b
minimize 1/2 ||w||^2 + C * sum[i] (xi[i] + xi'[i])
subject to
  above[i]: f(x[i]) <= high[i] + xi[i]
  below[i]: f(x[i]) >= low[i] - xi'[i]
predict value(t) = f(t)
"""


@cache
def points() -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.random.default_rng(0).normal(size=(SIZE, 2))


def data_for(name: str) -> dict[str, Any]:
    """Overlapping classes, separable ones for hard margins, a noisy sine for responses."""
    x, random = points(), np.random.default_rng(1)
    if name in CLASSIFIERS or name == "loss_logistic":
        noise = 0.0 if "hard" in name else 0.4
        return {"x": x, "y": np.where(x[:, 0] + noise * random.normal(size=SIZE) > 0, 1.0, -1.0)}
    if name in REGRESSIONS:
        return {"x": x, "y": np.sin(2 * x[:, 0]) + 0.2 * random.normal(size=SIZE)}
    return {"x": x}


@cache
def solved(name: str) -> Solution:
    model = read_model(name)
    missing = {p.name: 0.5 for p in model.parameters if p.default is None}
    return solve(model, data_for(name), missing)


@cache
def privileged() -> Solution:
    return solve(parse_spec(PRIVILEGED), {**data_for("svm_1norm"), "z": points() + 0.1})


@cache
def censored() -> Solution:
    x = np.linspace(0, 6, SIZE)
    random = np.random.default_rng(7)
    low, high = (np.sin(x) + sign * random.uniform(0, 0.6, SIZE) for sign in (-1, 1))
    return solve(parse_spec(CENSORED), {"x": x[:, None], "low": low, "high": high})


@cache
def curve() -> Solution:
    """A regression over one feature called `time`."""
    random = np.random.default_rng(2)
    x = np.sort(random.uniform(0, 6, SIZE))
    table = {"time": x, "level": np.sin(x) + 0.15 * random.normal(size=SIZE)}
    import pandas

    return solve("svr_linear_eps", pandas.DataFrame(table), {"eps": 0.2, "C": 5.0}, target="level")
