"""The KKT conditions vanish at optima that CVXPY finds on explicit features, with the solver's own multipliers."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from evaluate_poly import World
from numpy.typing import NDArray
from read_duals import shipped

from kdsl.algebra.derivation import Derivation
from kdsl.algebra.kkt import KktCondition
from kdsl.algebra.plq import Plq
from kdsl.algebra.terms import Bracket, Sym

Floats = NDArray[np.float64]
TOLERANCE = 1e-6
ROWS, FEATURES = 7, 2


class FloatWorld(World):
    """A world whose numbers are given, as floats."""

    dimension = FEATURES

    def number(self, role: str, name: str, places: tuple[int, ...] = ()) -> Any:
        if role == "size":
            return float(self.sizes[name])
        return self.values[role, name, places]


class Case:
    """One spec at one optimum: values of its unknowns and multipliers as arrays over their indices."""

    def __init__(self, name: str, sizes: Mapping[str, int]) -> None:
        self.derivation: Derivation = shipped(name)
        self.world = FloatWorld(0, sizes)

    def put(self, role: str, name: str, values: Any) -> None:
        array = np.asarray(values, dtype=float)
        for places in product(*(range(n) for n in array.shape)):
            self.world.values[role, name, places] = float(array[places])

    def labels(self, name: str, values: Any) -> None:
        for i, value in enumerate(values):
            self.world.values["label", name, (i,)] = int(value)

    def points(self, space: str, name: str, phi: Floats) -> None:
        for i, row in enumerate(phi):
            self.world.values["point", f"{space}/{name}", (i,)] = tuple(map(float, row))

    def vectors(self, space: str, name: str, value: Floats) -> None:
        value = np.asarray(value)
        for places in product(*(range(n) for n in value.shape[:-1])):
            self.world.values["vector", f"{space}/{name}", places] = tuple(map(float, value[places]))

    def members(self, condition: KktCondition) -> list[dict[int | str, int]]:
        sizes = [self.world.sizes[size] for size in condition.sets]
        found = []
        for places in product(*(range(n) for n in sizes)):
            env: dict[int | str, int] = dict(zip(condition.indices, places, strict=True))
            if all(self._holds(b, dict(enumerate(places))) for b in condition.support):
                found.append(env)
        return found

    def _holds(self, bracket: Bracket, env: Mapping[int | str, int]) -> bool:
        return bool(self.world.product(((bracket, 1),), env)[0])

    def violations(self) -> dict[str, float]:
        """The worst violation of every condition, by name."""
        worst: dict[str, float] = {}
        for condition in self.derivation.kkt:
            for env in self.members(condition):
                amount = self._violation(condition, env)
                worst[condition.name] = max(worst.get(condition.name, 0.0), amount)
        return worst

    def _violation(self, condition: KktCondition, env: Mapping[int | str, int]) -> float:
        if condition.loss is not None:
            return self._outside_of_slopes(condition, env)
        if condition.name.startswith("stationarity") and any(
            not isinstance(f, (Sym, Bracket)) for m in condition.body.terms for f, _ in m.factors
        ):
            vector = self.world.vector_of(condition.body, env)
            return max(abs(float(v)) for v in vector)
        value = float(self.world.of(condition.body, env))
        return {"=": abs(value), "<=": max(value, 0.0), ">=": max(-value, 0.0)}[condition.relation]

    def _outside_of_slopes(self, condition: KktCondition, env: Mapping[int | str, int]) -> float:
        """How far -body is from weight times the slopes of the loss at its residual."""
        loss = condition.loss
        assert loss is not None and condition.weight is not None and isinstance(loss.function, Plq)
        target = -float(self.world.of(condition.body, env))
        weight = float(self.world.of(condition.weight, env))
        r = self.world.number("var", loss.residual, tuple(env[i] for i in loss.indices))
        slopes = []
        for t in (r - 1e-7, r + 1e-7):
            piece = loss.function.pieces[sum(1 for cut in loss.function.breaks if t >= float(self.world.of(cut, env)))]
            slopes.append(weight * (float(self.world.of(piece.curvature)) * t + float(self.world.of(piece.slope))))
        return max(min(slopes) - target, target - max(slopes), 0.0)


def data(seed: int) -> tuple[Floats, Floats]:
    generator = np.random.default_rng(seed)
    phi = generator.normal(size=(ROWS, FEATURES))
    signs = np.where(phi[:, 0] + generator.normal(size=ROWS) > 0, 1.0, -1.0)
    signs[:2] = (1.0, -1.0)
    return phi, signs


def solve(objective: Any, constraints: list[Any]) -> None:
    problem = cp.Problem(cp.Minimize(objective), constraints)
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    assert problem.status in ("optimal", "optimal_inaccurate")


def svm_1norm(seed: int) -> Case:
    phi, y = data(seed)
    case = Case("svm_1norm", {"l": ROWS})
    w, b, xi = cp.Variable(FEATURES), cp.Variable(), cp.Variable(ROWS)
    margin, sign = cp.multiply(y, phi @ w + b) >= 1 - xi, xi >= 0
    solve(cp.sum_squares(w) / 2 + 0.7 * cp.sum(xi), [margin, sign])
    case.points("k", "x", phi)
    case.vectors("k", "w", w.value)
    for role, name, values in (
        ("sign", "y", y),
        ("param", "C", 0.7),
        ("var", "b", b.value),
        ("var", "xi", xi.value),
        ("mult", "margin", margin.dual_value),
        ("mult", "xi >= 0", sign.dual_value),
    ):
        case.put(role, name, values)
    return case


def svr_linear_eps(seed: int) -> Case:
    phi, _ = data(seed)
    y = phi[:, 0] - np.abs(phi[:, 1])
    case = Case("svr_linear_eps", {"l": ROWS})
    w, b, xi, eta = cp.Variable(FEATURES), cp.Variable(), cp.Variable(ROWS), cp.Variable(ROWS)
    f = phi @ w + b
    above, below, sign, sign_too = f - y <= 0.2 + xi, y - f <= 0.2 + eta, xi >= 0, eta >= 0
    solve(cp.sum_squares(w) / 2 + 0.5 * cp.sum(xi + eta), [above, below, sign, sign_too])
    case.points("k", "x", phi)
    case.vectors("k", "w", w.value)
    for role, name, values in (
        ("data", "y", y),
        ("param", "C", 0.5),
        ("param", "eps", 0.2),
        ("var", "b", b.value),
        ("var", "xi", xi.value),
        ("var", "xi'", eta.value),
        ("mult", "above", above.dual_value),
        ("mult", "below", below.dual_value),
        ("mult", "xi >= 0", sign.dual_value),
        ("mult", "xi' >= 0", sign_too.dual_value),
    ):
        case.put(role, name, values)
    return case


def sphere_soft(seed: int) -> Case:
    phi, _ = data(seed)
    case = Case("sphere_soft", {"l": ROWS})
    c, square, xi = cp.Variable(FEATURES), cp.Variable(), cp.Variable(ROWS)
    inside = [cp.sum_squares(p - c) <= square + xi[i] for i, p in enumerate(phi)]
    sign, positive = xi >= 0, square >= 0
    solve(square + 0.3 * cp.sum(xi), [*inside, sign, positive])
    case.points("k", "x", phi)
    case.vectors("k", "c", c.value)
    for role, name, values in (
        ("param", "C", 0.3),
        ("var", "r^2", square.value),
        ("var", "xi", xi.value),
        ("mult", "inside", [float(np.ravel(row.dual_value)[0]) for row in inside]),
        ("mult", "xi >= 0", sign.dual_value),
        ("mult", "r^2 >= 0", positive.dual_value),
    ):
        case.put(role, name, values)
    return case


def multiclass_delta(seed: int) -> Case:
    phi, _ = data(seed)
    classes = 3
    y = np.arange(ROWS) % classes
    delta = 1.0 - np.eye(classes)
    case = Case("multiclass_delta", {"l": ROWS, "classes": classes})
    w, xi = cp.Variable((classes, FEATURES)), cp.Variable(ROWS)
    wrong = [(i, k) for i in range(ROWS) for k in range(classes) if k != y[i]]
    margin = [(w[y[i]] - w[k]) @ phi[i] >= delta[y[i], k] - xi[i] for i, k in wrong]
    sign = xi >= 0
    solve(cp.sum_squares(w) / 2 + 0.6 * cp.sum(xi), [*margin, sign])
    alpha = np.zeros((ROWS, classes))
    for (i, k), row in zip(wrong, margin, strict=True):
        alpha[i, k] = float(row.dual_value)
    case.labels("y", y)
    case.points("q", "x", phi)
    case.vectors("q", "w", w.value)
    for role, name, values in (
        ("param", "C", 0.6),
        ("data", "delta", delta),
        ("var", "xi", xi.value),
        ("mult", "margin", alpha),
        ("mult", "xi >= 0", sign.dual_value),
    ):
        case.put(role, name, values)
    return case


def loss_huber(seed: int) -> Case:
    phi, _ = data(seed)
    y = phi[:, 0] - 2 * np.abs(phi[:, 1])
    case = Case("loss_huber", {"l": ROWS})
    w, b, r = cp.Variable(FEATURES), cp.Variable(), cp.Variable(ROWS)
    residual = y - phi @ w - b == r
    solve(cp.sum(cp.huber(r, 0.5)) / 2 + 0.4 * cp.sum_squares(w), [residual])
    case.points("k", "x", phi)
    case.vectors("k", "w", w.value)
    for role, name, values in (
        ("data", "y", y),
        ("param", "lambda", 0.8),
        ("param", "c", 0.5),
        ("var", "b", b.value),
        ("var", "r", r.value),
        ("mult", "huber", residual.dual_value),
    ):
        case.put(role, name, values)
    return case


def loss_hinge(seed: int) -> Case:
    phi, y = data(seed)
    case = Case("loss_hinge", {"l": ROWS})
    w, b, r = cp.Variable(FEATURES), cp.Variable(), cp.Variable(ROWS)
    argument = r == cp.multiply(y, phi @ w + b)  # r - y f = 0, as the loss falls
    solve(cp.sum_squares(w) / 2 + 0.7 * cp.sum(cp.pos(1 - r)), [argument])
    case.points("k", "x", phi)
    case.vectors("k", "w", w.value)
    for role, name, values in (
        ("sign", "y", y),
        ("param", "C", 0.7),
        ("var", "b", b.value),
        ("var", "r", r.value),
        ("mult", "hinge", argument.dual_value),
    ):
        case.put(role, name, values)
    return case


CASES = (svm_1norm, svr_linear_eps, sphere_soft, multiclass_delta, loss_huber, loss_hinge)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("build", CASES, ids=lambda build: build.__name__)
def test_conditions_vanish_at_the_optimum(build: Any, seed: int) -> None:
    violations = build(seed).violations()
    assert {k: v for k, v in violations.items() if v > TOLERANCE} == {}


@pytest.mark.parametrize("build", CASES, ids=lambda build: build.__name__)
def test_a_wrong_multiplier_is_noticed(build: Any) -> None:
    case = build(0)
    label = next(c.label for c in case.derivation.primal.conditions if c.kind in ("stated", "residual"))
    for key in [k for k in case.world.values if k[:2] == ("mult", label)]:
        case.world.values[key] += 0.01
    assert max(case.violations().values()) > 1e-3


def test_every_condition_has_its_kind() -> None:
    for name in ("svm_1norm", "svr_nu", "sphere_soft", "multiclass_delta"):
        derivation = shipped(name)
        kinds = {c.kind for c in derivation.kkt}
        assert kinds == {"stationarity", "primal", "dual", "complementarity"}
        assert len([c for c in derivation.kkt if c.kind == "stationarity"]) == len(derivation.primal.unknowns)
        assert len([c for c in derivation.kkt if c.kind == "primal"]) == len(derivation.primal.conditions)
