"""Conic programs beyond norms alone: squares of scalars in conditions, curved losses beside a norm, weights of 0."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pytest

import kdsl
from kdsl.language.diagnostics import KdslError

RNG = np.random.default_rng(3)
X = RNG.normal(size=(40, 2))
Y = np.where(X[:, 0] + 0.7 * RNG.normal(size=40) > 0, 1.0, -1.0)
T = np.sin(2 * X[:, 0]) + X[:, 1]
GROUP = np.arange(40) % 2
GRAM = np.exp(-2.0 * np.square(X[:, None] - X[None]).sum(-1))
HEAD = """index  i in 1..l
data   x[i] : input, y[i] : {kind}
kernel k = rbf(gamma = 2)
var    w : H(k), b : real{more}
minimize {objective}
subject to
{conditions}
predict score(t) = <w, phi(t)> + b
"""


def features() -> np.ndarray:
    eigenvalues, vectors = np.linalg.eigh(GRAM)
    return vectors * np.sqrt(np.maximum(eigenvalues, 0.0))


W, B = cp.Variable(40), cp.Variable()
F = features() @ W + B
SLACK = cp.pos(1 - cp.multiply(Y, F))
HALF = 0.5 * cp.sum_squares(W)
FIT = T - F
RESIDUAL = "y[i] - <w, phi(x[i])> - b"
MARGIN = "  margin[i]: y[i] * (<w, phi(x[i])> + b) >= 1 - xi[i]\n"
SIGNS = {"kind": "{-1, 1}", "more": ", xi[i] : real >= 0"}
TARGETS = {"kind": "real", "more": ", r[i] : real"}
DEFINED = "  res[i]: r[i] = y[i] - <w, phi(x[i])> - b\n"
CASES: dict[str, tuple[dict[str, str], str, str, Any, list[Any]]] = {
    "a ball of w and b": (
        SIGNS, "sum[i] xi[i]", MARGIN + "  fixed: b^2 + ||w||^2 <= 2", cp.sum(SLACK), [cp.sum_squares(W) + B**2 <= 2],
    ),
    "a budget of squares": (
        SIGNS, "1/2 ||w||^2", MARGIN + "  budget: sum[i] xi[i]^2 <= 3", HALF, [cp.sum_squares(SLACK) <= 3],
    ),
    "squares one by one": (
        SIGNS, "1/2 ||w||^2 + sum[i] xi[i]", MARGIN + "  each[i]: xi[i]^2 <= 0.81", HALF + cp.sum(SLACK), [SLACK <= 0.9]
    ),
    "a bias": (
        SIGNS, "1/2 ||w||^2 + sum[i] xi[i]", MARGIN + "  small: b^2 <= 1e-4", HALF + cp.sum(SLACK), [B**2 <= 1e-4],
    ),
    "the error that noise has": (
        TARGETS, "1/2 ||w||^2", DEFINED + "  fit: sum[i] r[i]^2 <= 1", HALF, [cp.sum_squares(FIT) <= 1],
    ),
}  # fmt: skip


def text_of(fields: dict[str, str], objective: str, conditions: str) -> str:
    return HEAD.format(**fields, objective=objective, conditions=conditions)


@pytest.mark.parametrize("name", CASES)
def test_squares_of_scalars_in_conditions(name: str) -> None:
    fields, objective, conditions, cost, constraints = CASES[name]
    expected = cp.Problem(cp.Minimize(cost), constraints).solve(solver=cp.CLARABEL)
    data = {"x": X, "y": Y if fields is SIGNS else T}
    found = kdsl.solve(kdsl.parse_spec(text_of(fields, objective, conditions)), data)
    assert found.status == "optimal", found.message
    assert found.value == pytest.approx(expected, rel=1e-5)


def test_the_worst_of_two_groups() -> None:
    text = """index  i in 1..l, g in groups
data   x[i] : input, y[i] : real, of[i] : groups
kernel k = rbf(gamma = 2)
var    w : H(k), b : real, r[i] : real, t : real
minimize 1/2 ||w||^2 + t
subject to
  res[i]: r[i] = y[i] - <w, phi(x[i])> - b
  fit[g]: sum[i where of[i] = g] r[i]^2 <= t
predict score(p) = <w, phi(p)> + b
"""
    worst = cp.maximum(*(cp.sum_squares(FIT[np.flatnonzero(g == GROUP)]) for g in (0, 1)))
    expected = cp.Problem(cp.Minimize(HALF + worst)).solve(solver=cp.CLARABEL)
    found = kdsl.solve(kdsl.parse_spec(text), {"x": X, "y": T, "of": GROUP.astype(str)})
    assert found.status == "optimal"
    assert found.value == pytest.approx(expected, rel=1e-5)


def test_products_of_scalars_are_refused() -> None:
    text = text_of(
        {"kind": "{-1, 1}", "more": ", c : real"},
        f"1/2 ||w||^2 + c^2 + sum[i] hinge({RESIDUAL})",
        "  near: (b - c)^2 <= 1",
    )
    with pytest.raises(KdslError) as caught:
        kdsl.solve(kdsl.parse_spec(text), {"x": X, "y": Y})
    assert caught.value.diagnostics[0].code == "K614"


@pytest.mark.parametrize("seed", range(6))
def test_curved_losses_beside_a_norm(seed: int) -> None:
    """A conic solver fails at most of these when squares stay in its objective."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(30, 2)), np.sign(rng.normal(size=30))
    text = """index i in 1..l
data x[i] : input, y[i] : {-1, 1}
kernel k = rbf(gamma = 0.5)
var w : H(k)
minimize 0.3 * ||w|| + sum[i] squared_hinge(y[i] * <w, phi(x[i])>)
predict score(t) = <w, phi(t)>
"""
    found = kdsl.solve(kdsl.parse_spec(text), {"x": x, "y": y})
    eigenvalues, vectors = np.linalg.eigh(np.exp(-0.5 * np.square(x[:, None] - x[None]).sum(-1)))
    w = cp.Variable(30)
    f = (vectors * np.sqrt(np.maximum(eigenvalues, 0.0))) @ w
    cost = 0.3 * cp.norm(w) + cp.sum_squares(cp.pos(1 - cp.multiply(y, f)))
    expected = cp.Problem(cp.Minimize(cost)).solve(solver=cp.CLARABEL, use_quad_obj=False)
    assert found.status == "optimal", found.message
    assert found.value == pytest.approx(expected, rel=1e-5)


