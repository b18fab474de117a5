"""Reads the coefficients of forms that are linear in the multipliers, as sparse matrices: no axis is spent on zeros."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kdsl.algebra.numeric import Array, Values, grid_of, indexed_places, product_over
from kdsl.algebra.poly import Monomial, Poly
from kdsl.algebra.terms import Sym, Vec, leaves_of
from kdsl.numerics.arrays import Ints

Leaf = int | str
Column = Callable[[Sym, tuple[Ints, ...]], Ints]  # the coordinate of a multiplier, from its index values
Position = Callable[[Vec, tuple[Ints, ...]], Ints]  # the same for the point of a feature

CANCELLED = 1e-13  # of the sizes of its terms: a sum below it is what rounding left of one that vanishes


class Entries(NamedTuple):
    """A sparse matrix by its entries, in any order; entries of one place add up."""

    rows: Ints
    columns: Ints
    data: Array
    shape: tuple[int, int]

    def by_row(self) -> sp.csr_array:
        count, width = self.shape
        return sp.csr_array(_compressed(self.rows, self.columns, self.data, count, width), shape=self.shape)

    def by_column(self) -> sp.csc_array:
        height, count = self.shape
        return sp.csc_array(_compressed(self.columns, self.rows, self.data, count, height), shape=self.shape)

    def only(self, keep: NDArray[np.bool_]) -> Entries:
        """The rows that are kept, numbered anew."""
        if keep.all():
            return self
        number = np.cumsum(keep) - 1
        left = keep[self.rows]
        return Entries(
            number[self.rows[left]],
            self.columns[left],
            self.data[left],
            (int(np.count_nonzero(keep)), self.shape[1]),
        )

    def split(self, count: int) -> list[Entries]:
        """The matrix cut into `count` of the same height, from the top."""
        if count == 1:
            return [self]
        height = self.shape[0] // count
        part, row = np.divmod(self.rows, max(height, 1))
        order = np.argsort(part, kind="stable")
        ends = np.cumsum(np.bincount(part, minlength=count))[:-1]
        shape = (height, self.shape[1])
        pieces = (np.split(array[order], ends) for array in (row, self.columns, self.data))
        return [Entries(rows, columns, data, shape) for rows, columns, data in zip(*pieces, strict=True)]

    def scaled(self, by_row: Array) -> Entries:
        return self._replace(data=self.data * by_row[self.rows])


def summed(parts: list[Entries], shape: tuple[int, int]) -> Entries:
    """The sum of matrices, the entries of all of them together."""
    if len(parts) == 1:
        return parts[0]._replace(shape=shape)
    nothing = np.zeros(0, np.int64)
    return Entries(
        np.concatenate([nothing, *(part.rows for part in parts)]),
        np.concatenate([nothing, *(part.columns for part in parts)]),
        np.concatenate([np.zeros(0), *(part.data for part in parts)]),
        shape,
    )


def stacked(parts: list[Entries], width: int) -> Entries:
    """The rows of every part, one part below the other."""
    height, below = 0, []
    for part in parts:
        below.append(part._replace(rows=part.rows + height) if height else part)
        height += part.shape[0]
    return summed(below, (height, width))


def _compressed(
    major: Ints, minor: Ints, data: Array, majors: int, minors: int
) -> tuple[Array, NDArray[Any], NDArray[Any]]:
    """(data, minor, start of each major), sorted, terms of one place added up.

    Sums that vanish but for rounding (weights that balance) leave no entry.
    """
    place = major * minors + minor
    step = np.diff(place)
    if not (step > 0).all():
        order = np.argsort(place, kind="stable")
        place, data = place[order], data[order]
        first = np.flatnonzero(np.diff(place, prepend=-1))
        if len(first) < len(place):
            size = np.add.reduceat(np.abs(data), first)
            place, data = place[first], np.add.reduceat(data, first)
            left = np.abs(data) > CANCELLED * size
            place, data = place[left], data[left]
        major, minor = np.divmod(place, minors)
    start = np.zeros(majors + 1, np.int64)
    np.cumsum(np.bincount(major, minlength=majors), out=start[1:])
    small = np.int32 if max(minors, len(data)) <= np.iinfo(np.int32).max else np.int64
    return data, minor.astype(small), start.astype(small)


def linear_matrix(
    poly: Poly,
    row_lengths: Mapping[str, int],
    columns: int,
    column_of: Column,
    values: Values,
    points: tuple[int, Position] | None = None,
    roles: tuple[str, ...] = ("mult", "abs"),
) -> tuple[Entries, Array]:
    """(M, m) with poly = M theta + m, theta the symbols of the given roles.

    Rows are the members of the free indices; with `points` (their number and where each is), each member has a
    row for every point whose feature the vector-valued poly may combine.
    """
    count = points[0] if points else 1
    for length in row_lengths.values():
        count *= length
    constant = np.zeros(count)
    parts: list[Entries] = []
    for monomial, coefficient in poly.terms.items():
        row, column, value = _entries(monomial, float(coefficient), row_lengths, column_of, values, points, roles)
        if column is None:
            constant += np.bincount(row, value, count)
        else:
            parts.append(Entries(row, column, value, (count, columns)))
    return summed(parts, (count, columns)), constant


def _entries(
    monomial: Monomial,
    coefficient: float,
    row_lengths: Mapping[str, int],
    column_of: Column,
    values: Values,
    points: tuple[int, Position] | None,
    roles: tuple[str, ...],
) -> tuple[Ints, Ints | None, Array]:
    lengths: dict[Leaf, int] = {n: values.size(size) for n, size in enumerate(monomial.binders)}
    lengths.update(row_lengths)
    multiplier, power = next(((f, p) for f, p in monomial.factors if isinstance(f, Sym) and f.role in roles), (None, 1))
    if power != 1:
        raise ValueError(f"a form with {multiplier}^{power} is not linear")
    vector = next((f for f, _ in monomial.factors if isinstance(f, Vec)), None)
    rest = tuple((f, p) for f, p in monomial.factors if f is not multiplier and f is not vector)
    used: dict[Leaf, None] = dict.fromkeys(row_lengths)
    for factor in (multiplier, vector, *(f for f, _ in rest)):
        if factor is not None:
            used.update(dict.fromkeys(leaves_of(factor)))
    order = tuple(used)
    grid = grid_of(order, lengths)
    shape = tuple(lengths[leaf] for leaf in order)
    row: Any = 0
    for name, length in row_lengths.items():
        row = row * length + grid[name]
    if points is not None and isinstance(vector, Vec):
        row = row * points[0] + points[1](vector, tuple(indexed_places(a, grid, values) for a in vector.args))
    value = _flat(coefficient * product_over(rest, order, lengths, values), shape)
    keep, rows = value != 0, _flat(row, shape)
    column = None
    if multiplier is not None:
        column = _flat(column_of(multiplier, tuple(indexed_places(a, grid, values) for a in multiplier.args)), shape)
        keep &= column >= 0  # -1: outside the support of its family
    if keep.all():
        return rows, column, value
    return rows[keep], None if column is None else column[keep], value[keep]


def _flat(array: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """An array brought to `shape`, its members in a row."""
    given = np.asarray(array)
    if given.shape == shape:
        return given.reshape(-1)
    result = np.empty(shape, given.dtype)
    result[...] = given
    return result.reshape(-1)
