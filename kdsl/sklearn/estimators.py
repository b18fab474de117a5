"""KernelClassifier, KernelRegressor and NoveltyDetector: any spec with a predict clause of their kind, fitted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, OutlierMixin, RegressorMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from kdsl.algebra.numeric import Array
from kdsl.sklearn.attributes import at_first_point, without_scalars
from kdsl.sklearn.base import KernelMachine
from kdsl.sklearn.classes import coding_of
from kdsl.sklearn.errors import as_value_errors
from kdsl.sklearn.fitting import Part
from kdsl.sklearn.reading import probability_clause
from kdsl.sklearn.weights import check_class_weights, checked_weights


def _tells_probabilities(estimator: KernelClassifier) -> bool:
    """Whether the spec has a clause for them; once fitted, one that speaks of each of the classes."""
    if hasattr(estimator, "classes_"):
        return estimator._probability is not None
    try:
        return probability_clause(estimator._reading(None)) is not None
    except (TypeError, ValueError):  # fit says what is wrong with the spec
        return False


class KernelClassifier(ClassifierMixin, KernelMachine):  # type: ignore[misc]
    """A classifier from any spec with `predict label` or `predict class`.

    spec: a shipped spec's name, the path of a .kspec file, a model (`kdsl.parse_spec(text)`) or a `kdsl.Problem`.
    kernel: an expression such as "rbf(gamma = 0.1)", "k = rbf(gamma = 0.1)" or "precomputed", a function of two
        matrices, or a dict of these by the kernels' names; None keeps the spec's own.
    tol: the relative duality gap up to which the certificate must prove the answer.
    multiclass: "ovo" or "ovr", how a spec for two classes tells more of them apart.
    decision_function_shape: "ovr" for one column a class, "ovo" for one a pair, as SVC has it.
    class_weight: positive numbers in a dict by class, or "balanced". Like sample_weight it goes to the spec's datum of
        weights, or, where there is none, counts an example as that many copies of it.
    backend, max_iter, psd: as `kdsl.solve` takes them; n_jobs: threads. None and -1 set no limit.
    parameters: the spec's `param`s, such as C; get_params lists them.
    """

    _kinds = ("label", "class")

    def __init__(
        self,
        spec: Any = "svm_1norm",
        *,
        kernel: Any = None,
        tol: float = 1e-6,
        multiclass: str = "ovo",
        decision_function_shape: str = "ovr",
        class_weight: Any = None,
        backend: str | None = None,
        max_iter: int | None = None,
        psd: str = "refuse",
        n_jobs: int | None = None,
        **parameters: Any,
    ) -> None:
        self.spec = spec
        self.kernel = kernel
        self.tol = tol
        self.multiclass = multiclass
        self.decision_function_shape = decision_function_shape
        self.class_weight = class_weight
        self.backend = backend
        self.max_iter = max_iter
        self.psd = psd
        self.n_jobs = n_jobs
        self._take(parameters)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, data: Mapping[str, Any] | None = None) -> Self:
        """Fit to features X (or kernel values, where the kernel is precomputed) and labels y.

        data: arrays for the data that the spec declares beside its input, target and weights; a frame for an input
            keeps the names of its columns, an array of points has those of X.
        """
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64, order="C", ensure_min_samples=2)
        check_classification_targets(y)
        weights = checked_weights(sample_weight, X.shape[0])
        if self.class_weight is not None:
            weights = self._with_class_weight(y, np.ones(X.shape[0]) if weights is None else weights)
        self.classes_ = np.unique(y if weights is None else y[weights > 0])
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs at least two classes; the data have one class only: {self.classes_[0]!r}"
            )
        codes = np.searchsorted(self.classes_, y)  # of rows without weight too, where it means nothing
        with as_value_errors():
            reading = self._reading(weights)
            self._coding = coding_of(reading, len(self.classes_), self.multiclass, self.decision_function_shape)
            self._probability = probability_clause(reading) if self._coding.kind in ("two", "native") else None
            examples, kept = self._examples(reading, X, None, weights, data)
            self._solve(reading, examples, self._coding.parts(codes[kept], self.classes_), kept, X)
        self._order_by_class(codes)
        return self

    def _with_class_weight(self, y: Array, weights: Array) -> Array:
        """The weights of the examples times those of their classes."""
        present = y[weights > 0]
        classes = np.unique(present)
        by_class = compute_class_weight(self.class_weight, classes=classes, y=present)
        check_class_weights(by_class, classes)
        places = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
        return np.asarray(weights * by_class[places])

    def _order_by_class(self, codes: Array) -> None:
        """Support vectors class by class, as SVC has them, and how many each class has."""
        order = np.argsort(codes[self.support_], kind="stable")
        self.support_, self.dual_coef_ = self.support_[order], self.dual_coef_[:, order]
        if self.support_vectors_.shape[0]:
            self.support_vectors_ = self.support_vectors_[order]
        self.n_support_ = np.bincount(codes[self.support_], minlength=len(self.classes_)).astype(np.int32)

    def decision_function(self, X: Any) -> Array:
        """For two classes a value that is positive for `classes_[1]`; for more, one column for each class or pair."""
        values = self._decisions(X)
        return self._coding.decision(values)

    def predict(self, X: Any) -> Array:
        """The class of each row of X."""
        values = self._decisions(X)
        return np.asarray(self.classes_[self._coding.predict(values)])

    @available_if(_tells_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """What `predict probability` says, a column for each class; of two labels it tells the second.

        There is one only where the spec has such a clause: `probability(t)`, or `probability(t, k)` for classes.
        """
        check_is_fitted(self)
        clause = self._probability
        assert clause is not None
        if self._coding.kind == "native":
            codes = range(len(self.classes_))
            return np.column_stack([self._decisions(X, clause, {clause.formals[1]: code})[0] for code in codes])
        (second,) = self._decisions(X, clause)
        return np.column_stack([1 - second, second])


class KernelRegressor(RegressorMixin, KernelMachine):  # type: ignore[misc]
    """A regressor from any spec with `predict value`, or a ranker from one with `predict score`.

    The parameters are those of KernelClassifier without what concerns classes.
    """

    _kinds = ("value", "score")

    def __init__(
        self,
        spec: Any = "svr_linear_eps",
        *,
        kernel: Any = None,
        tol: float = 1e-6,
        backend: str | None = None,
        max_iter: int | None = None,
        psd: str = "refuse",
        n_jobs: int | None = None,
        **parameters: Any,
    ) -> None:
        self.spec = spec
        self.kernel = kernel
        self.tol = tol
        self.backend = backend
        self.max_iter = max_iter
        self.psd = psd
        self.n_jobs = n_jobs
        self._take(parameters)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, data: Mapping[str, Any] | None = None) -> Self:
        """Fit to features X (or kernel values) and responses y; `data` as for KernelClassifier."""
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=np.float64, order="C", ensure_min_samples=2, y_numeric=True
        )
        weights = checked_weights(sample_weight, X.shape[0])
        with as_value_errors():
            reading = self._reading(weights)
            examples, kept = self._examples(reading, X, y, weights, data)
            self._solve(reading, examples, [Part(np.arange(len(kept)), examples.target)], kept, X)
        return self

    def predict(self, X: Any) -> Array:
        """The value, or the score, of each row of X."""
        return self._decisions(X)[0]


class NoveltyDetector(OutlierMixin, KernelMachine):  # type: ignore[misc]
    """An outlier detector from any spec with `predict novelty`, with the signs of OneClassSVM.

    decision_function is minus the clause: positive inside. score_samples is the same with every scalar of the
    clause (a threshold, a radius) at 0, and offset_ their difference. The parameters are those of KernelRegressor.
    """

    _kinds = ("novelty",)

    def __init__(
        self,
        spec: Any = "one_class",
        *,
        kernel: Any = None,
        tol: float = 1e-6,
        backend: str | None = None,
        max_iter: int | None = None,
        psd: str = "refuse",
        n_jobs: int | None = None,
        **parameters: Any,
    ) -> None:
        self.spec = spec
        self.kernel = kernel
        self.tol = tol
        self.backend = backend
        self.max_iter = max_iter
        self.psd = psd
        self.n_jobs = n_jobs
        self._take(parameters)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, data: Mapping[str, Any] | None = None) -> Self:
        """Fit to features X (or kernel values); y only where the spec has a target, such as labelled outliers."""
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, order="C", ensure_min_samples=2)
        weights = checked_weights(sample_weight, X.shape[0])
        with as_value_errors():
            reading = self._reading(weights)
            target = None if y is None or not reading.target else np.asarray(y)
            examples, kept = self._examples(reading, X, target, weights, data)
            (one,) = self._solve(reading, examples, [Part(np.arange(len(kept)), examples.target)], kept, X)
            score = at_first_point(one, reading, without_scalars(one.solution.predictor))
            whole = at_first_point(one, reading, one.solution.predictor)
        self.offset_ = float(whole[0] - score[0])
        if hasattr(self, "intercept_"):
            self.intercept_ = -self.intercept_
        return self

    def decision_function(self, X: Any) -> Array:
        """Positive inside, negative outside."""
        return -self._decisions(X)[0]

    def score_samples(self, X: Any) -> Array:
        """decision_function + offset_."""
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> Array:
        """+1 inside and on the boundary, -1 outside."""
        return np.where(self.decision_function(X) >= 0, 1, -1)
