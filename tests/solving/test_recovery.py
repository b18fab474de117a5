"""The way back from a dual point: scalars by brute force, feasible points, m - M, lowering, witnesses of conflicts."""

from __future__ import annotations

from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_forms import KINDS, Kind, objective, random_form
from scipy.optimize import linprog
from solved_instances import EXPLICIT, instance
from test_solved_rows import CONIC, NAMES

from kdsl.algebra.dual_program import DualProgram
from kdsl.algebra.numeric import evaluate
from kdsl.algebra.primal import Unknown
from kdsl.binding.gram import DenseGram
from kdsl.models.report import solution_text
from kdsl.numerics.arrays import Floats
from kdsl.pipeline import parse_spec
from kdsl.solving.api import prepare, solve
from kdsl.solving.certificate import Products, gradient, kkt_gap, normal_form_value
from kdsl.solving.feasible import feasible_point
from kdsl.solving.infeasibility import conflict_of, measure_ray, recession_of
from kdsl.solving.lowering import lower
from kdsl.solving.normal_form import HilbertBlock, NormalForm, Rows, Separable
from kdsl.solving.posed import Posed
from kdsl.solving.scalar_problem import Columns, ScalarProblem
from kdsl.solving.scalars import least_scalars, minimise_scalars

LINEAR = {"k": "linear"}

# ------------------------------------------------- scalars that are not unique


def test_b_between_two_bounds_is_the_middle_and_said_to_be() -> None:
    """w = 0.05 (1 + 3): 0.6 + b <= 1 and 0.2 - b <= 1 leave b in [-0.8, 0.4]."""
    x, y = np.array([[-1.0], [3.0]]), np.array([-1.0, 1.0])
    solution = solve("svm_1norm", {"x": x, "y": y}, {"C": 0.05}, LINEAR, tol=1e-12)
    assert solution.intervals["b"] == pytest.approx((-0.8, 0.4))
    assert solution.scalars["b"] == pytest.approx(-0.2)
    np.testing.assert_allclose(solution.slacks["xi"], [1 - 0.2 - 0.2, 1 - 0.6 + 0.2], rtol=1e-9)
    assert solution.value == pytest.approx(0.5 * 0.2**2 + 0.05 * 1.2)


@pytest.mark.parametrize(
    ("tau", "wanted"), [(0.5, (2.0, 5.0)), (0.25, (1.0, 2.0)), (0.3, (2.0, 2.0)), (0.75, (5.0, 9.0))]
)
def test_quantiles_of_four_numbers(tau: float, wanted: tuple[float, float]) -> None:
    """With one point for all there is nothing but b: the quantiles of the answers, an interval or a point."""
    data = {"x": np.zeros((4, 1)), "y": np.array([9.0, 1.0, 5.0, 2.0])}
    solution = solve("loss_pinball", data, {"tau": tau}, LINEAR, tol=1e-12)
    assert solution.scalars["b"] == pytest.approx(sum(wanted) / 2)
    assert ("b" in solution.intervals) == (wanted[0] < wanted[1])
    if wanted[0] < wanted[1]:
        assert solution.intervals["b"] == pytest.approx(wanted)


def test_radius_at_the_price_at_which_it_is_free() -> None:
    """C l = 1: every r^2 from 0 to the nearest example's distance is as good (KM 7.8)."""
    x = np.array([[0.0], [1.0], [3.0], [4.0]])
    solution = solve("sphere_soft", {"x": x}, {"C": 0.25}, LINEAR, tol=1e-12)
    assert solution.status == "optimal"
    assert solution.intervals["r^2"] == pytest.approx((0.0, 1.0))
    assert solution.scalars["r^2"] == pytest.approx(0.5)
    assert solution.value == pytest.approx((4 + 1 + 1 + 4) / 4)


