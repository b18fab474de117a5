"""The machines that an estimator keeps: predictors cut down to what decides, sharing their kernel values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from kdsl.algebra.numeric import Array
from kdsl.binding.expansions import block_rows
from kdsl.binding.kernels import DEFAULT_MEMORY, Kernel
from kdsl.binding.points import FeatureMap
from kdsl.binding.precomputed import Precomputed, test_points
from kdsl.binding.table import as_double
from kdsl.language.model import Prediction
from kdsl.models.predictor import Predictor
from kdsl.numerics.arrays import Floats, Ints, Matrix
from kdsl.sklearn.fitting import Solved
from kdsl.sklearn.reading import Reading


@dataclass(frozen=True, eq=False)
class Shared:
    """One kernel on the support points of all machines: each machine looks its values up."""

    kernel: Kernel
    support: Matrix

    def looked_up(self, points: Matrix) -> Floats:
        """The points as a precomputed kernel has them."""
        own = self.kernel.diagonal(points)
        return test_points(self.kernel.block(points, self.support), self.support.shape[0], own, "the new points")


@dataclass(frozen=True, eq=False)
class Machines:
    """Predictors that answer together; plain picklable data.

    columns: for each machine the columns of a precomputed X that are its points, None where X are features.
    """

    predictors: tuple[Predictor, ...]
    clause: Prediction
    feature_maps: tuple[FeatureMap, ...]
    columns: tuple[Ints | None, ...]
    shared: Shared | None

    def decisions(
        self, X: Matrix, clause: Prediction | None = None, codes: Mapping[str, int] | None = None
    ) -> list[Array]:
        """The value of the predict clause, or of another one, at each row of X, machine by machine.

        codes: those of the labels that it takes beside the point, the same for all rows.
        """

        def value(predictor: Predictor, points: Matrix) -> Array:
            labels = {name: np.full(points.shape[0], code) for name, code in (codes or {}).items()}
            return predictor.decision(points, clause or self.clause, labels)

        if self.shared is None:
            return [
                value(predictor, feature_map.apply_array(X if own is None else X[:, own], "X").features)
                for predictor, feature_map, own in zip(self.predictors, self.feature_maps, self.columns, strict=True)
            ]
        points = as_double(self.feature_maps[0].apply_array(X, "X").features)
        step = block_rows(self.shared.support.shape[0], DEFAULT_MEMORY)
        starts = range(0, max(points.shape[0], 1), step)
        parts = [self.shared.looked_up(points[start : start + step]) for start in starts]
        return [np.concatenate([value(p, part) for part in parts]) for p in self.predictors]


def machines_of(solved: Sequence[Solved], reading: Reading, columns: Ints | None) -> Machines:
    """What is kept of the solutions: one machine as it is, several over the union of their support points.

    columns: those of a precomputed X that belong to the examples, None where X are features.
    """
    clause = reading.clause
    predictors = [portable(one.solution.predictor) for one in solved]
    maps = tuple(one.solution.bound.feature_maps[reading.input] for one in solved)
    own = tuple(None if columns is None else columns[one.part.rows] for one in solved)
    space = common_space(solved) if columns is None else None
    if space is None:
        return Machines(tuple(predictors), clause, maps, own, None)
    places = [one.part.rows[p.places[space]] for one, p in zip(solved, predictors, strict=True)]
    union, first = np.unique(np.concatenate(places), return_index=True)
    shared = Shared(predictors[0].kernels[space], stacked([p.support[space] for p in predictors])[first])
    looking = [looking_up(p, space, np.searchsorted(union, at)) for p, at in zip(predictors, places, strict=True)]
    return Machines(tuple(looking), clause, maps, own, shared)


def common_space(solved: Sequence[Solved]) -> str | None:
    """The one space of several machines, where all its points are examples."""
    spaces = solved[0].posed.spaces
    if len(solved) == 1 or len(spaces) != 1:
        return None
    name, space = next(iter(spaces.items()))
    return name if len(space.inputs) == 1 else None


def looking_up(predictor: Predictor, space: str, places: Ints) -> Predictor:
    """The predictor for points that are rows of kernel values; `places` are the columns of its support points."""
    own = predictor.kernels[space].diagonal(predictor.support[space])
    points = np.column_stack([own, places.astype(np.float64)])
    return replace(predictor, kernels={space: Precomputed()}, support={space: points})


def portable(predictor: Predictor) -> Predictor:
    """Without Gram oracles, and without the training columns of a precomputed kernel: neither is needed to predict."""
    nothing: Any = None
    repairs = {name: replace(repair, gram=nothing) for name, repair in predictor.repairs.items()}
    support = {
        name: points[:, -2:] if isinstance(predictor.kernels[name], Precomputed) else points
        for name, points in predictor.support.items()
    }
    return replace(predictor, repairs=repairs, support=support)


def stacked(parts: Sequence[Matrix]) -> Matrix:
    """The rows of all parts, one part after another."""
    if any(sp.issparse(part) for part in parts):
        return sp.csr_array(sp.vstack([sp.csr_array(part) for part in parts], format="csr"))
    return np.vstack(parts)
