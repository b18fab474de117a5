"""Problems without a solution: the status, the words, and a witness that is checked here from the data alone."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exact_text import EXPECTED, compare
from hypothesis import given, settings
from hypothesis import strategies as st
from solved_instances import instance

from kdsl.language.diagnostics import Diagnostic, KdslError
from kdsl.models.solution import Solution
from kdsl.pipeline import parse_spec
from kdsl.solving.api import read_model, solve
from kdsl.solving.infeasibility import NoSolution

LINE = np.array([[0.0], [1.0], [2.0], [3.0]])
RANKING = """model rank_strict
index  j in 1..m
data   lo[j] : input, hi[j] : input
kernel k = linear
var    w : H(k)
minimize 1/2 ||w||^2
subject to
  above[j]: <w, phi(hi[j]) - phi(lo[j])> >= 1
predict value(t) = <w, phi(t)>
"""
LINEAR = {"k": "linear"}
SOURCES = ("conic_primal.py", "conic_route.py", "explain.py", "planning.py", "solve.py")


def refused(*arguments: Any, **options: Any) -> NoSolution:
    with pytest.raises(NoSolution) as caught:
        solve(*arguments, **options)
    return caught.value


def noted(solution: Solution, code: str) -> Diagnostic:
    (found,) = [warning for warning in solution.warnings if warning.code == code]
    return found


def weights(witness: dict[str, float], label: str, size: int) -> np.ndarray:
    """The multipliers that a witness names."""
    found = np.zeros(size)
    for name, value in witness.items():
        match = re.fullmatch(rf"{label}\[(\d+)\]", name)
        if match:
            found[int(match[1])] = value
    return found


# -------------------------------------------------------------- hard margins


def contradiction(alpha: np.ndarray, x: np.ndarray, y: np.ndarray) -> float:
    """|sum alpha y x| for weights of total 1 that the two classes share: no hyperplane has a larger margin."""
    assert (alpha >= 0).all()
    assert alpha.sum() == pytest.approx(1.0)
    assert y @ alpha == pytest.approx(0.0, abs=1e-9)
    return float(np.linalg.norm((y * alpha) @ x))


def test_inseparable_under_a_hard_margin() -> None:
    y = np.array([1.0, -1.0, 1.0, -1.0])
    none = refused("svm_hard", {"x": LINE, "y": y}, kernels=LINEAR)
    assert none.status == "infeasible"
    assert contradiction(weights(none.witness, "margin", 4), LINE, y) <= 1e-9
    assert none.witness["energy"] <= 1e-12
    heaviest = max((name for name in none.witness if "[" in name), key=lambda name: none.witness[name])
    first = re.search(r"\((\w+)\[(\d+)\]", none.diagnostics[0].why)
    assert first is not None
    assert f"{first[1]}[{int(first[2]) - 1}]" == heaviest  # people count from 1, as the report does; programs from 0
    assert "no margin above" in none.diagnostics[0].why


def test_equal_examples_with_opposite_demands() -> None:
    x, y = np.array([[1.0], [1.0], [5.0]]), np.array([1.0, -1.0, 1.0])
    none = refused("svm_hard", {"x": x, "y": y}, kernels={"k": "rbf(gamma = 0.5)"})
    compare("K621", none.diagnostics)
    np.testing.assert_allclose(weights(none.witness, "margin", 3), [0.5, 0.5, 0.0], atol=1e-6)


def test_duplicates_among_many() -> None:
    """The contradiction is between two examples, and the message names them."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(60, 3))
    y = np.where(rng.random(60) > 0.5, 1.0, -1.0)
    x[41], y[41], y[7] = x[7], 1.0, -1.0
    none = refused("svm_hard", {"x": x, "y": y}, kernels={"k": "rbf(gamma = 0.5)"})
    found = weights(none.witness, "margin", 60)
    assert set(np.argsort(found)[-2:]) == {7, 41}
    assert "margin[42]" in none.diagnostics[0].why and "margin[8]" in none.diagnostics[0].why  # people count from 1