@pytest.mark.parametrize("name", ["svm_nu_sum", "svm_1norm_unit", "svr_nu", "one_class"])
def test_scalars_from_the_constraints(name: str) -> None:
    """With w fixed, no (b, gamma, rho, eps) does better than the ones that are reported: a linear program's word."""
    found = instance(name, 25, "linear")
    parameters = {"svm_1norm_unit": {"C": 0.1}, "svr_nu": {"C": 8.0, "nu": 0.4}}.get(name, found.parameters)
    solution = solve(name, found.data, parameters, LINEAR, tol=1e-10)
    w = solution.predictor.vectors["w"]
    support = np.asarray(solution.predictor.support["k"])
    f = found.data["x"] @ (w.coefficients.reshape(-1) @ support)
    b, s = cp.Variable(), cp.Variable()
    half = 0.5 * float(np.sum(w.squared_norms))
    y = found.data.get("y")
    cost = {
        "svm_nu_sum": lambda: half - 0.4 * s + cp.sum(cp.pos(s - cp.multiply(y, f + b))) / 25,
        "svm_1norm_unit": lambda: -s + 0.1 * cp.sum(cp.pos(s - cp.multiply(y, f + b))),
        "svr_nu": lambda: half + 8.0 * (0.4 * s + cp.sum(cp.pos(cp.abs(y - f - b) - s)) / 25),
        "one_class": lambda: half - s + cp.sum(cp.pos(s - f)) / (0.3 * 25),
    }[name]()
    signs = [] if name in ("one_class", "svm_1norm_unit") else [s >= 0]
    best = cp.Problem(cp.Minimize(cost), signs).solve(solver="CLARABEL")
    assert solution.value == pytest.approx(best, abs=1e-7)


# ---------------------------------------------------- one scalar, by brute force


def one_scalar(slope: Floats, height: Floats, price: Floats, curve: Floats, own: float, first: float) -> ScalarProblem:
    """min first b + own/2 b^2 + sum price xi + curve/2 xi^2 with xi >= slope b + height and xi >= 0."""
    n = len(slope)
    families = {
        "b": Columns(Unknown("b", (), (), ()), (), np.asarray(0)),
        "xi": Columns(Unknown("xi", ("i",), ("l",), ()), (n,), np.arange(1, n + 1)),
    }
    minus = -sp.eye_array(n, format="csr")
    matrix = sp.csr_array(
        sp.vstack([sp.hstack([slope[:, None], minus]), sp.hstack([np.zeros((n, 1)), minus])], format="csr")
    )
    matrix.eliminate_zeros()
    return ScalarProblem(
        families,
        np.r_[first, price],
        sp.csc_array(sp.diags_array(np.r_[own, curve])),
        0.0,
        (),
        (),
        matrix,
        np.r_[height, np.zeros(n)],
        np.zeros(2 * n, dtype=bool),
    )


def cost_of(problem: ScalarProblem, slope: Floats, height: Floats, b: float) -> float:
    return problem.value(np.r_[b, np.maximum(slope * b + height, 0.0)])


def brute_minimum(problem: ScalarProblem, slope: Floats, height: Floats) -> float:
    """By the kinks, and by thirds of a convex function."""
    moving = slope != 0
    left, right = -1e3, 1e3
    for _ in range(120):
        a, b = left + (right - left) / 3, right - (right - left) / 3
        if cost_of(problem, slope, height, a) <= cost_of(problem, slope, height, b):
            right = b
        else:
            left = a
    return min(cost_of(problem, slope, height, float(t)) for t in [left, *(-height[moving] / slope[moving])])


SMALL = st.integers(-4, 4).map(float)


