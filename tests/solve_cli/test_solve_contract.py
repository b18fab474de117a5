"""`kdsl solve` keeps its contract: the JSON object, the exit codes, the report, and the same from Python."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_runs import solved, write_table
from command_runs import kdsl

import kdsl as package

KEYS = {
    "schema": int,
    "status": str,
    "model": str,
    "backend": str,
    "reason": str,
    "n": int,
    "d": int,
    "params": dict,
    "value": float,
    "dual": float,
    "gap": float,
    "rel_gap": float,
    "kkt_gap": float,
    "iterations": int,
    "seconds": dict,
    "scalars": dict,
    "residuals": list,
    "support": dict,
    "quantities": dict,
    "warnings": list,
}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Overlapping classes, 40 points of the plane."""
    random = np.random.default_rng(0)
    x = random.normal(size=(40, 2))
    y = np.where(x[:, 0] + 0.6 * random.normal(size=40) > 0, "ham", "spam")
    return write_table(tmp_path / "train.csv", {"u": x[:, 0], "v": x[:, 1], "y": list(y)})


# -------------------------------------------------------------------- the JSON


def test_the_object_has_everything_promised(table: Path) -> None:
    entry = solved("svm_1norm", "--data", table, "-D", "C=2", "--kernel", "k = rbf(gamma = 0.3)")
    for key, kind in KEYS.items():
        assert isinstance(entry[key], kind), key
    assert (entry["schema"], entry["model"], entry["n"], entry["d"]) == (1, "svm_1norm", 40, 2)
    assert entry["params"] == {"C": 2.0}
    assert set(entry["seconds"]) == {"read", "lower", "solve", "certify", "total"}
    parts = sum(entry["seconds"][part] for part in ("read", "lower", "solve", "certify"))
    assert parts == pytest.approx(entry["seconds"]["total"], rel=0.02)
    assert set(entry["support"]) == {"total", "bound", "free"}
    assert entry["support"]["total"] == entry["support"]["bound"] + entry["support"]["free"]
    assert entry["gap"] == abs(entry["value"] - entry["dual"])
    assert entry["rel_gap"] <= 1e-6
    for residual in entry["residuals"]:
        assert set(residual) == {"condition", "value", "index"}
        assert 0 <= residual["value"] < 1e-2
    assert {"margin", "stationarity in b"} <= {r["condition"] for r in entry["residuals"]}


def test_warnings_are_in_the_object(tmp_path: Path) -> None:
    table = write_table(
        tmp_path / "t.csv", {"u": [0.0, 1.0, 2.0, 3.0], "v": [0.0, 2000.0, 1.0, 3.0], "y": [0, 0, 1, 1]}
    )
    entry = solved("svm_1norm", "--data", table)
    assert [w["code"] for w in entry["warnings"]] == ["K540"]
    assert set(entry["warnings"][0]) == {"code", "message", "why", "help"}


def test_without_a_solution_the_object_says_why(tmp_path: Path) -> None:
    table = write_table(tmp_path / "t.csv", {"u": [0.0, 0.0], "y": [-1, 1]})
    outcome = kdsl("solve", "svm_hard", "--data", table, "--kernel", "k = linear", "--json")
    entry = outcome.json
    assert outcome.code == 1
    assert entry["status"] == "infeasible"
    assert set(KEYS) <= set(entry)
    assert entry["value"] is None
    assert entry["witness"]
    assert entry["diagnostics"][0]["code"] == "K621"
    assert set(entry["seconds"]) == {"read", "lower", "solve", "certify", "total"}


def test_bad_data_are_an_object_too(tmp_path: Path) -> None:
    table = write_table(tmp_path / "t.csv", {"u": [0.0, math.inf, 1.0], "y": [-1, 1, 1]})
    outcome = kdsl("solve", "svm_1norm", "--data", table, "--json")
    assert outcome.code == 1
    assert outcome.json["status"] == "error"
    assert outcome.json["diagnostics"][0]["code"] == "K531"
    assert "error[K531]" in outcome.err


# ------------------------------------------------------------- numbers by hand


