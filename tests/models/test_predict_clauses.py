"""Predict clauses that are no polynomials: what they evaluate to, far from the range of float64 too, and in files."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from saved_models import two_classes

import kdsl
from kdsl.cli.main import main
from kdsl.language.diagnostics import KdslError
from kdsl.models import predictor as predictors
from kdsl.models.solution import Solution
from kdsl.models.verification import verify_model
from kdsl.plot import tube
from kdsl.resources import spec_path

POINTS = np.array([[0.0, 0.0], [1.5, -0.3], [-2.0, 1.0], [0.1, 0.2]])
Numbers = np.ndarray[Any, Any]


def svm(clauses: str) -> str:
    """The text of svm_1norm with an abbreviation and other predict clauses."""
    text = Path(spec_path("svm_1norm") or "").read_text(encoding="utf-8")
    kept = [line for line in text.splitlines() if not line.startswith("predict")]
    return "\n".join([*kept, "let f(t) = <w, phi(t)> + b", clauses, ""])


def solved(clauses: str) -> Solution:
    return kdsl.solve(kdsl.parse_spec(svm(clauses)), two_classes())


def margins(points: Numbers) -> tuple[Numbers, float, float]:
    """(f, b, ||w||) of the same problem."""
    solution = solved("predict label(t) = sign(f(t))")
    return solution.decision(points), solution.scalars["b"], float(np.sqrt(solution.quantities["||w||^2"]))


CLAUSES: dict[str, Callable[[Numbers, float, float], Any]] = {
    "1 / (1 + exp(-f(t)))": lambda f, b, w: 1 / (1 + np.exp(-f)),
    "log(1 + exp(f(t)))": lambda f, b, w: np.log1p(np.exp(f)),
    "max(0, f(t), 2 * b)": lambda f, b, w: np.maximum(np.maximum(0, f), 2 * b),
    "abs(f(t)) - pos(f(t))": lambda f, b, w: np.abs(f) - np.maximum(f, 0),
    "2 * square(abs(f(t)) - C)^2": lambda f, b, w: 2 * (np.abs(f) - 1) ** 4,
    "exp(1)": lambda f, b, w: np.full(len(f), np.e),
    "hinge(f(t)) + logistic(f(t))": lambda f, b, w: np.maximum(0, 1 - f) + np.log1p(np.exp(-f)),
    "pinball(f(t); 1/4)": lambda f, b, w: np.where(f > 0, f / 4, -0.75 * f),
    "huber(f(t))": lambda f, b, w: np.where(np.abs(f) < 1.345, f**2 / 2, 1.345 * (np.abs(f) - 1.345 / 2)),
    "1 / f(t)": lambda f, b, w: 1 / f,
    "f(t) / ||w||": lambda f, b, w: f / w,
    "||w||^3 * b": lambda f, b, w: np.full(len(f), w**3 * b),
    "||phi(t) - w||": lambda f, b, w: np.sqrt(1 - 2 * (f - b) + w**2),
    "-exp(-abs(log(square(f(t)))))": lambda f, b, w: -np.exp(-np.abs(np.log(f**2))),
    "2 / abs(f(t)) * exp(b) / 3 / exp(1)": lambda f, b, w: 2 / np.abs(f) * np.exp(b) / 3 / np.e,
    " + ".join(["exp(b)"] * 2000): lambda f, b, w: np.full(len(f), 2000 * np.exp(b)),
    "log(1 + " * 60 + "exp(f(t))" + ")" * 60: lambda f, b, w: nested(np.exp(f), 60),
    "g(max(f(t), 0), t)": lambda f, b, w: np.exp(-np.maximum(f, 0)) * f,
}


def nested(value: Numbers, times: int) -> Numbers:
    for _ in range(times):
        value = np.log1p(value)
    return value


@pytest.mark.parametrize("clause", CLAUSES, ids=lambda clause: clause[:40])
def test_a_clause_evaluates_to_what_it_says(clause: str, tmp_path: Path) -> None:
    expected = CLAUSES[clause](*margins(POINTS))
    solution = solved(f"let g(r, s) = exp(-r) * f(s)\npredict value(t) = {clause}")
    assert solution.predict(POINTS) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert solution.decision(POINTS[0]) == pytest.approx(expected[:1], rel=1e-9, abs=1e-12)
    solution.save(tmp_path / "m.kdsl")
    assert (kdsl.load_model(tmp_path / "m.kdsl").predict(POINTS) == solution.predict(POINTS)).all()
    assert verify_model(str(tmp_path / "m.kdsl"), two_classes()).holds


def test_sums_over_labels() -> None:
    """The largest score is inside the logarithm of the sum of exponentials, and argmax sees through exp."""
    text = Path(spec_path("loss_multinomial") or "").read_text(encoding="utf-8")
    shipped = "predict probability(t, k) = exp(<w[k], phi(t)>)/sum[m] exp(<w[m], phi(t)>)\n"
    several = text.replace(shipped, "") + (
        "predict value(t) = log(sum[k] exp(<w[k], phi(t)>))\n"
        "predict score(t) = sum[k] (<w[k], phi(t)> * sum[m where m != k] exp(<w[m], phi(t)>))\n"
        "predict probability(t, m) = exp(-multinomial(<w[k], phi(t)>; k, m))\n"
    )
    solution = kdsl.solve(kdsl.parse_spec(several), {"x": POINTS, "y": ["a", "b", "c", "a"]})
    scores = solution.decision(POINTS)
    exponentials = np.exp(scores)
    assert solution.predict(POINTS, clause="value") == pytest.approx(np.log(exponentials.sum(axis=1)))
    others = exponentials.sum(axis=1, keepdims=True) - exponentials
    assert solution.predict(POINTS, clause="score") == pytest.approx((scores * others).sum(axis=1))
    found = solution.predict(POINTS, {"m": ["a", "b", "c", "a"]}, clause="probability")
    assert found == pytest.approx((exponentials / exponentials.sum(axis=1, keepdims=True))[range(4), [0, 1, 2, 0]])
    whole = kdsl.solve("loss_multinomial", {"x": POINTS, "y": ["a", "b", "c", "a"]})
    assert whole.predict(POINTS, {"k": ["a", "b", "c", "a"]}, clause="probability") == pytest.approx(found)


WIDE: dict[str, Callable[[Decimal], Decimal]] = {
    "1 / (1 + exp(-a * t[j]))": lambda f: 1 / (1 + (-f).exp()),
    "exp(a * t[j]) / (1 + exp(a * t[j]))": lambda f: f.exp() / (1 + f.exp()),
    "log(1 + exp(a * t[j]) + exp(-2 * a * t[j]))": lambda f: (1 + f.exp() + (-2 * f).exp()).ln(),
    "max(exp(a * t[j]), exp(-a * t[j])) / (exp(a * t[j]) + exp(-a * t[j]))": lambda f: (
        max(f.exp(), (-f).exp()) / (f.exp() + (-f).exp())
    ),
    "log(abs(1 - exp(a * t[j])^2) + 1)": lambda f: (abs(1 - f.exp() ** 2) + 1).ln(),
}
COLUMN = """model column
index  i in 1..l, j in 1..d
data   x[i, j] : real, y[i] : real
var    a : real
minimize sum[i] square(y[i] - a * sum[j] x[i, j])
predict value(t) = sum[j] ({clause})
"""


@pytest.fixture(scope="module", params=WIDE)
def wide(request: pytest.FixtureRequest) -> tuple[Solution, Callable[[Decimal], Decimal]]:
    model = kdsl.parse_spec(COLUMN.format(clause=request.param))
    return kdsl.solve(model, {"x": [[1.0], [2.0]], "y": [1.0, 2.0]}), WIDE[request.param]


@given(st.floats(-1e5, 1e5))
def test_exponentials_do_not_overflow(wide: tuple[Solution, Callable[[Decimal], Decimal]], t: float) -> None:
    solution, exact = wide
    with localcontext() as context:
        context.prec = 60
        expected = float(exact(Decimal(t * float(solution.scalars["a"]))))
    assert solution.predict([[t]]) == pytest.approx([expected], rel=1e-9, abs=1e-15)


@pytest.mark.parametrize(
    ("clause", "value"),
    [("1 / (b - b)", "inf"), ("log(b - b)", "-inf"), ("log(-abs(f(t)))", "nan"), ("exp(9999)", "inf")],
)
def test_what_has_no_value_is_printed(
    clause: str, value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    solved(f"predict value(t) = {clause}").save(tmp_path / "m.kdsl")
    (tmp_path / "new.csv").write_text("x1,x2\n1,2\n", encoding="utf-8")
    assert main(["predict", str(tmp_path / "m.kdsl"), str(tmp_path / "new.csv")]) == 0
    assert capsys.readouterr().out == f"value\n{value}\n"


def test_commands_on_a_probability(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each works, or says in a code why not; none of them is a bug of ours."""
    solution = solved("predict probability(t) = 1 / (1 + exp(-f(t)))")
    saved, table = str(tmp_path / "m.kdsl"), tmp_path / "table.csv"
    solution.save(saved)
    data = two_classes()
    rows = [f"{a!r},{b!r},{y}" for (a, b), y in zip(data["x"].tolist(), data["y"], strict=True)]
    table.write_text("\n".join(["x1,x2,y", *rows, ""]), encoding="utf-8")
    for command in (["show", saved], ["predict", saved, str(table)]):
        assert main(command) == 0
    capsys.readouterr()
    refused = {"decision": "K661", "novelty": "K661", "margins": "K663"}
    for picture, code in refused.items():
        assert main(["plot", picture, saved, "--data", str(table), "-o", str(tmp_path / "p.svg")]) != 0
        assert f"[{code}]" in capsys.readouterr().err
    picture = ["plot", "tube", saved, "--data", str(table), "--feature", "x1", "-o", str(tmp_path / "p.svg")]
    assert main(picture) == 0
    assert main(["export-libsvm", saved]) != 0
    assert "[K672]" in capsys.readouterr().err