@settings(max_examples=200, deadline=None)
@given(data=st.data(), n=st.integers(1, 6), curved=st.booleans())
def test_one_scalar_by_brute_force(data: st.DataObject, n: int, curved: bool) -> None:
    """Integers, so that flat pieces and ties are everywhere; the minimum and the whole interval of minimisers."""
    numbers = [data.draw(st.lists(SMALL, min_size=n, max_size=n)) for _ in range(3)]
    slope, height, price = np.array(numbers[0]), np.array(numbers[1]), np.abs(np.array(numbers[2])) + 1.0
    curve = np.full(n, 2.0) if curved else np.zeros(n)
    first, own = data.draw(SMALL), data.draw(st.sampled_from([0.0, 1.0]))
    problem = one_scalar(slope, height, price, curve, own, first)
    far = [cost_of(problem, slope, height, b) for b in (-1e4, -9e3, 9e3, 1e4)]
    assume(own > 0 or (far[0] >= far[1] and far[3] >= far[2]))  # bounded
    scalars = minimise_scalars(problem)
    b = float(scalars.z[0])
    least = brute_minimum(problem, slope, height)
    assert problem.value(scalars.z) <= least + 1e-9
    assert np.all(problem.slack(scalars.z) <= 1e-12)
    if scalars.interval is None:
        for step in (-1e-3, 1e-3):
            assert cost_of(problem, slope, height, b + step) > least - 1e-9
        return
    low, high = scalars.interval
    assert b == pytest.approx(0.5 * (low + high)) or not np.isfinite(low + high)
    for end, out in ((low, -1.0), (high, 1.0)):
        if np.isfinite(end):
            assert cost_of(problem, slope, height, end) == pytest.approx(problem.value(scalars.z), abs=1e-9)
            assert cost_of(problem, slope, height, end + out) > problem.value(scalars.z) + 1e-9


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 8), curved=st.booleans())
def test_the_general_solver_agrees_with_the_search(seed: int, n: int, curved: bool) -> None:
    rng = np.random.default_rng(seed)
    slope, height, price = rng.choice([-1.0, 1.0], n), rng.normal(size=n), rng.uniform(0.5, 2.0, n)
    problem = one_scalar(slope, height, price, np.full(n, 2.0 if curved else 0.0), 0.5, 0.1)
    by_search, by_solver = minimise_scalars(problem).z, least_scalars(problem)
    assert problem.value(by_search) <= problem.value(by_solver) + 1e-9
    assert problem.value(by_search) == pytest.approx(problem.value(by_solver), abs=1e-7)


# ------------------------------------------------------------- feasible points


def form(lower: Floats, upper: Floats, matrix: Floats, target: Floats, equality: Floats) -> NormalForm:
    n = len(lower)
    block = HilbertBlock("w", DenseGram(np.eye(n)), sp.csc_array(sp.eye_array(n)))
    rows = Rows(sp.csr_array(np.atleast_2d(matrix)), target, equality.astype(bool))
    return NormalForm((block,), Separable.single(lower, upper, np.zeros(n), -np.ones(n)), rows)


def worst_row(problem: NormalForm, theta: Floats) -> float:
    rest = problem.rows.matrix @ theta - problem.rows.target
    return float(np.where(problem.rows.equality, np.abs(rest), np.maximum(rest, 0.0)).max(initial=0.0))


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 12), rows=st.integers(0, 3))
def test_a_feasible_point_is_feasible_and_near(seed: int, n: int, rows: int) -> None:
    rng = np.random.default_rng(seed)
    lower, upper = np.zeros(n), np.where(rng.random(n) < 0.3, np.inf, rng.uniform(0.5, 2.0, n))
    inside = np.clip(rng.uniform(0.0, 1.0, n), lower, upper)
    matrix = np.vstack([rng.choice([-1.0, 1.0], n), np.ones(n), rng.normal(size=n)])[:rows]
    equality = np.arange(rows) != 1
    problem = form(lower, upper, matrix.reshape(rows, n), matrix @ inside + np.where(equality, 0.0, 0.2), equality)
    started = inside + 1e-5 * rng.normal(size=n)
    point, residual = feasible_point(problem, started)
    assert (point >= lower).all() and (point <= upper).all()
    size = max(1.0, float(np.abs(problem.rows.target).max(initial=0.0)), float(np.abs(point).max()))
    assert residual == pytest.approx(worst_row(problem, point) / size, abs=1e-15)
    if rows <= 1:
        assert residual <= 1e-14
        assert np.abs(point - started).max() <= 1e-3
    same, none = feasible_point(problem, point)
    assert np.abs(same - point).max() <= 1e-12 and none <= residual + 1e-15


