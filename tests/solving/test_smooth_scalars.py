"""Logistic and multinomial losses beside conditions, filters, weights and norms, against the primal in CVXPY.

The kernel is linear, so that the primal is written there with w itself: nothing of kdsl's is in it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import kdsl
from kdsl.models.solution import Solution
from kdsl.solving.infeasibility import NoSolution
from kdsl.solving.scalar_problem import ScalarProblem
from kdsl.solving.smooth_losses import SmoothLoss
from kdsl.solving.smooth_scalars import along_one, along_several

cp = pytest.importorskip("cvxpy")

RNG = np.random.default_rng(3)
X = RNG.normal(size=(40, 2))
Y = np.where(X[:, 0] + 0.6 * RNG.normal(size=40) > 0, 1.0, -1.0)
CLASSES = np.argmax(np.c_[X, X.sum(axis=1)] + 0.5 * RNG.normal(size=(40, 3)), axis=1)
FIRST = np.arange(40) % 2
F = "(<w, phi(x[i])> + b)"
BINARY = """model smooth
index  i in 1..l, j in 1..l
data   x[i] : input, y[i] : {-1, 1}, s[i] : real >= 0 = 1, g[i] : real = 1
kernel k = linear
var    w : H(k), b : real
minimize 1/2 ||w||^2 + OBJECTIVE
predict value(t) = <w, phi(t)> + b
"""
SEVERAL = """model several
index  i in 1..l, k in classes
data   x[i] : input, y[i] : classes
kernel q = linear
var    w[k] : H(q), b[k] : real
minimize 1/2 sum[k] ||w[k]||^2 + OBJECTIVE
predict class(t) = argmax[k] (<w[k], phi(t)> + b[k])
"""
LOGISTIC = f"sum[i] s[i] * logistic(y[i] * {F})"
MULTINOMIAL = "sum[i] multinomial(<w[k], phi(x[i])> + b[k]; k, y[i])"


def text_of(model: str, objective: str, *conditions: str) -> str:
    stated = "subject to\n  " + "\n  ".join(conditions) + "\n" if conditions else ""
    return model.replace("OBJECTIVE", objective + "\n" + stated.rstrip()).replace("\n\n", "\n")


def solved(text: str, **data: Any) -> Solution:
    return kdsl.solve(kdsl.parse_spec(text), {"x": X, "y": Y, **data})


def least(cost: Any, conditions: list[Any]) -> float:
    program = cp.Problem(cp.Minimize(cost), conditions)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return float(program.value)


Stated = tuple[Any, Any, Any]  # w, b, f
CONDITIONS: dict[str, tuple[list[str], Callable[[Stated], list[Any]]]] = {
    "a fixed bias": (["fix: b = 3"], lambda p: [p[1] == 3]),
    "a sum of values": ([f"fix: sum[i] {F} = 0"], lambda p: [cp.sum(p[2]) == 0]),
    "equal averages": (
        [f"one: sum[i] g[i] * {F} = 0", f"two: sum[i] (1 - g[i]) * {F} = 2"],
        lambda p: [FIRST @ p[2] == 0, (1 - FIRST) @ p[2] == 2],
    ),
    "values that are bounded": ([f"up[i]: {F} <= 1/2"], lambda p: [p[2] <= 0.5]),
    "a bound and an equation": ([f"up[i]: {F} <= 2", f"fix: sum[i] {F} = 0"], lambda p: [p[2] <= 2, cp.sum(p[2]) == 0]),
    "a ball": (["ball: ||w||^2 <= 1/4"], lambda p: [cp.sum_squares(p[0]) <= 0.25]),
    "a ball and a fixed bias": (["ball: ||w||^2 <= 1/4", "fix: b = 1"], lambda p: [cp.norm(p[0]) <= 0.5, p[1] == 1]),
}


@pytest.mark.parametrize("name", CONDITIONS)
@pytest.mark.parametrize("hinge", [False, True], ids=["logistic", "logistic and hinge"])
def test_logistic_regression_under_conditions(name: str, hinge: bool) -> None:
    conditions, stated = CONDITIONS[name]
    objective = LOGISTIC + (f" + sum[i] hinge(y[i] * {F})" if hinge else "")
    ours = solved(text_of(BINARY, objective, *conditions), g=FIRST.astype(float))
    w, b = cp.Variable(2), cp.Variable()
    f = X @ w + b
    cost = 0.5 * cp.sum_squares(w) + cp.sum(cp.logistic(-cp.multiply(Y, f)))
    cost = cost + (cp.sum(cp.pos(1 - cp.multiply(Y, f))) if hinge else 0)
    assert ours.status == "optimal", (ours.message, ours.warnings)
    assert ours.value == pytest.approx(least(cost, stated((w, b, f))), rel=2e-6)
    assert ours.certificate.primal_residual <= 1e-6


@pytest.mark.parametrize("condition", ["", "all: sum[k] b[k] = 1", "each[k]: b[k] = 1", "balls[k]: ||w[k]||^2 <= 1/10"])
def test_multinomial_regression_under_conditions(condition: str) -> None:
    ours = solved(text_of(SEVERAL, MULTINOMIAL, *([condition] if condition else [])), y=CLASSES)
    w, b = cp.Variable((2, 3)), cp.Variable(3)
    f = X @ w + cp.reshape(b, (1, 3), order="C")
    cost = 0.5 * cp.sum_squares(w) + cp.sum(cp.log_sum_exp(f, axis=1)) - cp.sum(cp.multiply(np.eye(3)[CLASSES], f))
    stated = {
        "": [],
        "all: sum[k] b[k] = 1": [cp.sum(b) == 1],
        "each[k]: b[k] = 1": [b == 1],
        "balls[k]: ||w[k]||^2 <= 1/10": [cp.sum(cp.square(w), axis=0) <= 0.1],
    }
    assert ours.status == "optimal", (ours.message, ours.warnings)
    assert ours.value == pytest.approx(least(cost, stated[condition]), rel=2e-6)


def test_a_ball_for_each_class_under_the_hinge() -> None:
    objective = "sum[i] sum[k where k != y[i]] hinge(<w[y[i]] - w[k], phi(x[i])> + b[y[i]] - b[k])"
    ours = solved(text_of(SEVERAL, objective, "balls[k]: ||w[k]||^2 <= 1/10"), y=CLASSES)
    w, b = cp.Variable((2, 3)), cp.Variable(3)
    f = X @ w + cp.reshape(b, (1, 3), order="C")
    own = cp.sum(cp.multiply(np.eye(3)[CLASSES], f), axis=1, keepdims=True)
    cost = 0.5 * cp.sum_squares(w) + cp.sum(cp.pos(1 - own @ np.ones((1, 3)) + f)) - len(X)  # 1 from the class itself
    assert ours.status == "optimal"
    assert ours.value == pytest.approx(least(cost, [cp.sum(cp.square(w), axis=0) <= 0.1]), rel=2e-6)


@pytest.mark.parametrize(
    ("objective", "pairs"),
    [
        ("sum[i where y[i] = 1] logistic(<w, phi(x[i])> + b)", None),
        ("sum[i, j where y[i] > y[j]] logistic(<w, phi(x[i])> - <w, phi(x[j])>)", (Y[:, None] > Y)),
    ],
    ids=["one class", "pairs"],
)
def test_a_loss_for_some_members(objective: str, pairs: Any) -> None:
    ours = solved(text_of(BINARY, objective + " + b^2"))
    w, b = cp.Variable(2), cp.Variable()
    if pairs is None:
        loss = cp.sum(cp.logistic(-(X[Y > 0] @ w + b)))
    else:
        better, worse = np.nonzero(pairs)
        loss = cp.sum(cp.logistic(-(X[better] - X[worse]) @ w))
    assert ours.status == "optimal", ours.message
    assert ours.value == pytest.approx(least(0.5 * cp.sum_squares(w) + loss + b**2, []), rel=2e-6)


@pytest.mark.parametrize("far", [0.0, 40.0, -300.0, 1e4])
@pytest.mark.parametrize("wide", [1e-2, 1.0, 1e3])
def test_points_may_be_anywhere(far: float, wide: float) -> None:
    """A bias makes the answer the same wherever the origin is, also where losses at b = 0 are flat."""
    here = solved(text_of(BINARY, LOGISTIC), x=X * wide)
    there = solved(text_of(BINARY, LOGISTIC), x=X * wide + far)
    assert here.status == there.status == "optimal"
    assert there.value == pytest.approx(here.value, rel=1e-6)


@pytest.mark.parametrize(
    "loss", ["squared(y[i] - F)", "squared_hinge(y[i] * F)", "huber(y[i] - F)", "logistic(y[i] * F)"]
)
def test_a_weight_of_nothing_is_an_example_that_is_not_there(loss: str) -> None:
    text = text_of(BINARY, "sum[i] s[i] * " + loss.replace("F", F))
    weights = np.where(np.arange(40) % 3 == 0, 0.0, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours = solved(text, s=weights)
    without = kdsl.solve(kdsl.parse_spec(text), {"x": X[weights > 0], "y": Y[weights > 0]})
    assert ours.status == without.status == "optimal"
    assert [note.code for note in ours.warnings] == ["K544"]
    assert ours.value == pytest.approx(without.value, rel=1e-6)


@pytest.mark.parametrize("conditions", [[f"m[i]: y[i] * {F} >= 1"], [f"m[i]: {F} >= 1", f"n: sum[i] {F} <= 0"]])
def test_conditions_that_contradict_each_other_are_named(conditions: list[str]) -> None:
    with pytest.raises(NoSolution) as told:
        solved(text_of(BINARY, LOGISTIC, *conditions))
    assert told.value.diagnostics[0].code == "K621"


GROUPS = """model groups
index  i in 1..l, h in groups
data   x[i] : input, y[i] : {-1, 1}, z[i] : real, g[i] : groups
kernel k = linear
var    w : H(k), b : real, c[h] : real
minimize 1/2 ||w||^2 + sum[i] logistic(y[i] * F) + sum[i where y[i] = 1] logistic(F - z[i]) + HINGE + SQUARES
subject to
  up[i]: F <= 2
