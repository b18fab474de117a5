"""Derivation + data -> NormalForm: energies become Hilbert blocks, everything else one convex h for each multiplier."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from kdsl.algebra.dual import ConjugateTerm, DualVariable
from kdsl.algebra.energies import Cost, Energies, Energy
from kdsl.algebra.numeric import Array, Values, evaluate, support_mask
from kdsl.algebra.poly import Poly
from kdsl.algebra.terms import Sym, Vec
from kdsl.numerics.arrays import Floats, Ints
from kdsl.numerics.grams import GramOracle
from kdsl.solving.normal_form import HilbertBlock, NormalForm, Rows, Separable
from kdsl.solving.spaces import Space
from kdsl.solving.sparse_forms import Column, Entries, linear_matrix, stacked


@dataclass(frozen=True, eq=False)
class Family:
    """Where the members of one family of multipliers stand among the coordinates; -1 outside its support."""

    variable: DualVariable
    shape: tuple[int, ...]
    positions: NDArray[np.int64]  # over the family's indices
    start: int
    count: int

    def read(self, theta: Floats) -> Array:
        """The family's values in its own shape, 0 outside its support."""
        inside = self.positions >= 0
        result = np.zeros(self.shape)
        result[inside] = theta[self.positions[inside]]
        return result


@dataclass(frozen=True, eq=False)
class BlockOrigin:
    """The member of a primal family that a block belongs to: unknown[places] = factor * (S theta + s) in its space."""

    unknown: str
    places: tuple[int, ...]
    space: str  # "" for scalars, whose block holds the whole family
    factor: float


@dataclass(frozen=True, eq=False)
class Lowered:
    """`scale` is the weight of the energies: 1, or 4k lambda where the value is minus the root of the optimum."""

    problem: NormalForm
    families: Mapping[str, Family]
    origins: tuple[BlockOrigin, ...]
    squared: bool

    def multipliers(self, theta: Floats) -> dict[str, Array]:
        return {label: family.read(theta) for label, family in self.families.items()}


@dataclass(frozen=True)
class IdentityGram:
    """The Gram matrix of scalars: they are their own features."""

    size: int

    def diagonal(self) -> Floats:
        return np.ones(self.size)

    def rows(self, indices: Ints) -> Floats:
        result = np.zeros((len(indices), self.size))
        result[np.arange(len(indices)), indices] = 1.0
        return result

    def matvec(self, vector: Floats) -> Floats:
        return np.array(vector, dtype=np.float64)


def lower(
    energies: Energies,
    values: Values,
    spaces: Mapping[str, Space],
    outer: float | None = None,
    saturated: str | None = None,
    alike: Lowered | None = None,
) -> Lowered:
    """The normal form of a dual on data.

    outer: the value of the norm multiplier that is kept. saturated: the unknown whose row cannot hold with
    equality; its row goes, its multipliers stay at their upper bounds, and curvatures are taken there, unfolded.
    alike: a normal form with the same multipliers, blocks and rows, whose costs alone may be others.
    """
    variables = tuple(v for v in energies.dual.variables if v.label != energies.outer)
    families = _families(variables, values) if alike is None else alike.families
    size = sum(family.count for family in families.values())
    zeros = {label: np.zeros(family.shape) for label, family in families.items()}
    scale = 1.0
    if energies.norm is not None:  # maximise -Q in place of -2 sqrt(Q k): lambda = 1 and a factor 4 k
        scale = 4.0 * float(evaluate(energies.norm.denominator, values.with_multipliers({})))
        zeros[energies.norm.label] = np.asarray(1.0)
    if energies.outer is not None:
        assert outer is not None
        zeros[energies.outer] = np.asarray(outer)
    pinned: set[str] = set()
    if saturated is not None:
        for row in energies.dual.rows:
            if row.origin == saturated:
                pinned |= {name for role, name in row.body.symbols() if role == "mult"}
        zeros.update({label: _upper_bounds(families[label], values) for label in pinned})
    at = values.with_multipliers(zeros).with_definitions(energies.dual.definitions)

    def column_of(symbol: Sym, places: tuple[Ints, ...]) -> Ints:
        family = families[symbol.name]
        return np.asarray(family.positions[places] if places else family.positions.reshape(-1)[0])

    separable = _separable(energies, families, at, pinned)
    constant = -float(evaluate(energies.constant, at))
    if alike is not None:
        problem = NormalForm(alike.problem.blocks, separable, alike.problem.rows, constant)
        return replace(alike, problem=problem)
    blocks: list[HilbertBlock] = []
    origins: list[BlockOrigin] = []
    for energy in energies.energies:
        for block, origin in _blocks(_unfolded(energy, saturated), at, spaces, size, column_of, scale):
            blocks.append(block)
            origins.append(origin)
    rows = _rows(energies, at, size, column_of, saturated)
    problem = NormalForm(tuple(blocks), separable, rows, constant)
    return Lowered(problem, families, tuple(origins), energies.norm is not None)


