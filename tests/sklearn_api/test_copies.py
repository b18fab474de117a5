"""Of a spec without weights, an example of weight s counts as s copies of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from estimator_specs import ALL_CLASSES
from sklearn.svm import SVC

from kdsl import parse_spec, resources
from kdsl.pipeline import read_spec
from kdsl.sklearn import KernelClassifier, KernelRegressor, NoveltyDetector
from kdsl.sklearn.copies import with_copies
from kdsl.sklearn.reading import model_of

EXACT = 1e-10
RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
VALUES = X[:, 0] + 0.3 * RNG.normal(size=40)
LABELS = np.where(X[:, 0] + 0.5 * RNG.normal(size=40) > 0, 1, -1)
COUNTS = RNG.integers(0, 4, 40)
ESTIMATORS = {"label": KernelClassifier, "value": KernelRegressor, "score": KernelRegressor, "novelty": NoveltyDetector}
TARGETS = {"label": LABELS, "value": VALUES, "score": VALUES, "novelty": None}
# No answer on these data; an argument of the clause beside the point; classes, which are tried below.
LEFT_OUT = ("monotone_groups", "loss_multinomial", "multiclass_delta", "svm_hard", "svm_hard_unit")


def predicting(name: str) -> str:
    path = resources.spec_path(name)
    assert path is not None
    return next((clause.kind for clause in read_spec(path).predictions), "")


def answer(machine: Any) -> Any:
    return machine.decision_function(X) if hasattr(machine, "decision_function") else machine.predict(X)


SHIPPED = [name for name in resources.spec_names() if name not in LEFT_OUT]


@pytest.mark.parametrize("name", SHIPPED)
def test_weights_are_copies_for_every_shipped_spec(name: str) -> None:
    kind = predicting(name)
    target = TARGETS[kind]
    repeated = None if target is None else np.repeat(target, COUNTS)
    copies = ESTIMATORS[kind](name, tol=EXACT).fit(np.repeat(X, COUNTS, axis=0), repeated)
    weighed = ESTIMATORS[kind](name, tol=EXACT).fit(X, target, sample_weight=COUNTS.astype(float))
    assert weighed.certificate_.value == pytest.approx(copies.certificate_.value, rel=1e-7, abs=1e-9)
    assert answer(weighed) == pytest.approx(answer(copies), abs=1e-4)
    assert weighed.status_ == copies.status_ == "optimal"


def test_weights_are_copies_for_all_classes_at_once_and_with_costs() -> None:
    classes = np.digitize(VALUES, [-0.5, 0.5])
    costs = np.array([[0.0, 1.0, 4.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    for spec, data in ((ALL_CLASSES, None), ("loss_multinomial", None), ("multiclass_delta", {"delta": costs})):
        copies = KernelClassifier(spec, tol=EXACT)
        copies.fit(np.repeat(X, COUNTS, axis=0), np.repeat(classes, COUNTS), data=data)
        weighed = KernelClassifier(spec, tol=EXACT).fit(X, classes, COUNTS.astype(float), data=data)
        assert weighed.certificate_.value == pytest.approx(copies.certificate_.value, rel=1e-7)


def test_a_hard_condition_has_no_use_for_weights() -> None:
    apart = X + 5 * LABELS[:, None]
    plain = KernelClassifier("svm_hard", kernel="linear", tol=EXACT).fit(apart, LABELS)
    weighed = KernelClassifier("svm_hard", kernel="linear", tol=EXACT).fit(apart, LABELS, np.full(40, 3.0))
    assert weighed.certificate_.value == plain.certificate_.value


def test_class_weights_are_those_of_svc() -> None:
    ours = KernelClassifier(class_weight="balanced", tol=EXACT).fit(X, VALUES > 0.7)
    theirs = SVC(gamma=0.5, class_weight="balanced", tol=1e-8).fit(X, VALUES > 0.7)
    assert ours.decision_function(X) == pytest.approx(theirs.decision_function(X), abs=1e-4)


def test_frames_parts_and_saved_models_know_the_weights(tmp_path: Any) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    machine = NoveltyDetector(tol=EXACT).fit(frame, sample_weight=COUNTS)
    assert machine.certificate_.value == NoveltyDetector(tol=EXACT).fit(X, sample_weight=COUNTS).certificate_.value
    (solution,) = machine.solutions_
    assert "1/(nu*total_weight) * sum[i] weight[i] * xi[i]" in solution.derivation.model.source
    solution.save(tmp_path / "model.kdsl")


@pytest.mark.parametrize(
    ("written", "weighed"),
    [
        ("sum[i] xi[i]", "sum[i] weight2[i] * xi[i]"),
        ("sum[i] (xi[i] + weight[i] * xi[i]^2)", "sum[i] weight2[i] * (xi[i] + weight[i] * xi[i]^2)"),
        ("1/l * sum[i] xi[i]", "1/total_weight * sum[i] weight2[i] * xi[i]"),
        ("sum[i, j] (xi[i] + xi[j])", "sum[i, j] weight2[i] * weight2[j] * (xi[i] + xi[j])"),
        ("sum[i, g] xi[i]", "sum[i, g] weight2[i] * xi[i]"),
    ],
)
def test_what_is_summed_over_examples_is_weighed(written: str, weighed: str) -> None:
    text = f"""
