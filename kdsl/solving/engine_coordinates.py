"""The change of coordinates between a NormalForm and the engine's problem (kdsl/core/problem.hpp, classes.hpp).

Inequality rows get a slack coordinate. Coordinates whose columns of A are parallel form a class; each is scaled to
v_k = a_k t_k, so that A t = a reads sum_c D_c (sum of v over class c) = a, and classes are made contiguous.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp

from kdsl.numerics.arrays import Floats, Ints
from kdsl.numerics.quiet_products import applied
from kdsl.solving.directions import directions_of, spanning
from kdsl.solving.normal_form import NormalForm, Rows, Separable

FEW_ROWS = 64  # rows up to which A is handled as a dense array
ROUNDING = 1e-13  # of a row's largest entry: what is smaller is what rounding left of a sum that vanishes
Matrix: TypeAlias = Floats | sp.csc_array[Any]


class Classes(NamedTuple):
    """What kdsl/core/classes.hpp holds: a direction for each class where they depend on one another.

    Where they do not, `totals` is what the coordinates of each class must sum to.
    """

    begin: Ints
    first_is_free: bool
    direction: Floats | None
    totals: Floats

    @property
    def decoupled(self) -> bool:
        return self.direction is None


class EngineForm(NamedTuple):
    """The engine's coordinate k stands for t[source[k]] (a slack from `size` on), scaled by scale[k].

    `matrix` and `target` are the rows as equalities, in the order of t: dense where they are few, else sparse.
    """

    source: Ints
    scale: Floats
    size: int
    slack_row: Ints
    separable: Separable
    matrix: Matrix
    target: Floats
    classes: Classes

    def to_theta(self, v: Floats) -> Floats:
        return self.to_t(v)[: self.size]

    def to_t(self, v: Floats) -> Floats:
        """t and the slacks."""
        t = np.empty(len(self.source))
        t[self.source] = v / self.scale
        return t


def engine_form(problem: NormalForm, linear: Floats) -> EngineForm:
    """The engine's form of `problem`, with `linear` added to the slopes of h."""
    slack_row = np.flatnonzero(~problem.rows.equality).astype(np.int64)
    matrix, target = _equalities(problem.rows, slack_row)
    h = problem.separable
    h = replace(h, slope=h.slope + np.repeat(linear, np.diff(h.offsets))).with_slacks(len(slack_row))
    label, scale, direction = _parallel_classes(matrix)
    if (label[1:] >= label[:-1]).all():
        source = np.arange(len(label), dtype=np.int64)
    else:
        source = np.argsort(label, kind="stable").astype(np.int64)
        label, scale = label[source], scale[source]
    first_is_free = bool(len(label) and label[0] < 0)
    changes = np.ones(len(label) + 1, bool)
    changes[1:-1] = label[1:] != label[:-1]
    begin = np.flatnonzero(changes).astype(np.int64) if len(label) else np.zeros(1, np.int64)
    starts = begin[:-1]
    if direction is None:
        classes = Classes(begin, first_is_free, None, target[label[starts[int(first_is_free) :]]])
    else:
        classes = _couple(begin, first_is_free, direction, target)
    return EngineForm(source, scale, problem.size, slack_row, _rescale(h, source, scale), matrix, target, classes)


def starting_point(form: EngineForm, start: Floats | None) -> Floats | None:
    """A feasible v near `start` (or 0, also where that is no number), or None if the rows cannot be met."""
    h, matrix = form.separable, form.matrix
    v = np.zeros(len(form.source))
    if start is not None and np.isfinite(start).all():
        v = np.r_[start, np.zeros(len(form.slack_row))][form.source] * form.scale
    v = np.clip(v, h.lower, h.upper)
    t = form.to_t(v)
    t[form.size :] = 0.0
    if len(form.slack_row):
        coefficient = matrix[form.slack_row, np.arange(form.size, len(t))]
        t[form.size :] = np.maximum((form.target - _times(matrix, t))[form.slack_row] / coefficient, 0.0)
        v = t[form.source] * form.scale
    if meets_rows(form, t, 1e-12):
        return v
    filled = _fill(form, v)
    if filled is not None or form.classes.decoupled:
        return filled
    from scipy.optimize import linprog

    bounds = np.column_stack([h.lower, h.upper])
    scaled = matrix[:, form.source] / form.scale
    vertex = linprog(np.zeros(len(v)), A_eq=scaled, b_eq=form.target, bounds=bounds, method="highs")
    return None if vertex.x is None else np.clip(vertex.x, h.lower, h.upper)