def _upper_bounds(family: Family, values: Values) -> Array:
    assert family.variable.upper is not None
    return evaluate(family.variable.upper, values, dict(zip(family.variable.indices, family.shape, strict=True)))


def _unfolded(energy: Energy, saturated: str | None) -> Energy:
    return energy if saturated is None else energy._replace(curvature=energy.unfolded)


def _families(variables: tuple[DualVariable, ...], values: Values) -> dict[str, Family]:
    families: dict[str, Family] = {}
    start = 0
    for variable in variables:
        shape = tuple(values.size(size) for size in variable.sets)
        positions = _numbered(variable, shape, start, values)
        count = int(np.count_nonzero(positions >= 0))
        families[variable.label] = Family(variable, shape, positions, start, count)
        start += count
    return families


def _numbered(variable: DualVariable, shape: tuple[int, ...], start: int, values: Values) -> NDArray[np.int64]:
    if not variable.support:
        return np.arange(start, start + int(np.prod(shape, dtype=int)), dtype=np.int64).reshape(shape)
    inside = support_mask(variable.support, variable.indices, variable.sets, values)
    positions = np.full(shape, -1, dtype=np.int64)
    positions[inside] = np.arange(start, start + int(inside.sum()))
    return positions


# ---------------------------------------------------------------------- blocks


def _blocks(
    energy: Energy, values: Values, spaces: Mapping[str, Space], size: int, column_of: Column, scale: float
) -> Iterator[tuple[HilbertBlock, BlockOrigin]]:
    """One block for each member of a Hilbert family, one for a whole family of scalars."""
    unknown = energy.unknown
    lengths = {name: values.size(z) for name, z in zip(unknown.indices, unknown.sets, strict=True)}
    curvature = evaluate(energy.curvature, values, lengths).reshape(-1)
    roots = np.sqrt(scale / curvature)
    if not isinstance(unknown.symbol, Vec):
        entries, constant = linear_matrix(energy.vector, lengths, size, column_of, values)
        block = _block(unknown.name, IdentityGram(len(roots)), entries.scaled(roots), constant * roots)
        yield block, BlockOrigin(unknown.name, (), "", 1.0)
        return
    space = spaces[unknown.symbol.space]
    together, constant = linear_matrix(energy.vector, lengths, size, column_of, values, (space.size, space.position))
    members = together.split(len(roots))
    for number, (places, entries) in enumerate(zip(product(*map(range, lengths.values())), members, strict=True)):
        root = float(roots[number])
        shift = constant[number * space.size : (number + 1) * space.size] * root
        name = f"{unknown.name}[{', '.join(map(str, places))}]" if places else unknown.name
        block = _block(name, space.oracle, entries._replace(data=entries.data * root), shift)
        yield block, BlockOrigin(unknown.name, places, space.name, 1.0 / (float(curvature[number]) * root))


def _block(name: str, gram: GramOracle, atoms: Entries, shift: Floats) -> HilbertBlock:
    return HilbertBlock(name, gram, atoms.by_column(), shift if shift.any() else None)


# ------------------------------------------------------------------ separable


def _separable(energies: Energies, families: Mapping[str, Family], values: Values, pinned: set[str]) -> Separable:
    """h = -(linear and diagonal terms) + conjugates, on the box, with a kink at 0 where |theta| occurs."""
    offsets: list[Ints] = [np.zeros(1, dtype=np.int64)]
    pieces: list[Floats] = []
    total = 0
    for family in families.values():
        terms = [t for t in energies.dual.conjugates if t.label == family.variable.label]
        counts, table = _pieces(
            family, energies.costs[family.variable.label], terms, values, family.variable.label in pinned
        )
        offsets.append(total + np.cumsum(counts))
        pieces.append(table)
        total += int(counts.sum())
    table = np.concatenate(pieces, axis=1) if pieces else np.zeros((5, 0))
    return Separable(np.concatenate(offsets), *(np.ascontiguousarray(row) for row in table))