model any
index  i in 1..l, j in 1..l, g in 1..m
data   x[i] : input, weight[i] : real >= 0, z[g] : real
kernel k = rbf(gamma = 0.5)
var    w : H(k), xi[i] : real >= 0
minimize ||w||^2 + {written} + sum[g] z[g]
subject to
  c[i]: <w, phi(x[i])> >= weight[i] - xi[i]
predict value(t) = <w, phi(t)>
"""
    copied = with_copies(parse_spec(text), "x")
    assert copied.weight == "weight2" and f"minimize ||w||^2 + {weighed} + sum[g] z[g]\n" in copied.model.source
    assert ("total_weight" in copied.model.source) == bool(copied.total) == ("l" in written)


def test_the_model_that_was_given_stays_as_it_is() -> None:
    machine = KernelClassifier().fit(X, LABELS, np.full(40, 0.5))
    assert "weight" not in model_of(machine.spec).source
    assert machine.get_params() == KernelClassifier().get_params()


@pytest.mark.parametrize("filter", ["i != j", "i < j"])
def test_filters_that_tell_copies_apart_are_refused_weights(filter: str) -> None:
    """Two copies of one example are a pair there, which a product of weights does not count."""
    spec = parse_spec(
        f"""model pairs
index  i in 1..l, j in 1..l
data   x[i] : input, y[i] : real
kernel k = rbf(gamma = 0.5)
var    w : H(k), b : real
minimize 1/2 ||w||^2 + 1/2*b^2 + sum[i, j where {filter}] squared(y[i] + y[j] - <w, phi(x[i]) + phi(x[j])> - 2*b)
predict value(t) = <w, phi(t)> + b
"""
    )
    assert KernelRegressor(spec).fit(X, VALUES).status_ == "optimal"
    with pytest.raises(ValueError, match="compares examples with one another"):
        KernelRegressor(spec).fit(X, VALUES, sample_weight=COUNTS.astype(float))


def test_a_spec_may_need_nothing_but_the_sum_of_the_weights() -> None:
    spec = parse_spec(
        """model widest
index  i in 1..l
data   x[i] : input, y[i] : real
param  C : in (0, inf) = 1
kernel k = rbf(gamma = 0.5)
var    w : H(k), b : real, e : real >= 0
minimize 1/2 ||w||^2 + C*l*e
subject to
  above[i]: y[i] - <w, phi(x[i])> - b <= e
  below[i]: <w, phi(x[i])> + b - y[i] <= e
predict value(t) = <w, phi(t)> + b
"""
    )
    copies = KernelRegressor(spec, tol=EXACT).fit(np.repeat(X, COUNTS, axis=0), np.repeat(VALUES, COUNTS))
    weighed = KernelRegressor(spec, tol=EXACT).fit(X, VALUES, sample_weight=COUNTS.astype(float))
    assert weighed.certificate_.value == pytest.approx(copies.certificate_.value, rel=1e-7)
