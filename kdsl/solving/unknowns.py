"""The primal unknowns of a solved problem: Hilbert vectors as expansions, with the numbers that conditions need."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from kdsl.algebra.derivation import Derivation
from kdsl.algebra.energies import later_unknown
from kdsl.algebra.numeric import Array, Values, evaluate
from kdsl.algebra.poly import Monomial, Poly
from kdsl.algebra.primal import Unknown
from kdsl.algebra.terms import Vec
from kdsl.numerics.arrays import Floats
from kdsl.numerics.grams import GramOracle
from kdsl.solving.certificate import Products
from kdsl.solving.lowering import Lowered
from kdsl.solving.spaces import Space

UNIT_ROUNDOFF = 2.0**-53


@dataclass(frozen=True, eq=False)
class HilbertUnknown:
    """One family of Hilbert vectors: coefficients[member, point] and their values <w_member, phi(point)>."""

    name: str
    space: str
    shape: tuple[int, ...]
    coefficients: Floats
    values: Floats

    def scaled(self, factor: float) -> HilbertUnknown:
        return replace(self, coefficients=self.coefficients * factor, values=self.values * factor)

    def norm_rounding(self, gram: GramOracle) -> float:
        """What rounding may make of a squared norm: each entry of K is off by u max K, and no two alike."""
        size = float(np.abs(gram.diagonal()).max(initial=0.0))
        return UNIT_ROUNDOFF * size * float(np.square(self.coefficients).sum(axis=1).max(initial=0.0))

    def squared_norms(self) -> Array:
        norms = np.maximum((self.coefficients * self.values).sum(axis=1), 0.0)
        return np.asarray(norms.reshape(self.shape))


def hilbert_unknowns(
    derivation: Derivation,
    lowered: Lowered,
    products: Products,
    spaces: Mapping[str, Space],
    norm: float | None,
    values: Values,
) -> dict[str, HilbertUnknown]:
    """w = factor (S theta + s) for every block, divided by the norm multiplier where that was folded away.

    An unknown that was minimised out in terms of another one gets that one's part added.
    """
    gathered: dict[str, list[tuple[tuple[int, ...], Floats, Floats]]] = {}
    divide = 1.0 if norm is None else (1.0 / norm if norm > 0 else 0.0)
    for origin, expansion, image in zip(lowered.origins, products.expansions, products.images, strict=True):
        if origin.space:
            factor = origin.factor * divide
            gathered.setdefault(origin.unknown, []).append((origin.places, expansion * factor, image * factor))
    result = {}
    for unknown in derivation.primal.unknowns:
        if unknown.space is None or unknown.space not in spaces:
            continue
        space = spaces[unknown.space]
        members = gathered.get(unknown.name, [((), np.zeros(space.size), np.zeros(space.size))])
        members.sort(key=lambda member: member[0])
        shape = tuple(int(n) + 1 for n in members[-1][0])
        coefficients = np.stack([expansion for _, expansion, _ in members])
        images = np.stack([image for _, _, image in members])
        result[unknown.name] = HilbertUnknown(unknown.name, unknown.space, shape, coefficients, images)
    for solved in reversed(derivation.expansions):
        for monomial, coefficient in solved.value.terms.items():
            later = later_unknown(monomial)
            if isinstance(later, Vec):
                share = Poly({Monomial((), tuple((f, p) for f, p in monomial.factors if f != later)): coefficient})
                result[solved.unknown.name] = _added(derivation, result, solved.unknown.name, later, share, values)
    return result


def _added(
    derivation: Derivation, known: Mapping[str, HilbertUnknown], name: str, later: Vec, share: Poly, values: Values
) -> HilbertUnknown:
    """The family `name` with share * later added, member by member."""
    unknown, family, other = derivation.primal.unknown(name), known[name], known[later.name]
    lengths = {index: values.size(z) for index, z in zip(unknown.indices, unknown.sets, strict=True)}
    grid = dict(zip(lengths, np.indices(family.shape), strict=True)) if lengths else {}
    weight = evaluate(share, values, lengths).reshape(-1, 1)
    places = tuple(grid[arg].reshape(-1) for arg in later.args if isinstance(arg, str))
    member = np.ravel_multi_index(places, other.shape) if places else np.zeros(len(weight), dtype=np.int64)
    return replace(
        family,
        coefficients=family.coefficients + weight * other.coefficients[member],
        values=family.values + weight * other.values[member],
    )


def as_declared(unknown: Unknown, value: Array, vectors: Mapping[str, HilbertUnknown]) -> Array:
    """The scalar that the user declared, from the one that stands for it: r from r^2, R from R - ||c||^2."""
    if unknown.origin == "square":
        return np.asarray(np.sqrt(np.maximum(value, 0.0)))
    return np.asarray(value + vectors[unknown.centre].squared_norms())


def with_unknowns(values: Values, unknowns: Mapping[str, HilbertUnknown], spaces: Mapping[str, Space]) -> Values:
    """Values that know the inner products with Hilbert unknowns too, and under their names their norms."""

    def table(first: Vec, second: Vec) -> Array:
        if first.feature and second.feature:
            return values.gram(first, second)
        if not first.feature and not second.feature:
            a, b = unknowns[first.name], unknowns[second.name]
            return np.asarray((a.coefficients @ b.values.T).reshape((*a.shape, *b.shape)))
        unknown, point = (second, first) if first.feature else (first, second)
        family, space = unknowns[unknown.name], spaces[unknown.space]
        part = space.split(family.values, point.name)
        return np.asarray(part.reshape((*family.shape, *space.shapes[point.name])))

    def diagonal(vec: Vec) -> Array:
        return values.diagonal(vec) if vec.feature else unknowns[vec.name].squared_norms()

    lengths = {name: np.sqrt(unknown.squared_norms()) for name, unknown in unknowns.items()}
    return replace(values, arrays={**values.arrays, **lengths}, gram=table, diagonal=diagonal)


def exact_multipliers(
    derivation: Derivation,
    lowered: Lowered,
    theta: Floats,
    values: Values,
    pairs: bool,
    norms: Mapping[str, float],
) -> dict[str, Array]:
    """All multipliers of the Lagrangian, by label: pairs taken apart, norms' added, eliminated ones computed."""
    known = lowered.multipliers(theta)
    if pairs:
        for pair in derivation.folding.pairs:
            if pair.label in known:
                beta = known.pop(pair.label)
                known[pair.plus], known[pair.minus] = np.maximum(beta, 0.0), np.maximum(-beta, 0.0)
    known.update({label: np.asarray(value) for label, value in norms.items()})
    at = values.with_multipliers(known)
    for gone in derivation.eliminated:
        family = derivation.lagrangian.multiplier(gone.label)
        lengths = {name: values.size(z) for name, z in zip(family.indices, family.sets, strict=True)}
        value = evaluate(gone.value, at, lengths)
        known[gone.label] = np.maximum(value, 0.0) if gone.positive_part else value
    return known
