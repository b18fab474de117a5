"""Weights, frames, sparse and precomputed input, further data, and the tools of scikit-learn around an estimator."""

from __future__ import annotations

import io
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("sklearn", minversion="1.6")

import sklearn
from estimator_specs import (
    ALL_CLASSES,
    CLASS_PROBABILITIES,
    PROBABILITIES,
    WEIGHTED_ONE_CLASS,
    WEIGHTED_RIDGE,
    WEIGHTED_SQUARED_HINGE,
)
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_blobs, make_classification, make_regression
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import kdsl
from kdsl.sklearn import KernelClassifier, KernelRegressor, NoveltyDetector

EXACT = 1e-11


@pytest.fixture(scope="module")
def two() -> tuple[Any, Any]:
    X, y = make_classification(70, 4, flip_y=0.1, random_state=1)
    return X, y


@pytest.fixture(scope="module")
def line() -> tuple[Any, Any]:
    X, y = make_regression(60, 3, noise=5.0, random_state=0)
    return X, y / y.std()


def answer(estimator: Any, X: Any) -> Any:
    return estimator.decision_function(X) if hasattr(estimator, "decision_function") else estimator.predict(X)


# --------------------------------------------------------------------- weights


@pytest.mark.parametrize(
    "estimator",
    [
        KernelClassifier("svm_weighted", tol=EXACT),
        KernelClassifier(WEIGHTED_SQUARED_HINGE, tol=EXACT),
        KernelRegressor(WEIGHTED_RIDGE, tol=EXACT),
        NoveltyDetector(WEIGHTED_ONE_CLASS, tol=EXACT),
    ],
)
def test_a_weight_of_two_is_a_copy_and_a_weight_of_zero_nothing(estimator: Any, two: tuple[Any, Any]) -> None:
    X, y = two
    weights = np.random.default_rng(0).integers(0, 3, len(y))
    weighted = answer(estimator.fit(X, y, sample_weight=weights), X)
    support = estimator.support_
    assert (weights[support] > 0).all()
    copied = answer(estimator.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights)), X)
    assert weighted == pytest.approx(copied, abs=1e-4)
    assert weighted != pytest.approx(answer(estimator.fit(X, y), X), abs=1e-2)


def test_weights_and_class_weights_are_those_of_svc(two: tuple[Any, Any]) -> None:
    X, y = two
    weights = np.random.default_rng(1).uniform(0.1, 3.0, len(y))
    ours = KernelClassifier("svm_weighted", class_weight={0: 0.5, 1: 4.0}, tol=EXACT).fit(X, y, weights)
    theirs = SVC(gamma=0.5, class_weight={0: 0.5, 1: 4.0}, tol=1e-8).fit(X, y, weights)
    assert ours.decision_function(X) == pytest.approx(theirs.decision_function(X), abs=1e-4)
    iris, kinds = load_iris(return_X_y=True)
    ours = KernelClassifier("svm_weighted", class_weight="balanced", tol=EXACT).fit(iris[20:], kinds[20:])
    theirs = SVC(gamma=0.5, class_weight="balanced", tol=1e-8).fit(iris[20:], kinds[20:])
    assert (ours.predict(iris) == theirs.predict(iris)).all()


@pytest.mark.parametrize("weight", [-2, 0, float("nan"), float("inf")])
@pytest.mark.parametrize("labels", [["a", "b"], ["a", "b", "c"]])
def test_a_class_without_a_positive_weight_is_not_lost_but_refused(weight: float, labels: list[str]) -> None:
    X, y = np.arange(24.0).reshape(12, 2), np.resize(labels, 12)
    with pytest.raises(ValueError, match=f"positive number for each class, not {weight:g} for a"):
        KernelClassifier(class_weight={"a": weight}).fit(X, y)


