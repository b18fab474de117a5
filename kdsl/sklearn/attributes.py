"""The attributes of a fitted estimator, read off its solutions in the numbering of the training data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from kdsl.algebra.numeric import Array
from kdsl.binding.kernels import Linear
from kdsl.binding.sources import first_size
from kdsl.models.predictor import Predictor
from kdsl.numerics.arrays import Floats, Ints
from kdsl.sklearn.fitting import Solved
from kdsl.sklearn.reading import Reading, names_in


class Expansion(NamedTuple):
    """coefficients[vector, support point] of the Hilbert vectors in the predict clause; support are training rows."""

    support: Ints
    coefficients: Floats


def expansion_of(solved: Sequence[Solved], reading: Reading, kept: Ints, total: int) -> Expansion:
    """One row of coefficients for each vector of each machine, over the rows that any of them needs.

    kept: the training row of each example that was not left out.
    """
    named = names_in(reading)
    rows: list[Floats] = []
    for one in solved:
        predictor = one.solution.predictor
        for name, vector in predictor.vectors.items():
            if name not in named:
                continue
            space = one.posed.spaces[vector.space]
            if reading.input not in space.inputs:
                continue
            within, place = space.slice(reading.input), predictor.places[vector.space]
            mine = (place >= within.start) & (place < within.stop)
            places = kept[one.part.rows[place[mine] - within.start]]
            for member in vector.coefficients:
                row = np.zeros(total)
                row[places] = member[mine]
                rows.append(row)
    full = np.array(rows).reshape(len(rows), total)
    support = np.flatnonzero(np.any(full != 0, axis=0))
    return Expansion(support.astype(np.int32), full[:, support])


def is_linear(solved: Sequence[Solved], reading: Reading) -> bool:
    """Whether the vectors of the clause are sums of training points, weighed by their coefficients."""
    named, one = names_in(reading), solved[0]
    spaces = {vector.space for name, vector in one.solution.predictor.vectors.items() if name in named}
    return bool(spaces) and all(
        type(one.solution.predictor.kernels[name]) is Linear and set(one.posed.spaces[name].inputs) == {reading.input}
        for name in spaces
    )


def intercepts_of(solved: Sequence[Solved], reading: Reading) -> Floats | None:
    """The number that the clause adds to its expansion; None where it is something else."""
    values = [one.solution.predictor.intercepts(reading.clause) for one in solved]
    known = [np.ravel(value) for value in values if value is not None]
    return np.concatenate(known) if len(known) == len(values) else None


def at_first_point(one: Solved, reading: Reading, predictor: Predictor) -> Array:
    """What the clause says at the first example; an input that is a matrix x[i, j] is among the arrays."""
    bound = one.solution.bound
    points = bound.points.get(reading.input)
    first = bound.arrays[reading.input][:1] if points is None else points.features[:1]
    return predictor.decision(first, reading.clause)


def without_scalars(predictor: Predictor) -> Predictor:
    return replace(predictor, scalars={name: np.zeros_like(value) for name, value in predictor.scalars.items()})


def multipliers_of(one: Solved, reading: Reading, kept: Ints, total: int) -> dict[str, Array]:
    """The multipliers by the label of their constraint; 0 for training rows that had no part in the problem."""
    size = first_size(reading.model)
    places = kept[one.part.rows]
    result: dict[str, Array] = {}
    for label, values in one.solution.multipliers.items():
        sets = one.solution.derivation.lagrangian.multiplier(label).sets
        result[label] = spread(np.asarray(values), [z == size for z in sets], places, total)
    return result


def spread(values: Array, along: Sequence[bool], places: Ints, total: int) -> Array:
    """An array over some examples as one over all, along the axes that run over examples."""
    for axis, over_examples in enumerate(along):
        if over_examples and values.shape[axis] != total:
            shape = (*values.shape[:axis], total, *values.shape[axis + 1 :])
            wider = np.zeros(shape)
            wider[(slice(None),) * axis + (places,)] = values
            values = wider
    return values