def test_a_cycle_of_strict_preferences() -> None:
    model = parse_spec(RANKING, "rank_strict")
    points = np.array([[0.0, 0.0], [1.0, 2.0], [3.0, 1.0]])
    none = refused(model, {"lo": points[[0, 1, 2]], "hi": points[[1, 2, 0]]})
    assert none.status == "infeasible"
    np.testing.assert_allclose(weights(none.witness, "above", 3), 1 / 3, atol=1e-9)
    without = solve(model, {"lo": points[[0, 1]], "hi": points[[1, 2]]})
    assert without.status == "optimal"


def test_a_small_margin_is_not_an_infeasible_one() -> None:
    """Two points 1e-5 apart: |w|^2 / 2 = 1/2 (2e5)^2, and nobody calls them inseparable."""
    x, y = np.array([[1.0], [1.0 + 1e-5]]), np.array([-1.0, 1.0])
    solution = solve("svm_hard", {"x": x, "y": y}, kernels=LINEAR)
    assert solution.status in ("optimal", "optimal_inaccurate")
    assert solution.dual == pytest.approx(0.5 * (2e5) ** 2, rel=1e-4)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), size=st.integers(2, 12), width=st.integers(1, 3))
def test_separable_or_not_as_a_linear_program_says(seed: int, size: int, width: int) -> None:
    from scipy.optimize import linprog

    rng = np.random.default_rng(seed)
    x = np.round(rng.normal(size=(size, width)), 1)
    y = np.where(np.arange(size) % 2 == 0, 1.0, -1.0)
    rows = -y[:, None] * np.c_[x, np.ones(size)]
    feasible = linprog(np.zeros(width + 1), A_ub=rows, b_ub=-np.ones(size), bounds=(None, None)).status == 0
    try:
        solution = solve("svm_hard", {"x": x, "y": y}, kernels=LINEAR)
    except NoSolution as none:
        assert none.status == "infeasible"
        assert not feasible
        assert contradiction(weights(none.witness, "margin", size), x, y) <= 1e-5
        return
    assert solution.status == "optimal"
    assert feasible


# ------------------------------------------------------- rows that conflict