def _pieces(
    family: Family, cost: Cost, terms: list[ConjugateTerm], values: Values, pinned: bool
) -> tuple[Ints, Floats]:
    """(pieces of each member, the five rows left, right, curvature, slope, value of all pieces in order)."""
    variable = family.variable
    inside = family.positions >= 0
    lengths = dict(zip(variable.indices, family.shape, strict=True))

    def members(poly: Poly | None, default: float = 0.0) -> Floats:
        if poly is None:
            return np.full(family.count, default)
        over = evaluate(poly, values, lengths)
        return over.reshape(-1) if family.count == over.size else np.ascontiguousarray(over[inside])

    with np.errstate(divide="ignore", invalid="ignore"):
        slope, curvature, kink = -members(cost.slope), -members(cost.curvature), -members(cost.kink)
        cuts = [[members(cut) for cut in term.function.breaks] for term in terms]
        added = [[tuple(members(c) for c in piece) for piece in term.function.pieces] for term in terms]
    lower, upper = members(variable.lower, -np.inf), members(variable.upper, np.inf)
    if pinned:
        lower = upper.copy()
    finite = [curvature, *(number for pieces in added for piece in pieces for number in piece)]
    absent = np.asarray(~np.isfinite(finite).all(axis=0))  # a zero weight: the point is absent from the loss
    slope[absent] = curvature[absent] = kink[absent] = 0.0
    lower[absent] = upper[absent] = 0.0
    stack = np.stack([lower, upper, curvature, slope, np.zeros(family.count)])[:, None, :]  # (5, pieces, members)
    if kink.any():
        stack = _split_at_zero(stack, kink)
    for breaks, pieces in zip(cuts, added, strict=True):
        stack = _split(stack, breaks, pieces, absent)
    if stack.shape[1] == 1:
        return np.ones(family.count, dtype=np.int64), stack[:, 0]
    keep = (stack[1] > stack[0]) | _first_of_empty(stack)
    counts = keep.sum(axis=0).astype(np.int64)
    flat = stack.transpose(0, 2, 1)[:, keep.T]
    return counts, flat


def _split_at_zero(stack: Floats, kink: Floats) -> Floats:
    """kink |t| added to functions of one piece."""
    lower, upper, curvature, slope, value = stack[:, 0, :]
    zero = np.clip(0.0, lower, upper)
    negative = np.stack([lower, zero, curvature, slope - kink, value])
    positive = np.stack([zero, upper, curvature, slope + kink, value])
    return np.stack([negative, positive], axis=1)


def _split(stack: Floats, cuts: list[Floats], added: list[tuple[Floats, ...]], absent: NDArray[np.bool_]) -> Floats:
    """The sum of functions of one piece and of a piecewise one, on the box of the first."""
    lower, upper, curvature, slope, value = stack[:, 0, :]
    ends = [np.full_like(lower, -np.inf), *cuts, np.full_like(lower, np.inf)]
    result = []
    for n, (q, c, d) in enumerate(added):
        left, right = (np.where(absent, 0.0, np.clip(end, lower, upper)) for end in ends[n : n + 2])
        q, c, d = (np.where(absent, 0.0, part) for part in (q, c, d))
        result.append(np.stack([left, right, curvature + q, slope + c, value + d]))
    return np.stack(result, axis=1)


def _first_of_empty(stack: Floats) -> NDArray[np.bool_]:
    """The first piece of a member whose box is a single point: it stays, though it has no length."""
    empty = ~(stack[1] > stack[0]).any(axis=0)
    first = np.zeros(stack.shape[1:], dtype=bool)
    first[0] = empty
    return first


# ----------------------------------------------------------------------- rows


def _rows(energies: Energies, values: Values, size: int, column_of: Column, saturated: str | None) -> Rows:
    matrices: list[Entries] = []
    targets: list[Floats] = [np.zeros(0)]
    equality: list[NDArray[np.bool_]] = [np.zeros(0, dtype=bool)]
    for row in energies.dual.rows:
        if row.origin == saturated:
            continue
        lengths = {name: values.size(z) for name, z in zip(row.indices, row.sets, strict=True)}
        entries, constant = linear_matrix(row.body, lengths, size, column_of, values)
        if row.support:
            keep = support_mask(row.support, row.indices, row.sets, values).reshape(-1)
            entries, constant = entries.only(keep), constant[keep]
        matrices.append(entries)
        targets.append(-constant)
        equality.append(np.full(len(constant), row.equality))
    return Rows(stacked(matrices, size).by_row(), np.concatenate(targets), np.concatenate(equality))
