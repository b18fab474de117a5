"""Codes any number of classes for a spec that knows two, or for one that knows them all, and reads its answers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from kdsl.algebra.numeric import Array
from kdsl.numerics.arrays import Floats, Ints
from kdsl.sklearn.fitting import Part
from kdsl.sklearn.reading import Reading

CODINGS = ("ovo", "ovr")


class Coding(NamedTuple):
    """kind is "two", "ovo", "ovr" or "native"; low and high are the spec's values for a first and a second class."""

    kind: str
    number: int
    low: float
    high: float
    by_pair: bool

    def parts(self, codes: Ints, classes: Array) -> list[Part]:
        """The problems to solve, for classes coded 0, 1, ..."""
        everything = np.arange(len(codes))
        if self.kind == "native":
            return [Part(everything, codes.astype(np.float64))]
        if self.kind == "two":
            return [Part(everything, self._values(codes == 1))]
        if self.kind == "ovr":
            names = [f"{label!s} against the rest" for label in classes]
            return [Part(everything, self._values(codes == k), names[k]) for k in range(self.number)]
        parts = []
        for first, second in combinations(range(self.number), 2):
            rows = np.flatnonzero((codes == first) | (codes == second))
            name = f"{classes[first]!s} against {classes[second]!s}"
            parts.append(Part(rows, self._values(codes[rows] == second), name))
        return parts

    def _values(self, second: Array) -> Floats:
        return np.where(second, self.high, self.low)

    def decision(self, values: Sequence[Array]) -> Floats:
        """What decision_function returns for the values of the machines."""
        if self.kind == "ovo" and self.by_pair:
            return -np.column_stack(values)  # as SVC has it: positive for the first class of the pair
        return self._scores(values)

    def predict(self, values: Sequence[Array]) -> Ints:
        """The code of a class for each point."""
        scores = self._scores(values)
        return (scores > 0).astype(np.int64) if self.number == 2 else np.asarray(np.argmax(scores, axis=1))

    def _scores(self, values: Sequence[Array]) -> Floats:
        """One number for two classes, one column for each class otherwise."""
        if self.kind == "two":
            return values[0]
        if self.kind == "native":
            columns = values[0]
            return np.asarray(columns[:, 1] - columns[:, 0] if self.number == 2 else columns)
        return np.asarray(np.column_stack(values)) if self.kind == "ovr" else self._votes(values)

    def _votes(self, values: Sequence[Array]) -> Floats:
        """Votes of the pairs, and between equal votes the sum of what each pair says, squeezed into (-1/3, 1/3)."""
        votes = np.zeros((len(values[0]), self.number))
        sums = np.zeros_like(votes)
        for (first, second), value in zip(combinations(range(self.number), 2), values, strict=True):
            votes[:, first] += value <= 0
            votes[:, second] += value > 0
            sums[:, first] -= value
            sums[:, second] += value
        return np.asarray(votes + sums / (3 * (np.abs(sums) + 1)))


def coding_of(reading: Reading, number: int, multiclass: Any, shape: Any) -> Coding:
    """How a spec of this kind tells `number` classes apart."""
    for name, value in (("multiclass", multiclass), ("decision_function_shape", shape)):
        if value not in CODINGS:
            raise ValueError(f"{name} must be 'ovo' or 'ovr', not {value!r}")
    if reading.native:
        return Coding("native", number, 0.0, 0.0, False)
    low, high = sorted(float(value) for value in reading.datum(reading.target).values)
    return Coding("two" if number == 2 else multiclass, number, low, high, shape == "ovo")