def test_nu_too_large_is_said_before_any_kernel_is_evaluated() -> None:
    def never(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        raise AssertionError("a kernel was evaluated")

    y = np.array([1.0, -1.0, -1.0, -1.0])
    none = refused("svm_nu", {"x": LINE, "y": y}, {"nu": 0.6}, {"k": never})
    assert none.status == "unbounded"
    compare("K620", none.diagnostics)
    assert none.diagnostics[0].help == "it is bounded for nu <= 0.5"  # 2 min(1, 3) / 4
    with pytest.raises(AssertionError, match="a kernel was evaluated"):
        solve("svm_nu", {"x": LINE, "y": y}, {"nu": 0.4}, {"k": never})


@pytest.mark.parametrize(
    ("name", "given_", "enough"),
    [
        ("svm_nu", {"nu": 0.6}, {"nu": 0.5}),
        ("svm_nu_sum", {"nu": 0.6}, {"nu": 0.5}),
        ("svm_1norm_unit", {"C": 0.3}, {"C": 0.5}),  # 1 / (2 min(1, 3))
    ],
)
def test_the_parameter_that_is_enough(name: str, given_: dict[str, float], enough: dict[str, float]) -> None:
    y = np.array([1.0, -1.0, -1.0, -1.0])
    none = refused(name, {"x": LINE, "y": y}, given_, LINEAR)
    ((parameter, value),) = enough.items()
    sign = ">=" if value > given_[parameter] else "<="
    assert none.diagnostics[0].help == f"it is bounded for {parameter} {sign} {value:g}"
    assert solve(name, {"x": LINE, "y": y}, enough, LINEAR).status == "optimal"


@pytest.mark.parametrize(("name", "parameters"), [("svm_nu", {"nu": 0.6}), ("svm_1norm_unit", {"C": 0.3})])
def test_the_direction_in_which_the_objective_falls(name: str, parameters: dict[str, float]) -> None:
    """Along the witness (b, gamma) with the best slacks, -gamma + price * sum xi falls at a constant rate."""
    y = np.array([1.0, -1.0, -1.0, -1.0])
    none = refused(name, {"x": LINE, "y": y}, parameters, LINEAR)
    price = parameters.get("C", 1 / (parameters.get("nu", 1.0) * 4))
    down = -np.sign(none.witness["gamma"])  # the multipliers of the rows, up to the sign of all of them

    def value(t: float) -> float:
        b, gamma = (-down * t * none.witness[key] for key in ("b", "gamma"))
        signs = (1.0, -1.0)  # rows are printed up to their sign: one of the two directions of b falls
        return min(-abs(gamma) + price * np.maximum(0.0, abs(gamma) - y * s * b).sum() for s in signs)

    rates = [(value(2 * t) - value(t)) / t for t in (1.0, 10.0, 100.0)]
    assert max(rates) < -1e-3
    np.testing.assert_allclose(rates, rates[0], rtol=1e-9)


@pytest.mark.parametrize("name", ["svm_hard_unit", "svm_nu", "svm_nu_sum", "svm_1norm_unit"])
def test_one_class_where_two_are_needed(name: str) -> None:
    none = refused(name, {"x": LINE, "y": np.ones(4)}, kernels=LINEAR)
    assert none.status == "unbounded"
    assert "those of one class" in none.diagnostics[0].help


@pytest.mark.parametrize("name", ["svm_hard", "svm_1norm", "svm_2norm"])
def test_one_class_where_b_alone_is_enough(name: str) -> None:
    solution = solve(name, {"x": LINE, "y": np.ones(4)}, kernels=LINEAR)
    assert solution.status == "optimal"
    assert solution.value == pytest.approx(0.0, abs=1e-12)
    assert solution.scalars["b"] >= 1.0
    assert "K542" in {warning.code for warning in solution.warnings}


# ------------------------------------------------------- bounds that cross

PRICED = """model priced
index  i in 1..l
data   x[i] : input, y[i] : {{-1, 1}}, s[i] : real
param  C : real = 1
kernel k = linear
var    w : H(k), b : real, xi[i] : real >= 0
minimize 1/2 ||w||^2 + sum[i] {price} * xi[i]
subject to
  margin[i]: y[i] * (<w, phi(x[i])> + b) >= 1 - xi[i]
predict label(t) = sign(<w, phi(t)> + b)
"""
TUBE = """model tube
index  i in 1..l
data   x[i] : input, y[i] : real
param  C : real = 1, D : real = 1
kernel k = linear
var    w : H(k), b : real, xi[i] : real >= 0, eta[i] : real >= 0
minimize 1/2 ||w||^2 + sum[i] (C * xi[i] + D * eta[i])
subject to
  above[i]: <w, phi(x[i])> + b - y[i] <= xi[i]
  below[i]: y[i] - <w, phi(x[i])> - b <= eta[i]
predict value(t) = <w, phi(t)> + b
"""
SIDES = np.array([1.0, 1.0, -1.0, -1.0])
OF_THE_DATA = "let no product of parameters and data be negative where it is a penalty"


@pytest.mark.parametrize(
    ("price", "C", "gaps", "remedy"),
    [
        ("C", -1.0, [1.0, 1.0, 1.0, 1.0], "it is bounded for C >= 0"),
        ("C^3", -0.01, [1e-6, 1e-6, 1e-6, 1e-6], "it is bounded for C >= 0"),
        ("1/C", -2.0, [0.5, 0.5, 0.5, 0.5], "it is bounded for C > 0"),
        ("C * s[i]", 2.0, [0.0, 0.0, 1.0, 0.0], OF_THE_DATA),
        ("C * s[i]", -2.0, [2.0, 2.0, 0.0, 4.0], OF_THE_DATA),
    ],
)
def test_a_penalty_that_is_negative(price: str, C: float, gaps: list[float], remedy: str) -> None:
    data = {"x": LINE, "y": SIDES, "s": np.array([1.0, 1.0, -0.5, 2.0])}
    none = refused(parse_spec(PRICED.format(price=price)), data, {"C": C})
    (found,) = none.diagnostics
    assert (none.status, found.code, found.help) == ("unbounded", "K620", remedy)
    np.testing.assert_allclose(weights(none.witness, "margin", 4), gaps)
    assert f"`margin[{1 + int(np.argmax(gaps))}]` would have to be at least 0 and at most {-max(gaps):g}" in found.why


@pytest.mark.parametrize(("C", "D"), [(-1.0, 0.5), (-0.5, 1.0), (-1.0, -1.0)])
def test_penalties_of_two_sides_are_not_taken_together_where_one_may_be_negative(C: float, D: float) -> None:
    """-D <= below - above <= C would hold for the multipliers of the tube, but 0 <= above <= C does not."""
    none = refused(parse_spec(TUBE), {"x": LINE, "y": SIDES}, {"C": C, "D": D})
    np.testing.assert_allclose(weights(none.witness, "above", 4), -C)
    np.testing.assert_allclose(weights(none.witness, "below", 4), max(-D, 0.0))


def test_bounds_that_meet_leave_a_value() -> None:
    data = {"x": LINE, "y": SIDES, "s": np.array([1.0, 0.0, 0.0, 1.0])}
    assert solve(parse_spec(PRICED.format(price="C * s[i]")), data).status == "optimal"


# ------------------------------------------- answers that need a word with them


def test_a_sphere_whose_price_is_below_one_by_l() -> None:
    """r = 0, alpha = C, c the mean (KM 7.8 with C l < 1): the value is C sum |x - mean|^2."""
    solution = solve("sphere_soft", {"x": LINE}, {"C": 0.2}, LINEAR)
    compare("K622", [noted(solution, "K622")])
    assert solution.status == "optimal"
    assert solution.scalars["r^2"] == 0.0
    np.testing.assert_array_equal(solution.multipliers["inside"], 0.2)
    assert solution.value == pytest.approx(0.2 * ((LINE - LINE.mean()) ** 2).sum())
    above = solve("sphere_soft", {"x": LINE}, {"C": 0.26}, LINEAR)
    assert "K622" not in {warning.code for warning in above.warnings}


@pytest.mark.parametrize(
    ("name", "parameters"), [("svm_hard_unit", {}), ("svm_1norm_unit", {"C": 2.0}), ("svm_2norm_unit", {"C": 2.0})]
)
def test_reduced_hulls_that_meet(name: str, parameters: dict[str, float]) -> None:
    """Interleaved points: no unit vector is better than w = 0, or than a short one where slacks are squared."""
    y = np.array([1.0, -1.0, 1.0, -1.0])
    solution = solve(name, {"x": LINE, "y": y}, parameters, LINEAR)
    assert solution.status == "optimal_inaccurate"
    note = noted(solution, "K623")
    if name == "svm_hard_unit":
        compare("K623", [note])
    assert solution.quantities["||w||^2"] < 0.9
    apart = solve(name, {"x": LINE, "y": np.array([1.0, 1.0, -1.0, -1.0])}, parameters, LINEAR)
    assert "K623" not in {warning.code for warning in apart.warnings}
    assert apart.quantities["||w||^2"] == pytest.approx(1.0)


# ------------------------------------------------------------ what is refused


def test_hilbert_variables_that_multiply_each_other() -> None:
    model = read_model(Path(__file__).parent / "models" / "product_of_vectors.kspec")
    with pytest.raises(KdslError) as caught:
        solve(model, {"x": LINE, "y": np.array([1.0, 1.0, -1.0, -1.0])})
    compare("K614", caught.value.diagnostics)


def test_too_many_points_for_a_conic_solver() -> None:
    found = instance("loss_logistic", 3001, "linear", width=1)
    with pytest.raises(KdslError) as caught:
        solve(found.name, found.data, found.parameters, found.kernels, backend="cvxpy")
    compare("K616", caught.value.diagnostics)


def test_every_code_of_these_modules_has_its_text() -> None:
    root = Path(__file__).resolve().parents[2]
    texts = [(root / "kdsl" / "solving" / name).read_text(encoding="utf-8") for name in SOURCES]
    codes = {code for text in texts for code in re.findall(r'"(K6\d\d)"', text)}
    assert codes == {"K601", "K614", "K616", "K620", "K621", "K622", "K623"}
    assert {path.stem for path in EXPECTED.glob("K6*.txt")} >= codes


OUT_OF_REACH = """model out_of_reach
index  i in 1..l
data   x[i] : input, y[i] : {-1, 1}
kernel k = rbf(gamma = 0.5), h = linear
var    w : H(k), v : H(h), b : real
minimize b^2
subject to
  margin[i]: y[i] * (<w, phi(x[i])> + <v, phi(x[i])> + b) >= 1
  n1: ||w||^2 <= 0.04
  n2: ||v||^2 <= 0.04
predict label(t) = sign(<w, phi(t)> + <v, phi(t)> + b)
"""
TOO_CHEAP = """model too_cheap
index  i in 1..l
data   x[i] : input, y[i] : {-1, 1}
kernel k = linear
var    w : H(k)
minimize ||w|| + sum[i] y[i] * <w, phi(x[i])>
predict value(t) = <w, phi(t)>
"""


@pytest.mark.parametrize(("text", "said"), [(OUT_OF_REACH, "infeasible"), (TOO_CHEAP, "unbounded")])
def test_a_conic_program_without_a_solution_is_never_called_solved(text: str, said: str, capfd: Any) -> None:
    """A margin that norms keep out of reach, and a norm that costs less than what it buys."""
    solution = solve(parse_spec(text), {"x": 3.0 * LINE, "y": np.array([1.0, -1.0, 1.0, 1.0])})
    assert solution.status == "solver_error" and said in solution.message
    assert not capfd.readouterr().err


@pytest.mark.parametrize("shift", [0.0, 1e6, 1e7, 1e8])
def test_separable_points_far_from_the_origin_are_never_called_infeasible(shift: float) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 2))
    y = np.sign(x[:, 0])
    x[:, 0] += y
    solution = solve("svm_hard", {"x": x + shift, "y": y}, kernels={"k": "linear"})
    assert solution.status in ("optimal", "optimal_inaccurate", "solver_error")
    assert solution.status == "optimal" or shift > 0


def test_rows_that_differ_by_rounding_end_with_a_status() -> None:
    x = np.random.default_rng(0).normal(size=(30, 2)) + 1e8
    assert solve("sphere_hard", {"x": x}, kernels={"k": "linear"}).status in ("solver_error", "optimal_inaccurate")


def test_the_look_for_a_ray_leaves_time_and_can_be_stopped() -> None:
    """Overlapping classes under a kernel that just tells them apart: no ray, and long to tell."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(800, 2))
    y = np.where(x.sum(1) + rng.normal(size=800) > 0, 1, -1)
    asked: list[int] = []

    def progress(iterations: int, gap: float) -> bool:
        asked.append(iterations)
        return len(asked) > 40

    began = time.perf_counter()
    found = solve("svm_hard", {"x": x, "y": y}, None, {"k": "rbf(gamma = 1)"}, time_limit=8.0, progress=progress)
    assert found.status == "user_limit" and "interrupted" in found.message
    assert time.perf_counter() - began < 8.0
    found = solve("svm_hard", {"x": x, "y": y}, None, {"k": "rbf(gamma = 1)"}, time_limit=4.0)
    assert found.status != "optimal" and found.iterations > 0  # something is left for the problem itself
