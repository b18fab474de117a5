"""A LibsvmModel as a model file of kdsl without a certificate: it predicts and can be shown, and proves nothing.

The spec is the one that the machine solves; what LIBSVM's file does not say (C, nu, epsilon, the data) is not a number
in it. Coefficients c and rho are LIBSVM's:

    svm_type           spec             expansion of w    scalar
    c_svc, nu_svc      svm_1norm        c                 b = -rho
    one_class          one_class        c / sum c         rho = rho / sum c
    epsilon_svr        svr_linear_eps   c                 b = -rho
    nu_svr             svr_nu           c                 b = -rho

LIBSVM divides a nu-SVC by its margin, which makes it the C-SVC of C = 1/margin; a one-class machine has multipliers
that add up to nu l where those of the spec add up to 1. The header keeps that factor as `unit`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from kdsl.binding.bound import LabelMap
from kdsl.binding.distances import to_dense
from kdsl.binding.faults import fault
from kdsl.binding.kernels import Gaussian, Kernel, Polynomial, Sigmoid
from kdsl.binding.points import DENSE_SHARE, FeatureMap
from kdsl.binding.raw import no_scaling
from kdsl.binding.records import record_features, record_kernel, record_labels
from kdsl.binding.table import numbered
from kdsl.libsvm.model import LibsvmModel
from kdsl.models.container import pack
from kdsl.models.header_form import IMPORTED
from kdsl.models.model_file import Arrays, put_points, put_sparse
from kdsl.numerics.arrays import Floats, Matrix
from kdsl.solving.api import read_model as read_spec

SPECS = {
    "c_svc": "svm_1norm",
    "nu_svc": "svm_1norm",
    "one_class": "one_class",
    "epsilon_svr": "svr_linear_eps",
    "nu_svr": "svr_nu",
}
WITHOUT = "it was imported from LIBSVM without the data that it was trained on"
VOTE = "it was imported from LIBSVM as a vote among pairs of classes, and a certificate is about one problem"


def imported_file(model: LibsvmModel, features: int = 0) -> bytes:
    """The content of the model file; `features` is how many there were where the support vectors have fewer."""
    return pack(*imported_contents(model, features))


def imported_contents(model: LibsvmModel, features: int = 0) -> tuple[dict[str, Any], Arrays]:
    """The header and the arrays."""
    from kdsl import __version__

    expansions, offsets = expansions_of(model)
    votes = model.is_classifier and model.nr_class > 2
    support = widened(model.support, features)
    spec = read_spec(SPECS[model.svm_type])
    scalar = "rho" if model.svm_type == "one_class" else "b"
    names = numbered("f", support.shape[1])
    feature_map = FeatureMap(names, names, no_scaling(len(names)))
    arrays: Arrays = {
        "vectors/w/coefficients": expansions,
        "vectors/w/squared_norms": squared_norms(model, expansions).reshape(-1 if votes else ()),
        f"unknowns/{scalar}": offsets.reshape(-1 if votes else ()),
    }
    header: dict[str, Any] = {
        "model": spec.name,
        "spec": spec.source,
        "parameters": {parameter.name: "nan" for parameter in spec.parameters},
        "kernels": {"k": record_kernel(model.kernel)},
        "binding": {"kernels": {"k": kernel_text(model.kernel)}, "psd": "accept", "seed": 0},
        "data": {"hash": "", "sizes": {}, "sources": {}},
        "features": {"x": record_features(feature_map)},
        "labels": {},
        "label_sets": {},
        "asked": {"tol": "nan", "kkt_tol": None},
        "status": IMPORTED,
        "message": VOTE if votes else WITHOUT,
        "backend": "libsvm",
        "reason": f"read from a LIBSVM model file, {model.svm_type}",
        "certificate": None,
        "scalars": {} if votes else {scalar: float(offsets[0])},
        "intervals": {},
        "support": {"total": int(support.shape[0]), "bound": 0, "free": 0},
        "quantities": {},
        "iterations": 0,
        "outer": None,
        "grams": {},
        "vectors": {"w": {"space": "k", "shape": []}},
        "unknowns": {scalar: f"unknowns/{scalar}"},
        "repairs": {},
        "points": {"k": put_points("points/k", support, arrays)},
        "multipliers": {},
        "theta": put_sparse("theta", np.empty(0), arrays),
        "versions": {"kdsl": __version__},
    }
    if model.svm_type == "one_class":
        header["unit"] = unit_of(model)
    if votes:
        header["voting"] = [str(label) for label in model.label]
    elif model.is_classifier:
        first, second = (str(label) for label in model.label)
        header["labels"] = {"y": record_labels(LabelMap(negative=second, positive=first))}
    return header, arrays


def expansions_of(model: LibsvmModel) -> tuple[Floats, Floats]:
    """(a row of coefficients for each machine, its scalar), in the scale of the spec."""
    if model.is_classifier and model.nr_class < 2:
        raise fault(
            "K677",
            "a model of one class alone holds no machine",
            "every example is of the class that it was trained on",
            "train with examples of two classes",
        )
    expansions = np.ascontiguousarray(model.columns().T)
    if model.svm_type == "one_class":
        return expansions / unit_of(model), model.rho / unit_of(model)
    return expansions, -model.rho


def unit_of(model: LibsvmModel) -> float:
    """What the multipliers of a one-class machine add up to."""
    return float(model.sv_coef.sum()) or 1.0


def squared_norms(model: LibsvmModel, expansions: Floats) -> Floats:
    """||w||^2 of each machine."""
    values = model.kernel.expansion(model.support, np.ascontiguousarray(expansions.T), model.support)
    return np.asarray(np.maximum((expansions.T * values).sum(axis=0), 0.0))


def widened(support: sp.csr_array, features: int) -> Matrix:
    """The support vectors with at least so many features, dense where they nearly are."""
    width = max(support.shape[1], features)
    wide = sp.csr_array((support.data, support.indices, support.indptr), shape=(support.shape[0], width))
    return to_dense(wide) if wide.nnz >= DENSE_SHARE * support.shape[0] * width else wide


def kernel_text(kernel: Kernel) -> str:
    """The kernel as a spec has it."""
    match kernel:
        case Gaussian(gamma=gamma):
            return f"rbf(gamma = {gamma!r})"
        case Sigmoid(gamma=gamma, coef0=coef0):
            return f"sigmoid(gamma = {gamma!r}, coef0 = {coef0!r})"
        case Polynomial(degree=degree, gamma=gamma, coef0=coef0):
            return f"poly(degree = {degree}, gamma = {gamma!r}, coef0 = {coef0!r})"
    return "linear"
