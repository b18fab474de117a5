"""Bounds: formulas against figures worked out by hand, and the form of the problem that each theorem is about."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from kdsl.algebra.derivation import derive
from kdsl.cli.main import main
from kdsl.models.solution import Solution
from kdsl.pipeline import parse_spec
from kdsl.solving import bounds_formulas as formulas
from kdsl.solving.api import read_model, solve
from kdsl.solving.bounds import Bound, evaluate_bounds
from kdsl.solving.bounds_form import form_of

ROOT = Path(__file__).resolve().parents[2]
LINEAR = {"k": "linear"}

# each with l = 100 and delta = 0.05 unless said: 3 sqrt(ln 40 / 200) = 0.407430, 3 sqrt(ln 80 / 200) = 0.444062
BY_HAND = {
    "confidence": (formulas.confidence(100, 0.05), 0.407430),
    "sphere: 1.5/300 + 12*4/30": (formulas.sphere(100, 0.05, 2.0, 3.0, 1.5), 2.012430),
    "sphere as printed: 1.5/300 + 6*4/30": (formulas.sphere(100, 0.05, 2.0, 3.0, 1.5, 6.0), 1.212430),
    "sphere_width: (0.015 + 4.8) / 0.5": (formulas.sphere_width(100, 0.5, 2.0, 1.5), 9.63),
    "margin: 2/50 + 4*10/50": (formulas.margin(100, 0.05, 100.0, 0.5, 2.0), 1.247430),
    "2-norm, second term: 4 sqrt(400)/50": (formulas.margin_squared(100, 0.05, 100.0, 0.5, 3.0, 0.02), 2.044062),
    "2-norm, first term: 0.9/6.25 + 1.6": (formulas.margin_squared(100, 0.05, 100.0, 0.5, 30.0, 0.001), 2.188062),
    "2-norm as printed: 0.03/6.25 + 1.6": (
        formulas.margin_squared(100, 0.05, 100.0, 0.5, 30.0, 0.001, printed=True),
        2.048862,
    ),
    "squared error: 0.5 + 0.32*30 + 16*0.40743": (
        formulas.squared_error(100, 0.05, 100.0, 1.0, 2.0, 50.0, 10.0),
        16.618887,
    ),
    "tube: 85/400": (formulas.tube(100, 0.05, 100.0, 2.0, 5.0, 4.0), 0.619930),
    "tube_width: 85/50": (formulas.tube_width(100, 0.5, 100.0, 2.0, 5.0), 1.7),
    "Novikoff": (formulas.updates(2.0, 0.5), 16.0),
    "compression: (16 ln 100 + ln 1000)/84": (formulas.compression(100, 0.05, 16), 0.959410),
    "perceptron: 0.02 * 80.590478": (formulas.perceptron(100, 0.05, 16.0), 1.611810),
    "sparseness: (10 ln 10e + ln 2000)/90": (formulas.sparseness(100, 0.05, 10), 0.451408),
    "dimension": (formulas.dimension(2.0, 3.0), 36.0),
    "Vapnik, l = 1000: 0.004 * 33.240459": (formulas.vapnik(1000, 0.05, 4.0), 0.132962),
    "HB 5.2, l = 1e4: 2e-4 (64 ln(1e4 e/8) ln(320000) + ln 80)": (
        formulas.fat_shattering(10000, 0.05, 1.0, 1.0),
        2e-4 * (64 * (math.log(1250) + 1) * math.log(320000) + math.log(80)),
    ),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_by_hand(name: str) -> None:
    value, wanted = BY_HAND[name]
    assert value == pytest.approx(wanted, abs=2e-6)


def named(solution: Solution, name: str, **options: float) -> Bound:
    (found,) = [bound for bound in evaluate_bounds(solution, **options) if bound.name == name]
    return found


def on_a_line(name: str, size: int, **parameters: float) -> Solution:
    """`size` points at -1 and 1, which are their labels: w = 1, b = 0, gamma = 1, tr K = size, R = 1."""
    y = np.where(np.arange(size) % 2 == 0, 1.0, -1.0)
    return solve(name, {"x": y[:, None], "y": y}, parameters, LINEAR, tol=1e-12)


@pytest.mark.parametrize(("name", "theorem"), [("svm_hard", "KM 7.27"), ("svm_hard_unit", "KM 7.22")])
def test_hard_margin_on_a_line(name: str, theorem: str) -> None:
    """4 sqrt(1000)/1000 + 3 sqrt(ln 40/2000) = 0.126491 + 0.128841."""
    bound = named(on_a_line(name, 1000), theorem)
    assert bound.value == pytest.approx(0.255332, abs=1e-5)
    assert bound.inputs["gamma"] == pytest.approx(1.0)
    assert not bound.vacuous
    assert named(on_a_line(name, 10), theorem).vacuous  # 4/sqrt(10) alone is above 1


@pytest.mark.parametrize("margin", [1.0, 0.1, 0.01, 1e-4])
def test_no_probability_is_negative(margin: float) -> None:
    """The dimension of ES 12.50 grows beyond the number of examples as the margin shrinks."""
    x = np.concatenate([np.linspace(-1, -margin, 20), np.linspace(margin, 1, 20)])
    found = evaluate_bounds(solve("svm_hard", {"x": x[:, None], "y": np.sign(x)}, {}, LINEAR), 0.05)
    assert all(bound.value >= 0 for bound in found)
    vapnik = next(bound for bound in found if bound.name == "ES 12.51")
    assert vapnik.unmet == (("h <= 2 l",) if margin < 0.11 else ())  # h is 1/margin^2, l is 40


def test_separated_data_on_a_line() -> None:
    solution = on_a_line("svm_hard", 1000)
    # w = 1, b = 0 and the further feature R = 1: R^2 becomes 2
    assert named(solution, "KM 7.53").value == pytest.approx(2.0)
    assert named(solution, "KM 7.55").value == pytest.approx(0.002 * (2 * math.log(1000) + math.log(10000)), rel=1e-6)
    assert named(solution, "ES 12.50").value == pytest.approx(1.0)
    assert named(solution, "ES 12.51").value == pytest.approx(0.004 * (math.log(2000) + 1 + math.log(80)), rel=1e-6)
    support = named(solution, "KM 7.57").inputs["support vectors"]
    assert support == np.count_nonzero(solution.multipliers["margin"])
    assert named(solution, "KM 7.56").value == named(solution, "HB 5.5").value
    assert named(solution, "HB 5.2").vacuous  # 128 ln(125 e) ln(32000) / 1000 is above 1
    assert not named(solution, "HB 5.2").unmet


def test_conditions_that_fail_are_named() -> None:
    bound = named(on_a_line("svm_hard", 10), "HB 5.2")
    assert bound.unmet == ("64 R^2/gamma^2 < l",)
    assert bound.value == math.inf and bound.vacuous
    assert "does not apply" in bound.describe()


def two_clouds(size: int) -> dict[str, np.ndarray]:
    """Classes that overlap a little: their reduced hulls are apart."""
    x = np.random.default_rng(8).normal(size=(size, 2))
    y = np.where(np.arange(size) % 2 == 0, 1.0, -1.0)
    return {"x": x + np.outer(y, [1.2, 0.4]), "y": y}


def test_soft_margin_by_the_formula_of_the_theorem() -> None:
    """KM 7.30 as printed: 1/(C l) - sqrt(-W)/(C l gamma) + 4 sqrt(tr K)/(l gamma) + 3 sqrt(...)."""
    data = two_clouds(40)
    y, x = data["y"], data["x"]
    solution = solve("svm_1norm_unit", data, {"C": 0.06}, LINEAR, tol=1e-10)
    alpha = solution.multipliers["margin"]
    w, gamma = float(np.linalg.norm((alpha * y) @ x)), solution.scalars["gamma"]
    trace = float((x**2).sum())
    printed = (1 - w / gamma) / (0.06 * 40) + 4 * math.sqrt(trace) / (40 * gamma) + formulas.confidence(40, 0.05)
    bound = named(solution, "KM 7.30")
    assert bound.value == pytest.approx(printed, rel=1e-6)
    assert bound.inputs["least C"] == pytest.approx(1 / 40)  # 1 / (2 * 20)


def test_nu_is_a_count() -> None:
    data = two_clouds(40)
    solution = solve("svm_nu", data, {"nu": 0.4}, LINEAR, tol=1e-10)
    bound = named(solution, "KM 7.33")
    assert bound.inputs["nu l"] == pytest.approx(16.0)
    assert bound.inputs["margin errors"] <= 16 <= bound.inputs["support"]
    # KM 7.33: nu - nu sqrt(-W)/gamma in the place of the slacks
    alpha, y, x = solution.multipliers["margin"], data["y"], data["x"]
    gamma = solution.scalars["gamma"]
    w = float(np.linalg.norm((alpha * y) @ x))
    rest = bound.value - formulas.margin(40, 0.05, float((x**2).sum()), gamma)
    assert rest == pytest.approx(0.4 * (1 - w / gamma), rel=1e-5)


@pytest.mark.parametrize("scaled", [1.0, 5.0])
def test_squared_slacks_in_both_forms(scaled: float) -> None:
    """svm_2norm is the hard margin for kappa + delta / C; doubling C and halving mu is the same theorem."""
    data = two_clouds(30)
    solution = solve("svm_2norm", data, {"C": scaled}, LINEAR, tol=1e-12)
    bound = named(solution, "KM 7.38")
    x = data["x"]
    K = x @ x.T + np.eye(30) / scaled
    hard = solve("svm_hard", data, kernels={"k": _kernel(x, K)}, tol=1e-12)
    assert bound.inputs["gamma"] == pytest.approx(1 / math.sqrt(hard.quantities["||w||^2"]), rel=1e-5)
    assert bound.inputs["mu"] == pytest.approx(1 / scaled)
    alpha = hard.multipliers["margin"] / hard.multipliers["margin"].sum()
    assert bound.inputs["||alpha||^2"] == pytest.approx(alpha @ alpha, rel=1e-4)
    assert bound.printed is not None
    unit = named(solve("svm_2norm_unit", data, {"C": 0.7}, LINEAR, tol=1e-10), "KM 7.38")
    mu = unit.inputs["mu"]
    same = named(solve("svm_2norm", data, {"C": 1 / mu}, LINEAR, tol=1e-12), "KM 7.38")
    assert unit.inputs["gamma"] == pytest.approx(same.inputs["gamma"], rel=1e-4)
    assert unit.value == pytest.approx(same.value, rel=1e-4)


def _kernel(x: np.ndarray, K: np.ndarray):  # type: ignore[no-untyped-def]
    """A function that gives K at the points of x."""

    def place(points: np.ndarray) -> np.ndarray:
        return np.array([int(np.flatnonzero((x == p).all(axis=1))[0]) for p in np.asarray(points)])

    return lambda a, b: K[np.ix_(place(a), place(b))]


def test_spheres() -> None:
    """Four points at the corners of a square about 3: R is the farthest from the origin, r^2 = 2."""
    x = np.array([[2.0, -1], [2, 1], [4, -1], [4, 1]])
    solution = solve("sphere_hard", {"x": x}, kernels=LINEAR, tol=1e-12)
    bound = named(solution, "KM 7.5", gamma=50.0)
    assert bound.inputs["R"] == pytest.approx(math.sqrt(17))
    assert bound.inputs["r^2"] == pytest.approx(2.0)
    assert bound.value == pytest.approx(12 * 17 / 100 + formulas.confidence(4, 0.05))
    assert bound.printed == pytest.approx(6 * 17 / 100 + formulas.confidence(4, 0.05))
    soft = solve("sphere_nu", {"x": x}, {"nu": 0.5}, LINEAR, tol=1e-12)
    corollary = named(soft, "KM 7.14")
    assert corollary.inputs["p = nu"] == pytest.approx(0.5)
    assert corollary.value == pytest.approx(0.5 + formulas.confidence(4, 0.05))
    gamma = named(soft, "KM 7.12").inputs["gamma"]
    assert corollary.inputs["test radius^2"] == pytest.approx(soft.scalars["r^2"] + gamma)
    assert named(soft, "KM 7.12").value == pytest.approx(corollary.value)


def test_ridge_and_tubes() -> None:
    x, y = np.array([[1.0], [-1.0], [2.0]]), np.array([1.0, -1.0, 2.0])
    ridge = solve("ridge", {"x": x, "y": y}, {"lambda": 6.0}, LINEAR)  # w = 6 / 12, residuals half of y
    bound = named(ridge, "KM 7.39")
    assert bound.inputs["B"] == pytest.approx(0.5)
    assert bound.inputs["sum xi^2"] == pytest.approx(1.5)
    assert bound.unmet == ("|y| <= B R",)  # 2 > 0.5 * 2
    ball = named(solve("ridge_ball", {"x": x, "y": y}, {"B": 4.0}, LINEAR), "KM 7.39")
    assert ball.inputs["B"] == pytest.approx(4.0)
    assert ball.value == pytest.approx(
        16 * 2 * 4 / 3 * (4 * math.sqrt(6) + math.sqrt(6)) + 4 * 64 * formulas.confidence(3, 0.05)
    )
    tube = solve("svr_linear_eps", {"x": x, "y": y}, {"C": 100.0, "eps": 0.5}, LINEAR, tol=1e-12)
    wide = named(tube, "KM 7.49", gamma=10.5)
    assert wide.inputs["B"] == pytest.approx(0.75 / 1.5 * 4 / 3, rel=1e-6)  # (4 - 2 * 0.5) / 3 = slope 2/3
    assert wide.value == pytest.approx(4 * (2 / 3) * math.sqrt(6) / 30 + formulas.confidence(3, 0.05), rel=1e-6)
    assert named(tube, "KM 7.49", gamma=0.4).unmet == ("gamma > eps",)
    assert evaluate_bounds(solve("ridge_bias", {"x": x, "y": y}, kernels=LINEAR)) == ()


def test_no_margin_no_bound() -> None:
    x, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([1.0, -1.0, 1.0, -1.0])
    (bound,) = evaluate_bounds(solve("svm_hard_unit", {"x": x, "y": y}, kernels=LINEAR))
    assert bound.unmet == ("the margin is positive",)


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, math.nan])
def test_delta_is_a_probability(delta: float) -> None:
    with pytest.raises(ValueError, match="delta is a probability"):
        evaluate_bounds(on_a_line("svm_1norm", 4, C=1.0), delta)


# ------------------------------------------------------------------------ forms


FORMS = {
    "sphere_hard": ("sphere", 0),
    "sphere_soft": ("sphere", 1),
    "sphere_nu": ("sphere", 1),
    "svm_hard": ("margin", 0),
    "svm_hard_unit": ("margin", 0),
    "svm_1norm": ("margin", 1),
    "svm_1norm_unit": ("margin", 1),
    "svm_nu": ("margin", 1),
    "svm_nu_sum": ("margin", 1),
    "svm_2norm": ("margin", 2),
    "svm_2norm_unit": ("margin", 2),
    "svm_no_bias": ("margin", 1),
    "svm_weighted": ("margin", 1),
    "ridge": ("fit", 2),
    "ridge_bias": ("fit", 2),
    "ridge_ball": ("fit", 2),
    "svr_quadratic_eps": ("tube", 2),
    "svr_linear_eps": ("tube", 1),
    "svr_nu": ("tube", 1),
    "loss_hinge": ("margin", 1),
    "loss_squared_hinge": ("margin", 2),
}


@pytest.mark.parametrize("path", sorted((ROOT / "specs").glob("*.kspec")), ids=lambda path: path.stem)
def test_form_of_every_spec(path: Path) -> None:
    form = form_of(derive(read_model(path)))
    assert (None if form is None else (form.kind, form.power)) == FORMS.get(path.stem)


@pytest.mark.parametrize(
    ("short", "long", "parameters", "same"),
    [
        ("loss_hinge", "svm_1norm", {"C": 0.7}, {"C": 0.7}),
        ("loss_squared_hinge", "svm_2norm", {"lambda": 0.5}, {"C": 4.0}),  # lambda/2 |w|^2 + xi^2, over lambda
    ],
)
def test_the_short_form_is_the_same_theorem(
    short: str, long: str, parameters: dict[str, float], same: dict[str, float]
) -> None:
    data = two_clouds(30)
    one, other = (
        evaluate_bounds(solve(name, data, given, LINEAR, tol=1e-12))
        for name, given in ((short, parameters), (long, same))
    )
    assert [bound.name for bound in one] == [bound.name for bound in other] != []
    for bound, equal in zip(one, other, strict=True):
        assert bound.value == pytest.approx(equal.value, rel=1e-4)
        assert dict(bound.inputs) == pytest.approx(dict(equal.inputs), rel=1e-3)


def test_names_do_not_matter() -> None:
    """A nu machine under other names, with a margin of 2: the same theorem, and the same geometry."""
    model = parse_spec(
        """model mine