predict value(t) = <w, phi(t)>
"""


@pytest.mark.parametrize("seed", [108, 230, 256, 3])
@pytest.mark.parametrize("apart", [True, False], ids=["a bias each", "biases and one for all"])
def test_several_scalars_among_kinks_and_conditions(seed: int, apart: bool) -> None:
    rng = np.random.default_rng(seed)
    points = 0.3 * rng.normal(size=(25, 2))
    y = np.where(rng.normal(size=25) + points[:, 0] / 0.3 > 0, 1.0, -1.0)
    z, g = 10 * rng.normal(size=25), rng.integers(0, 2, 25)
    value = "(<w, phi(x[i])> + c[g[i]])" if apart else "(<w, phi(x[i])> + b + c[g[i]])"
    text = GROUPS.replace("HINGE", "sum[i] squared_hinge(y[i] * F)").replace("F", value)
    text = text.replace("SQUARES", "1/2 sum[h] c[h]^2" + (" + b^2" if apart else ""))
    ours = solved(text, x=points, y=y, z=z, g=np.array(["p", "q"])[g])
    w, b, c = cp.Variable(2), cp.Variable(), cp.Variable(2)
    f = points @ w + np.eye(2)[g] @ c + (0 if apart else b)
    cost = 0.5 * cp.sum_squares(w) + cp.sum(cp.logistic(-cp.multiply(y, f))) + 0.5 * cp.sum_squares(c)
    cost += cp.sum(cp.logistic(-(f - z)[np.flatnonzero(y > 0)])) + cp.sum(cp.square(cp.pos(1 - cp.multiply(y, f))))
    assert ours.status == "optimal", ours.message
    assert ours.value == pytest.approx(least(cost, [f <= 2]), rel=2e-6)


@pytest.mark.parametrize("empty", ["sum[i where g[i] = 5] absolute(F)", "sum[i where g[i] = 5] logistic(F)"])
def test_a_loss_of_no_examples_beside_a_norm(empty: str) -> None:
    """The conic solver has no multipliers for what has no members."""
    some = f"sum[i] hinge(y[i] * {F})"
    with_none = solved(text_of(BINARY, some + " + " + empty.replace("F", F)).replace("1/2 ||w||^2", "||w||"))
    without = solved(text_of(BINARY, some).replace("1/2 ||w||^2", "||w||"))
    assert with_none.status == without.status == "optimal"
    assert with_none.value == pytest.approx(without.value, rel=1e-6)


@pytest.mark.parametrize(("weights", "C"), [((1, 0, 1, 1), 1e3), ((2, 0, 1, 3), 1e2), ((1, 1e-300, 1, 1), 1e3)])
def test_a_class_without_weight_takes_nothing_from_the_others(weights: tuple[float, ...], C: float) -> None:
    points = np.array([[5.11, 5.07], [4.96, 4.96], [4.96, 5.15], [4.85, 5.18]])
    objective = f"{C} * sum[i] s[i] * multinomial(<w[k], phi(x[i])> + b[k]; k, y[i])"
    text = text_of(SEVERAL, objective).replace("y[i] : classes", "y[i] : classes, s[i] : real >= 0")
    ours = solved(text, x=points, y=np.array(list("abaa")), s=np.array(weights))
    assert ours.status == "optimal" and ours.value <= 1e-6


# --------------------------------------------------------------- the methods by themselves


def random_problem(count: int, rng: np.random.Generator) -> tuple[ScalarProblem, np.ndarray, np.ndarray]:
    """Logistic losses of 30 residuals that `count` scalars move, as far away as the first of two figures says."""
    slopes = rng.normal(size=(30, count))
    height = rng.normal(size=30) * 10 ** rng.uniform(-1, 2)
    weight = 10 ** rng.uniform(-2, 2, 30)
    size = count + 30
    loss = SmoothLoss(np.arange(count, size)[:, None], weight, None)
    nothing = sp.csr_array((0, size))
    linear = np.r_[0.01 * rng.normal(size=count), np.zeros(30)]
    bend = np.r_[np.full(count, 1e-3), np.zeros(30)]
    problem = ScalarProblem(
        {}, linear, sp.csc_array(sp.diags_array(bend)), 0.0, (), (loss,), nothing, np.zeros(0), np.zeros(0, bool)
    )
    return problem, np.r_[np.zeros(count), height], np.vstack([np.eye(count), slopes])


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("count", [1, 3])
def test_the_least_point_has_no_slope(seed: int, count: int) -> None:
    problem, base, directions = random_problem(count, np.random.default_rng(seed))
    if count == 1:
        v = along_one(problem, lambda u: (base + directions[:, 0] * u, directions[:, 0]), -np.inf, np.inf)
        z = base + directions[:, 0] * v
    else:
        z = along_several(problem, base, directions)
    for column in directions.T:
        slope, size = problem.slope(z, column)
        assert abs(slope) <= 1e-7 * max(size, 1.0)


def test_a_bound_is_kept_where_the_slope_goes_on() -> None:
    problem, base, directions = random_problem(1, np.random.default_rng(5))

    def line(u: float) -> tuple[np.ndarray, np.ndarray]:
        return base + directions[:, 0] * u, directions[:, 0]

    free = along_one(problem, line, -np.inf, np.inf)
    assert along_one(problem, line, free + 1.0, free + 5.0) == free + 1.0
    assert along_one(problem, line, free - 5.0, free - 1.0) == free - 1.0
    assert along_one(problem, line, free, free) == free


@pytest.mark.parametrize("seed", range(4))
def test_hard_conditions_and_hardly_a_penalty(seed: int) -> None:
    """What a conic solver leaves of a w that is its multipliers over 1e-4, Newton's method takes away from there."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(30, 3))
    y = np.where(points[:, 0] + 0.5 * rng.normal(size=30) > 0, 1.0, -1.0)
    text = text_of(BINARY, f"30 * sum[i] logistic(y[i] * {F})", f"up[i]: {F} <= 2").replace(
        "1/2 ||w||^2", "1e-4 ||w||^2"
    )
    ours = solved(text, x=points, y=y)
    w, b = cp.Variable(3), cp.Variable()
    f = points @ w + b
    reference = least(1e-4 * cp.sum_squares(w) + 30 * cp.sum(cp.logistic(-cp.multiply(y, f))), [f <= 2])
    assert ours.status == "optimal", ours.message
    assert ours.value == pytest.approx(reference, rel=2e-6)
