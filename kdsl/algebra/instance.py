"""Random small instances of a model, with explicit features, on which a derivation can be put to the test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from kdsl.algebra.numeric import Array, Values
from kdsl.algebra.terms import Vec
from kdsl.language import model as m
from kdsl.language import syntax as s


@dataclass(frozen=True)
class Instance:
    """features[space][input] are the images of the points, one axis for each index and a last one for coordinates."""

    sizes: Mapping[str, int]
    arrays: Mapping[str, Array]
    labels: Mapping[str, NDArray[np.int64]]
    features: Mapping[str, Mapping[str, Array]]
    dimensions: Mapping[str, int]

    def values(self, multipliers: Mapping[str, Array]) -> Values:
        return Values(self.sizes, self.arrays, self.labels, multipliers, self.gram, self.diagonal)

    def diagonal(self, vec: Vec) -> Array:
        return np.asarray((self.features[vec.space][vec.name] ** 2).sum(axis=-1))

    def gram(self, first: Vec, second: Vec) -> Array:
        a, b = self.features[first.space][first.name], self.features[second.space][second.name]
        table: Array = np.tensordot(a, b, axes=([a.ndim - 1], [b.ndim - 1]))
        return table


def random_instance(
    model: m.Model, generator: np.random.Generator, count: int = 6, fixed: Mapping[str, Fraction] | None = None
) -> Instance:
    """Sizes near `count`; data and parameters, unless `fixed`, anywhere in their domains; features at random."""
    sizes: dict[str, int] = {}
    for index in model.indices:
        for index_set in index.sets:
            if not index_set.size.isdigit():
                taken = len(sizes)
                sizes.setdefault(index_set.size, 3 if index_set.labelled or taken else count)
    filtered = _names_in_filters(model)
    arrays: dict[str, Array] = {}
    labels: dict[str, NDArray[np.int64]] = {}
    for datum in model.data:
        shape = tuple(_size(z, sizes) for z in datum.sets)
        if datum.kind == "set":
            assert datum.labels is not None
            labels[datum.name] = _every_label(generator, shape, _size(datum.labels, sizes))
        elif datum.kind == "finite":
            arrays[datum.name] = _every_value(generator, shape, [float(v) for v in datum.values])
        elif datum.kind == "real":
            draw = generator.integers(0, 3, shape).astype(float) if datum.name in filtered else _real(generator, shape)
            arrays[datum.name] = _inside(draw, datum.interval)
    for parameter in model.parameters:
        shape = tuple(_size(z, sizes) for z in parameter.sets)
        arrays[parameter.name] = _inside(_real(generator, shape), parameter.interval)
        if fixed and parameter.name in fixed:
            arrays[parameter.name] = np.full(shape, float(fixed[parameter.name]))
    dimensions = {kernel.name: int(generator.choice([2, count + 2])) for kernel in model.kernels}
    features = {
        kernel.name: {
            datum.name: generator.normal(size=(*(_size(z, sizes) for z in datum.sets), dimensions[kernel.name]))
            for datum in model.data
            if datum.kind == "input"
        }
        for kernel in model.kernels
    }
    return Instance(sizes, arrays, labels, features, dimensions)


def _size(index_set: m.IndexSet, sizes: Mapping[str, int]) -> int:
    return int(index_set.size) if index_set.size.isdigit() else sizes[index_set.size]


def _real(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return np.asarray(generator.normal(size=shape))


def _inside(draw: Array, interval: m.Interval) -> Array:
    """Normal draws carried into an interval: squeezed between two ends, folded away from one."""
    low = None if interval.lower is None else float(interval.lower)
    high = None if interval.upper is None else float(interval.upper)
    if low is not None and high is not None:
        return np.asarray(low + (high - low) * (0.1 + 0.8 / (1 + np.exp(-draw))))
    if low is not None:
        return np.asarray(low + 0.2 + np.abs(draw))
    if high is not None:
        return np.asarray(high - 0.2 - np.abs(draw))
    return draw


def _every_value(generator: np.random.Generator, shape: tuple[int, ...], values: list[float]) -> Array:
    """Random values of a finite domain, each of them occurring where there is room."""
    return np.asarray(values)[_every_label(generator, shape, len(values))]


def _every_label(generator: np.random.Generator, shape: tuple[int, ...], count: int) -> NDArray[np.int64]:
    total = int(np.prod(shape))
    codes = np.concatenate([np.arange(count), generator.integers(0, count, max(total - count, 0))])[:total]
    return np.asarray(generator.permutation(codes).reshape(shape), dtype=np.int64)


def _names_in_filters(model: m.Model) -> set[str]:
    """Data that filters compare: they get few values, so that both outcomes occur."""
    found: set[str] = set()
    filters = [c for index in model.indices for c in index.where] + [c for con in model.constraints for c in con.where]
    for comparison in filters:
        for side in (comparison.left, comparison.right):
            if isinstance(side, s.Item):
                found.add(side.base.id)
    return found