index  n in 1..m
data   p[n] : input, t[n] : {-1, 1}
kernel h = linear
var    v : H(h), c : real
minimize 2 * ||v||^2
subject to
  far[n]: t[n] * (<v, phi(p[n])> + c) >= 2
predict label(q) = sign(<v, phi(q)> + c)
""",
        "mine",
    )
    y = np.where(np.arange(1000) % 2 == 0, 1.0, -1.0)
    solution = solve(model, {"p": y[:, None], "t": y}, tol=1e-12)
    assert named(solution, "KM 7.27").value == pytest.approx(0.255332, abs=1e-5)


# ------------------------------------------------------------ the command line


@pytest.fixture
def line_table(tmp_path: Path) -> Path:
    """Forty points at -1 and 1, which are their labels."""
    table = tmp_path / "line.csv"
    table.write_text("x,y\n" + "-1,-1\n1,1\n" * 20, encoding="utf-8")
    return table


def test_bounds_on_the_command_line(line_table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["solve", "svm_hard", "--data", str(line_table), "--kernel", "k = linear", "--bounds", "delta=0.1"]
    assert main(arguments) == 0
    text = capsys.readouterr().out
    assert "bounds  KM 7.27: the probability of an error is at most" in text
    assert "which is vacuous" in text
    assert "bounds  assumed: the examples are drawn independently from one distribution" in text
    assert main([*arguments, "--json"]) == 0
    entries = json.loads(capsys.readouterr().out)["bounds"]
    first = next(entry for entry in entries if entry["name"] == "KM 7.27")
    assert first["value"] == pytest.approx(4 / math.sqrt(40) + 3 * math.sqrt(math.log(20) / 80), rel=1e-6)
    assert first["inputs"]["delta"] == 0.1
    assert next(entry for entry in entries if entry["unmet"])["value"] is None


def test_no_theorem_is_said(line_table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "loss_logistic", "--data", str(line_table), "--bounds", "delta=0.1"]) == 0
    assert "none of the theorems is about a problem of this form" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["delta", "delta=2", "delta=0.1,eta=3", "delta=x"])
def test_what_bounds_does_not_take(text: str, line_table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "svm_hard", "--data", str(line_table), "--bounds", text]) == 2
    assert "--bounds" in capsys.readouterr().err
