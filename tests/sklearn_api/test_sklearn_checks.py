"""scikit-learn's own checks of estimators, for shipped specs and for specs that a user wrote."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import pytest

pytest.importorskip("sklearn", minversion="1.6")

from estimator_specs import ALL_CLASSES, PROBABILITIES, WEIGHTED_RIDGE, WEIGHTED_SQUARED_HINGE, expected_failures
from sklearn.utils.estimator_checks import parametrize_with_checks

from kdsl.sklearn import KernelClassifier, KernelRegressor, NoveltyDetector

# Weights and copies of rows are compared to seven digits there: a gap of 1e-6 is not asked to show that many.
EXACT = 1e-12

ESTIMATORS = [
    KernelClassifier(),
    KernelClassifier("svm_weighted", tol=EXACT),
    KernelClassifier("svm_2norm", multiclass="ovr"),
    KernelRegressor(),
    KernelRegressor("ridge_bias"),
    NoveltyDetector(),
    NoveltyDetector("sphere_nu"),
    KernelClassifier(WEIGHTED_SQUARED_HINGE, tol=EXACT),
    KernelClassifier(ALL_CLASSES),
    KernelClassifier(PROBABILITIES, tol=1e-9),
    KernelRegressor(WEIGHTED_RIDGE, tol=EXACT),
    # some of the checks round a Gram matrix to float32, which leaves it eigenvalues of -1e-6
    KernelClassifier(kernel="precomputed", psd="shift"),
]


# A listed failure that passes is a failure too, where this version of scikit-learn can say so.
STRICT = {"xfail_strict": True} if "xfail_strict" in signature(parametrize_with_checks).parameters else {}


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures, **STRICT)
def test_scikit_learn_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)
