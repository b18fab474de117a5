"""scikit-learn's own checks of estimators, for shipped specs and for specs that a user wrote."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import pytest

pytest.importorskip("sklearn", minversion="1.6")

from estimator_specs import ALL_CLASSES, PROBABILITIES, WEIGHTED_RIDGE, WEIGHTED_SQUARED_HINGE
from sklearn.utils.estimator_checks import parametrize_with_checks

from kdsl.sklearn import KernelClassifier, KernelRegressor, NoveltyDetector

# Weights and copies of rows are compared to seven digits there: a gap of 1e-6 is not asked to show that many.
EXACT = 1e-12

ESTIMATORS = [
    KernelClassifier(tol=EXACT),
    KernelClassifier("svm_weighted", tol=EXACT),
    KernelClassifier("svm_2norm", multiclass="ovr", tol=EXACT / 1000),
    KernelRegressor(tol=EXACT),
    KernelRegressor("ridge_bias", tol=EXACT),
    NoveltyDetector(tol=EXACT),
    NoveltyDetector("sphere_nu", tol=EXACT),
    KernelClassifier(WEIGHTED_SQUARED_HINGE, tol=EXACT),
    KernelClassifier(ALL_CLASSES, tol=EXACT),
    KernelClassifier(PROBABILITIES, tol=1e-9),
    KernelRegressor(WEIGHTED_RIDGE, tol=EXACT),
    # some of the checks round a Gram matrix to float32, which leaves it eigenvalues of -1e-6
    KernelClassifier(kernel="precomputed", psd="shift", tol=EXACT),
]


NO_BIAS = "far from the heavy class, in widths of the kernel, nothing but a bias would speak for it"


TWO_LABELS = "the clause tells the probability of one of two labels, and the check has three"


def expected_failures(estimator: Any) -> dict[str, str]:
    if estimator.spec is PROBABILITIES:
        kinds = ("dense", "sparse")
        return {f"check_sample_weight_equivalence_on_{kind}_data": TWO_LABELS for kind in kinds}
    return {"check_class_weight_classifiers": NO_BIAS} if estimator.spec is ALL_CLASSES else {}


# A listed failure that passes is a failure too, where this version of scikit-learn can say so.
STRICT = {"xfail_strict": True} if "xfail_strict" in signature(parametrize_with_checks).parameters else {}


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures, **STRICT)
def test_scikit_learn_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)