def test_zero_weights_leave_examples_out_of_any_spec(two: tuple[Any, Any]) -> None:
    X, y = two
    weights = np.ones(len(y))
    weights[::3] = 0
    ours = KernelClassifier(tol=EXACT).fit(X, y, sample_weight=weights)
    kept = weights > 0
    assert ours.decision_function(X) == pytest.approx(
        KernelClassifier(tol=EXACT).fit(X[kept], y[kept]).decision_function(X), abs=1e-9
    )
    assert ours.alpha_["margin"].shape == (len(y),)
    assert (ours.alpha_["margin"][::3] == 0).all()
    assert set(np.flatnonzero(ours.alpha_["margin"])) == set(ours.support_)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("s[i] * squared_hinge(y[i] * f(x[i]))", "squared_hinge(s[i] * y[i] * f(x[i]))"),
        ("s[i] * squared_hinge", "s[i] * s[i] * squared_hinge"),
        ("s[i] : real >= 0 = 1", "s[i] : real >= 0 = 2"),
    ],
)
def test_a_datum_is_a_weight_only_where_it_multiplies_the_loss(old: str, new: str, two: tuple[Any, Any]) -> None:
    X, y = two
    text = WEIGHTED_SQUARED_HINGE.source
    assert old in text
    machine = KernelClassifier(kdsl.parse_spec(text.replace(old, new))).fit(X, y, sample_weight=np.full(len(y), 2.0))
    assert "weight[i] * " in machine.solutions_[0].derivation.model.source


# ----------------------------------------------------------------------- input


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_matrix, sp.csr_array])
def test_sparse_is_dense(kind: Any, two: tuple[Any, Any]) -> None:
    X, y = two
    X = np.where(np.abs(X) < 0.7, 0.0, X)
    dense, sparse = KernelClassifier().fit(X, y), KernelClassifier().fit(kind(X), y)
    assert sparse.decision_function(kind(X)) == pytest.approx(dense.decision_function(X), abs=1e-6)
    assert sparse.decision_function(X) == pytest.approx(dense.decision_function(X), abs=1e-6)
    assert sp.issparse(sparse.support_vectors_)
    assert sparse.support_vectors_.toarray() == pytest.approx(X[sparse.support_])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_keep_their_names(library: str, two: tuple[Any, Any]) -> None:
    frames = pytest.importorskip(library)
    X, y = two
    names = ["age", "income", "height", "weight"]
    frame = frames.DataFrame({name: X[:, p] for p, name in enumerate(names)})
    fitted = KernelClassifier(kernel="rbf(gamma = 0.5) on age, income").fit(frame, y)
    assert fitted.feature_names_in_.tolist() == names
    moved = X + np.array([0.0, 0.0, 5.0, 5.0])
    moved_frame = frames.DataFrame({name: moved[:, p] for p, name in enumerate(names)})
    assert (fitted.decision_function(frame) == fitted.decision_function(moved_frame)).all()
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        fitted.predict(frame[["income", "age", "height", "weight"]])
    renamed = frames.DataFrame({name: X[:, p] for p, name in enumerate(["years", *names[1:]])})
    with pytest.raises(ValueError, match="years"):
        fitted.predict(renamed)
    with pytest.raises(ValueError, match="3 features"):
        fitted.predict(X[:, :3])
    with pytest.raises(ValueError, match="`hight`, which is not a feature"):
        KernelClassifier(kernel="linear on hight").fit(frame, y)


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_precomputed_is_its_kernel(multiclass: str) -> None:
    X, y = load_iris(return_X_y=True)
    K = rbf_kernel(X, gamma=0.5)
    weights = np.ones(len(y))
    weights[::7] = 0
    ours = KernelClassifier(kernel="precomputed", multiclass=multiclass, tol=1e-9).fit(K, y, weights)
    same = KernelClassifier(multiclass=multiclass, tol=1e-9).fit(X, y, weights)
    assert ours.decision_function(K) == pytest.approx(same.decision_function(X), abs=1e-5)
    assert sklearn.utils.get_tags(ours).input_tags.pairwise
    assert not sklearn.utils.get_tags(same).input_tags.pairwise
    assert ours.support_vectors_.shape == (0, 0)
    assert cross_val_score(KernelClassifier(kernel="precomputed"), K, y, cv=3).min() > 0.9
    with pytest.raises(ValueError, match="square"):
        ours.fit(K[:, :20], y)


def gaussian(X: Any, Z: Any) -> Any:
    return rbf_kernel(X, Z, gamma=0.5)


def test_a_function_is_a_kernel() -> None:
    X, y = load_iris(return_X_y=True)
    ours = KernelClassifier(kernel=gaussian, tol=1e-9).fit(X, y)
    assert ours.decision_function(X) == pytest.approx(
        KernelClassifier(tol=1e-9).fit(X, y).decision_function(X), abs=1e-5
    )
    assert GridSearchCV(KernelClassifier(kernel=gaussian), {"C": [0.1, 1.0]}, cv=2).fit(X, y).best_score_ > 0.9