OWN = "loss own(r) = max(square(pos(r)), -0.5*r)\n"


@pytest.mark.parametrize("penalty", ["||w||", "1/2 ||w||^2"])
@pytest.mark.parametrize(
    "loss",
    [f"({RESIDUAL})^2", f"huber({RESIDUAL}; 1)", f"eps_insensitive_squared({RESIDUAL}; 0.1)", f"own({RESIDUAL})"],
)
def test_a_weight_of_nothing_leaves_the_example_out(penalty: str, loss: str) -> None:
    points, y = np.arange(4.0)[:, None], np.array([1.0, -1.0, 2.0, 0.0])
    weights = np.array([1.0, 1.0, 0.0, 2.0])
    text = f"""index i in 1..l
data x[i] : input, y[i] : real, s[i] : real >= 0
kernel k = rbf(gamma = 1)
var w : H(k), b : real
{OWN}minimize {penalty} + sum[i] s[i] * {loss}
predict value(t) = <w, phi(t)> + b
"""
    model, some = kdsl.parse_spec(text), weights > 0
    whole = kdsl.solve(model, {"x": points, "y": y, "s": weights})
    left = kdsl.solve(model, {"x": points[some], "y": y[some], "s": weights[some]})
    assert whole.status == left.status == "optimal"
    assert whole.value == pytest.approx(left.value, rel=3e-6)


@pytest.mark.parametrize("a", [0.0, 0.5])
def test_a_parameter_of_0_is_no_weight_of_0(a: float) -> None:
    """The dual has the square of alpha - s a over 4 s tau: terms with a beside divisors, and with s above and below."""
    points, y = np.arange(6.0)[:, None], np.array([1.0, -1.0, 2.0, 0.0, 1.0, 0.5])
    weights = np.array([1.0, 1.0, 0.0, 2.0, 1.0, 1.0])
    text = f"""index i in 1..l
data x[i] : input, y[i] : real, s[i] : real >= 0
param a : in (-inf, inf) = 0, tau : in (0, inf) = 1
kernel k = rbf(gamma = 1)
var w : H(k), b : real
loss tilted(r; a, tau) = tau * square(r) + a * r
minimize ||w|| + sum[i] s[i] * tilted({RESIDUAL}; a, tau)
predict value(t) = <w, phi(t)> + b
"""
    model, some = kdsl.parse_spec(text), weights > 0
    params = {"a": a, "tau": 0.7}
    whole = kdsl.solve(model, {"x": points, "y": y, "s": weights}, params)
    left = kdsl.solve(model, {"x": points[some], "y": y[some], "s": weights[some]}, params)
    assert whole.status == left.status == "optimal"
    assert whole.value == pytest.approx(left.value, rel=3e-6)


@pytest.mark.parametrize("unit", [1.0, 1e-4, 1e-6])
def test_a_cone_holds_as_a_share_of_its_radius(unit: float) -> None:
    """A dual point outside its cone proves nothing, however small the cone is."""
    text = """index i in 1..l
data x[i] : input, y[i] : {-1, 1}
param lam : in (0, inf) = 1
kernel k = linear
var w : H(k)
minimize sum[i] logistic(y[i] * <w, phi(x[i])>) + lam * ||w||
predict score(p) = <w, phi(p)>
"""
    w = cp.Variable(2)
    cost = cp.sum(cp.logistic(-cp.multiply(Y, X @ w))) + 2 * cp.norm(w)
    expected = cp.Problem(cp.Minimize(cost)).solve(solver=cp.CLARABEL)
    found = kdsl.solve(kdsl.parse_spec(text), {"x": X * unit, "y": Y}, {"lam": 2 * unit})
    if found.status == "optimal":
        assert found.value == pytest.approx(expected, rel=1e-5)
    assert unit < 1 or found.status == "optimal"


@pytest.mark.parametrize("members", ["<w, phi(z[j])> <= 0.3", "<w, phi(z[j])> = 0.3"])
def test_a_condition_on_nobody_is_no_condition(members: str) -> None:
    text = f"""index i in 1..l, j in 1..m
data x[i] : input, t[i] : real, z[j] : input
kernel k = rbf(gamma = 0.5)
var w : H(k)
minimize 1/2 ||w||^2 + sum[i] (t[i] - <w, phi(x[i])>)^2
subject to
  u[j]: {members}
"""
    data = {"x": np.array([[0.0], [1.0]]), "t": np.array([1.0, -1.0])}
    found = kdsl.solve(kdsl.parse_spec(text), {**data, "z": np.zeros((0, 1))})
    assert found.status == "optimal"