def test_what_is_not_finite_is_put_to_nought() -> None:
    problem = form(np.zeros(3), np.ones(3), np.ones((1, 3)), np.array([1.0]), np.ones(1))
    point, residual = feasible_point(problem, np.array([np.nan, np.inf, 0.5]))
    assert residual <= 1e-15
    assert point.sum() == pytest.approx(1.0)


# -------------------------------------------------------------------- m - M


def steepest(problem: NormalForm, theta: Floats) -> float:
    """max -f'(theta; d) over |d|_1 <= 2 that keep the rows: the definition, as a linear program in d."""
    left, right = gradient(problem, theta, Products.at(problem, theta))
    n = problem.size
    matrix = problem.rows.matrix.toarray()
    slack = problem.rows.target - matrix @ theta
    active = ~problem.rows.equality & (slack <= 1e-9)
    cost = np.r_[np.where(np.isfinite(right), right, 0.0), np.where(np.isfinite(left), -left, 0.0)]
    ends = [(0, None if np.isfinite(r) else 0) for r in right] + [(0, None if np.isfinite(v) else 0) for v in left]
    both = np.hstack([matrix, -matrix])
    kept = np.vstack([np.ones((1, 2 * n)), both[active]])
    answer = linprog(
        cost,
        A_ub=kept,
        b_ub=np.r_[2.0, np.zeros(active.sum())],
        A_eq=both[problem.rows.equality] if problem.rows.equality.any() else None,
        b_eq=np.zeros(problem.rows.equality.sum()) if problem.rows.equality.any() else None,
        bounds=ends,
    )
    return float(-answer.fun)


