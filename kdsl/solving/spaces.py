"""The Hilbert spaces of a bound problem: for each kernel its points, its Gram oracle and where each point stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kdsl.algebra.derivation import Derivation
from kdsl.algebra.numeric import Array, Values
from kdsl.algebra.poly import Poly
from kdsl.algebra.terms import Inner, Vec
from kdsl.binding.bound import Bound
from kdsl.binding.gram import gram_oracle
from kdsl.binding.kernels import Kernel
from kdsl.binding.psd import Repair, audit_psd, repair
from kdsl.numerics.arrays import Ints, Matrix
from kdsl.numerics.grams import GramOracle


@dataclass(frozen=True, eq=False)
class Space:
    """One kernel on all the points that the problem evaluates it at, input after input."""

    name: str
    kernel: Kernel | None
    oracle: GramOracle
    inputs: tuple[str, ...]
    shapes: Mapping[str, tuple[int, ...]]
    starts: Mapping[str, int]
    points: Matrix | None = None
    repair: Repair | None = None  # of a Gram matrix that no formula makes positive semidefinite

    @property
    def size(self) -> int:
        return self.oracle.size

    def position(self, vec: Vec, places: tuple[Ints, ...]) -> Ints:
        """Where the points of a feature stand in the list of all points."""
        flat: Ints = np.zeros(1, dtype=np.int64) if not places else np.asarray(0, dtype=np.int64)
        for place, length in zip(places, self.shapes[vec.name], strict=True):
            flat = flat * length + place
        return self.starts[vec.name] + flat

    def slice(self, name: str) -> slice:
        return slice(self.starts[name], self.starts[name] + int(np.prod(self.shapes[name], dtype=int)))

    def split(self, over_points: Array, name: str) -> Array:
        """The part of an array over all points that belongs to one input, in the shape of its indices."""
        part = over_points[..., self.slice(name)]
        return np.asarray(part.reshape((*part.shape[:-1], *self.shapes[name])))


def inputs_of(derivation: Derivation) -> dict[str, tuple[str, ...]]:
    """Which inputs each kernel is evaluated at, in the order of their declaration."""
    bodies: list[Poly] = [derivation.lagrangian.body, *(c.body for c in derivation.primal.conditions)]
    seen: dict[str, set[str]] = {kernel.name: set() for kernel in derivation.model.kernels}
    for body in bodies:
        for factor in body.factors():
            for vec in (factor.left, factor.right) if isinstance(factor, Inner) else ():
                if vec.feature:
                    seen.setdefault(vec.space, set()).add(vec.name)
    declared = [d.name for d in derivation.model.data if d.kind == "input"]
    return {space: tuple(name for name in declared if name in names) for space, names in seen.items() if names}


def build_spaces(derivation: Derivation, bound: Bound, kernels: Mapping[str, Kernel], memory: int) -> dict[str, Space]:
    """The spaces with an oracle of their kernel over all their inputs; no kernel is evaluated yet."""
    spaces = {}
    for name, inputs in inputs_of(derivation).items():
        oracle = gram_oracle(kernels[name], [bound.points[i].features for i in inputs], memory)
        space = space_of(derivation, bound, name, inputs, kernels[name], oracle)
        spaces[name] = replace(space, points=oracle.points)
    return spaces


def audited(spaces: Mapping[str, Space], memory: int, policy: str = "refuse", seed: int = 0) -> dict[str, Space]:
    """The spaces with every Gram matrix that no formula makes positive semidefinite audited and repaired."""
    result = dict(spaces)
    for name, space in spaces.items():
        if space.kernel is not None and not space.kernel.psd:
            repaired = repair(space.oracle, audit_psd(space.oracle, memory=memory, seed=seed), policy)
            result[name] = replace(space, oracle=repaired.gram, repair=repaired)
    return result


def space_of(
    derivation: Derivation, bound: Bound, name: str, inputs: tuple[str, ...], kernel: Kernel | None, oracle: GramOracle
) -> Space:
    sets = {d.name: tuple(z.size for z in d.sets) for d in derivation.model.data}
    shapes = {i: tuple(int(z) if z.isdigit() else bound.sizes[z] for z in sets[i]) for i in inputs}
    starts, start = {}, 0
    for i in inputs:
        starts[i] = start
        start += int(np.prod(shapes[i], dtype=int))
    return Space(name, kernel, oracle, inputs, shapes, starts)


def problem_values(bound: Bound, parameters: Mapping[str, float], spaces: Mapping[str, Space]) -> Values:
    """The numbers of a bound problem; inner products with unknowns come later, from a solution."""
    arrays: dict[str, Array] = {name: np.asarray(value) for name, value in parameters.items()}
    labels: dict[str, NDArray[np.int64]] = {}
    for name, value in bound.arrays.items():
        if np.issubdtype(value.dtype, np.integer):
            labels[name] = np.asarray(value, dtype=np.int64)
        else:
            arrays[name] = np.asarray(value, dtype=np.float64)
    return Values(bound.sizes, arrays, labels, {}, _FeatureProducts(spaces).table, _FeatureProducts(spaces).diagonal)


class _FeatureProducts:
    def __init__(self, spaces: Mapping[str, Space]) -> None:
        self._spaces = spaces

    def table(self, first: Vec, second: Vec) -> Array:
        space = self._spaces[first.space]
        rows = np.arange(space.slice(first.name).start, space.slice(first.name).stop)
        block = space.oracle.rows(rows)[:, space.slice(second.name)]
        return np.asarray(block.reshape((*space.shapes[first.name], *space.shapes[second.name])))

    def diagonal(self, vec: Vec) -> Array:
        space = self._spaces[vec.space]
        return space.split(space.oracle.diagonal(), vec.name)
