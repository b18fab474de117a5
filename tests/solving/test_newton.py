"""Newton's method on entropies against the conic solver, and what it leaves to that one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl.language.diagnostics import KdslError
from kdsl.language.model import Model
from kdsl.solving.api import solve
from kdsl.solving.backends import newton

RNG = np.random.default_rng(7)
X = RNG.normal(size=(40, 2))
Y = np.where(X[:, 0] + 0.4 * RNG.normal(size=40) > 0, 1.0, -1.0)
WEIGHTS = np.where(np.arange(40) % 5 == 0, 0.0, RNG.uniform(0.1, 100.0, 40))
CLASSES = np.argmax(np.c_[X, X.sum(axis=1)] + 0.3 * RNG.normal(size=(40, 3)), axis=1)
BINARY = """model binary
index  i in 1..l
data   x[i] : input, y[i] : {-1, 1}, s[i] : real >= 0
kernel k = rbf(gamma = 0.5)
var    w : H(k), b : real
minimize 1/2 ||w||^2 + sum[i] s[i] * logistic(y[i] * (<w, phi(x[i])> + b))
predict label(t) = sign(<w, phi(t)> + b)
"""
SEVERAL = """model several
index  i in 1..l, c in classes
data   x[i] : input, y[i] : classes, s[i] : real >= 0
kernel k = rbf(gamma = 0.5)
var    w[c] : H(k)
minimize 1/2 sum[c] ||w[c]||^2 + sum[i] s[i] * multinomial(<w[c], phi(x[i])>; c, y[i])
predict class(t) = argmax[c] <w[c], phi(t)>
"""
BIASED = SEVERAL.replace("H(k)", "H(k), b[c] : real").replace("phi(x[i])>;", "phi(x[i])> + b[c];")


def data(text: str) -> dict[str, Any]:
    return {"x": X, "y": Y if text == BINARY else CLASSES, "s": WEIGHTS}


def spec(text: str) -> Model:
    return kdsl.parse_spec(text)


@pytest.mark.parametrize("text", [BINARY, SEVERAL, BIASED], ids=["binary", "several", "redundant_rows"])
def test_the_same_optimum_as_a_conic_solver(text: str) -> None:
    """With weights from 0 to 100: points without weight carry nothing."""
    own = solve(spec(text), data(text), tol=1e-10)
    conic = solve(spec(text), data(text), backend="cvxpy")
    assert (own.backend, conic.backend) == ("newton", "cvxpy")
    assert own.status == conic.status == "optimal"
    assert own.certificate.rel_gap <= 1e-12 and own.iterations <= 20
    assert own.value == pytest.approx(conic.value, rel=1e-7)
    assert not own.theta.reshape(40, -1)[WEIGHTS == 0].any()


@pytest.mark.parametrize(("text", "backend"), [(BINARY, "engine"), (BINARY, "osqp"), (SEVERAL, "direct")])
def test_backends_of_normal_forms_refuse_entropies(text: str, backend: str) -> None:
    with pytest.raises(KdslError) as refused:
        solve(spec(text), data(text), backend=backend)
    (said,) = refused.value.diagnostics
    assert said.code == "K601"
    assert said.why.startswith("it takes no entropies") and "an entropy for " in said.why


def test_newton_refuses_duals_without_an_entropy() -> None:
    with pytest.raises(KdslError) as refused:
        solve("svm_1norm", {"x": X, "y": Y}, backend="newton")
    (said,) = refused.value.diagnostics
    assert said.code == "K601" and said.why.startswith("it takes duals in which some multipliers have an entropy")


def test_a_name_that_no_backend_has_is_said_to_be_unknown() -> None:
    with pytest.raises(KdslError) as refused:
        solve(spec(BINARY), data(BINARY), backend="newtom")
    assert refused.value.diagnostics[0].code == "K602"


@pytest.mark.parametrize("scale", [1e6, 1e12])
def test_where_rounding_stops_newton_the_better_of_two_answers_is_kept_with_a_warning(scale: float) -> None:
    far = data(BINARY) | {"x": scale * X}
    linear = spec(BINARY.replace("rbf(gamma = 0.5)", "linear"))
    solution, alone = solve(linear, far), solve(linear, far, backend="newton")
    (warning,) = (w for w in solution.warnings if w.code == "K608")
    assert "the relative gap is" in (warning.why or "")
    assert alone.backend == "newton" and not any(w.code == "K608" for w in alone.warnings)
    assert solution.status != "optimal" and alone.status != "optimal"
    assert solution.certificate.rel_gap <= alone.certificate.rel_gap


def test_an_answer_that_newton_does_not_reach_is_the_conic_solver_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newton, "_STEPS", 0)
    solution = solve(spec(BINARY), data(BINARY))
    assert (solution.backend, solution.status) == ("cvxpy", "optimal")
    assert any(w.code == "K608" for w in solution.warnings)


@pytest.mark.parametrize(
    ("limit", "message"),
    [({"time_limit": 1e-4}, "the time limit was reached"), ({"max_iterations": 2}, "the iteration limit was reached")],
)
def test_a_limit_that_ends_the_conic_solver_is_no_error(limit: dict[str, Any], message: str) -> None:
    found = solve(spec(BINARY), data(BINARY), backend="cvxpy", **limit)
    assert (found.status, found.message) == ("user_limit", message)


@pytest.mark.parametrize("text", [BINARY, SEVERAL], ids=["binary", "several"])
def test_no_weights_at_all(text: str) -> None:
    solution = solve(spec(text), data(text) | {"s": np.zeros(40)})
    assert (solution.backend, solution.status, solution.value) == ("newton", "optimal", 0.0)
    assert not solution.theta.any()
