"""Voting: machines for two classes at a time, and the class with the most votes of them, as LIBSVM counts them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from kdsl.binding.bound import LabelSet
from kdsl.binding.expansions import block_rows
from kdsl.binding.kernels import DEFAULT_MEMORY
from kdsl.binding.precomputed import Precomputed, test_points
from kdsl.binding.table import as_double
from kdsl.models.fitted import Fitted
from kdsl.models.predictor import Predictor

if TYPE_CHECKING:
    from kdsl.algebra.numeric import Array
    from kdsl.numerics.arrays import Floats, Ints, Matrix


@dataclass(frozen=True, eq=False)
class Voting(Fitted):
    """One machine for each pair of classes i < j, in the order (0, 1), (0, 2), ..., (1, 2), ...


    A machine votes for i where its value is above 0, else for j; of the classes with the most votes the first wins.
    `predictor` is the first machine.
    """

    machines: tuple[Predictor, ...]
    classes: LabelSet

    @property
    def decision_names(self) -> tuple[str, ...]:
        return tuple(f"{first}/{second}" for first, second in combinations(self.classes.names, 2))

    def predict_both(self, points: Matrix, labels: Mapping[str, Ints]) -> tuple[Array, Array]:
        """(labels, one decision value for each pair)."""
        points = as_double(points)
        support = self.predictor.reaching(self._extra(points)).support[self._space]
        step = block_rows(support.shape[0], DEFAULT_MEMORY)
        starts = range(0, max(points.shape[0], 1), step)
        decision = np.concatenate([self._decisions(points[start : start + step], support) for start in starts])
        votes = np.zeros((decision.shape[0], len(self.classes.names)), dtype=np.int64)
        for values, (i, j) in zip(decision.T, combinations(range(len(self.classes.names)), 2), strict=True):
            votes[:, i] += values > 0
            votes[:, j] += values <= 0
        return self.classes.decode(np.argmax(votes, axis=1)), decision

    @property
    def _space(self) -> str:
        return next(iter(self.predictor.vectors.values())).space

    def _decisions(self, points: Matrix, support: Matrix) -> Array:
        """All machines at some points: the kernel is evaluated once, and each machine looks its values up."""
        kernel = self.predictor.kernels[self._space]
        own = kernel.diagonal(points)
        table = test_points(kernel.block(points, support), support.shape[0], own, "the new points")
        places = np.column_stack([kernel.diagonal(support), np.arange(support.shape[0])])
        return np.column_stack(
            [_looking_up(m, self._space, places).decision(table, self.clause) for m in self.machines]
        )


def _looking_up(machine: Predictor, space: str, places: Floats) -> Predictor:
    """The machine for points that are rows of kernel values, cut down to the support vectors that it has."""
    has = np.any([v.coefficients[0] != 0 for v in machine.vectors.values()], axis=0)
    vectors = {name: replace(v, coefficients=v.coefficients[:, has]) for name, v in machine.vectors.items()}
    return replace(machine, kernels={space: Precomputed()}, support={space: places[has]}, vectors=vectors)


def voting_of(fitted: Fitted, names: Sequence[str]) -> Voting:
    """The machines of a file, where every expansion and every scalar has a row for each pair of the classes."""
    pairs = len(names) * (len(names) - 1) // 2
    shapes = {len(vector.coefficients) for vector in fitted.predictor.vectors.values()}
    if pairs < 1 or shapes | {len(value) for value in fitted.predictor.scalars.values()} != {pairs}:
        raise ValueError(f"{len(names)} classes do not vote with {shapes} machines")
    machines = tuple(_machine(fitted.predictor, row) for row in range(pairs))
    about = (fitted.feature_maps, fitted.label_maps, fitted.label_sets, fitted.columns)
    return Voting(machines[0], *about, machines, LabelSet(tuple(names), True))


def _machine(predictor: Predictor, row: int) -> Predictor:
    vectors = {
        name: replace(
            vector, coefficients=vector.coefficients[row : row + 1], squared_norms=np.asarray(vector.squared_norms[row])
        )
        for name, vector in predictor.vectors.items()
    }
    return replace(predictor, vectors=vectors, scalars={n: np.asarray(v[row]) for n, v in predictor.scalars.items()})
