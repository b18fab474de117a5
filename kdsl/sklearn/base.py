"""KernelMachine: from checked arrays to a solved problem and its attributes, the same for all estimators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted, validate_data

from kdsl.algebra.numeric import Array
from kdsl.binding.psd import check_policy
from kdsl.language.model import Prediction
from kdsl.numerics.arrays import Floats, Ints, Matrix
from kdsl.sklearn.attributes import expansion_of, intercepts_of, is_linear, multipliers_of
from kdsl.sklearn.errors import as_value_errors, warn_of_doubts
from kdsl.sklearn.fitting import Examples, Part, Settings, Solved, solve_parts
from kdsl.sklearn.further import with_names
from kdsl.sklearn.machines import machines_of
from kdsl.sklearn.parameters import SpecParameters
from kdsl.sklearn.reading import Reading, is_pairwise, kernel_choices, model_of, reading_of
from kdsl.sklearn.weights import leave_out_only, weighable
from kdsl.solving.asked_options import asked_options


class KernelMachine(SpecParameters):
    """What the three estimators have in common.

    After fit: support_ (rows of X), support_vectors_, n_support_, dual_coef_ (one row for each Hilbert vector of the
    predict clause, machine after machine), coef_ (these vectors, where the kernel is linear), intercept_ (where the
    clause is an expansion plus a number), alpha_ (the multipliers by the label of their constraint), certificate_,
    status_, n_iter_ and solutions_; the last four are tuples, or an array, where there are several machines. solutions_
    is not pickled.
    """

    _kinds: tuple[str, ...]

    kernel: Any
    tol: float
    backend: str | None
    max_iter: int | None
    psd: str
    n_jobs: int | None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        try:
            model = model_of(self.spec)
            tags.input_tags.pairwise = is_pairwise(model, kernel_choices(model, self.kernel))
        except (TypeError, ValueError):  # fit says what is wrong with the spec or the kernel
            tags.input_tags.pairwise = False
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """Without the solutions, which hold the training data and which prediction does not need.

        A problem built in Python, which remembers where it was written, leaves its model.
        """
        state: dict[str, Any] = super().__getstate__()
        if hasattr(self.spec, "model"):
            state["spec"] = model_of(self.spec)
        return {name: value for name, value in state.items() if name != "solutions_"}

    def _reading(self, weights: Floats | None) -> Reading:
        return weighable(reading_of(model_of(self.spec), self._kinds, type(self).__name__), weights)

    def _examples(
        self, reading: Reading, X: Any, y: Array | None, weights: Floats | None, data: Mapping[str, Any] | None
    ) -> tuple[Examples, Ints]:
        """The examples that are left when those of weight 0 are gone, and their rows."""
        pairwise = is_pairwise(reading.model, kernel_choices(reading.model, self.kernel))
        if pairwise and X.shape[0] != X.shape[1]:
            raise ValueError(f"a precomputed kernel needs a square matrix X, this one is {X.shape[0]} x {X.shape[1]}")
        kept = np.arange(X.shape[0]) if weights is None else np.flatnonzero(weights > 0)
        if len(kept) < 2:
            raise ValueError(f"fewer than two examples have a weight above zero: {len(kept)} sample is left")
        names = getattr(self, "feature_names_in_", None)
        usable = None if leave_out_only(weights) or not (reading.weight or reading.total) else weights
        further = with_names(reading.model, data or {}, None if pairwise else names)
        everything = Examples(reading, own_format(X), y, usable, further, names, pairwise)
        return everything.take(kept), kept

    def _solve(self, reading: Reading, examples: Examples, parts: Sequence[Part], kept: Ints, X: Any) -> list[Solved]:
        """Solve, and set every attribute that all estimators have."""
        check_policy(self.psd)
        settings = Settings(
            self._spec_values(reading.model),
            kernel_choices(reading.model, self.kernel),
            self.psd,
            self.backend,
            asked_options(
                self.tol,
                max_iterations=limit(self.max_iter),
                threads=limit(self.n_jobs),
                called={"max_iterations": "max_iter", "threads": "n_jobs"},
            ),
        )
        solved = solve_parts(examples, parts, settings)
        self.solutions_ = tuple(one.solution for one in solved)
        warn_of_doubts(self.solutions_, [part.name for part in parts], self.tol, X)
        self._machines = machines_of(solved, reading, kept if examples.pairwise else None)
        self.certificate_ = one_or_all([s.certificate for s in self.solutions_])
        self.status_ = one_or_all([s.status for s in self.solutions_])
        self.alpha_ = one_or_all([multipliers_of(one, reading, kept, X.shape[0]) for one in solved])
        rounds = [max(1, s.iterations) for s in self.solutions_]  # a solve without iterations is one step
        self.n_iter_ = rounds[0] if len(rounds) == 1 else np.array(rounds, dtype=np.int32)
        self.support_, self.dual_coef_ = expansion_of(solved, reading, kept, X.shape[0])
        self.support_vectors_ = np.empty((0, 0)) if examples.pairwise else X[self.support_]
        self.n_support_ = np.array([len(self.support_)], dtype=np.int32)
        self._linear = is_linear(solved, reading)
        intercepts = intercepts_of(solved, reading)
        self.__dict__.pop("intercept_", None)
        if intercepts is not None:
            self.intercept_ = intercepts
        return solved

    @property
    def coef_(self) -> Floats:
        """One row for each row of dual_coef_; there is none for kernels that are not linear."""
        if not self._linear:
            raise AttributeError("coef_ is there for a linear kernel only")
        return np.asarray(self.dual_coef_ @ self.support_vectors_)

    def _decisions(
        self, X: Any, clause: Prediction | None = None, codes: Mapping[str, int] | None = None
    ) -> list[Array]:
        """The values of the predict clause, machine by machine; other clauses as `Machines.decisions` takes them."""
        check_is_fitted(self)
        precisions = [np.float64, np.float32]
        X = validate_data(self, X, accept_sparse="csr", dtype=precisions, order="C", reset=False)
        with as_value_errors():
            return self._machines.decisions(own_format(X), clause, codes)


def limit(number: int | None) -> int | None:
    """A limit as kdsl has it: scikit-learn writes -1 for none."""
    return None if isinstance(number, Integral) and number == -1 else number


def own_format(X: Any) -> Matrix:
    matrix: Matrix = sp.csr_array(X) if sp.issparse(X) else X
    return matrix


def one_or_all(values: Sequence[Any]) -> Any:
    return values[0] if len(values) == 1 else tuple(values)