def test_two_points(tmp_path: Path) -> None:
    """x = -1, 1 with labels -1, 1, Gaussian gamma = 1, C = 1: in LIBSVM's sign the objective is -(1 + e^-4)."""
    table = write_table(tmp_path / "t.csv", {"x": [-1.0, 1.0], "y": [-1, 1]})
    entry = solved("svm_1norm", "--data", table, "--kernel", "k = rbf(gamma = 1)", "--tol", "1e-12")
    assert -entry["dual"] == pytest.approx(-(1 + math.exp(-4)), rel=1e-13)
    assert entry["value"] == pytest.approx(1 + math.exp(-4), rel=1e-13)
    assert entry["scalars"]["b"] == pytest.approx(0.0, abs=1e-12)


def test_the_toy_problem_of_the_notes(tmp_path: Path) -> None:
    """x = -3, -1, 2 with labels -1, -1, 1: w = 2/3, b = -1/3, and the first constraint is slack."""
    table = write_table(tmp_path / "t.csv", {"x": [-3.0, -1.0, 2.0], "y": [-1, -1, 1]})
    model = tmp_path / "m.kdsl"
    entry = solved("svm_hard", "--data", table, "--kernel", "k = linear", "--tol", "1e-10", "-o", model)
    assert entry["scalars"]["b"] == pytest.approx(-1 / 3, abs=1e-9)
    assert entry["quantities"]["||w||^2"] == pytest.approx(4 / 9, abs=1e-9)
    loaded = package.load_model(model)
    assert loaded.multipliers["margin"][0] == 0
    assert np.allclose(loaded.decision([[0.0], [1.0]]), [-1 / 3, 1 / 3], atol=1e-9)


def test_sklearns_toy_data(tmp_path: Path) -> None:
    """dual_coef -.25 and .25 at the points (-1, -1) and (1, 1), intercept 0."""
    x = np.array([(-2, -1), (-1, -1), (-1, -2), (1, 1), (1, 2), (2, 1)], dtype=float)
    table = write_table(tmp_path / "t.csv", {"u": x[:, 0], "v": x[:, 1], "y": [1, 1, 1, 2, 2, 2]})
    model = tmp_path / "m.kdsl"
    entry = solved("svm_1norm", "--data", table, "--kernel", "k = linear", "--tol", "1e-10", "-o", model)
    assert entry["scalars"]["b"] == pytest.approx(0.0, abs=1e-9)
    assert np.allclose(package.load_model(model).multipliers["margin"], [0, 0.25, 0, 0.25, 0, 0], atol=1e-9)
    gram = x @ x.T
    columns: dict[str, Any] = {f"g{n}": gram[:, n] for n in range(6)}
    again = write_table(tmp_path / "gram.csv", {**columns, "y": [1, 1, 1, 2, 2, 2]})
    entry = solved("svm_1norm", "--data", again, "--kernel", "k = precomputed", "--tol", "1e-10", "-o", model)
    assert np.allclose(package.load_model(model).multipliers["margin"], [0, 0.25, 0, 0.25, 0, 0], atol=1e-9)


def test_sklearns_one_class(tmp_path: Path) -> None:
    """OneClassSVM() on the same points: gamma = scale is .25, dual .75 four times, intercept -1.218."""
    x = np.array([(-2, -1), (-1, -1), (-1, -2), (1, 1), (1, 2), (2, 1)], dtype=float)
    table = write_table(tmp_path / "t.csv", {"u": x[:, 0], "v": x[:, 1]})
    model = tmp_path / "m.kdsl"
    options = ("--kernel", "k = rbf(gamma = scale)", "-D", "nu=0.5", "--tol", "1e-10", "-o", model)
    entry = solved("one_class", "--data", table, *options)
    loaded = package.load_model(model)
    assert loaded.header["kernels"]["k"]["gamma"] == pytest.approx(0.25, rel=1e-15)
    alpha = loaded.multipliers["margin"] * 0.5 * 6
    assert np.allclose(np.sort(alpha), [0, 0, 0.75, 0.75, 0.75, 0.75], atol=1e-6)
    assert -entry["scalars"]["rho"] * 0.5 * 6 == pytest.approx(-1.218, abs=5e-4)


# ------------------------------------------------------------------ exit codes


