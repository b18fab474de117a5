"""Correct specs become models that say what was written; mistakes come all at once and leave no model."""

from __future__ import annotations

import os
import re
from fractions import Fraction
from pathlib import Path

import pytest

from kdsl.language.checker import check_spec
from kdsl.language.diagnostics import Diagnostic
from kdsl.language.model import IndexSet, Interval, Model
from kdsl.language.parser import parse_spec_text

ROOT = Path(__file__).parent.parent.parent
SPECS = sorted((ROOT / "specs").glob("*.kspec"))
SHARED = Path(os.environ.get("KDSL_SHARED", str(ROOT.parent / "shared")))


def check(text: str, name: str = "model") -> tuple[Model | None, tuple[Diagnostic, ...]]:
    return check_spec(parse_spec_text(text), text, name)


def model_of(text: str, name: str = "model") -> Model:
    model, found = check(text, name)
    assert found == ()
    assert model is not None
    return model


def codes(text: str) -> list[str]:
    return [diagnostic.code for diagnostic in check(text)[1]]


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_shipped_specs_are_correct(path: Path) -> None:
    assert model_of(path.read_text(encoding="utf-8"), path.stem).name == path.stem


def test_there_are_shipped_specs() -> None:
    assert len(SPECS) >= 30


def test_every_example_of_the_design_is_correct() -> None:
    design = SHARED / "design.md"
    if not design.exists():
        pytest.skip("needs the shared design document (KDSL_SHARED)")
    examples = re.findall(r"^```\n(model .*?)^```", design.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(examples) == 6
    for text in examples:
        model_of(text)


SVM = """\
index  i in 1..l
data   x[i] : input, y[i] : {-1, 1}, s[i] : real >= 0 = 1
param  C : in (0, inf) = 1
kernel k = rbf(gamma = 0.5)
var    w : H(k), b : real, xi[i] : real >= 0
minimize 1/2 ||w||^2 + C * sum[i] s[i] * xi[i]
subject to
  margin[i] where s[i] > 0: y[i] * (<w, phi(x[i])> + b) >= 1 - xi[i]
predict label(t) = sign(<w, phi(t)> + b)
"""


def test_the_parts_of_a_model() -> None:
    model = model_of(SVM, "stem")
    examples = IndexSet("l", False)
    assert model.name == "stem"
    assert model.sense == "minimize"
    assert [(d.name, d.kind, d.sets, d.default) for d in model.data] == [
        ("x", "input", (examples,), None),
        ("y", "finite", (examples,), None),
        ("s", "real", (examples,), Fraction(1)),
    ]
    assert model.data[1].values == (-1, 1)
    assert model.data[2].interval == Interval(Fraction(0), None)
    assert model.parameters[0].interval == Interval(Fraction(0), None, True, False)
    assert model.parameters[0].default == 1
    assert [(v.name, v.kernel, v.indices, v.interval.lower) for v in model.variables] == [
        ("w", "k", (), None),
        ("b", None, (), None),
        ("xi", None, ("i",), 0),
    ]
    (margin,) = model.constraints
    assert (margin.label, margin.indices, margin.sets, len(margin.where)) == ("margin", ("i",), (examples,), 1)
    assert [(p.kind, p.formals) for p in model.predictions] == [("label", ("t",))]
    assert model.source == SVM


def test_a_model_line_wins_over_the_file_name() -> None:
    assert model_of('model named "a title"\n' + SVM, "stem").name == "named"
    assert model_of('model named "a title"\n' + SVM, "stem").title == "a title"


RANK = """\
index  (i, j) in 1..l x 1..l where q[i] = q[j], y[i] > y[j]
data   x[i] : input, y[i] : real, q[i] : real = 1
kernel k = linear
var    w : H(k), xi[i, j] : real >= 0
minimize 1/2 ||w||^2 + sum[i, j] xi[i, j]
subject to
  margin[i, j] where y[i] > 0: <w, phi(x[i]) - phi(x[j])> >= 1 - xi[i, j]
predict score(t) = <w, phi(t)>
"""


def test_the_filter_of_a_pair_reaches_its_constraints_and_variables() -> None:
    model = model_of(RANK)
    tuple_filter = model.indices[0].where
    assert len(tuple_filter) == 2
    assert model.variables[1].where == tuple_filter
    assert model.constraints[0].where[:2] == tuple_filter
    assert len(model.constraints[0].where) == 3
    assert model.data[1].sets == (IndexSet("l", False),)


def test_labels_of_a_set() -> None:
    text = (ROOT / "specs" / "multiclass_delta.kspec").read_text(encoding="utf-8")
    model = model_of(text)
    classes = IndexSet("classes", True)
    assert next(d for d in model.data if d.name == "y").labels == classes
    assert next(d for d in model.data if d.name == "delta").sets == (classes, classes)


def test_all_mistakes_of_a_file_in_one_run_and_in_order() -> None:
    text = SVM.replace("C : in (0, inf) = 1", "C : in (1, 0)").replace("gamma = 0.5", "gamma = -1")
    text = text.replace("1 - xi[i]", "1 - eta[i]").replace("+ b)\n", "+ c)\n")
    model, found = check(text)
    assert model is None
    assert [d.code for d in found] == ["K317", "K230", "K211", "K201"]
    starts = [d.labels[0].span.start for d in found]
    assert starts == sorted(starts)


def test_one_mistake_in_a_declaration_is_reported_once_for_all_its_uses() -> None:
    assert codes(SVM.replace("w : H(k)", "w : H(q)")) == ["K216"]
    assert codes(SVM.replace("index  i in 1..l\n", "")) == ["K213"]
    assert codes(SVM.replace("xi[i] : real >= 0", "eta[i] : real >= 0")) == ["K211"]


def test_a_warning_leaves_a_model() -> None:
    model, found = check(SVM.replace("predict label(t) = sign(<w, phi(t)> + b)\n", ""))
    assert model is not None
    assert [(d.code, d.severity) for d in found] == [("K237", "warning")]


def test_unused_names_are_not_reported_beside_errors() -> None:
    assert codes(SVM.replace("+ b) >=", "+ c) >=").replace("+ b)\n", ")\n")) == ["K201"]


@pytest.mark.parametrize(
    ("constraint", "found"),
    [
        ("fair: abs(1/l * sum[i] a[i] * (<w, phi(x[i])> + b)) <= 0.1", []),
        ("fair[i]: a[i] * (<w, phi(x[i])> + b) <= 0.1", ["K339"]),
    ],
)
def test_a_weight_in_a_sum_is_no_label(constraint: str, found: list[str]) -> None:
    """A covariance with any real attribute may be bounded; what scales one example's margin may not."""
    text = SVM.replace("y[i] : {-1, 1}", "y[i] : {-1, 1}, a[i] : real")
    assert codes(text.replace("predict", f"  {constraint}\npredict")) == found


@pytest.mark.parametrize(
    ("domain", "found"),
    [
        ("{-1, 1}", []),
        ("{2, -2}", []),
        ("{-1, 0, 1}", []),  # with a `where`, perhaps
        ("{0, 1}", ["K342"]),
        ("{-1, 2}", ["K342"]),
        ("{-1, 0}", ["K342"]),
        ("{1, 1/2}", []),  # weights
    ],
)
def test_a_label_of_two_values_has_opposite_ones(domain: str, found: list[str]) -> None:
    assert codes(SVM.replace("{-1, 1}", domain)) == found


@pytest.mark.parametrize(("domain", "found"), [("{1, 2}", ["K342"]), ("{-1, 1}", []), ("{0, 1}", ["K342"])])
def test_inside_a_margin_loss_no_two_values_are_weights(domain: str, found: list[str]) -> None:
    text = f"""\
index  i in 1..l
data   x[i] : input, y[i] : {domain}
kernel k = linear
var    w : H(k), b : real
minimize 1/2 ||w||^2 + sum[i] hinge(y[i] * (<w, phi(x[i])> + b))
predict label(t) = sign(<w, phi(t)> + b)
"""
    assert [code for code in codes(text) if code != "K237"] == found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (">= 1", ">= 1 - 5 * (1 - a[i])"),
        ("where s[i] > 0", "where a[i] = 1, s[i] > 0"),
        ("y[i] * (<", "a[i] * y[i] * (<"),
        ("predict", "  held[i]: a[i] * (<w, phi(x[i])> + b) <= 3\npredict"),
        ("minimize", "minimize 1/l * sum[i] a[i] * (<w, phi(x[i])> + b) +"),
    ],
)
def test_what_is_0_or_1_beside_a_label_is_none(old: str, new: str) -> None:
    assert old in SVM
    assert codes(SVM.replace("y[i] : {-1, 1}", "y[i] : {-1, 1}, a[i] : {0, 1}").replace(old, new)) == []


