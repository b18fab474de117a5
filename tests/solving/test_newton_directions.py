"""The pieces of Newton's method on entropies (mirror, rows, directions), and sizes and scales of all of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from kdsl.solving.api import prepare, solve
from kdsl.solving.backends import newton
from kdsl.solving.backends.interface import Options
from kdsl.solving.entropic_form import with_entropies
from kdsl.solving.entropy_mirror import Mirror, RowSystem, reflect_onto_rows
from kdsl.solving.hessian_products import HessianProducts
from kdsl.solving.lowering import lower
from kdsl.solving.newton_directions import Effort, Weights, by_columns, by_matrix, by_products
from kdsl.solving.normal_form import NormalForm

SEEDS = st.integers(0, 2**32 - 1)
LONG = Effort(1e-12, 10_000, np.inf)


def mirror_of(rng: np.random.Generator, count: int) -> Mirror:
    """Boxes around 0 of several widths, with an entropy at one end or at both."""
    kind = rng.integers(3, size=count)
    return Mirror(-rng.uniform(0.0, 2.0, count), rng.uniform(0.5, 3.0, count), kind != 1, kind != 0)


def overlapping(rng: np.random.Generator, count: int) -> sp.csr_array[Any]:
    """Simplexes of three coordinates, and two rows across them, of which one repeats what the others say."""
    simplexes = sp.kron(sp.eye_array(count // 3), np.ones((1, 3)))
    across = sp.csr_array(rng.normal(size=(1, count)))
    return sp.csr_array(sp.vstack([simplexes, across, np.ones((1, count))]))


def binary(n: int, seed: int = 0, features: int = 5) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 3 == 0, 1.0, -1.0)
    return {"x": rng.normal(size=(n, features)) + 0.4 * y[:, None], "y": y}


def several(n: int, classes: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    y = np.arange(n) % classes
    X = rng.normal(size=(n, 6))
    X[np.arange(n), y % 6] += 1.5
    return {"x": X, "y": y}


def normal_form(model: str, data: dict[str, Any], kernel: str, price: float = 1.0) -> NormalForm:
    name = "k" if model == "loss_logistic" else "q"
    posed = prepare(model, data, {"lambda": price}, {name: kernel}).posed
    return with_entropies(posed, lower(posed.energies, posed.values, posed.spaces))


# ------------------------------------------------------------------ the mirror


@given(SEEDS)
def test_the_point_of_given_slopes_has_them_and_the_conjugate_is_the_most_that_any_point_reaches(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mirror = mirror_of(rng, 12)
    v = rng.normal(0.0, 3.0, 12)
    found = mirror.reflect(v)
    below, above = found.point - mirror.low, mirror.high - found.point
    slope = np.where(mirror.at_low, np.log(np.where(mirror.at_low, below, 1.0)) + 1.0, 0.0)
    slope -= np.where(mirror.at_high, np.log(np.where(mirror.at_high, above, 1.0)) + 1.0, 0.0)
    np.testing.assert_allclose(slope, v, rtol=1e-9, atol=1e-9)
    assert found.conjugate == pytest.approx(v @ found.point - mirror.cost(found.point), rel=1e-9, abs=1e-9)
    nudged = mirror.reflect(v + 1e-6).point
    np.testing.assert_allclose((nudged - found.point) / 1e-6, found.weight, rtol=1e-3, atol=1e-9)
    for other in (mirror.reflect(v + rng.normal(size=12)).point for _ in range(5)):
        assert v @ other - mirror.cost(other) <= found.conjugate + 1e-9


def test_slopes_of_any_size_leave_points_inside_their_boxes() -> None:
    mirror = Mirror(np.zeros(4), np.full(4, 2.0), np.ones(4, bool), np.ones(4, bool))
    found = mirror.reflect(np.array([-1e300, -800.0, 800.0, 1e300]))
    assert found.point.tolist() == [0.0, 0.0, 2.0, 2.0]
    assert (found.weight == 0.0).all()


@given(SEEDS)
def test_the_rows_are_met_where_their_multipliers_are_at_their_best(seed: int) -> None:
    rng = np.random.default_rng(seed)
    mirror = mirror_of(rng, 12)
    matrix = overlapping(rng, 12)
    rows, target = RowSystem(matrix), matrix @ mirror.reflect(rng.normal(size=12)).point
    u = rng.normal(0.0, 2.0, 12)
    found = reflect_onto_rows(mirror, rows, target, u, np.zeros(len(target)))
    assert found.met
    np.testing.assert_allclose(matrix @ found.point, target, atol=1e-8)
    for _ in range(5):
        nu = found.nu + rng.normal(size=len(target))
        assert mirror.reflect(u - matrix.T @ nu).conjugate + target @ nu >= found.value - 1e-8


def test_simplexes_are_met_at_once_however_far_apart_their_slopes_are() -> None:
    """By shares that are proportional to exponentials: a Newton step on these would overflow, or lower them by 1."""
    rng = np.random.default_rng(3)
    mirror = Mirror(np.full(30, -np.inf), np.ones(30), np.zeros(30, bool), np.ones(30, bool))
    rows = RowSystem(sp.csr_array(sp.kron(sp.eye_array(10), np.ones((1, 3)))))
    u = 1e4 * rng.normal(size=30)
    found = reflect_onto_rows(mirror, rows, np.full(10, 2.0), u, np.zeros(10))
    shares = np.exp(-(u.reshape(10, 3) - u.reshape(10, 3).min(axis=1, keepdims=True)))
    np.testing.assert_allclose(
        (1.0 - found.point).reshape(10, 3), shares / shares.sum(axis=1, keepdims=True), atol=1e-9
    )
    assert found.met


def test_rows_that_no_point_inside_the_boxes_meets_are_said_to_be_missed() -> None:
    mirror = Mirror(np.zeros(3), np.ones(3), np.ones(3, bool), np.ones(3, bool))
    rows = RowSystem(sp.csr_array(np.ones((1, 3))))
    assert not reflect_onto_rows(mirror, rows, np.array([4.0]), np.zeros(3), np.zeros(1)).met


@given(SEEDS)
def test_rows_are_eliminated_as_a_dense_solver_does(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = overlapping(rng, 12)
    weight = rng.uniform(0.1, 2.0, 12)
    r = matrix @ rng.normal(size=(12, 2))
    found = RowSystem(matrix).weighted(weight).solve(r)
    dense = (matrix * weight) @ matrix.T
    np.testing.assert_allclose(dense @ found, r, atol=1e-7)


def test_many_rows_that_overlap_are_eliminated_by_a_sparse_factor() -> None:
    rng = np.random.default_rng(5)
    matrix = sp.csr_array(sp.vstack([sp.eye_array(100), sp.random_array((90, 100), density=0.1, rng=rng)]))
    rows = RowSystem(matrix)
    assert len(rows.left) > 64
    weight = rng.uniform(0.5, 2.0, 100)
    r = matrix @ (weight * (matrix.T @ rng.normal(size=190)))
    found = rows.weighted(weight).solve(r)
    np.testing.assert_allclose((matrix * weight) @ (matrix.T @ found), r, rtol=1e-6, atol=1e-6)


# -------------------------------------------------------------- the directions


@settings(deadline=None, max_examples=20)
@given(SEEDS)
def test_the_three_ways_to_a_direction_agree_with_the_equation(seed: int) -> None:
    """(I + BG) s = -e, on 60 multipliers with one row."""
    rng = np.random.default_rng(seed)
    problem = normal_form("loss_logistic", binary(60, seed % 1000), "linear")
    hessian, matrix = HessianProducts(problem, 1), sp.csr_array(problem.rows.matrix)
    factor = hessian.linear_factor()
    assert factor is not None
    G = factor @ factor.T
    weight, e = rng.uniform(0.01, 0.25, 60), rng.normal(size=60)
    weights = Weights(weight, RowSystem(matrix))
    across = (matrix * weight).toarray()
    B = np.diag(weight) - across.T @ np.linalg.solve(across @ matrix.T, across)
    found = [
        by_products(hessian, weights, e, G @ e, LONG),
        by_columns(factor, weights, e),
        by_matrix(G, weights, e, G @ e),
    ]
    for direction in found:
        left = G @ (direction.s + B @ (G @ direction.s) + e)
        assert np.abs(left).max() <= 1e-7 * np.abs(G @ e).max()
        np.testing.assert_allclose(direction.image, G @ direction.s, rtol=1e-6, atol=1e-7)


def test_products_and_factorisations_reach_the_same_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    for model, data in (("loss_logistic", binary(300)), ("loss_multinomial", several(120, 3))):
        problem = normal_form(model, data, "rbf(gamma = 0.3)", 0.01)
        monkeypatch.setattr(newton, "_PATIENCE", (10**9, 1))
        quick = newton.solve(problem, Options(1e-9))
        monkeypatch.setattr(newton, "_PATIENCE", (0, 10**9))
        dense = newton.solve(problem, Options(1e-9))
        assert quick.status == dense.status == "solved"
        assert quick.facts["factorisations"] == 0 and int(dense.facts["factorisations"]) >= 3
        np.testing.assert_allclose(quick.theta, dense.theta, atol=1e-4 * np.abs(dense.theta).max())


def test_single_precision_is_given_up_where_it_shows_nothing() -> None:
    """gamma = 1e6: differences of squares in single precision are off by more than 1."""
    problem = normal_form("loss_logistic", binary(50), "rbf(gamma = 1e6)", 1e-3)
    assert HessianProducts(problem, 1).single
    assert newton.solve(problem, Options(1e-8)).status == "solved"


def test_coordinates_that_cannot_move_stay_where_they_are() -> None:
    """Weights of 0 and boxes that are a point, which is not 0: the others are as if these were constants."""
    problem = normal_form("loss_logistic", binary(40), "rbf(gamma = 0.3)")
    h, entropies = problem.separable, problem.entropies
    assert entropies is not None
    held = np.arange(40) < 4
    left, right = h.left.copy(), h.right.copy()
    left[held] = right[held] = 0.3
    inside = np.clip(entropies.inside, left, right)
    boxes, barriers = replace(h, left=left, right=right), replace(entropies, inside=inside)
    fixed = replace(problem, separable=boxes, entropies=barriers)
    found = newton.solve(fixed, Options(1e-10))
    assert found.status == "solved"
    assert (found.theta[held] == 0.3).all()
    assert np.abs(fixed.rows.matrix @ found.theta - fixed.rows.target).max() <= 1e-9
    gradient = HessianProducts(fixed, 1).times(found.theta) + h.slope
    free = ~held
    slope = gradient[free] + np.log(found.theta[free]) - np.log(1.0 - found.theta[free])
    column = fixed.rows.matrix.toarray()[0][free]
    price = np.median(slope / column)
    np.testing.assert_allclose(slope, price * column, atol=1e-4)


# -------------------------------------------------------- all of it, and sizes


@pytest.mark.parametrize(("kernel", "count"), [("rbf(gamma = 0.1)", 9_000), ("linear", 50_000)])
def test_more_examples_than_a_matrix_has_room_for(kernel: str, count: int) -> None:
    solution = solve("loss_logistic", binary(count), kernels={"k": kernel})
    assert (solution.backend, solution.status) == ("newton", "optimal")
    assert solution.facts["factorisations"] == 0
    assert solution.certificate.rel_gap <= 1e-6


@pytest.mark.parametrize("classes", [3, 10])
def test_several_classes_share_what_their_rows_leave_them(classes: int) -> None:
    data = several(600, classes)
    solution = solve("loss_multinomial", data, {"lambda": 0.1}, {"q": "rbf(gamma = 0.1)"})
    assert (solution.backend, solution.status) == ("newton", "optimal")
    assert np.mean(solution.predict(data["x"]) == data["y"]) > 0.5


@pytest.mark.parametrize("price", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("gamma", [1e-6, 0.1, 1e6])
@pytest.mark.parametrize("count", [2, 3, 50, 400])
def test_extreme_prices_and_widths(count: int, gamma: float, price: float) -> None:
    data = binary(count)
    solution = solve("loss_logistic", data, {"lambda": price}, {"k": f"rbf(gamma = {gamma})"}, backend="newton")
    assert solution.status == "optimal", solution.message
    assert solution.certificate.rel_gap <= 1e-6


def test_the_same_coefficients_as_logistic_regression_of_scikit_learn() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    data = binary(2_000)
    solution = solve("loss_logistic", data, {"lambda": 0.5}, {"k": "linear"}, tol=1e-12)
    peer = linear_model.LogisticRegression(C=2.0, tol=1e-10, max_iter=10_000).fit(data["x"], data["y"])
    new = np.random.default_rng(1).normal(size=(50, 5))
    np.testing.assert_allclose(solution.decision(new), peer.decision_function(new), atol=1e-5)


def test_one_label_for_all_is_told_apart_from_an_answer() -> None:
    """The bias has no best value then: the loss falls for ever."""
    solution = solve("loss_logistic", binary(60) | {"y": np.ones(60)}, backend="newton")
    assert solution.certificate.value <= 1e-6
    assert np.isfinite(solution.certificate.value)


def test_limits_and_interruptions_leave_the_best_so_far() -> None:
    data = binary(400)
    few = solve("loss_logistic", data, max_iterations=2)
    assert (few.status, few.iterations) == ("user_limit", 2)
    late = solve("loss_logistic", data, time_limit=1e-9)
    assert late.status == "user_limit" and late.message == "the time limit was reached"
    seen: list[tuple[int, float]] = []

    def watch(iterations: int, gap: float) -> bool:
        seen.append((iterations, gap))
        return iterations == 2

    stopped = solve("loss_logistic", data, progress=watch)
    assert stopped.status == "user_limit" and [n for n, _ in seen] == [0, 0, 1, 2]
    assert few.certificate.rel_gap < late.certificate.rel_gap