def test_further_data_of_a_spec(line: tuple[Any, Any]) -> None:
    X, y = line
    model = kdsl.parse_spec(
        """
model rising "ridge regression that rises along pairs"
index  i in 1..l, j in 1..m
data   x[i] : input, y[i] : real, lo[j] : input, hi[j] : input
param  lambda : in (0, inf) = 1
kernel k = rbf(gamma = 0.2)
var    w : H(k), b : real
minimize lambda * ||w||^2 + sum[i] squared(y[i] - <w, phi(x[i])> - b)
subject to
  rises[j]: <w, phi(hi[j]) - phi(lo[j])> >= 0
predict value(t) = <w, phi(t)> + b
"""
    )
    pairs = {"lo": X[:20], "hi": X[:20] - np.array([2.0, 0.0, 0.0])}  # against the trend
    ours = KernelRegressor(model, tol=1e-9).fit(X, y, data=pairs)
    direct = kdsl.solve(model, {"x": X, "y": y, **pairs}, tol=1e-9)
    assert ours.certificate_.value == pytest.approx(direct.value, abs=1e-8)
    assert ours.predict(X) == pytest.approx(direct.decision(X), abs=1e-7)
    assert (ours.predict(pairs["hi"]) >= ours.predict(pairs["lo"]) - 1e-6).all()
    assert ours.alpha_["rises"].shape == (20,)


def test_two_spaces_and_an_input_that_only_training_has(two: tuple[Any, Any]) -> None:
    """Privileged information: slacks are a function of a second input."""
    model = kdsl.parse_spec(
        """
model privileged
index  i in 1..l
data   x[i] : input, y[i] : {-1, 1}, z[i] : input
param  C : in (0, inf) = 1, g : in (0, inf) = 1
kernel k = rbf(gamma = 0.5), q = linear
var    w : H(k), b : real, v : H(q), d : real
minimize 1/2 ||w||^2 + g/2 * ||v||^2 + C * sum[i] (<v, phi(z[i])> + d)
subject to
  margin[i]: y[i] * (<w, phi(x[i])> + b) >= 1 - (<v, phi(z[i])> + d)
  slack[i]:  <v, phi(z[i])> + d >= 0
predict label(t) = sign(<w, phi(t)> + b)
"""
    )
    X, y = two
    known = X[:, :1] ** 2
    ours = KernelClassifier(model).fit(X, y, data={"z": known})
    direct = kdsl.solve(model, {"x": X, "y": y, "z": known})
    assert ours.certificate_.value == pytest.approx(direct.value, abs=1e-8)
    assert ours.decision_function(X) == pytest.approx(direct.decision(X), abs=1e-9)
    assert ours.support_.max() < len(y)
    iris, kinds = load_iris(return_X_y=True)
    pairs = KernelClassifier(model, decision_function_shape="ovo").fit(iris, kinds, data={"z": iris[:, 2:]})
    decisions = pairs.decision_function(iris)
    for column, (first, second) in enumerate([(0, 1), (0, 2), (1, 2)]):
        rows = np.isin(kinds, [first, second])
        labels = np.where(kinds[rows] == second, 1, -1)
        alone = kdsl.solve(model, {"x": iris[rows], "y": labels, "z": iris[rows, 2:]})
        assert pairs.certificate_[column].value == pytest.approx(alone.value, abs=1e-8)
        assert decisions[:, column] == pytest.approx(-alone.decision(iris), abs=1e-9)