@pytest.mark.parametrize(
    ("margin", "found"),
    [
        ("y[i] * <w, phi(x[i])> + y[i] * b >= 1 - xi[i]", ["K342"]),
        ("2 * y[i] * f(x[i]) >= 1 - xi[i]", ["K342"]),
        ("y[i] * f(x[i]) >= 1 - <v, phi(x[i])>", ["K342"]),  # what is not predicted
        ("2 * y[i] * f(x[i]) - f(x[i]) >= 1 - xi[i]", []),
        ("<w, phi(x[i])> + y[i] * <v, phi(x[i])> >= b - xi[i]", []),  # a gate
        ("y[i] * <w, phi(x[i])> >= b - xi[i]", []),
    ],
)
def test_a_label_multiplies_the_whole_prediction(margin: str, found: list[str]) -> None:
    text = f"""\
index  i in 1..l
data   x[i] : input, y[i] : {{0, 1}}
kernel k = linear
var    w : H(k), v : H(k), b : real, xi[i] : real >= 0
let    f(t) = <w, phi(t)> + b
minimize 1/2 ||w||^2 + 1/2 ||v||^2 + sum[i] xi[i]
subject to
  margin[i]: {margin}
predict label(t) = sign(f(t))
"""
    assert [code for code in codes(text) if code != "K237"] == found