def meets_rows(form: EngineForm, t: Floats, share: float) -> bool:
    """Whether t with its slacks meets the rows but for a share of what they add up."""
    allowed = share * (1.0 + np.abs(form.target) + _times(abs(form.matrix), np.abs(t)))
    return bool((np.abs(form.target - _times(form.matrix, t)) <= allowed).all())


def _times(matrix: Matrix, t: Floats) -> Floats:
    """matrix @ t."""
    return applied(matrix, t) if isinstance(matrix, np.ndarray) else np.asarray(matrix @ t)


def _equalities(rows: Rows, slack_row: Ints) -> tuple[Matrix, Floats]:
    """A t = a with a slack t >= 0 for each inequality, every row divided by its largest entry and rid of rounding."""
    count, slacks = len(rows.target), len(slack_row)
    matrix: Matrix
    if count <= FEW_ROWS:
        matrix = np.zeros((count, rows.matrix.shape[1] + slacks))
        matrix[:, : rows.matrix.shape[1]] = rows.matrix.toarray()
        matrix[slack_row, rows.matrix.shape[1] + np.arange(slacks)] = 1.0
        size = np.abs(matrix).max(axis=1, initial=0.0)
        matrix[np.abs(matrix) <= ROUNDING * size[:, None]] = 0.0
    else:
        ones = sp.coo_array((np.ones(slacks), (slack_row, np.arange(slacks))), (count, slacks))
        matrix = sp.csc_array(sp.hstack([sp.csc_array(rows.matrix), ones.tocsc()]))
        size = abs(matrix).max(axis=1).toarray().ravel()
        matrix.data[np.abs(matrix.data) <= ROUNDING * size[matrix.indices]] = 0.0
        matrix.eliminate_zeros()
    size[size == 0] = 1.0
    target = np.asarray(rows.target, np.float64) / size
    return (matrix / size[:, None] if count <= FEW_ROWS else sp.csc_array(sp.diags_array(1 / size) @ matrix)), target


def _parallel_classes(matrix: Matrix) -> tuple[Ints, Floats, Floats | None]:
    """For each column its class (-1: no entry) and its scale a_k; for each class its direction D_c.

    No direction is given where each column has at most one entry: the class is then its row.
    """
    columns = matrix.shape[1]
    label, scale = np.full(columns, -1, np.int64), np.ones(columns)
    if isinstance(matrix, np.ndarray):
        entries = sum((row != 0 for row in matrix), np.zeros(columns, np.int64))
    else:
        entries = np.diff(matrix.indptr)
    if entries.max(initial=0) <= 1:
        if isinstance(matrix, np.ndarray):
            for number, row in enumerate(matrix):
                there = row != 0
                label[there], scale[there] = number, row[there]
        else:
            label[entries > 0], scale[entries > 0] = matrix.indices, matrix.data
        return label, scale, None
    some = np.flatnonzero(entries)
    dense = (matrix if isinstance(matrix, np.ndarray) else matrix.toarray())[:, some].T
    label[some], scale[some], direction = directions_of(dense)
    return label, scale, direction


def _couple(begin: Ints, first_is_free: bool, direction: Floats, target: Floats) -> Classes:
    """Whether the classes' directions are independent; if not, the same rows as the core wants them."""
    rows = _independent(direction)
    rank = rows.shape[1]
    if rank == len(direction):
        totals = np.asarray(np.linalg.lstsq(direction.T, target, rcond=None)[0], np.float64)
        return Classes(begin, first_is_free, None, totals)
    if first_is_free:
        rows = np.vstack([np.zeros(rank), rows])
    return Classes(begin, first_is_free, np.ascontiguousarray(rows), np.zeros(0))