def test_labelled_outliers_and_rankings(two: tuple[Any, Any], line: tuple[Any, Any]) -> None:
    X, y = two
    labels = np.where(np.abs(X[:, 1]) > 2.0, -1, 1)
    text = WEIGHTED_ONE_CLASS.source.replace("s[i] :", "y[i] : {-1, 1}, s[i] :")
    model = kdsl.parse_spec(text.replace("<w, phi(x[i])> >= rho - xi[i]", "y[i] * (<w, phi(x[i])> - rho) >= -xi[i]"))
    ours = NoveltyDetector(model).fit(X, labels, sample_weight=np.full(len(y), 1.5))
    direct = kdsl.solve(model, {"x": X, "y": labels, "s": np.full(len(y), 1.5)})
    assert ours.decision_function(X) == pytest.approx(-direct.decision(X), abs=1e-9)
    with pytest.raises(ValueError, match="nothing is bound to `y`"):
        NoveltyDetector(model).fit(X)
    points, order = line
    ranker = KernelRegressor("rank_pairs").fit(points, order, data={"q": np.arange(len(order)) // 30})
    first = ranker.predict(points[:30])
    assert np.corrcoef(first, order[:30])[0, 1] > 0.8
    assert (ranker.alpha_["margin"][:30, 30:] == 0).all()


def test_a_spec_for_all_classes_keeps_their_order() -> None:
    X, y = make_blobs(120, centers=12, cluster_std=0.3, random_state=0)
    names = np.array([f"class {12 - k}" for k in range(12)])[y]
    ours = KernelClassifier(ALL_CLASSES).fit(X, names)
    assert ours.score(X, names) == 1.0
    assert ours.decision_function(X).shape == (120, 12)
    assert ours.dual_coef_.shape[0] == 12
    costs = np.ones((3, 3)) - np.eye(3)
    iris, kinds = load_iris(return_X_y=True)
    priced = KernelClassifier("multiclass_delta").fit(iris, kinds, data={"delta": costs})
    assert priced.score(iris, kinds) > 0.95
    binary = KernelClassifier(ALL_CLASSES).fit(iris[:100], kinds[:100])
    assert binary.decision_function(iris[:100]).shape == (100,)
    assert binary.score(iris[:100], kinds[:100]) == 1.0


# ------------------------------------------------------------------- attributes


@pytest.mark.parametrize(
    "estimator",
    [
        KernelClassifier(),
        KernelClassifier("svm_no_bias", b0=0.3),
        KernelClassifier("svm_nu"),
        KernelRegressor(),
        KernelRegressor("loss_pinball", tau=0.2),
        NoveltyDetector(nu=0.3),
    ],
)
def test_decisions_are_the_expansion_and_the_intercept(estimator: Any, two: tuple[Any, Any]) -> None:
    X, y = two
    estimator.fit(X, y)
    expected = rbf_kernel(X, estimator.support_vectors_, gamma=0.5) @ estimator.dual_coef_.T + estimator.intercept_
    assert answer(estimator, X) == pytest.approx(expected[:, 0], abs=1e-9)
    assert estimator.n_support_.sum() == len(estimator.support_)
    assert np.array_equal(X[estimator.support_], estimator.support_vectors_)
    assert estimator.certificate_.rel_gap <= 1e-6
    assert estimator.status_ == "optimal"
    assert estimator.n_iter_ >= 1


def test_nothing_is_known_before_fit(two: tuple[Any, Any]) -> None:
    with pytest.raises(NotFittedError):
        KernelClassifier().decision_function(two[0])
    with pytest.raises(NotFittedError):
        KernelClassifier().predict(two[0])


def test_a_limit_is_a_warning_with_gap_tolerance_and_a_hint(two: tuple[Any, Any]) -> None:
    X, y = two
    uneven = X * np.array([1.0, 1.0, 1.0, 1000.0])
    with pytest.warns(ConvergenceWarning) as caught:
        KernelClassifier(max_iter=1, C=100.0).fit(uneven, y)
    text = str(caught[0].message)
    assert "relative duality gap is" in text
    assert "tol=1e-06" in text
    assert "standard deviations of the features go from" in text
    assert "StandardScaler" in text
    assert caught[0].filename == __file__


def test_remarks_of_the_solver_become_warnings(two: tuple[Any, Any]) -> None:
    with pytest.warns(UserWarning, match="K622"):
        NoveltyDetector("sphere_soft", C=1e-3).fit(two[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelClassifier(tol=1e-10, max_iter=-1, n_jobs=-1).fit(*two)


# ------------------------------------------------------------------------- tools


def test_calibration(two: tuple[Any, Any]) -> None:
    X, y = two
    calibrated = CalibratedClassifierCV(KernelClassifier("svm_weighted"), cv=3).fit(X, y, sample_weight=np.ones(len(y)))
    chances = calibrated.predict_proba(X)
    assert chances.sum(axis=1) == pytest.approx(np.ones(len(y)))
    assert (calibrated.predict(X) == y).mean() > 0.8


def test_grid_search_in_other_processes(two: tuple[Any, Any]) -> None:
    X, y = two
    search = GridSearchCV(
        make_pipeline(StandardScaler(), KernelClassifier(n_jobs=1)),
        {"kernelclassifier__C": [0.1, 1.0], "kernelclassifier__kernel": ["linear", "rbf(gamma = 0.3)"]},
        cv=2,
        n_jobs=2,
    )
    theirs = GridSearchCV(
        make_pipeline(StandardScaler(), SVC(gamma=0.3)), {"svc__C": [0.1, 1.0], "svc__kernel": ["linear", "rbf"]}, cv=2
    )
    ours = search.fit(X, y).cv_results_["mean_test_score"]
    assert ours == pytest.approx(theirs.fit(X, y).cv_results_["mean_test_score"], abs=0.03)


def test_joblib_files_are_read_by_another_process(tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True)
    fitted = KernelClassifier(C=2.0).fit(X, y)
    joblib.dump(fitted, tmp_path / "fitted.joblib")
    np.save(tmp_path / "X.npy", X)
    code = (
        "import joblib, numpy, sys; fitted = joblib.load('fitted.joblib');"
        "numpy.save(sys.stdout.buffer, fitted.decision_function(numpy.load('X.npy')))"
    )
    completed = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, timeout=60, check=True)
    assert np.array_equal(np.load(io.BytesIO(completed.stdout)), fitted.decision_function(X))


def test_weights_are_routed_where_they_are_asked_for(two: tuple[Any, Any]) -> None:
    X, y = two
    weights = np.random.default_rng(2).uniform(0.5, 2.0, len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        asking = KernelClassifier("svm_weighted").set_fit_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), asking)
        routed = pipeline.fit(X, y, sample_weight=weights)
    direct = KernelClassifier("svm_weighted").fit(StandardScaler().fit_transform(X), y, weights)
    assert routed[-1].certificate_.value == direct.certificate_.value


def test_regression_in_a_pipeline(line: tuple[Any, Any]) -> None:
    X, y = line
    ours = cross_val_score(make_pipeline(StandardScaler(), KernelRegressor(C=5.0, kernel="rbf(gamma = 0.1)")), X, y)
    theirs = cross_val_score(make_pipeline(StandardScaler(), SVR(C=5.0, gamma=0.1, tol=1e-7)), X, y)
    assert ours == pytest.approx(theirs, abs=1e-4)


# --------------------------------------------------------------- probabilities


def test_a_clause_for_probabilities_is_predict_proba(two: tuple[Any, Any]) -> None:
    X, y = two
    machine = KernelClassifier(PROBABILITIES)
    assert hasattr(machine, "predict_proba")
    with pytest.raises(NotFittedError):
        machine.predict_proba(X)
    machine.fit(X, np.array(["no", "yes"])[y])
    second = 1 / (1 + np.exp(-machine.decision_function(X)))
    assert machine.predict_proba(X) == pytest.approx(np.column_stack([1 - second, second]))
    assert np.array_equal(machine.classes_[machine.predict_proba(X).argmax(axis=1)], machine.predict(X))
    assert cross_val_score(machine, X, y, scoring="neg_log_loss").mean() > -np.log(2)
    buffer = io.BytesIO()
    joblib.dump(machine, buffer)
    assert np.array_equal(joblib.load(buffer).predict_proba(X), machine.predict_proba(X))


def test_a_clause_for_the_probability_of_a_class_is_a_column_for_each() -> None:
    X, y = load_iris(return_X_y=True)
    machine = KernelClassifier(CLASS_PROBABILITIES).fit(X, y)
    exponentials = np.exp(machine.decision_function(X))
    found = machine.predict_proba(X)
    assert found == pytest.approx(exponentials / exponentials.sum(axis=1, keepdims=True))
    assert machine.fit(X[:100], y[:100]).predict_proba(X[:100]).shape == (100, 2)


def test_without_such_a_clause_there_is_no_predict_proba(two: tuple[Any, Any]) -> None:
    X, y = load_iris(return_X_y=True)
    assert not hasattr(KernelClassifier(), "predict_proba")
    assert not hasattr(KernelClassifier(ALL_CLASSES).fit(*two), "predict_proba")
    assert not hasattr(KernelClassifier(PROBABILITIES).fit(X, y), "predict_proba")  # it speaks of two labels
    assert not hasattr(KernelClassifier("no such spec"), "predict_proba")
