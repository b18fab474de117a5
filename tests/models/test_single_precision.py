"""Prediction at points in float32: as exact as single precision can be, or in double precision; what is kept and what
is not."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import kdsl
from kdsl.binding import expansions
from kdsl.binding.kernels import Gaussian
from kdsl.language.diagnostics import KdslError
from kdsl.sklearn import KernelClassifier

RNG = np.random.default_rng(17)
X = RNG.normal(size=(400, 3))
Y = np.where(X[:, 0] * X[:, 1] + 0.1 * RNG.normal(size=400) > 0, 1.0, -1.0)
NEW = RNG.normal(size=(6000, 3))
SINGLE = NEW.astype(np.float32)
KERNELS = {
    "gaussian": "rbf(gamma = 0.5)",
    "laplacian": "laplacian(gamma = 0.5)",
    "polynomial": "poly(degree = 3, gamma = 0.5, coef0 = 1)",
    "sum": "rbf(gamma = 0.5) + 0.5 * laplacian(gamma = 0.3)",
    "on columns": "rbf(gamma = 0.5) on x1, x3",
    "linear": "linear",
    "product": "linear * rbf(gamma = 0.1)",
}
NATIVE = ("gaussian", "laplacian", "polynomial", "sum", "on columns")


def solution_of(kernel="gaussian", points=X, **options):
    return kdsl.solve("svm_1norm", {"x": points, "y": Y}, kernels={"k": KERNELS[kernel]}, **options)


@pytest.fixture(scope="module")
def solution():
    return solution_of()


@pytest.mark.parametrize(
    ("kernel", "sparse"), [(k, False) for k in KERNELS] + [(k, True) for k in KERNELS if k != "on columns"]
)
def test_float32_is_near_float64_for_every_kernel(kernel, sparse):
    points, new = (sp.csr_array(P * (np.abs(P) > 0.7)) if sparse else P for P in (X, NEW))
    found = solution_of(kernel, points)
    exact, quick = found.decision(new), found.decision(new.astype(np.float32))
    assert exact.dtype == quick.dtype == np.float64
    error = np.abs(quick - exact).max() / np.abs(exact).max()
    assert error < 3e-5  # the core itself lets 1e-4 pass; sums of polynomials with 300 coefficients cancel a little
    if kernel in NATIVE:
        assert error > 1e-9  # it was single precision
    assert (found.predict(new.astype(np.float32)) == found.predict(new)).mean() > 0.999


def test_few_points_are_evaluated_in_double_precision(solution):
    few = SINGLE[:20]
    assert np.abs(solution.decision(few) - solution.decision(few.astype(np.float64))).max() < 1e-13


def test_other_numbers_become_float64(solution):
    exact = solution.decision(NEW)
    assert (solution.decision(NEW.tolist()) == exact).all()
    halves = NEW.astype(np.float16)
    assert (solution.decision(halves) == solution.decision(halves.astype(np.float64))).all()


def test_terms_that_cancel_are_evaluated_in_double_precision(solution):
    """Huge coefficients of both signs at points that nearly coincide."""
    predictor = solution.predictor
    vector = predictor.vectors["w"]
    half = X[:200]
    support = np.vstack([half, half + 1e-7])
    coefficients = np.repeat([[1e7, -1e7]], 200, axis=1)
    cancelling = replace(predictor, support={"k": support}, vectors={"w": replace(vector, coefficients=coefficients)})
    quick, exact = cancelling.decision(SINGLE), cancelling.decision(SINGLE.astype(np.float64))
    assert (quick == exact).all()


def test_scaled_features(solution):
    scaled = solution_of(points=1e4 + 100.0 * X, scale="standard")
    new = 1e4 + 100.0 * NEW
    exact, quick = scaled.decision(new), scaled.decision(new.astype(np.float32))
    assert 1e-9 < np.abs(quick - exact).max() < 1e-3  # the input itself is rounded: 1e4 has six digits left


def test_missing_and_infinite_values_are_named(solution):
    for value, code in ((np.nan, "K530"), (np.inf, "K531")):
        spoilt = SINGLE.copy()
        spoilt[7, 1] = value
        with pytest.raises(KdslError, match="row 8") as told:
            solution.decision(spoilt)
        assert told.value.diagnostics[0].code == code


def test_what_depends_on_the_support_is_prepared_once(solution, monkeypatch):
    made = []
    expanding = Gaussian.expanding

    def counted(*arguments):
        made.append(arguments)
        return expanding(*arguments)

    monkeypatch.setattr(Gaussian, "expanding", counted)
    fresh = copy.copy(solution.predictor)
    values = [fresh.decision(points) for points in (SINGLE, NEW, SINGLE)]
    assert len(made) == 1 and (values[0] == values[2]).all()


def test_what_is_prepared_is_neither_pickled_nor_passed_on(solution):
    predictor = copy.copy(solution.predictor)
    before = len(pickle.dumps(predictor.vectors))
    exact = predictor.decision(NEW)
    assert len(pickle.dumps(predictor.vectors)) == before
    again = copy.deepcopy(predictor)
    assert (again.decision(NEW) == exact).all()
    vector = predictor.vectors["w"]
    doubled = replace(predictor, vectors={"w": replace(vector, coefficients=2 * vector.coefficients)})
    b = float(predictor.scalars["b"])
    np.testing.assert_allclose(doubled.decision(NEW) - b, 2 * (exact - b), rtol=1e-10, atol=1e-12)


def test_double_precision_that_disagrees_with_numpy_is_not_used(solution, monkeypatch):
    exact = solution.decision(NEW)
    monkeypatch.setattr(expansions, "AGREEMENT", -1.0)
    by_numpy = solution.decision(NEW)
    assert 0 < np.abs(by_numpy - exact).max() < 1e-11


def test_estimators_keep_the_precision_of_their_points():
    machine = KernelClassifier("svm_1norm", kernel="rbf(gamma = 0.5)").fit(X, Y)
    exact, quick = machine.decision_function(NEW), machine.decision_function(SINGLE)
    assert 1e-9 < np.abs(quick - exact).max() < 1e-4
    restored = pickle.loads(pickle.dumps(machine))
    assert (restored.decision_function(SINGLE) == quick).all()
    three = KernelClassifier("svm_1norm", kernel="rbf(gamma = 0.5)").fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))
    np.testing.assert_allclose(
        three.decision_function(SINGLE), three.decision_function(SINGLE.astype(np.float64)), rtol=0, atol=1e-12
    )