def _independent(direction: Floats) -> Floats:
    """Independent combinations of the columns of `direction`, with the same span.

    Elimination leaves entries of at most 1, and in as many of the classes a unit triangle: rows that nearly depend on
    one another are as far apart there as any others, so that nobody after this has to judge their rank.
    """
    from scipy.linalg import lu

    return np.asarray(lu(direction[:, spanning(direction)], permute_l=True)[0], np.float64)


def _rescale(h: Separable, source: Ints, scale: Floats) -> Separable:
    """h in the coordinates v_k = scale_k t_source(k): pieces are reversed where the scale is negative."""
    if len(h.left) == h.size:
        offsets, piece, a, backwards = h.offsets, source, scale, scale < 0
    else:
        first, count = h.offsets[source], np.diff(h.offsets)[source]
        offsets = np.zeros(len(count) + 1, np.int64)
        np.cumsum(count, out=offsets[1:])
        within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], count)
        backwards = np.repeat(scale < 0, count)
        piece = np.repeat(first, count) + np.where(backwards, np.repeat(count, count) - 1 - within, within)
        a = np.repeat(scale, count)
    left, right = h.left[piece] * a, h.right[piece] * a
    return Separable(
        offsets,
        np.where(backwards, right, left),
        np.where(backwards, left, right),
        h.curvature[piece] / a**2,
        h.slope[piece] / a,
        np.ascontiguousarray(h.value[piece]),
    )


def _fill(form: EngineForm, start: Floats) -> Floats | None:
    """`start` with each class brought to a total that meets the rows, one coordinate after another to its bound."""
    h, classes, v = form.separable, form.classes, start.copy()
    begin = classes.begin[int(classes.first_is_free) :]
    parts = [slice(int(a), int(b)) for a, b in pairwise(begin)]
    direction = form.matrix[:, form.source[begin[:-1]]] / form.scale[begin[:-1]]
    if classes.decoupled:
        totals = classes.totals
    else:
        lowest = np.array([h.lower[part].sum() for part in parts])
        highest = np.array([h.upper[part].sum() for part in parts])
        totals = _class_totals(direction, form.target, np.array([v[part].sum() for part in parts]), lowest, highest)
    size = np.abs(form.target).max(initial=0.0)
    for part, total in zip(parts, totals, strict=True):
        missing, most = float(total - v[part].sum()), float(np.abs(v[part]).sum())
        bound = h.upper[part] if missing > 0 else h.lower[part]
        room = np.abs(bound - v[part])
        before = np.r_[0.0, np.cumsum(room)[:-1]]
        taken = np.clip(abs(missing) - before, 0.0, room)
        full = (taken == room) & np.isfinite(bound)
        v[part] = np.where(full, bound, v[part] + np.copysign(taken, missing))
        if abs(total - v[part].sum()) > 1e-9 * (size + max(most, np.abs(v[part]).sum())):
            return None
    allowed = 1e-9 * (1.0 + np.abs(form.target)) + 1e-12 * (abs(direction) @ np.abs(totals))
    return v if (np.abs(direction @ totals - form.target) <= allowed).all() else None


def _class_totals(direction: Matrix, target: Floats, totals: Floats, lowest: Floats, highest: Floats) -> Floats:
    """Totals within their bounds that meet the rows: least squares over the classes that no bound has stopped."""
    dense = direction if isinstance(direction, np.ndarray) else direction.toarray()
    free = np.ones(len(totals), bool)
    for _ in range(len(totals) + 1):
        step = np.linalg.lstsq(dense[:, free], target - dense @ totals, rcond=None)[0]
        moved = totals.copy()
        moved[free] += step
        totals = np.clip(moved, lowest, highest)
        if (totals == moved).all():
            break
        free &= totals == moved
    return totals
