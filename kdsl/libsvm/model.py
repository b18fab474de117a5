"""LibsvmModel: what a LIBSVM model file says, and its predictions in LIBSVM's own signs and tie rules."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy.sparse as sp

from kdsl.binding.kernels import Kernel
from kdsl.numerics.arrays import Floats, Ints, Matrix

CLASSIFIERS = ("c_svc", "nu_svc")
REGRESSORS = ("epsilon_svr", "nu_svr")
SVM_TYPES = (*CLASSIFIERS, "one_class", *REGRESSORS)


@dataclass(frozen=True, eq=False)
class LibsvmModel:
    """The members of a model file under LIBSVM's names; `notes` says what of the file is not used.

    label, nr_sv: one for each class, empty unless svm_type is c_svc or nu_svc. rho: one for each pair of classes
    i < j in the order (0, 1), (0, 2), ..., (1, 2), ...; one alone for the other types. sv_coef: a row for each support
    vector, nr_class - 1 columns: of a support vector of class i, column j - 1 serves the pairs (i, j) with j > i, and
    column j the pairs (j, i) with j < i. In a file feature 1 is the first column of `support`.
    """

    svm_type: str
    kernel: Kernel
    nr_class: int
    rho: Floats
    label: Ints
    nr_sv: Ints
    sv_coef: Floats
    support: sp.csr_array
    notes: tuple[str, ...] = ()

    @property
    def is_classifier(self) -> bool:
        return self.svm_type in CLASSIFIERS

    def decision(self, points: Matrix) -> Floats:
        """sum_j coef_j kappa(x, s_j) - rho for each point: a column for each pair of classes, one for other types.

        A feature that only the points or only the support vectors have is zero in the others.
        """
        found = sp.csr_array(points)
        width = max(found.shape[1], self.support.shape[1])
        expanded = self.kernel.expansion(_widened(self.support, width), self.columns(), _widened(found, width))
        return np.asarray(expanded - self.rho)

    def predict(self, points: Matrix) -> Floats:
        """LIBSVM's svm_predict: a label, +1 (inlier) or -1 (outlier), or a value."""
        return self.answer(self.decision(points))

    def answer(self, decision: Floats) -> Floats:
        """What decision values say. One class: > 0 is an inlier.

        Classes: pair (i, j) votes for i where its value is > 0, else for j; of equal votes the first class wins.
        """
        if self.svm_type in REGRESSORS:
            return decision[:, 0]
        if self.svm_type == "one_class":
            return np.where(decision[:, 0] > 0, 1.0, -1.0)
        votes = np.zeros((len(decision), self.nr_class), dtype=np.int64)
        for column, (i, j) in enumerate(combinations(range(self.nr_class), 2)):
            first = decision[:, column] > 0
            votes[:, i] += first
            votes[:, j] += ~first
        return np.asarray(self.label[np.argmax(votes, axis=1)], dtype=np.float64)

    def columns(self) -> Floats:
        """The coefficients as one column for each decision value, zero at support vectors of other classes."""
        if not self.is_classifier:
            return self.sv_coef
        owner = np.repeat(np.arange(self.nr_class), self.nr_sv)
        pairs = list(combinations(range(self.nr_class), 2))
        columns = np.zeros((len(owner), len(pairs)))
        for column, (i, j) in enumerate(pairs):
            columns[owner == i, column] = self.sv_coef[owner == i, j - 1]
            columns[owner == j, column] = self.sv_coef[owner == j, i]
        return columns


def _widened(points: sp.csr_array, width: int) -> sp.csr_array:
    """The same rows with columns of zeros added up to `width`."""
    return sp.csr_array((points.data, points.indices, points.indptr), shape=(points.shape[0], width))