LET = """\
index  i in 1..l
data   x[i] : input, y[i] : real
kernel k = linear
var    w : H(k), b : real
{lets}
minimize 1/2 ||w||^2 + sum[i] {loss}
predict value(t) = <w, phi(t)> + b
"""


def with_let(lets: str, loss: str) -> str:
    return LET.format(lets=lets, loss=loss)


def test_abbreviations_of_points_numbers_vectors_and_indices() -> None:
    model_of(with_let("let    f(t) = <w, phi(t)> + b", "squared(y[i] - f(x[i]))"))
    model_of(with_let("let    r(j) = y[j] - <w, phi(x[j])> - b", "squared(r(i))"))
    model_of(with_let("let    v = w\nlet    sq(r) = r^2", "sq(y[i] - <v, phi(x[i])> - b)"))
    model_of(with_let("let    d(s, t) = phi(s) - phi(t)", "squared(y[i] - <w, d(x[i], x[i])> - b)"))


def test_the_degree_of_an_abbreviation_depends_on_its_argument() -> None:
    assert codes(with_let("let    sq(r) = r^2", "sq(sq(b))")) == ["K306"]
    assert codes(with_let("let    sq(r) = r^2", "sq(sq(y[i])) * (b - <w, phi(x[i])>)^2")) == []


def test_an_abbreviation_for_predictions_may_use_any_function() -> None:
    text = with_let("let    p(t) = 1/(1 + exp(-<w, phi(t)>))", "squared(y[i] - <w, phi(x[i])> - b)")
    model_of(text.replace("predict value(t) = <w, phi(t)> + b", "predict probability(t) = p(t)"))
    assert codes(with_let("let    p(t) = 1/(1 + <w, phi(t)>)", "squared(y[i] - b - p(x[i]))")) == ["K309"]
    assert codes(with_let("let    p(t) = exp(<w, phi(t)>)", "squared(y[i] - b - p(x[i]))")) == ["K323"]
    assert codes(with_let("let    p(t) = sign(<w, phi(t)>)", "squared(y[i] - b - p(x[i]))")) == ["K313"]


def test_abbreviations_are_expanded_once_for_each_kind_of_argument() -> None:
    chain = "\n".join(f"let    a{n} = 1/2 * a{n - 1} + 1/2 * y0" for n in range(1, 60))
    text = with_let(f"let    y0 = b\nlet    a0 = b\n{chain}", "squared(y[i] - <w, phi(x[i])> - a59)")
    assert codes(text) == []


def test_an_endless_chain_of_abbreviations_ends() -> None:
    chain = "\n".join(f"let    a{n} = a{n + 1}" for n in range(300))
    assert "K219" in codes(with_let(f"{chain}\nlet    a300 = b", "squared(y[i] - a0 - <w, phi(x[i])>)"))


def test_a_users_loss_replaces_a_built_in_one() -> None:
    model_of(with_let("loss   pinball(r) = max(r, -2 * r)", "pinball(y[i] - <w, phi(x[i])> - b)"))
    assert codes(with_let("loss   pinball(r) = max(r, -2 * r)", "pinball(y[i] - <w, phi(x[i])> - b; 0.5)")) == ["K312"]


@pytest.mark.parametrize(
    "kernel",
    [
        "linear",
        "poly(degree = 2, gamma = 0.5, coef0 = 0)",
        "rbf(gamma = scale)",
        "rbf(sigma = 2)",
        "rbf(sigma2 = 2)",
        "rbf(width = 1/2)",
        "rbf(gamma = 1/(2 * g^2))",
        "laplacian(gamma = median)",
        "0.7 * rbf(gamma = g) + linear * poly(degree = 2) on age, income",
        "g * linear + precomputed",
        "normalized(of = linear)",
    ],
)
def test_kernels(kernel: str) -> None:
    text = SVM.replace("C : in (0, inf) = 1", "C : in (0, inf) = 1, g : in (0, inf) = 1")
    found = check(text.replace("kernel k = rbf(gamma = 0.5)", f"kernel k = {kernel}"))[1]
    assert {d.code for d in found} <= {"K236"}


def test_a_kernel_may_be_a_python_function_of_the_caller() -> None:
    text = SVM.replace("rbf(gamma = 0.5)", "0.5 * mine(width = 2) + linear")
    assert codes(text) == ["K224"]
    model, found = check_spec(parse_spec_text(text), text, "m", functions=["mine"])
    assert model is not None
    assert found == ()


@pytest.mark.parametrize("objective", ["||w|| + ||v||", "1/2 ||w||^2 + ||v||", "sum[g] ||u[g]||"])
def test_sums_of_norms_are_no_forgotten_square(objective: str) -> None:
    text = f"""\
index  i in 1..l, g in groups
data   x[i] : input, y[i] : real
kernel k = linear, q = rbf
var    w : H(k), v : H(q), u[g] : H(k), b : real
minimize {objective} + sum[i] squared(y[i] - <w, phi(x[i])> - <v, phi(x[i])> - b)
predict value(t) = <w, phi(t)> + b
"""
    assert set(codes(text)) <= {"K236"}