@pytest.mark.parametrize("kind", [k for k in KINDS if k.rows + k.inequalities > 0], ids=lambda k: k.name)
@pytest.mark.parametrize("seed", range(3))
def test_m_minus_M_is_the_steepest_descent(kind: Kind, seed: int) -> None:
    problem = random_form(kind, size=10, seed=seed)
    rng = np.random.default_rng(seed)
    theta = np.clip(rng.uniform(-0.5, 1.5, 10), problem.separable.lower, problem.separable.upper)
    theta, residual = feasible_point(problem, theta)
    assume_small = residual <= 1e-9
    assert assume_small
    found = kkt_gap(problem, theta, Products.at(problem, theta))
    assert found == pytest.approx(steepest(problem, theta), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("kind", [k for k in KINDS if k.rows + k.inequalities == 0], ids=lambda k: k.name)
def test_without_rows_it_is_the_largest_slope(kind: Kind) -> None:
    problem = random_form(kind, size=10)
    theta = np.clip(np.linspace(-1, 2, 10), problem.separable.lower, problem.separable.upper)
    assert kkt_gap(problem, theta, Products.at(problem, theta)) == pytest.approx(steepest(problem, theta) / 2)


@pytest.mark.parametrize("tol", [1e-1, 1e-2, 1e-3])
def test_the_gap_at_which_libsvm_stops(tol: float) -> None:
    """scikit-learn's SVC stops when m - M <= tol: ours measures no more at its multipliers, and not much less."""
    from sklearn.svm import SVC

    found = instance("svm_1norm", 80, "rbf")
    fitted = SVC(C=1.0, gamma=0.5, tol=tol).fit(found.data["x"], found.data["y"])
    alpha = np.zeros(80)
    alpha[fitted.support_] = np.abs(fitted.dual_coef_[0])
    posed = prepare(found.name, found.data, found.parameters, found.kernels).posed
    problem = lower(posed.energies, posed.values, posed.spaces).problem
    gap = kkt_gap(problem, alpha, Products.at(problem, alpha))
    assert gap is not None
    assert gap <= tol * (1 + 1e-6) + 1e-12
    assert gap >= tol * 1e-3
    ours = solve(found.name, found.data, found.parameters, found.kernels, kkt_tol=tol)
    assert ours.certificate.kkt_gap is not None and ours.certificate.kkt_gap <= tol


def test_the_optimum_has_no_descent() -> None:
    found = instance("svm_1norm", 40, "rbf")
    solution = solve(found.name, found.data, found.parameters, found.kernels, tol=1e-13)
    assert solution.certificate.kkt_gap is not None and solution.certificate.kkt_gap <= 1e-6


# ------------------------------------------------------------------- lowering


@pytest.mark.parametrize("name", [name for name in NAMES if name not in CONIC])
@pytest.mark.parametrize("seed", range(3))
def test_the_normal_form_is_minus_the_printed_dual(name: str, seed: int) -> None:
    """W at random multipliers, by the formula of the derivation and by energies and pieces."""
    found = instance(name, 7, "linear" if name in EXPLICIT else "rbf", seed)
    posed = prepare(name, found.data, found.parameters, found.kernels).posed
    outer = 0.7 if posed.energies.outer is not None else None
    lowered = lower(posed.energies, posed.values, posed.spaces, outer, posed.saturated)
    problem = lowered.problem
    rng = np.random.default_rng(seed)
    low = np.maximum(problem.separable.lower, -1.5)
    theta = low + rng.uniform(0, 1, problem.size) * (np.minimum(problem.separable.upper, 1.5) - low)
    multipliers = lowered.multipliers(theta)
    if outer is None:
        printed = value_of_dual(posed, multipliers)
    else:  # the printed dual is free of the multiplier that the search keeps
        exact = posed.derivation.exact
        multipliers[posed.energies.outer] = np.asarray(outer)
        at = posed.values.with_multipliers(_pairs_apart(posed, multipliers)).with_definitions(exact.definitions)
        printed = float(evaluate(exact.objective, at))
    value = normal_form_value(problem, theta, Products.at(problem, theta))
    assert value == pytest.approx(objective(problem, theta), rel=1e-12, abs=1e-12)
    accuracy = 1e-6 if name == "loss_asymmetric" else 1e-9  # its conjugate takes CVXPY a solve
    assert printed == pytest.approx(-np.sqrt(value) if lowered.squared else -value, rel=accuracy, abs=accuracy)


def value_of_dual(posed: Posed, multipliers: dict[str, Floats]) -> float:
    """The objective as CVXPY reads it, with the multipliers held fixed."""
    program = DualProgram(posed.energies.dual, posed.values)
    for label, value in multipliers.items():
        program.unknowns[label].value = value.reshape(-1)
    conditions = len(program.constraints)
    found = program.objective()
    if found.value is None:
        fixed = [program.unknowns[label] == value.reshape(-1) for label, value in multipliers.items()]
        cp.Problem(cp.Maximize(found), fixed + program.constraints[conditions:]).solve(solver="CLARABEL")
    return float(np.asarray(found.value))


def _pairs_apart(posed: Posed, multipliers: dict[str, Floats]) -> dict[str, Floats]:
    result = dict(multipliers)
    for pair in posed.energies.folding.pairs:
        beta = result.pop(pair.label)
        result[pair.plus], result[pair.minus] = np.maximum(beta, 0.0), np.maximum(-beta, 0.0)
    return result


# ------------------------------------------------------------------ witnesses


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 6), rows=st.integers(1, 3))
def test_rows_and_boxes_conflict_or_meet(seed: int, n: int, rows: int) -> None:
    """A conflict is found exactly where a linear program finds no point, and its weights separate."""
    rng = np.random.default_rng(seed)
    upper = np.where(rng.random(n) < 0.2, np.inf, rng.integers(1, 4, n).astype(float))
    matrix = rng.integers(-2, 3, (rows, n)).astype(float)
    target = rng.integers(-4, 5, rows).astype(float)
    equality = rng.random(rows) < 0.6
    problem = form(np.zeros(n), upper, matrix, target, equality)
    feasible = linprog(
        np.zeros(n),
        A_ub=matrix[~equality] if (~equality).any() else None,
        b_ub=target[~equality] if (~equality).any() else None,
        A_eq=matrix[equality] if equality.any() else None,
        b_eq=target[equality] if equality.any() else None,
        bounds=[(0, None if np.isinf(u) else u) for u in upper],
    )
    conflict = conflict_of(problem)
    assert (conflict is None) == (feasible.status == 0)
    if conflict is None:
        return
    price = matrix.T @ conflict.weights
    price[np.abs(price) < 1e-9] = 0.0
    assert (conflict.weights[~equality] <= 1e-9).all()
    reach = sum(p * u if p > 0 else 0.0 for p, u in zip(price, upper, strict=True) if p)
    assert conflict.weights @ target > reach + 1e-9
    assert conflict.asked == pytest.approx(conflict.weights @ target)
    assert conflict.reachable == pytest.approx(reach, abs=1e-7)


