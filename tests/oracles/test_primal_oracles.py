"""The hand-written primals and the expected duals agree: value, rows, bounds and kinks at the primal's multipliers.

Nothing of kdsl is under test here but its reading of expressions: this is what makes the two usable as oracles.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from evaluate_text import World, excess_of_row, value_of
from numpy.typing import NDArray
from primal_cvxpy import ORACLES, Optimum, features, loss_hinge, ridge, sphere_soft, svm_1norm
from scipy.optimize import minimize

ROOT = Path(__file__).resolve().parents[2]


sys.path.insert(0, str(ROOT / "tests" / "algebra"))
from expected_duals import EXPECTED_DUALS, DualForm  # noqa: E402
from expected_loss_duals import EXPECTED_LOSS_DUALS  # noqa: E402

EXPECTED = {**EXPECTED_DUALS, **EXPECTED_LOSS_DUALS}
REPEATED = {
    "multiclass_delta": "i",
    "loss_multinomial": "i",
    "monotone_groups": "g",
    "lasso": "j",
}  # the index for each of whose values a row stands


class Instance(NamedTuple):
    """Arguments of the oracle, and the names that the expected dual speaks of beyond x and the kernel."""

    arguments: tuple[Any, ...]
    parameters: dict[str, Any]
    names: dict[str, Any]
    sizes: dict[str, int]


def instance(name: str) -> Instance:
    rng = np.random.default_rng(7)
    size = 6
    labels = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    apart = name in ("svm_hard", "svm_hard_unit", "svm_1norm_unit", "svm_nu", "svm_2norm_unit")
    phi = rng.normal(size=(size, 3)) + np.outer(labels, [4.0 if apart else 0.5, 0.0, 0.0])
    target = phi @ [1.0, -1.0, 0.5] + rng.normal(size=size)
    sizes = dict.fromkeys("ijgh", size)
    names: dict[str, Any] = {"l": size, "x": phi, "k": np.dot, "q": np.dot, "y": labels}
    if name == "one_class":
        phi = phi + np.array([2.0, 1.0, 0.0])  # away from the origin, else w = 0
        return Instance((phi,), {"nu": 0.5}, names | {"x": phi}, sizes)
    if name.startswith("sphere"):
        parameters = {"sphere_soft": {"C": 0.3}, "sphere_nu": {"nu": 0.5}}.get(name, {})
        return Instance((phi,), parameters, names, sizes)
    if name == "multiclass_delta":
        wanted, delta = np.array([0, 1, 2, 0, 1, 2]), 1 + rng.uniform(size=(3, 3))
        names |= {"y": wanted, "delta": delta}
        return Instance((phi, wanted, delta), {"C": 0.4}, names, {"i": size, "j": size, "k": 3, "h": 3})
    if name == "loss_multinomial":
        wanted = np.array([0, 1, 2, 0, 1, 2])
        return Instance((phi, wanted), {"lambda": 0.7}, names | {"y": wanted}, {"i": size, "j": size, "k": 3, "h": 3})
    if name in ("lasso", "elastic_net"):
        parameters = {"lambda": 2.0} | ({"tau": 0.4} if name == "elastic_net" else {})
        return Instance((phi, target), parameters, names | {"y": target}, {"i": size, "j": 3})
    if name in ("loss_squared_hinge", "loss_huberized_squared_hinge", "loss_logistic", "loss_perceptron"):
        return Instance((phi * 0.3, labels), {"lambda": 0.7}, names | {"x": phi * 0.3}, sizes)
    if name.startswith("loss") and name != "loss_hinge":
        parameters = {
            "loss_eps_insensitive": {"eps": 0.3},
            "loss_eps_insensitive_squared": {"eps": 0.3},
            "loss_huber": {"c": 0.8},
            "loss_pinball": {"tau": 0.3},
            "loss_asymmetric": {"tau": 0.4},
        }.get(name, {})
        return Instance((phi, target), {"lambda": 0.7} | parameters, names | {"y": target}, sizes)
    if name == "rank_pairs":
        query = np.array([1.0, 1.0, 1.0, 2.0, 2.0, 2.0])
        return Instance((phi, target, query), {"C": 0.4}, names | {"y": target, "q": query}, sizes)
    if name == "svm_weighted":
        weight = rng.uniform(0.5, 2.0, size=size)
        return Instance((phi, labels, weight), {"C": 0.4}, names | {"s": weight}, sizes)
    if name == "monotone_groups":
        weight, group = rng.uniform(0.5, 2.0, size=size), np.array([0, 0, 0, 0, 1, 1])
        lo, hi = rng.normal(size=(2, 4, 3))
        names |= {"s": weight, "group": group, "lo": lo, "hi": hi}
        return Instance(
            (phi, labels, weight, group, lo, hi), {"C": 0.4}, names, {"i": size, "p": size, "j": 4, "h": 4, "g": 2}
        )
    if name.startswith(("ridge", "svr")):
        parameters = {
            "ridge": {"lambda": 0.7},
            "ridge_bias": {"lambda": 0.7},
            "ridge_ball": {"B": 0.8},
            "svr_nu": {"C": 2.0, "nu": 0.4},
        }.get(name, {"C": 0.5, "eps": 0.3})
        return Instance((phi, target), parameters, names | {"y": target}, sizes)
    parameters = {
        "svm_hard": {},
        "svm_hard_unit": {},
        "svm_nu": {"nu": 0.8},
        "svm_nu_sum": {"nu": 0.6},
        "svm_no_bias": {"C": 0.4, "b0": 0.3},
    }.get(name, {"C": 0.4})
    return Instance((phi, labels), parameters, names, sizes)


def solve(name: str) -> tuple[Instance, Optimum]:
    case = instance(name)
    spelled = {("lambda_" if key == "lambda" else key): value for key, value in case.parameters.items()}
    return case, ORACLES[name](*case.arguments, **spelled)


def check_form(name: str, form: DualForm, case: Instance, answer: Optimum) -> None:
    world = World({**case.names, **case.parameters, **answer.multipliers}, case.sizes)
    for new, text in form.merged.items():
        world = world.with_values({new: value_of(text, world)})
    value = value_of(form.objective, world)
    for new, slope in form.kinks.items():
        value -= value_of(slope, world) * np.abs(world.values[new]).sum()
    if form.root is not None:
        radicand = value_of(form.root.radicand, world)
        value -= value_of(form.root.coefficient, world) * np.sqrt(radicand)
    assert value == pytest.approx(float(answer), rel=1e-5, abs=1e-5)
    for multiplier, (lower, upper) in form.bounds.items():
        entries = np.atleast_1d(world.values[multiplier])
        for position, entry in np.ndenumerate(entries):
            here = world.with_values({"i": position[0]})
            if lower != "-inf":
                assert entry >= value_of(lower, here) - 1e-5
            if upper != "inf":
                assert entry <= value_of(upper, here) + 1e-5
    index = REPEATED.get(name)
    for row in form.rows:
        for at in range(case.sizes[index] if index else 1):
            relation, excess = excess_of_row(row, world.with_values({index: at} if index else {}))
            assert {"=": abs(excess), "<=": excess, ">=": -excess}[relation] <= 1e-5, row


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_the_expected_dual_attains_the_primal_value(name: str) -> None:
    case, answer = solve(name)
    assert np.isfinite(float(answer)) and (abs(float(answer)) > 1e-3 or name == "loss_perceptron")
    check_form(name, EXPECTED[name].dual, case, answer)
    if EXPECTED[name].exact is not None:
        check_form(name, EXPECTED[name].exact, case, answer)


def test_the_exact_dual_of_the_sphere_holds_below_one_over_l() -> None:
    case = instance("sphere_soft")._replace(parameters={"C": 0.1})
    exact = EXPECTED["sphere_soft"].exact
    assert exact is not None
    check_form("sphere_soft", exact, case, sphere_soft(*case.arguments, C=0.1))


def test_every_shipped_spec_has_its_oracle() -> None:
    assert sorted(path.stem for path in (ROOT / "specs").glob("*.kspec")) == sorted(ORACLES)


def test_ridge_and_the_mean_sphere_have_closed_forms() -> None:
    case = instance("ridge")
    phi, y = case.arguments
    gram = phi @ phi.T
    assert float(ridge(phi, y, lambda_=0.7)) == pytest.approx(0.7 * y @ np.linalg.solve(gram + 0.7 * np.eye(6), y))
    scatter = float(np.sum((phi - phi.mean(axis=0)) ** 2))
    assert float(sphere_soft(phi, C=0.1)) == pytest.approx(0.1 * scatter, rel=1e-6)


def test_features_of_a_gram_matrix_give_it_back() -> None:
    x = np.random.default_rng(1).normal(size=(8, 2))
    gram = np.exp(-0.5 * np.sum((x[:, None] - x[None, :]) ** 2, axis=2))
    phi = features(gram)
    assert phi @ phi.T == pytest.approx(gram, abs=1e-12)
    y = np.array([1.0, -1.0] * 4)
    assert float(loss_hinge(phi, y, C=2.0)) == pytest.approx(float(svm_1norm(phi, y, C=2.0)), rel=1e-6)


def test_unbounded_and_infeasible_are_infinite() -> None:
    phi = np.array([[0.0], [1.0], [0.5]])
    y = np.array([1.0, 1.0, -1.0])
    assert float(ORACLES["svm_hard"](phi, y)) == np.inf
    assert float(ORACLES["svm_1norm_unit"](phi, y, C=0.4)) == -np.inf  # below 1/(2 min(l+, l-)) = 1/2


# Losses written through a CVXPY atom of another scale, against a minimiser that only evaluates their definition.
DEFINITIONS = {
    "loss_huberized_squared_hinge": ({}, lambda m: np.where(m < -1, -4 * m, np.maximum(0, 1 - m) ** 2)),
    "loss_huber": ({"c": 0.8}, lambda r: np.where(np.abs(r) <= 0.8, r**2 / 2, 0.8 * np.abs(r) - 0.32)),
    "loss_asymmetric": ({"tau": 0.4}, lambda r: np.where(r >= 0, r**2, -0.4 * r)),
}


@pytest.mark.parametrize("name", sorted(DEFINITIONS))
def test_a_loss_is_its_definition(name: str) -> None:
    parameters, loss = DEFINITIONS[name]
    case = instance("svm_1norm" if "hinge" in name else "svr_nu")
    phi, y = case.arguments

    def objective(point: NDArray[np.float64]) -> float:
        f = phi @ point[:-1] + point[-1]
        return float(np.sum(loss(y * f if "hinge" in name else y - f)) + 0.1 * point[:-1] @ point[:-1])

    value = float(ORACLES[name](phi, y, lambda_=0.2, **parameters))
    best = min(
        minimize(
            objective, start, method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-12, "maxiter": 20_000}
        ).fun
        for start in np.random.default_rng(3).normal(size=(3, phi.shape[1] + 1))
    )
    assert value <= best + 1e-6
    assert value == pytest.approx(best, rel=1e-4)
