"""Poses and solves the binary, multiclass or single problems that an estimator's fit consists of."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from kdsl.algebra.derivation import Derivation
from kdsl.binding.arrays import clean_array
from kdsl.binding.binder import bind, tables_from_data
from kdsl.binding.bound import Bound, hash_data
from kdsl.binding.kernels import DEFAULT_MEMORY, Kernel
from kdsl.binding.parameters import bind_parameters
from kdsl.binding.sources import first_size
from kdsl.binding.table import Array, Table
from kdsl.language.model import Model
from kdsl.models.solution import Solution
from kdsl.numerics.arrays import Floats, Ints, Matrix
from kdsl.sklearn.further import joined
from kdsl.sklearn.reading import Reading
from kdsl.solving.api import Prepared, build_kernels, with_kernels
from kdsl.solving.backends.interface import Options
from kdsl.solving.derived import derivation_of
from kdsl.solving.posed import Posed, pose
from kdsl.solving.spaces import inputs_of, problem_values


class Examples(NamedTuple):
    """The training data of one estimator after scikit-learn's checks.

    X are features, or, `pairwise`, kernel values with all the points; further are data of the spec beside the
    input, target and weight, tables where their columns have names; names are the columns' where X came as a frame.
    """

    reading: Reading
    X: Matrix
    target: Array | None
    weights: Floats | None
    further: Mapping[str, Any]
    names: Sequence[str] | None
    pairwise: bool

    def take(self, rows: Ints) -> Examples:
        """These rows only, along every axis that runs over the examples."""
        X = self.X[rows]
        return self._replace(
            X=X[:, rows] if self.pairwise else X,
            target=None if self.target is None else self.target[rows],
            weights=None if self.weights is None else self.weights[rows],
            further={name: self._cut(name, value, rows) for name, value in self.further.items()},
        )

    def _cut(self, name: str, value: Any, rows: Ints) -> Any:
        size = first_size(self.reading.model)
        datum = next((d for d in self.reading.model.data if d.name == name), None)
        if isinstance(value, Table):
            ours = datum is not None and datum.sets[:1] and datum.sets[0].size == size
            return value.take(rows) if ours and value.rows == self.X.shape[0] else value
        array = sp.csr_array(value) if sp.issparse(value) else np.asarray(value)
        for axis, index_set in enumerate(() if datum is None else datum.sets):
            if index_set.size == size and array.shape[axis] == self.X.shape[0]:
                array = array[rows] if axis == 0 else array[:, rows]
        return array


class Part(NamedTuple):
    """One problem: the rows of the examples that it has, its targets, and what it is called in messages."""

    rows: Ints
    target: Array | None
    name: str = ""


class Settings(NamedTuple):
    """How to solve."""

    parameters: Mapping[str, float]
    kernels: Mapping[str, Any]
    psd: str
    backend: str | None
    options: Options


class Solved(NamedTuple):
    """A part with its solution and the problem that it solves."""

    part: Part
    solution: Solution
    posed: Posed


def solve_parts(examples: Examples, parts: Sequence[Part], settings: Settings) -> list[Solved]:
    """Every part solved; the derivation and the kernels are the same for all, the Gram matrix where the rows are."""
    task = Task(examples, settings)
    texts = {name: given for name, given in settings.kernels.items() if isinstance(given, str)}
    binding = {"kernels": texts, "psd": settings.psd, "seed": settings.options.seed}
    kernels: dict[str, Kernel] | None = None
    solved: list[Solved] = []
    for part in parts:
        began = time.perf_counter()
        if solved and part.target is not None and np.array_equal(solved[-1].part.rows, part.rows):
            posed = with_target(solved[-1].posed, examples.reading.target, part.target)
        else:
            bound = task.bound(part)
            kernels = task.kernels(bound) if kernels is None else kernels
            posed = task.posed(bound, kernels)
        prepared = Prepared(posed, binding, {"read": 0.0, "lower": time.perf_counter() - began})
        solved.append(Solved(part, prepared.solve(settings.options, settings.backend), posed))
    return solved


def with_target(posed: Posed, target: str, values: Array) -> Posed:
    """The same points with other labels: Gram matrices are shared."""
    arrays = {**posed.bound.arrays, target: values}
    bound = replace(posed.bound, arrays=arrays, data_hash=hash_data(arrays, posed.bound.points))
    return replace(posed, bound=bound, values=problem_values(bound, posed.parameters, posed.spaces))


@dataclass(frozen=True, eq=False)
class Task:
    """What all the parts of a fit have in common."""

    examples: Examples
    settings: Settings

    @property
    def model(self) -> Model:
        return self.examples.reading.model

    def posed(self, bound: Bound, kernels: Mapping[str, Kernel]) -> Posed:
        policy, seed = self.settings.psd, self.settings.options.seed
        return pose(self.derivation, bound, self.parameters, kernels, DEFAULT_MEMORY, policy, seed)

    @cached_property
    def parameters(self) -> dict[str, float]:
        return bind_parameters(self.model, dict(self.settings.parameters))

    @cached_property
    def derivation(self) -> Derivation:
        return derivation_of(with_kernels(self.model, self.settings.kernels)[0], self.parameters)

    def bound(self, part: Part) -> Bound:
        """The rows of a part, bound to the model."""
        model = self.derivation.model
        return bind(model, tables_from_data(model, self.data(part)))

    def kernels(self, bound: Bound) -> dict[str, Kernel]:
        """One set for all parts: words such as `scale` get the value that all the points give them."""
        model, functions = with_kernels(self.model, self.settings.kernels)
        name = self.examples.reading.input
        if name in bound.points and not self.examples.pairwise:
            everything = replace(bound.points[name], features=self.examples.X)
            bound = replace(bound, points={**bound.points, name: everything})
        return build_kernels(model, bound, self.parameters, functions, inputs_of(self.derivation))

    def data(self, part: Part) -> Any:
        """The data of a part by the names of the spec; named columns stay named."""
        reading, own = self.examples.reading, self.examples.take(part.rows)
        arrays = dict(own.further)
        if part.target is not None:
            arrays[reading.target] = part.target
        if own.weights is not None:
            weighing = {reading.weight: own.weights, reading.total: own.weights.sum()}
            arrays.update({name: value for name, value in weighing.items() if name})
        names = None if own.pairwise else own.names
        if names is None:
            arrays[reading.input] = own.X
            if not any(isinstance(value, Table) for value in arrays.values()):
                return arrays
        cleaned = {
            name: value if isinstance(value, Table) else clean_array(value, f"the array `{name}`")
            for name, value in arrays.items()
        }
        if names is None:
            return joined(self.model, [], cleaned)
        columns = tuple(f"{reading.input}.{name}" for name in names)
        return joined(self.model, [Table("the data", columns, own.X, order=columns)], cleaned)