def recession(x: Floats, y: Floats) -> NormalForm:
    posed = prepare("svm_hard", {"x": x, "y": y}, kernels=LINEAR).posed
    found = recession_of(lower(posed.energies, posed.values, posed.spaces).problem)
    assert found is not None and len(found.falling) == 0
    return found.problem


def test_a_ray_is_on_its_rows_and_has_no_energy() -> None:
    """1/4, 1/2, 1/4 on 1, 2, 3 with labels -, +, -: the hulls share the point 2."""
    x, y = np.array([[1.0], [2.0], [3.0]]), np.array([-1.0, 1.0, -1.0])
    ray = measure_ray(recession(x, y), np.array([0.25, 0.5, 0.25]))
    assert ray.proves
    assert ray.energy == pytest.approx(0.0, abs=1e-15)
    other = measure_ray(recession(x, y), np.array([0.5, 0.5, 0.0]))
    assert not other.proves
    assert other.energy == pytest.approx(0.25)


@pytest.mark.parametrize("direction", [np.zeros(3), np.full(3, np.nan), np.array([1.0, 0.0, 0.0])])
def test_what_is_no_direction_proves_nothing(direction: Any) -> None:
    """Points that can be separated: whatever a solver returns, moved onto the rows, keeps its energy."""
    x, y = np.array([[1.0], [2.0], [4.0]]), np.array([-1.0, 1.0, 1.0])
    ray = measure_ray(recession(x, y), direction)
    assert not ray.proves


def test_a_point_that_cannot_be_moved_onto_its_rows_proves_nothing() -> None:
    """One class: there is no direction at all, and nought has no energy."""
    problem = form(np.zeros(2), np.full(2, np.inf), np.ones((2, 2)), np.array([0.0, 1.0]), np.ones(2))
    assert not measure_ray(problem, np.zeros(2)).proves


@pytest.mark.parametrize(
    ("relation", "ends", "words"),
    [(">= 1 - xi[i]", (1.0, np.inf), "any value from 1 on"), ("<= 2 + xi[i]", (-np.inf, 2.0), "any value up to 2")],
)
def test_a_scalar_that_is_free_on_one_side_is_said_to_be(relation: str, ends: tuple[float, float], words: str) -> None:
    spec = f"""model half
index  i in 1..l
data   x[i] : input
param  C : in (0, inf) = 1
kernel k = linear
var    w : H(k), b : real, xi[i] : real >= 0
minimize 1/2 ||w||^2 + C * sum[i] xi[i]
subject to
  side[i]: <w, phi(x[i])> + b {relation}
"""
    solution = solve(parse_spec(spec), {"x": np.random.default_rng(0).normal(size=(20, 2))})
    assert solution.intervals == {"b": ends}
    assert f"({words} is as good)" in solution_text(solution)
