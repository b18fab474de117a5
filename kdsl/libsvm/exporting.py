"""A LibsvmModel from what a solution predicts, where its predict clause and its kernel have a form in LIBSVM."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import scipy.sparse as sp

from kdsl.algebra.clauses import ROW, at_new_point, decision_of
from kdsl.algebra.numeric import Array, Values, evaluate
from kdsl.algebra.poly import Monomial, Poly
from kdsl.algebra.terms import Inner, Vec, leaves_of
from kdsl.algebra.translate import Translator
from kdsl.binding.bound import LabelMap
from kdsl.binding.faults import fault
from kdsl.binding.kernels import Gaussian, Linear, Polynomial, Sigmoid
from kdsl.language import syntax as s
from kdsl.language.diagnostics import KdslError
from kdsl.libsvm.model import LibsvmModel
from kdsl.libsvm.units import unit_of
from kdsl.models.model_file import LoadedModel
from kdsl.models.predictor import Predictor
from kdsl.models.solution import Solution
from kdsl.models.voting import Voting

SVMLIGHT_NAME = re.compile(r"f[0-9]+")
NOT_AFFINE = "its prediction is not one inner product and a constant"
TYPES = {"label": "c_svc", "value": "epsilon_svr", "novelty": "one_class"}


def export_model(solved: Solution | LoadedModel) -> LibsvmModel:
    """The model whose svm_predict says what the first predict clause says; K672 where LIBSVM has none.

    With f(t) = c <w, phi(t)> + b the clause's expression in LIBSVM's unit: a value has rho = -b, and so has a sign,
    whose positive label is the first. A novelty is -f in LIBSVM, which counts inliers as positive.
    """
    fitted = solved.fitted
    clause = fitted.clause
    predictor = fitted.predictor
    feature_map = fitted.feature_map
    if feature_map.scaling.kind != "none" or feature_map.categories or feature_map.precomputed:
        raise _no_form("its features are scaled, expanded or precomputed", "solve on the numbers that LIBSVM will see")
    body, kind = clause.body, clause.kind
    signed = isinstance(body, s.Call) and body.function.id == "sign"
    if kind not in TYPES or len(clause.formals) != 1 or signed != (kind == "label"):
        raise _no_form("its predict clause is not the sign, the value or the novelty of one point")
    poly = decision_of(Translator(fitted.model), clause, at_new_point(clause)).formula
    if not isinstance(poly, Poly):
        raise _no_form(NOT_AFFINE)
    vector, factor, offset = _affine(predictor, poly)
    kernel = predictor.kernels[vector.space]
    if type(kernel) not in (Linear, Polynomial, Gaussian, Sigmoid):
        raise _no_form(f"LIBSVM has no kernel {kernel.description}", "use linear, poly, rbf or sigmoid")
    if isinstance(fitted, Voting):
        return _vote(fitted, poly)
    direction = unit_of(solved, vector) * (-1.0 if kind == "novelty" else 1.0)
    weights = direction * factor * predictor.vectors[vector.name].coefficients[0]
    kept = np.flatnonzero(weights)
    support = _numbered(sp.csr_array(predictor.support[vector.space])[kept], feature_map.names)
    empty = np.array([], dtype=np.int64)
    label, counts = empty, empty
    if kind == "label":
        label = _labels(next(iter(fitted.label_maps.values())))
        order = np.argsort(weights[kept] < 0, kind="stable")  # LIBSVM lists the classes one after another
        kept, support = kept[order], support[order]
        first = int((weights[kept] > 0).sum())
        counts = np.array([first, len(kept) - first], dtype=np.int64)
    rho = np.array([-direction * offset])
    return LibsvmModel(TYPES[kind], kernel, 2, rho, label, counts, weights[kept][:, None], sp.csr_array(support))


def _vote(fitted: Voting, poly: Poly) -> LibsvmModel:
    """All the machines over their common support vectors, each with the class that its coefficients give it."""
    parts = [(machine, *_affine(machine, poly)) for machine in fitted.machines]
    vector = parts[0][1]
    columns = np.column_stack([c * machine.vectors[w.name].coefficients[0] for machine, w, c, _ in parts])
    pairs = np.array(list(combinations(range(len(fitted.classes.names)), 2)))
    serves = np.argmax(columns != 0, axis=1)  # the first machine of each
    rows = np.arange(len(columns))
    owner = np.where(columns[rows, serves] > 0, pairs[serves, 0], pairs[serves, 1])
    order = np.argsort(owner, kind="stable")
    coefficients = np.zeros((len(columns), len(fitted.classes.names) - 1))
    for values, (i, j) in zip(columns.T, pairs, strict=True):
        coefficients[owner == i, j - 1] = values[owner == i]
        coefficients[owner == j, i] = values[owner == j]
    support = sp.csr_array(fitted.predictor.support[vector.space])[order]
    counts = np.bincount(owner, minlength=len(fitted.classes.names)).astype(np.int64)
    return LibsvmModel(
        "c_svc",
        fitted.predictor.kernels[vector.space],
        len(counts),
        -np.array([offset for *_, offset in parts]),
        np.array([int(name) for name in fitted.classes.names], dtype=np.int64),
        counts,
        coefficients[order],
        _numbered(support, fitted.feature_map.names),
    )


def _affine(predictor: Predictor, poly: Poly) -> tuple[Vec, float, float]:
    """(w, c, b) of a polynomial c <w, phi(t)> + b."""
    constant, slopes = Poly(), []
    for monomial, coefficient in poly.terms.items():
        if any(ROW in leaves_of(factor) for factor, _ in monomial.factors):
            slopes.append((monomial, coefficient))
        else:
            constant = constant + Poly({monomial: coefficient})
    if len(slopes) != 1:
        raise _no_form(NOT_AFFINE)
    (monomial, coefficient) = slopes[0]
    moving = [(f, power) for f, power in monomial.factors if ROW in leaves_of(f)]
    inner, power = moving[0]
    if len(moving) != 1 or power != 1 or not isinstance(inner, Inner) or monomial.binders:
        raise _no_form(NOT_AFFINE)
    vector = inner.right if inner.left.feature else inner.left
    if vector.feature or vector.args:
        raise _no_form(NOT_AFFINE)

    def no_gram(first: Vec, second: Vec) -> Array:
        raise _no_form("its prediction has inner products between two unknowns")

    arrays = {n: np.asarray(v, dtype=np.float64) for n, v in {**predictor.parameters, **predictor.scalars}.items()}
    norms = {name: family.squared_norms for name, family in predictor.vectors.items()}
    values = Values(predictor.sizes, arrays, {}, {}, no_gram, lambda vec: norms[vec.name])
    rest = Monomial((), tuple((f, p) for f, p in monomial.factors if f != inner))
    return vector, float(evaluate(Poly({rest: coefficient}), values)), float(evaluate(constant, values))


def _numbered(support: sp.csr_array, names: Sequence[str]) -> sp.csr_array:
    """The points with feature n in column n - 1: fn of svmlight text is n, features of other names are 1, 2, ...

    LIBSVM takes a feature that a model lacks for 0 in it, so features that were not chosen must be left out there.
    """
    numbers = [int(name[1:]) for name in names if SVMLIGHT_NAME.fullmatch(name)]
    if len(numbers) < len(names):
        return support
    if 0 in numbers:
        raise _no_form("its features count from 0", "count them from 1, as LIBSVM does")
    columns = np.array(numbers, dtype=np.int64) - 1
    place = (np.ones(len(numbers)), (np.arange(len(numbers)), columns))
    numbered = sp.csr_array(support @ sp.csr_array(place, shape=(len(numbers), int(columns.max(initial=-1)) + 1)))
    numbered.sort_indices()
    return numbered


def _labels(label_map: LabelMap) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """The positive and the negative label as whole numbers."""
    if not label_map.numeric or any(float(w) != int(float(w)) for w in (label_map.negative, label_map.positive)):
        raise _no_form("its labels are not whole numbers", "number the classes")
    return np.array([int(float(label_map.positive)), int(float(label_map.negative))], dtype=np.int64)


def _no_form(why: str, help: str = "keep it as a model file of kdsl") -> KdslError:
    return fault("K672", "this model has no form in LIBSVM", why, help)
