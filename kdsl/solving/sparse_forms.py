"""Reads the coefficients of forms that are linear in the multipliers, as sparse matrices: no axis is spent on zeros."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kdsl.algebra.numeric import Array, Values, evaluate, indexed_places
from kdsl.algebra.poly import Factors, Monomial, Poly, collect
from kdsl.algebra.terms import Index, Sym, Vec, leaves_of, reindex

Places = NDArray[np.int64]
Leaf = int | str
Column = Callable[[Sym, tuple[Places, ...]], Places]  # the coordinate of a multiplier, from its index values
Position = Callable[[Vec, tuple[Places, ...]], Places]  # the same for the point of a feature

CANCELLED = 1e-13  # of the sizes of its terms: a sum below it is what rounding left of one that vanishes
BOUND = "\x04"  # bound index n is the free index BOUND + str(n) while a monomial is opened


def linear_matrix(
    poly: Poly,
    row_lengths: Mapping[str, int],
    columns: int,
    column_of: Column,
    values: Values,
    points: tuple[int, Position] | None = None,
    roles: tuple[str, ...] = ("mult", "abs"),
) -> tuple[sp.csc_array, Array]:
    """(M, m) with poly = M theta + m, theta the symbols of the given roles.

    Rows are the members of the free indices; with `points` (their number and where each is), each member has a
    row for every point whose feature the vector-valued poly may combine.
    """
    count = int(np.prod(list(row_lengths.values()), dtype=int)) * (points[0] if points else 1)
    constant = np.zeros(count)
    entries: list[tuple[Places, Places, Array]] = []
    for monomial, coefficient in poly.terms.items():
        row, column, value = _entries(monomial, float(coefficient), row_lengths, column_of, values, points, roles)
        if column is None:
            np.add.at(constant, row, value)
        else:
            entries.append((row, column, value))
    if not entries:
        return sp.csc_array((count, columns)), constant
    rows, cols, data = (np.concatenate(parts) for parts in zip(*entries, strict=True))
    return _summed(rows, cols, data, (count, columns)), constant


def _summed(rows: Places, cols: Places, data: Array, shape: tuple[int, int]) -> sp.csc_array:
    """Terms of one place added up; sums that vanish but for rounding (weights that balance) leave no entry."""
    matrix = sp.csc_array(sp.coo_array((data, (rows, cols)), shape))
    if matrix.nnz < len(data):
        sizes = sp.csc_array(sp.coo_array((np.abs(data), (rows, cols)), shape))
        matrix.data[np.abs(matrix.data) <= CANCELLED * sizes.data] = 0.0
        matrix.eliminate_zeros()
    return matrix


def _entries(
    monomial: Monomial,
    coefficient: float,
    row_lengths: Mapping[str, int],
    column_of: Column,
    values: Values,
    points: tuple[int, Position] | None,
    roles: tuple[str, ...],
) -> tuple[Places, Places | None, Array]:
    lengths: dict[Leaf, int] = {n: values.size(size) for n, size in enumerate(monomial.binders)}
    lengths.update(row_lengths)
    multiplier = next((f for f, _ in monomial.factors if isinstance(f, Sym) and f.role in roles), None)
    vector = next((f for f, _ in monomial.factors if isinstance(f, Vec)), None)
    rest = tuple((f, p) for f, p in monomial.factors if f is not multiplier and f is not vector)
    used: dict[Leaf, None] = dict.fromkeys(row_lengths)
    for factor in (multiplier, vector, *(f for f, _ in rest)):
        if factor is not None:
            used.update(dict.fromkeys(leaves_of(factor)))
    order = tuple(used)
    table = coefficient * _table(rest, order, lengths, values)
    grid = {leaf: _axis(n, lengths[leaf], len(order)) for n, leaf in enumerate(order)}
    shape = tuple(lengths[leaf] for leaf in order)

    def flat(position: Any) -> Places:
        return np.broadcast_to(np.asarray(position, dtype=np.int64), shape).reshape(-1)

    row: Any = 0
    for name, length in row_lengths.items():
        row = row * length + grid[name]
    if points is not None and isinstance(vector, Vec):
        row = row * points[0] + points[1](vector, tuple(indexed_places(a, grid, values) for a in vector.args))
    column = None
    if multiplier is not None:
        column = flat(column_of(multiplier, tuple(indexed_places(a, grid, values) for a in multiplier.args)))
    value = np.broadcast_to(table, shape).reshape(-1)
    keep = value != 0
    if column is not None:
        keep &= column >= 0  # -1: outside the support of its family
        return flat(row)[keep], column[keep], value[keep]
    return flat(row)[keep], None, value[keep]


def _table(factors: Factors, order: tuple[Leaf, ...], lengths: Mapping[Leaf, int], values: Values) -> Array:
    """The product of the factors as an array over `order`."""
    opened = {leaf: f"{BOUND}{leaf}" if isinstance(leaf, int) else leaf for leaf in order}

    def rename(term: Index) -> Index:
        return opened.get(term, term) if not isinstance(term, tuple) else term

    poly = collect([((), tuple((reindex(f, rename), p) for f, p in factors), Fraction(1))])
    needed = poly.free_indices()
    free = {opened[leaf]: lengths[leaf] for leaf in order if opened[leaf] in needed}
    table = evaluate(poly, values, free)
    shape = tuple(lengths[leaf] if opened[leaf] in needed else 1 for leaf in order)
    return table.reshape(shape)


def _axis(place: int, length: int, count: int) -> Places:
    return np.arange(length).reshape(tuple(length if n == place else 1 for n in range(count)))
