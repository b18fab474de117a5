"""Evaluates a model's predict clauses at new points: what a solution is for."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np

from kdsl.algebra.clauses import NEW, ROW, Decision, at_new_point, decision_of, number_added
from kdsl.algebra.formula_values import evaluate_formula
from kdsl.algebra.numeric import Array, Values, evaluate
from kdsl.algebra.terms import Vec
from kdsl.algebra.translate import Translator
from kdsl.binding.distances import to_dense
from kdsl.binding.expansions import block_rows
from kdsl.binding.kernels import DEFAULT_MEMORY, Against, Kernel
from kdsl.binding.numbered import widened
from kdsl.binding.psd import Repair
from kdsl.binding.table import as_double
from kdsl.language import syntax as s
from kdsl.language.model import Model, Prediction
from kdsl.models.kept import Kept, kernel_values
from kdsl.numerics.arrays import Floats, Ints, Matrix


@dataclass(frozen=True, eq=False)
class Expanded:
    """A family of Hilbert vectors over the support points of its space: coefficients[member, support point]."""

    name: str
    space: str
    shape: tuple[int, ...]
    coefficients: Floats
    squared_norms: Array


@lru_cache(maxsize=64)
def clause_read(model: Model, clause: Prediction) -> Decision:
    """What a clause says at new points."""
    return decision_of(Translator(model), clause, at_new_point(clause))


@dataclass(frozen=True, eq=False)
class Predictor:
    """The expansions and scalars of a solution, with everything that a predict clause may mention.

    repairs: what was done to a Gram matrix that was not positive semidefinite; the coefficients have it in them,
    kappa(t, t) follows it here. places: where the support points stand among all the points of their space; a model
    file does not have them. New points are float64, or float32 where single precision will do for the expansions.
    """

    model: Model
    kernels: Mapping[str, Kernel]
    support: Mapping[str, Matrix]  # space -> its support points
    vectors: Mapping[str, Expanded]
    scalars: Mapping[str, Array]
    parameters: Mapping[str, float]
    sizes: Mapping[str, int]
    repairs: Mapping[str, Repair] = field(default_factory=dict)
    places: Mapping[str, Ints] = field(default_factory=dict)
    kept: Kept = field(default_factory=Kept)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_expansions"}

    @cached_property
    def _expansions(self) -> dict[str, Against]:
        """What is prepared at the first prediction for those that follow."""
        return {}

    def reaching(self, extra: int) -> Predictor:
        """The same for points with so many features more, which are 0 in the support points."""
        if extra == 0:
            return self
        return replace(self, support={name: widened(points, extra) for name, points in self.support.items()})

    def decision(
        self, points: Matrix, prediction: Prediction | None = None, extra: Mapping[str, Ints] | None = None
    ) -> Array:
        """The real-valued expression of a predict clause: what a sign is taken of, or one column for each class."""
        clause = prediction or self.model.predictions[0]
        said = clause_read(self.model, clause)
        labels = {name: np.asarray((extra or {})[name], dtype=np.int64) for name in clause.formals[1:]}
        rows, step = int(points.shape[0]), self._rows_at_once
        parts = []
        for start in range(0, max(rows, 1), step):
            part = points[start : start + step]
            of_part = {name: codes[start : start + step] for name, codes in labels.items()}
            lengths = self._lengths(said, int(part.shape[0]))
            parts.append(evaluate_formula(said.formula, self._values(part, of_part), lengths))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    @property
    def _rows_at_once(self) -> int:
        """How many new points there may be where their kernel values with training points stand in a formula."""
        members = [self.support[space].shape[0] for space in self.kept.places]
        return block_rows(max(members), DEFAULT_MEMORY) if members else sys.maxsize

    def intercepts(self, prediction: Prediction | None = None) -> Array | None:
        """What a clause that is an expansion plus a number adds to the expansion, for each class; None for others."""
        said = clause_read(self.model, prediction or self.model.predictions[0])
        added = number_added(said.formula)
        no_point = np.empty((1, 0))
        return None if added is None else evaluate(added, self._values(no_point, {}), self._lengths(said, 1))[0]

    def _lengths(self, said: Decision, points: int) -> dict[str, int]:
        return {ROW: points, **({said.letter: self.sizes[said.members]} if said.letter else {})}

    def predict(
        self, points: Matrix, prediction: Prediction | None = None, extra: Mapping[str, Ints] | None = None
    ) -> Array:
        """The predict clause itself: +1 or -1 for a sign, the code of a class for an argmax, a number otherwise."""
        clause = prediction or self.model.predictions[0]
        return self.answer(self.decision(points, clause, extra), clause)

    def answer(self, decision: Array, clause: Prediction) -> Array:
        """What the clause makes of its decision values."""
        if isinstance(clause.body, s.Call) and clause.body.function.id == "sign":
            return np.where(decision >= 0, 1.0, -1.0)
        if isinstance(clause.body, s.Argmax):
            return np.asarray(np.argmax(decision, axis=-1), dtype=np.float64)
        return decision

    def _values(self, points: Matrix, labels: Mapping[str, Ints]) -> Values:
        @cache
        def products(name: str) -> Array:
            family = self.vectors[name]
            columns = self._expansion(family, points).T
            return np.asarray(columns, np.float64).reshape(*family.shape, int(points.shape[0]))

        @cache
        def with_support(space: str) -> Array:
            kernel, support = self.kernels[space], self.support[space]
            return kernel_values(kernel, support, as_double(points), self.repairs.get(space))

        def table(first: Vec, second: Vec) -> Array:
            if first.name != NEW and second.name != NEW:
                return self._among_kept(first, second)
            turned, other = first.name == NEW, second if first.name == NEW else first
            if not other.feature:
                return products(other.name)
            place = self.kept.places[other.space][other.name]
            values = with_support(other.space)[:, place]
            return values if turned else np.moveaxis(values, 0, -1)

        def diagonal(vec: Vec) -> Array:
            if vec.feature and vec.name != NEW:
                place = self.kept.places[vec.space][vec.name]
                return self._self_kernel(vec.space, self.support[vec.space][place.ravel()]).reshape(place.shape)
            if vec.feature:
                return self._self_kernel(vec.space, points)
            return self.vectors[vec.name].squared_norms

        arrays = {**self.kept.numbers, **self.parameters, **self.scalars}
        if not self.kernels:  # a model of columns reads the coordinates of a point
            arrays[NEW] = to_dense(points)
        codes = {**self.kept.labels, **labels}
        return Values(self.sizes, {k: np.asarray(v) for k, v in arrays.items()}, codes, {}, table, diagonal)

    def _among_kept(self, first: Vec, second: Vec) -> Array:
        """Products of kept points with each other, or with an unknown."""
        kept = self.kept.places[(first if first.feature else second).space]
        if not (first.feature and second.feature):
            vector, point = (second, first) if first.feature else (first, second)
            place, family = kept[point.name], self.vectors[vector.name]
            values = self._expansion(family, self.support[family.space][place.ravel()]).T
            values = np.asarray(values, np.float64).reshape((*family.shape, *place.shape))
            axes = range(len(family.shape), values.ndim)
            return np.moveaxis(values, axes, range(len(place.shape))) if first.feature else values
        left, right, support = kept[first.name], kept[second.name], self.support[first.space]
        own = support[left.ravel()]
        block = kernel_values(self.kernels[first.space], support, own, self.repairs.get(first.space))
        return block[:, right.ravel()].reshape((*left.shape, *right.shape))

    def _self_kernel(self, space: str, points: Matrix) -> Floats:
        points = as_double(points)
        if space in self.repairs:
            return self.repairs[space].self_kernel(self.kernels[space], points, self.support[space])
        return np.asarray(self.kernels[space].diagonal(points))

    def _expansion(self, family: Expanded, points: Matrix) -> Floats:
        """Of one vector, or a column for each of several."""
        if family.name not in self._expansions:
            kernel, support, weights = self.kernels[family.space], self.support[family.space], family.coefficients
            self._expansions[family.name] = kernel.expanding(support, weights[0] if len(weights) == 1 else weights.T)
        return self._expansions[family.name](points)