@pytest.mark.parametrize(
    ("code", "options"),
    [
        (3, ["--max-iterations", "2"]),
        (1, ["-D", "C=-1"]),
        (1, ["-D", "D=1"]),
        (1, ["--kernel", "k = rbf(gama = 1)"]),
        (1, ["--kernel", "k = rbf(gamma = "]),
        (1, ["--kernel", "z = linear"]),
        (1, ["--target", "nothing"]),
        (1, ["--features", ""]),
        (1, ["--features", "x="]),
        (2, ["-D", "C"]),
        (2, ["-D", "C=ten"]),
        (2, ["--tol", "0"]),
        (2, ["--memory", "much"]),
        (2, ["--threads", "0"]),
        (2, ["--threads", "1025"]),
        (2, ["--backend", "nobody"]),
        (2, ["--psd", "maybe"]),
        (4, ["-o", "/no/such/folder/model.kdsl"]),
    ],
)
def test_exit_codes(code: int, options: list[str], table: Path) -> None:
    outcome = kdsl("solve", "svm_1norm", "--data", table, *options)
    assert outcome.code == code
    assert outcome.err or code == 3


def test_what_is_missing_is_4(tmp_path: Path, table: Path) -> None:
    assert kdsl("solve", "svm_1norm", "--data", tmp_path / "none.csv").code == 4
    assert kdsl("solve", "svm_none", "--data", table).code == 4
    assert kdsl("predict", tmp_path / "none.kdsl", table).code == 4
    assert kdsl("verify", tmp_path / "none.kdsl", "--data", table).code == 4


def test_a_limit_is_3_with_the_best_so_far(table: Path) -> None:
    outcome = kdsl("solve", "svm_1norm", "--data", table, "--max-iterations", 2, "--json")
    assert (outcome.code, outcome.json["status"]) == (3, "user_limit")
    assert outcome.json["value"] >= outcome.json["dual"]


def test_a_mistake_in_the_spec_is_shown_in_it(tmp_path: Path, table: Path) -> None:
    spec = tmp_path / "mine.kspec"
    spec.write_text("model mine\nindex i in 1..l\ndata x[i] : inputs\n")
    outcome = kdsl("solve", spec, "--data", table)
    assert outcome.code == 1
    assert f"{spec}:3:" in outcome.err


def test_a_mistake_in_a_kernel_is_shown_in_it(table: Path) -> None:
    outcome = kdsl("solve", "svm_1norm", "--data", table, "--kernel", "k = rbf(gamma = = 1)")
    assert outcome.code == 1
    assert "--> --kernel:1:" in outcome.err


# ------------------------------------------------------------------ the report


def test_the_report_says_what_a_person_asks(table: Path) -> None:
    outcome = kdsl("solve", "svm_1norm", "--data", table)
    assert outcome.code == 0
    lines = {line.split("  ")[0]: line for line in outcome.out.splitlines()}
    assert {"problem", "labels", "kernel", "route", "status", "value", "dual", "gap", "support", "b"} <= set(lines)
    assert "40 examples, 2 features" in lines["problem"]
    assert "ham -> -1, spam -> 1" in lines["labels"]
    assert lines["status"].endswith("optimal")


def test_a_bias_that_is_not_unique_comes_with_its_interval(tmp_path: Path) -> None:
    """One example of each class at its bound leaves b free between two hinges."""
    table = write_table(tmp_path / "t.csv", {"x": [-1.0, 1.0], "y": [-1, 1]})
    options = ("--kernel", "k = linear", "-D", "C=0.1", "--json")
    entry = solved("svm_1norm", "--data", table, *options)
    low, high = entry["intervals"]["b"]
    assert (low, high) == (pytest.approx(-0.8, abs=1e-6), pytest.approx(0.8, abs=1e-6))
    assert entry["scalars"]["b"] == pytest.approx(0.0, abs=1e-6)
    text = kdsl("solve", "svm_1norm", "--data", table, *options[:-1]).out
    assert "is as good" in text


def test_positive_chooses_the_label(table: Path) -> None:
    plain = solved("svm_1norm", "--data", table, "--tol", "1e-9")
    turned = solved("svm_1norm", "--data", table, "--tol", "1e-9", "--positive", "ham")
    assert turned["labels"] == {"y": "spam -> -1, ham -> 1"}
    assert turned["scalars"]["b"] == pytest.approx(-plain["scalars"]["b"], abs=1e-6)


