"""The estimators against scikit-learn's own: decision values, coefficients, support and predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.6")

from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer, load_iris, make_blobs, make_classification, make_regression
from sklearn.feature_selection import RFE
from sklearn.kernel_ridge import KernelRidge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from kdsl.sklearn import KernelClassifier, KernelRegressor, NoveltyDetector

TIGHT = 1e-8


def noisy_classes(seed: int, rows: int = 120) -> tuple[Any, Any]:
    return make_classification(rows, 6, n_informative=4, flip_y=0.1, random_state=seed)


def noisy_values(seed: int, rows: int = 90) -> tuple[Any, Any]:
    X, y = make_regression(rows, 4, noise=5.0, random_state=seed)
    return X, y / y.std()


def distance(ours: Any, theirs: Any) -> float:
    """The largest difference, relative to the largest value."""
    assert ours.shape == theirs.shape
    return float(np.abs(ours - theirs).max() / np.abs(theirs).max())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("C", "gamma"), [(0.1, 0.5), (1.0, 0.1), (50.0, 0.05)])
def test_classifier_is_svc(seed: int, C: float, gamma: float) -> None:
    X, y = noisy_classes(seed)
    ours = KernelClassifier(C=C, kernel=f"rbf(gamma = {gamma})", tol=1e-9).fit(X, y)
    loose = SVC(C=C, gamma=gamma).fit(X, y)
    tight = SVC(C=C, gamma=gamma, tol=TIGHT).fit(X, y)
    decision = ours.decision_function(X)
    assert distance(decision, loose.decision_function(X)) < 2e-3
    assert distance(decision, tight.decision_function(X)) < 2e-5
    sure = np.abs(decision) > 1e-4
    assert (ours.predict(X)[sure] == tight.predict(X)[sure]).all()


def test_attributes_are_those_of_svc() -> None:
    X, y = noisy_classes(5)
    ours = KernelClassifier(C=2.0, tol=1e-12).fit(X, y)
    theirs = SVC(C=2.0, gamma=0.5, tol=1e-10).fit(X, y)
    assert ours.support_.tolist() == theirs.support_.tolist()
    assert ours.n_support_.tolist() == theirs.n_support_.tolist()
    assert np.array_equal(ours.support_vectors_, theirs.support_vectors_)
    assert distance(ours.dual_coef_, theirs.dual_coef_) < 1e-5
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-5)
    assert ours.classes_.tolist() == theirs.classes_.tolist()
    assert ours.n_features_in_ == theirs.n_features_in_


@pytest.mark.parametrize("sparse", [False, True])
def test_a_linear_kernel_has_coefficients_of_features(sparse: bool) -> None:
    X, y = noisy_classes(5)
    given = csr_array(X) if sparse else X
    ours = KernelClassifier(kernel="linear", tol=1e-12).fit(given, y)
    assert distance(ours.coef_, SVC(kernel="linear", tol=1e-10).fit(X, y).coef_) < 1e-5
    assert distance(X @ ours.coef_[0] + ours.intercept_, ours.decision_function(given)) < 1e-9
    assert RFE(ours, n_features_to_select=2).fit(given, y).support_.sum() == 2
    three = KernelClassifier("loss_multinomial", kernel="linear").fit(*load_iris(return_X_y=True))
    assert three.coef_.shape == (3, 4)
    assert KernelClassifier(kernel="linear").fit(*load_iris(return_X_y=True)).coef_.shape == (3, 4)  # one against one
    assert not hasattr(KernelClassifier().fit(X, y), "coef_") and not hasattr(KernelClassifier(), "coef_")
    assert not hasattr(KernelClassifier(kernel="precomputed").fit(X @ X.T, y), "coef_")
    assert not hasattr(KernelRegressor("lasso").fit(X, y), "coef_")


def test_on_real_data() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    ours = KernelClassifier(kernel="rbf(gamma = scale)").fit(X[:400], y[:400])
    theirs = SVC(tol=1e-6).fit(X[:400], y[:400])
    assert distance(ours.decision_function(X[400:]), theirs.decision_function(X[400:])) < 1e-3
    assert (ours.predict(X[400:]) == theirs.predict(X[400:])).all()


def test_nu_classifier_is_nusvc_up_to_its_scale() -> None:
    X, y = noisy_classes(1)
    ours = KernelClassifier("svm_nu_sum", nu=0.4, tol=1e-10).fit(X, y)
    theirs = NuSVC(nu=0.4, gamma=0.5, tol=TIGHT).fit(X, y)
    rho = ours.solutions_[0].scalars["rho"]  # LIBSVM divides by it, so that the margin is 1
    assert distance(ours.decision_function(X) / rho, theirs.decision_function(X)) < 1e-4


@pytest.mark.parametrize("seed", range(2))
def test_regressor_is_svr(seed: int) -> None:
    X, y = noisy_values(seed)
    ours = KernelRegressor(C=3.0, eps=0.05, kernel="rbf(gamma = 0.2)", tol=1e-10).fit(X, y)
    assert distance(ours.predict(X), SVR(C=3.0, epsilon=0.05, gamma=0.2).fit(X, y).predict(X)) < 2e-3
    theirs = SVR(C=3.0, epsilon=0.05, gamma=0.2, tol=TIGHT).fit(X, y)
    assert distance(ours.predict(X), theirs.predict(X)) < 1e-5
    assert ours.support_.tolist() == theirs.support_.tolist()
    assert distance(ours.dual_coef_, theirs.dual_coef_) < 1e-3


def test_nu_regressor_is_nusvr_with_c_times_the_number_of_examples() -> None:
    X, y = noisy_values(3)
    ours = KernelRegressor("svr_nu", C=2.0 * len(y), nu=0.3, tol=1e-10).fit(X, y)
    theirs = NuSVR(C=2.0, nu=0.3, gamma=0.5, tol=TIGHT).fit(X, y)
    assert distance(ours.predict(X), theirs.predict(X)) < 1e-5


def test_ridge_is_kernel_ridge() -> None:
    X, y = noisy_values(4)
    ours = KernelRegressor("ridge", lambda_=0.7, kernel="rbf(gamma = 0.3)").fit(X, y)
    theirs = KernelRidge(alpha=0.7, kernel="rbf", gamma=0.3).fit(X, y)
    assert distance(ours.predict(X), theirs.predict(X)) < 1e-8
    assert distance(ours.dual_coef_[0], theirs.dual_coef_) < 1e-8


@pytest.mark.parametrize("nu", [0.1, 0.5])
def test_detector_is_one_class_svm_up_to_its_scale(nu: float) -> None:
    X, _ = noisy_classes(2)
    ours = NoveltyDetector(nu=nu, kernel="rbf(gamma = 0.1)", tol=1e-11).fit(X)
    theirs = OneClassSVM(nu=nu, gamma=0.1, tol=TIGHT).fit(X)
    scale = nu * len(X)  # LIBSVM's objective is ours times its square
    new = X + 0.3
    decision = theirs.decision_function(new)
    assert distance(scale * ours.decision_function(new), decision) < 1e-4
    assert distance(scale * ours.score_samples(new), theirs.score_samples(new)) < 1e-4
    assert scale * ours.offset_ == pytest.approx(theirs.offset_[0], rel=1e-4)
    assert scale * ours.intercept_ == pytest.approx(theirs.intercept_, rel=1e-4)
    sure = np.abs(decision) > 1e-3
    assert (ours.predict(new)[sure] == theirs.predict(new)[sure]).all()
    assert ours.predict(new).min() == -1


def test_sphere_has_the_same_boundary_as_the_hyperplane() -> None:
    """For a kernel with kappa(t, t) = 1 the two are one problem, and their decision values are proportional."""
    X, _ = noisy_classes(3)
    sphere = NoveltyDetector("sphere_nu", nu=0.2, tol=1e-11).fit(X)
    plane = NoveltyDetector("one_class", nu=0.2, tol=1e-11).fit(X)
    new = X + 0.2
    assert distance(sphere.decision_function(new), 2 * plane.decision_function(new)) < 1e-4
    assert not hasattr(sphere, "intercept_")
    radius2 = sphere.solutions_[0].scalars["r^2"]
    assert sphere.offset_ == pytest.approx(-radius2)


# ------------------------------------------------------------------ more classes


def test_pairs_are_those_of_svc_on_iris() -> None:
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    ours = KernelClassifier(tol=1e-10, decision_function_shape="ovo").fit(X, names)
    theirs = SVC(gamma=0.5, tol=TIGHT, decision_function_shape="ovo").fit(X, names)
    assert distance(ours.decision_function(X), theirs.decision_function(X)) < 1e-5
    assert (ours.predict(X) == theirs.predict(X)).all()
    assert ours.support_.tolist() == theirs.support_.tolist()
    assert ours.n_support_.tolist() == theirs.n_support_.tolist()
    assert ours.n_iter_.shape == (3,)
    assert len(ours.certificate_) == len(ours.alpha_) == 3


def test_votes_are_those_of_svc() -> None:
    X, y = make_blobs(150, centers=5, cluster_std=3.0, random_state=1)
    ours = KernelClassifier(tol=1e-10, kernel="rbf(gamma = 0.1)").fit(X, y)
    theirs = SVC(gamma=0.1, tol=TIGHT, break_ties=True).fit(X, y)
    assert distance(ours.decision_function(X), theirs.decision_function(X)) < 1e-5
    assert (ours.predict(X) == theirs.predict(X)).mean() > 0.99


def test_one_against_the_rest_on_iris() -> None:
    X, y = load_iris(return_X_y=True)
    ours = KernelClassifier(multiclass="ovr", tol=1e-10).fit(X, y)
    theirs = OneVsRestClassifier(SVC(gamma=0.5, tol=TIGHT)).fit(X, y)
    assert distance(ours.decision_function(X), theirs.decision_function(X)) < 1e-5
    assert (ours.predict(X) == theirs.predict(X)).all()
    assert ours.dual_coef_.shape == (3, len(ours.support_))


def test_words_of_kernels_mean_all_the_points_in_every_pair() -> None:
    X, y = load_iris(return_X_y=True)
    ours = KernelClassifier(kernel="rbf(gamma = scale)", tol=1e-10, decision_function_shape="ovo").fit(X, y)
    theirs = SVC(gamma="scale", tol=TIGHT, decision_function_shape="ovo").fit(X, y)
    assert distance(ours.decision_function(X), theirs.decision_function(X)) < 1e-5