BESIDE = {
    "1..m": """model levels
index  i in 1..l, h in 1..m
data   x[i] : input, y[i] : real, tau[h] : in (0, 1)
kernel k = rbf(gamma = 0.5)
var    w[h] : H(k), b[h] : real
let    f(t, n) = <w[n], phi(t)> + b[n]
minimize 1/2 * sum[h] ||w[h]||^2 + sum[i, h] pinball(y[i] - f(x[i], h); tau[h])
predict value(t, g) = f(t, g)
""",
    "1..3": """model powers
index  i in 1..l, h in 1..3
data   x[i] : input, y[i] : real, tau[h] : in (0, 1)
kernel k = rbf(gamma = 0.5)
var    w[h] : H(k), b[h] : real
minimize 1/2 * sum[h] ||w[h]||^2 + sum[i, h] pinball(y[i] - <w[h], phi(x[i])> - b[h]; tau[h])
predict value(t, h) = <w[h], phi(t)> + b[h]
""",
}


@pytest.mark.parametrize("text", BESIDE.values(), ids=BESIDE)
def test_a_clause_takes_the_number_of_an_index(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Numbers count from 1, in Python, in a column of a table and on a picture."""
    data = two_classes()
    y, levels = data["x"][:, 0] + 0.3 * data["x"][:, 1] ** 3, np.array([0.1, 0.5, 0.9])
    solution = kdsl.solve(kdsl.parse_spec(text), {"x": data["x"], "y": y, "tau": levels}, tol=1e-9)
    alone = text.replace("h in 1..m", "h in 1..1").replace("h in 1..3", "h in 1..1")
    name = text.splitlines()[-1][len("predict value(t, ")]
    for place, level in enumerate(levels):
        one = kdsl.solve(kdsl.parse_spec(alone), {"x": data["x"], "y": y, "tau": [level]}, tol=1e-9)
        expected = one.predict(POINTS, {name: [1] * len(POINTS)})
        assert solution.predict(POINTS, {name: [place + 1] * len(POINTS)}) == pytest.approx(expected, abs=1e-3)
    saved, table = str(tmp_path / "m.kdsl"), tmp_path / "new.csv"
    solution.save(saved)
    rows = [f"{a!r},{b!r},{place}" for (a, b), place in zip(POINTS.tolist(), (1, 2, 3, 2), strict=True)]
    table.write_text("\n".join([f"x1,x2,{name}", *rows, ""]), encoding="utf-8")
    assert main(["predict", saved, str(table)]) == 0
    printed = [float(value) for value in capsys.readouterr().out.split()[1:]]
    assert printed == pytest.approx(solution.predict(POINTS, {name: [1, 2, 3, 2]}))
    tube(solution, feature="x1", at={name: "2"})
    solution.report(tmp_path / "page.html")


def test_an_argument_is_known_by_its_use() -> None:
    """It need not be called as the index is."""
    text = """model tasks
index  i in 1..l, t in tasks
data   x[i] : input, y[i] : {-1, 1}, task[i] : tasks
kernel k = rbf(gamma = 0.5)
var    w0 : H(k), v[t] : H(k)
minimize sum[i] hinge(y[i] * <w0 + v[task[i]], phi(x[i])>) + 1/2 * sum[t] ||v[t]||^2 + 1/2 * ||w0||^2
predict label(p, g) = sign(<w0 + v[g], phi(p)>)
"""
    data = {**two_classes(), "task": ["north", "south"] * 15}
    by_use, by_name = (
        kdsl.solve(kdsl.parse_spec(spec), data)
        for spec in (text, text.replace("(p, g)", "(p, t)").replace("v[g]", "v[t]"))
    )
    groups = ["north", "south", "south", "north"]
    assert (by_use.predict(POINTS, {"g": groups}) == by_name.predict(POINTS, {"t": groups})).all()
    long = {"north": "1152921504606846976", "south": "1152921504606846977"}
    by_number = kdsl.solve(kdsl.parse_spec(text), {**data, "task": [long[group] for group in data["task"]]})
    numbers = np.array([int(long[group]) for group in groups])
    assert (by_number.predict(POINTS, {"g": numbers}) == by_name.predict(POINTS, {"t": groups})).all()


VIEWS = """model views
index  i in 1..l
data   x[i] : input, z[i] : input, y[i] : {-1, 1}
kernel k = rbf(gamma = 0.5), q = linear
var    f : H(k), g : H(q)
minimize 1/2 ||f||^2 + 1/2 ||g||^2 + sum[i] hinge(y[i] * (<f, phi(x[i])> + <g, phi(z[i])>))
predict label(t) = sign(<f, phi(t)> + <g, phi(t)>)
"""


def test_a_clause_takes_a_point_to_spaces_with_its_features_only() -> None:
    data = two_classes()
    assert set(kdsl.solve(kdsl.parse_spec(VIEWS), {**data, "z": data["x"] ** 2}).predict(POINTS)) == {"yes", "no"}
    with pytest.raises(KdslError, match="K527: `predict label` takes the new point `t` to the space of `q`"):
        kdsl.solve(kdsl.parse_spec(VIEWS), {**data, "z": np.eye(30, 3)})
    own = VIEWS.replace(" + <g, phi(t)>)", ")")
    assert len(kdsl.solve(kdsl.parse_spec(own), {**data, "z": np.eye(30, 3)}).predict(POINTS)) == len(POINTS)
    one = VIEWS.replace("z[i] : input, ", "").replace("z[i]", "x[i]")
    one = one.replace("rbf(gamma = 0.5), q = linear", "rbf(gamma = 0.5) on x1, q = linear on x2")
    assert set(kdsl.solve(kdsl.parse_spec(one), data).predict(POINTS)) == {"yes", "no"}


TWO_CLAUSES = "predict label(t) = sign(f(t))\npredict probability(t) = 1 / (1 + exp(-f(t)))"


def test_the_second_clause_answers_where_it_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    solution = solved(TWO_CLAUSES)
    expected = 1 / (1 + np.exp(-solution.decision(POINTS)))
    assert set(solution.predict(POINTS)) == {"yes", "no"}
    assert solution.predict(POINTS, clause="probability") == pytest.approx(expected)
    assert (solution.decision(POINTS, clause="probability") == solution.predict(POINTS, clause="probability")).all()
    solution.save(tmp_path / "m.kdsl")
    assert kdsl.load_model(tmp_path / "m.kdsl").decision(POINTS, clause="probability") == pytest.approx(expected)
    rows = [f"{a!r},{b!r}" for a, b in POINTS.tolist()]
    (tmp_path / "new.csv").write_text("\n".join(["x1,x2", *rows, ""]), encoding="utf-8")
    command = ["predict", str(tmp_path / "m.kdsl"), str(tmp_path / "new.csv"), "--clause"]
    assert main([*command, "probability"]) == 0
    title, *values = capsys.readouterr().out.split()
    assert title == "probability"
    assert [float(value) for value in values] == pytest.approx(expected)
    assert main([*command, "class"]) == 1
    assert "[K650]" in capsys.readouterr().err


def test_an_estimator_has_no_intercept_outside_of_an_expansion() -> None:
    from kdsl.sklearn import KernelRegressor

    text = Path(spec_path("ridge_bias") or "").read_text(encoding="utf-8")
    positive = text.replace("predict value(t) = <w, phi(t)> + b", "predict value(t) = max(0, <w, phi(t)> + b)")
    random = np.random.default_rng(0)
    x = random.normal(size=(20, 2))
    plain, clipped = (KernelRegressor(kdsl.parse_spec(t)).fit(x, x[:, 0]) for t in (text, positive))
    assert clipped.predict(x) == pytest.approx(np.maximum(0, plain.predict(x)))
    assert hasattr(plain, "intercept_")
    assert not hasattr(clipped, "intercept_")


EXPANDED = """model expanded "coefficients of an expansion, with a price of their own"
index  i in 1..l, j in 1..l, g in groups
data   x[i] : input, y[i] : {-1, 1}, of[i] : groups
param  C : in (0, inf) = 1
kernel k = rbf(gamma = 0.5)
var    a[j] : real, b[g] : real
minimize sum[j] abs(a[j]) + C * sum[i] hinge(y[i] * (sum[j] y[j] * a[j] * k(x[j], x[i]) + b[of[i]]))
predict value(t, g) = sum[j] y[j] * a[j] * k(x[j], t) + b[g]
predict score(t) = exp(sum[j] (y[j] * a[j] * k(t, x[j]) + b[of[j]]/l)) - k(t, t) + sum[i] k(x[i], x[i])
"""
GRAM = np.array([[1.0, 0.4, -0.6], [0.4, 1.0, 0.7], [-0.6, 0.7, 1.0]])


@pytest.mark.parametrize("sparse", [False, True])
def test_a_clause_speaks_of_the_training(sparse: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its numbers, labels and points are kept, in files too, and few new points are taken at a time."""
    data: dict[str, Any] = {**two_classes(), "of": ["north", "south", "south"] * 10}
    given = {**data, "x": sp.csr_array(data["x"])} if sparse else data
    solution = kdsl.solve(kdsl.parse_spec(EXPANDED), given)
    y, a, b = np.where(data["y"] == "yes", 1, -1), solution.predictor.scalars["a"], solution.predictor.scalars["b"]
    code = np.array([0, 1, 1] * 10)
    f = np.exp(-0.5 * ((POINTS[:, None] - data["x"][None]) ** 2).sum(-1)) @ (y * a)
    solution.save(tmp_path / "m.kdsl")
    assert verify_model(str(tmp_path / "m.kdsl"), given).holds
    loaded = kdsl.load_model(tmp_path / "m.kdsl")
    for rows in (None, 3, 1):
        if rows is not None:
            monkeypatch.setattr(predictors, "block_rows", lambda *arguments, rows=rows: rows)
        for one in (solution, loaded):
            groups = {"g": ["north", "south", "north", "south"]}
            assert one.predict(POINTS, groups) == pytest.approx(f + b[[0, 1, 0, 1]], abs=1e-9)
            assert one.predict(POINTS, clause="score") == pytest.approx(np.exp(f + b[code].mean()) + 29, abs=1e-9)
            assert one.predict(POINTS[:0], {"g": []}).shape == (0,)


def test_kernel_values_are_those_that_the_problem_was_solved_with() -> None:
    """At the training points the clause says what the constraints said, where the matrix was clipped too."""
    text = EXPANDED.replace("rbf(gamma = 0.5)", "precomputed")
    text = text[: text.index("predict score")]
    matrix = np.kron(GRAM, np.ones((2, 2)))
    data = {"x": matrix, "y": [1, -1, 1, 1, -1, -1], "of": ["u", "v"] * 3}
    solution = kdsl.solve(kdsl.parse_spec(text), data, psd="clip")
    values, vectors = np.linalg.eigh(matrix)
    clipped = vectors @ np.diag(np.maximum(values, 0)) @ vectors.T
    a, b = solution.predictor.scalars["a"], solution.predictor.scalars["b"]
    expected = clipped @ (np.array(data["y"]) * a) + b[[0, 1] * 3]
    assert values[0] < -0.1
    assert solution.predict(matrix, {"g": data["of"]}) == pytest.approx(expected, abs=1e-9)


def test_estimators_of_several_classes_share_what_clauses_speak_of() -> None:
    from kdsl.sklearn import KernelClassifier

    text = EXPANDED.replace(", g in groups", "").replace(", of[i] : groups", "").replace("b[g] : real", "b : real")
    text = text.replace("b[of[i]]", "b")
    text = text[: text.index("predict value")] + "predict label(t) = sign(sum[j] y[j] * a[j] * k(x[j], t) + b)\n"
    random = np.random.default_rng(0)
    x = random.normal(size=(60, 2))
    y = np.digitize(x[:, 0], [-0.5, 0.5])
    assert np.mean(KernelClassifier(kdsl.parse_spec(text)).fit(x, y).predict(x) == y) > 0.9


def test_a_high_power_of_a_sum_is_not_written_out() -> None:
    text = """model classes
index  i in 1..l, k in classes
data   x[i] : input, y[i] : classes
kernel q = linear
var    w[k] : H(q), b[k] : real
minimize 1/2*sum[k] ||w[k]||^2 + sum[k] b[k]^2 + sum[i] multinomial(<w[k], phi(x[i])> + b[k]; k, y[i])
predict value(t) = (sum[k] <w[k], phi(t)>^2)^40
"""
    points = np.random.default_rng(0).normal(size=(12, 2))
    solution = kdsl.solve(kdsl.parse_spec(text), {"x": points, "y": np.arange(12) % 3})
    simple = kdsl.solve(kdsl.parse_spec(text.replace("^40", "")), {"x": points, "y": np.arange(12) % 3})
    assert solution.predict(points) == pytest.approx(simple.predict(points) ** 40, rel=1e-6)