def test_features_bind_and_parameters_as_fractions(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    x = random.normal(size=(20, 3))
    y = np.where(x[:, 0] > 0, 1, -1)
    weight = random.uniform(0.5, 2.0, 20)
    columns = {"u": x[:, 0], "v": x[:, 1], "noise": x[:, 2], "weight": weight, "class": y}
    table = write_table(tmp_path / "t.csv", columns)
    options = ("--target", "class", "--features", "u,v", "--bind", "s=weight", "-D", "C=1/2")
    entry = solved("svm_weighted", "--data", table, *options)
    assert (entry["d"], entry["params"]) == (2, {"C": 0.5})
    direct = package.solve("svm_weighted", {"x": x[:, :2], "y": y, "s": weight}, {"C": 0.5})
    assert entry["value"] == pytest.approx(direct.value, rel=1e-5)


def test_scaling_is_explicit_and_said(table: Path, tmp_path: Path) -> None:
    outcome = kdsl("solve", "svm_1norm", "--data", table, "--scale", "minmax", "-o", tmp_path / "m.kdsl")
    assert "of features scaled (minmax)" in outcome.out
    assert package.load_model(tmp_path / "m.kdsl").fitted.feature_map.scaling.kind == "minmax"


def test_kkt_tol_stops_on_m_minus_m(table: Path) -> None:
    entry = kdsl("solve", "svm_1norm", "--data", table, "--kkt-tol", "0.5", "--json").json
    tight = solved("svm_1norm", "--data", table, "--kkt-tol", "1e-9")
    assert tight["kkt_gap"] <= 1e-9
    assert entry["kkt_gap"] <= 0.5
    assert entry["iterations"] < tight["iterations"]


# ---------------------------------------------------------------- the audit


@pytest.fixture
def indefinite(tmp_path: Path) -> Path:
    """A symmetric matrix with negative eigenvalues, and labels."""
    random = np.random.default_rng(5)
    n = 24
    x, noise = random.normal(size=(n, 2)), random.normal(size=(n, n))
    gram = x @ x.T + 0.4 * (noise + noise.T)
    columns: dict[str, Any] = {f"g{place}": gram[:, place] for place in range(n)}
    return write_table(tmp_path / "gram.csv", {**columns, "y": np.where(x[:, 0] > 0, 1, -1)})


def test_an_indefinite_matrix_is_refused(indefinite: Path) -> None:
    outcome = kdsl("solve", "svm_1norm", "--data", indefinite, "--kernel", "k = precomputed")
    assert outcome.code == 1
    assert "error[K570]" in outcome.err


@pytest.mark.parametrize("policy", ["clip", "shift"])
def test_a_repaired_matrix_is_certified(policy: str, indefinite: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.kdsl"
    options = ("--kernel", "k = precomputed", "--psd", policy, "-o", model)
    entry = solved("svm_1norm", "--data", indefinite, *options)
    assert entry["psd"]["k"]["verdict"] == "indefinite"
    assert entry["quantities"]["lambda_min(k)"] < -0.1
    assert [w["code"] for w in entry["warnings"]] == ["K574"]
    assert kdsl("verify", model, "--data", indefinite).code == 0
    assert kdsl("predict", model, indefinite).code == 0


def test_an_indefinite_matrix_is_never_optimal(indefinite: Path) -> None:
    outcome = kdsl(
        "solve", "svm_1norm", "--data", indefinite, "--kernel", "k = precomputed", "--psd", "accept", "--json"
    )
    assert outcome.code == 3
    assert outcome.json["status"] == "optimal_inaccurate"
    assert "K572" in [w["code"] for w in outcome.json["warnings"]]


def test_clipped_predictions_are_those_of_the_clipped_matrix(indefinite: Path) -> None:
    data = np.loadtxt(indefinite, delimiter=",", skiprows=1)
    gram, y = data[:, :-1], data[:, -1]
    gram = (gram + gram.T) / 2
    values, vectors = np.linalg.eigh(gram)
    clipped = (vectors * np.maximum(values, 0)) @ vectors.T
    kernels = {"k": "precomputed"}
    repaired = package.solve("svm_1norm", {"x": gram, "y": y}, kernels=kernels, psd="clip", tol=1e-11)
    direct = package.solve("svm_1norm", {"x": clipped, "y": y}, kernels=kernels, tol=1e-11, psd="clip")
    assert repaired.value == pytest.approx(direct.value, rel=1e-9)
    assert np.allclose(repaired.decision(gram), direct.decision(clipped), atol=1e-6)


# ------------------------------------------------------------------ Python


def test_the_python_interface(tmp_path: Path) -> None:
    random = np.random.default_rng(6)
    x = random.normal(size=(30, 2))
    y = np.where(x[:, 0] + 0.4 * random.normal(size=30) > 0, 1, -1)
    found = package.solve("svm_1norm", data={"x": x, "y": y}, params={"C": 1.0}, kernels={"k": "rbf(gamma=0.1)"})
    assert found.status == "optimal"
    assert found.gap == abs(found.value - found.dual) == found.certificate.gap
    assert found.multipliers["margin"].shape == found.slacks["xi"].shape == (30,)
    assert np.all(found.slacks["xi"] >= 0)
    assert found.support.total > 0
    assert found.backend in found.reason or found.reason
    margins = y * found.decision(x)
    assert np.allclose(found.slacks["xi"], np.maximum(0, 1 - margins), atol=1e-9)
    assert np.array_equal(found.predict(x), np.where(found.decision(x) >= 0, 1, -1))
    at_zero = package.solve("svm_1norm", {"x": x * 0.0 + [[1.0, 2.0]], "y": y})
    assert at_zero.decision([[1.0, 2.0]])[0] == pytest.approx(at_zero.scalars["b"], abs=1e-6)
    found.save(tmp_path / "m.kdsl")
    assert np.array_equal(package.load_model(tmp_path / "m.kdsl").predict(x), found.predict(x))


def test_the_command_and_python_agree(table: Path) -> None:
    entry = solved("svm_1norm", "--data", table)
    found = package.solve("svm_1norm", str(table))
    assert json.loads(json.dumps(entry["value"])) == found.value
    assert entry["scalars"]["b"] == found.scalars["b"]


# ----------------------------------------------------------- without any index


@pytest.mark.parametrize(
    ("lines", "value", "x"),
    [
        ("minimize x^2 - 2*x", -1.0, 1.0),
        ("minimize (x-3)^2\nsubject to\n  c: x <= 1", 4.0, 1.0),
        ("minimize x\nsubject to\n  c: x >= 2", 2.0, 2.0),
    ],
    ids=["without conditions", "with one", "linear"],
)
def test_a_spec_of_unknowns_only_goes_all_the_way(
    lines: str, value: float, x: float, table: Path, tmp_path: Path
) -> None:
    spec, model = tmp_path / "n.kspec", tmp_path / "n.kdsl"
    spec.write_text(f"var x : real\n{lines}\n")
    assert kdsl("derive", spec, "--verify").code == 0
    entry = solved(spec, "--data", table, "-o", model, "--report", tmp_path / "n.html")
    assert (entry["n"], entry["value"], entry["scalars"]["x"]) == (0, pytest.approx(value), pytest.approx(x))
    assert kdsl("verify", model, "--data", table).code == kdsl("show", model).code == 0
    outcome = kdsl("predict", model, table)
    assert (outcome.code, outcome.out) == (1, "") and "error[K650]" in outcome.err


def test_a_model_without_an_input_is_verified_and_reported(table: Path, tmp_path: Path) -> None:
    spec, model, page = tmp_path / "mean.kspec", tmp_path / "mean.kdsl", tmp_path / "mean.html"
    spec.write_text(
        "index i in 1..l\ndata y[i] : real\nvar m : real\nminimize sum[i] (y[i] - m)^2\npredict value(t) = m\n"
    )
    solved(spec, "--data", table, "--target", "u", "-o", model)
    for words in (("verify", model, "--data", table), ("report", model, "--data", table, "-o", page), ("show", model)):
        assert kdsl(*words).code == 0
    assert page.exists()
    outcome = kdsl("predict", model, table)
    assert outcome.code == 1 and "error[K650]: the model `mean` has no input" in outcome.err
