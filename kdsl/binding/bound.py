"""Bound: a model's data after binding: sizes, arrays, points by input, and the way back to the user's labels."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from kdsl.binding.points import FeatureMap, Points, Scaling, label_word
from kdsl.binding.table import Array
from kdsl.language.diagnostics import Diagnostic
from kdsl.numerics.arrays import Floats, Ints, Matrix


@dataclass(frozen=True)
class LabelMap:
    """The two labels of the data and the two values of the spec that stand for them."""

    negative: str
    positive: str
    low: float = -1.0
    high: float = 1.0
    numeric: bool = True

    def describe(self) -> str:
        return f"{self.negative} -> {label_word(self.low)}, {self.positive} -> {label_word(self.high)}"

    def decode(self, values: Floats) -> Array:
        """The user's labels for values of the spec; a value above the middle is the positive one (0 is not)."""
        pair = np.array([self.negative, self.positive], dtype=object)
        if self.numeric:
            pair = pair.astype(np.float64)
        chosen: Array = pair[(values > (self.low + self.high) / 2).astype(np.int64)]
        return chosen


@dataclass(frozen=True)
class LabelSet:
    """The labels behind the codes 0..K-1 of an index set such as `classes`."""

    names: tuple[str, ...]
    numeric: bool

    def decode(self, codes: Ints) -> Array:
        names = np.array(self.names, dtype=object)
        chosen: Array = (names.astype(np.float64) if self.numeric else names)[codes]
        return chosen


@dataclass(frozen=True, eq=False)
class Bound:
    """Everything that lowering needs of the data.

    arrays: float64 for real and finite data (finite ones hold the spec's values), int64 codes for labels.
    label_sets is by the name of the index set (`classes`), label_maps by the datum (`y`), feature_maps by input.
    sources names the column or array that each datum came from.
    """

    sizes: Mapping[str, int]
    arrays: Mapping[str, Array]
    points: Mapping[str, Points]
    label_sets: Mapping[str, LabelSet]
    label_maps: Mapping[str, LabelMap]
    feature_maps: Mapping[str, FeatureMap]
    sources: Mapping[str, str]
    dropped: Mapping[str, int]
    warnings: tuple[Diagnostic, ...]
    data_hash: str

    @property
    def scaling(self) -> Scaling:
        """The scaling of the first input (inputs of the same features share it)."""
        return next(iter(self.feature_maps.values())).scaling


def hash_data(arrays: Mapping[str, Array], points: Mapping[str, Points]) -> str:
    """SHA-256 over names, shapes and values as bound (after dropping and scaling), in the order of names."""
    digest = hashlib.sha256()
    everything: dict[str, Array | Matrix] = {**arrays, **{name: p.features for name, p in points.items()}}
    for name in sorted(everything):
        value = everything[name]
        digest.update(f"{name}:{value.shape}:{value.dtype.str}".encode())
        if sp.issparse(value):
            matrix = sp.csr_array(value)
            for part in (matrix.indptr.astype("<i8"), matrix.indices.astype("<i8"), matrix.data.astype("<f8")):
                digest.update(_bytes(part))
        else:
            digest.update(_bytes(value))
    return digest.hexdigest()


def _bytes(array: Array) -> memoryview:
    """The bytes of an array, without a copy where they lie in order."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
