"""The way between multipliers with entropies and their slopes: e(x) = x log x makes exponentials and sigmoids of them.

With E(t) = sum e(t - low) + sum e(high - t) the point where E has the slopes v is unique and inside every box, and
E*(v) = v't - E(t) is smooth; so it is for convex pieces that are held (held_pieces.py). Rows A t = a are met by
multipliers nu of their own: v = u - A'nu.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import xlogy

from kdsl.numerics.arrays import Floats, Ints
from kdsl.solving.held_pieces import HeldPieces

_DENSE = 8  # rows so few that sparse ones gain nothing where they meet a matrix
_FEW = 64  # rows that others overlap up to which their part of A W A' is a dense matrix
_REDUNDANT = 1e-11  # of the largest eigenvalue: rows that depend on others
_ROUNDS = 60
_NOTHING = 1e-300
_LEVEL = 1e-12  # of the sum: rounding of so many terms
_EXACT, _MET = 1e-13, 1e-9  # of what a row adds up: what is missing at the end, and at most


class Reflected(NamedTuple):
    """The point where E has given slopes, E* there, and the derivatives of the point by the slopes."""

    point: Floats
    conjugate: float
    weight: Floats


class Mirror(NamedTuple):
    """The boxes of the coordinates, and which of their ends have an entropy: one at least, or they are held."""

    low: Floats
    high: Floats
    at_low: NDArray[np.bool_]
    at_high: NDArray[np.bool_]
    held: HeldPieces | None = None

    def reflect(self, v: Floats) -> Reflected:
        both = self.at_low & self.at_high
        if both.all():
            return _between(self.low, self.high, v)
        point, weight = np.empty_like(v), np.empty_like(v)
        point[both], conjugate, weight[both] = _between(self.low[both], self.high[both], v[both])
        with np.errstate(over="ignore"):
            for one, end, sign in ((self.at_low & ~both, self.low, 1.0), (self.at_high & ~both, self.high, -1.0)):
                room = np.exp(sign * v[one] - 1.0)
                point[one], weight[one] = end[one] + sign * room, room
                conjugate += float(np.sum(v[one] * end[one] + room))
        if self.held is not None:
            place = self.held.place
            point[place], more, weight[place] = self.held.reflect(v[place])
            conjugate += more
        return Reflected(point, conjugate, weight)

    @property
    def extent(self) -> Floats:
        """The largest coordinate at an end that has an entropy, or may be."""
        low, high = np.where(self.at_low, np.abs(self.low), 0.0), np.where(self.at_high, np.abs(self.high), 0.0)
        largest = np.maximum(low, high)
        if self.held is not None:
            largest[self.held.place] = self.held.extent
        return largest

    def cost(self, t: Floats) -> float:
        """E(t), and what the coordinates that are held cost."""
        below, above = (t - self.low)[self.at_low], (self.high - t)[self.at_high]
        entropy = float(np.sum(xlogy(below, below)) + np.sum(xlogy(above, above)))
        return entropy if self.held is None else entropy + self.held.cost(t[self.held.place])


def _between(low: Floats, high: Floats, v: Floats) -> Reflected:
    """The point at the share 1 / (1 + exp(-v)) of the way, from exp(-|v|), which does not overflow."""
    width, small = high - low, np.exp(-np.abs(v))
    less = small / (1.0 + small)  # the smaller of the share and what is left
    weight = width * less / (1.0 + small)
    share = np.where(v < 0, less, 1.0 - less)
    softplus = np.log1p(small) + np.maximum(v, 0.0)
    conjugate = float(np.sum(v * low + width * softplus) - np.sum(xlogy(width, width)))
    return Reflected(low + width * share, conjugate, weight)


class RowSystem:
    """A W A' for changing weights: rows that share no coordinate are a diagonal, the few that are left come after."""

    def __init__(self, matrix: sp.csr_array[Any]) -> None:
        self.matrix = matrix
        self.apart, self.left = _disjoint(matrix)
        self._across = sp.csr_array(matrix.T)
        self._first = sp.csr_array(matrix[self.apart])
        self._second = sp.csr_array(matrix[self.left])
        self._squares = self._first.power(2)
        self.sizes = sp.csr_array(abs(matrix))
        self._simplexes: _Simplexes | None = None

    def weighted(self, weight: Floats) -> WeightedRows:
        diagonal = np.asarray(self._squares @ weight)
        first = np.where(diagonal > 0, diagonal, 1.0)
        if not len(self.left):
            return WeightedRows(self, first)
        between = (self._second * weight) @ self._first.T
        own = sp.csr_array((self._second * weight) @ self._second.T)
        if len(self.left) <= _FEW:
            coupling = between.toarray()
            inverse = np.linalg.pinv(own.toarray() - (coupling / first) @ coupling.T, _REDUNDANT, hermitian=True)
            return WeightedRows(self, first, sp.csr_array(between), lambda r: inverse @ r)
        import scipy.sparse.linalg as spla

        schur = sp.csc_array(own - sp.csr_array(between / first) @ between.T)
        size = float(np.abs(schur.diagonal()).max(initial=0.0))
        factor = spla.splu(sp.csc_array(schur + _REDUNDANT * max(size, 1e-300) * sp.eye_array(len(self.left))))
        return WeightedRows(self, first, sp.csr_array(between), factor.solve)

    def simplexes(self, mirror: Mirror) -> _Simplexes:
        if self._simplexes is None:
            self._simplexes = _Simplexes.of(mirror, self)
        return self._simplexes

    def times(self, V: Floats) -> Floats:
        """A V, for the columns of a matrix."""
        return np.asarray((self.matrix.toarray() if len(self.apart) + len(self.left) <= _DENSE else self.matrix) @ V)

    def apart_from(self, V: Floats) -> Floats:
        """V without what is a combination of the rows: t'V is the same for every t with A t = 0."""
        nu = self.weighted(np.ones(self.matrix.shape[1])).solve(self.times(V))
        return np.asarray(V - self._across @ nu)

    def carried(self, nu: Floats) -> Floats:
        """A'nu."""
        return np.asarray(self._across @ nu)


class WeightedRows(NamedTuple):
    """Solves (A W A') nu = r by elimination of the rows that share no coordinate."""

    system: RowSystem
    first: Floats
    between: sp.csr_array[Any] | None = None
    second: Callable[[Floats], Floats] = np.copy

    def solve(self, r: Floats) -> Floats:
        """For one r, or for the columns of a matrix."""
        if self.between is None:
            return np.asarray((r.T / self.first).T)
        apart, left = self.system.apart, self.system.left
        nu = np.empty_like(r)
        nu[left] = self.second(r[left] - self.between @ (r[apart].T / self.first).T)
        nu[apart] = ((r[apart] - self.between.T @ nu[left]).T / self.first).T
        return nu


def _disjoint(matrix: sp.csr_array[Any]) -> tuple[Ints, Ints]:
    """(rows that share no coordinate, the others): the shortest rows first."""
    if np.bincount(matrix.indices).max(initial=0) <= 1:
        return np.arange(matrix.shape[0]), np.zeros(0, np.int64)
    taken = np.zeros(matrix.shape[1], dtype=bool)
    apart: list[int] = []
    left: list[int] = []
    for row in np.argsort(np.diff(matrix.indptr), kind="stable"):
        columns = matrix.indices[matrix.indptr[row] : matrix.indptr[row + 1]]
        fresh = not taken[columns].any()
        taken[columns] |= fresh
        (apart if fresh else left).append(int(row))
    return np.array(sorted(apart), np.int64), np.array(sorted(left), np.int64)


class OnRows(NamedTuple):
    """The point with slopes u - A'nu that meets the rows; `value` is E*(u - A'nu) + a'nu, the least over all nu."""

    point: Floats
    weight: Floats
    nu: Floats
    value: float
    met: bool


def reflect_onto_rows(mirror: Mirror, rows: RowSystem, target: Floats, u: Floats, nu: Floats) -> OnRows:
    """By Newton's method from `nu`: the sum is smooth and convex in nu, its gradient is what the rows miss."""
    simplexes = rows.simplexes(mirror)
    if len(simplexes.row):
        nu = nu.copy()
        nu[simplexes.row] = 0.0
        nu[simplexes.row] = simplexes.balanced(target, u - rows.carried(nu))
    at = mirror.reflect(u - rows.carried(nu))
    value = at.conjugate + float(target @ nu)
    if not len(target) or not np.isfinite(value):
        return OnRows(at.point, at.weight, nu, value, not len(target))
    size = np.abs(target) + rows.sizes @ mirror.extent + _NOTHING

    def missed(point: Floats) -> tuple[Floats, float]:
        missing = target - rows.matrix @ point
        return missing, float(np.max(np.abs(missing) / size))

    missing, worst = missed(at.point)
    for _ in range(_ROUNDS):
        if worst <= _EXACT:
            break
        with np.errstate(over="ignore", invalid="ignore"):
            step = -rows.weighted(at.weight).solve(missing)
            fall, length = float(missing @ step), 1.0
        if not np.isfinite(fall):
            break  # every share is at an end
        while True:
            ahead = nu + length * step
            tried = mirror.reflect(u - rows.carried(ahead))
            level, left = tried.conjugate + float(target @ ahead), missed(tried.point)
            nearer = left[1] < worst and level <= value + _LEVEL * abs(value)  # what the value hides by rounding
            if nearer or level <= value + 1e-4 * length * fall or length < 1e-10:
                break
            length *= 0.5
        if not nearer and not level < value - _EXACT * abs(value):
            break  # what is missing is rounding
        at, value, nu = tried, level, ahead
        missing, worst = left
    return OnRows(at.point, at.weight, nu, value, worst <= _MET)


class _Simplexes(NamedTuple):
    """Rows that share no coordinate, whose members have one coefficient and an entropy at one end, the same for all.

    With v = u - A'nu the members of such a row are end + sign exp(sign v - 1), and add up in closed form.
    """

    row: Ints
    start: Ints  # of its members in `member`
    member: Ints
    sign: Floats  # of each member's entropy: 1 at the lower end
    factor: Floats  # sign times coefficient, of each row
    ends: Floats  # what the ends of the members add up to in the row

    @staticmethod
    def of(mirror: Mirror, rows: RowSystem) -> _Simplexes:
        matrix = sp.csr_array(rows.matrix[rows.apart])
        sign = np.where(mirror.at_low, 1.0, 0.0) - np.where(mirror.at_high, 1.0, 0.0)  # 0 where both ends have one
        member, begin = matrix.indices.astype(np.int64), matrix.indptr[:-1].astype(np.int64)
        kind = sign[member] * matrix.data
        alike = np.zeros(len(begin), dtype=bool)
        if len(begin) and np.diff(matrix.indptr).all():
            lowest, highest = np.minimum.reduceat(kind, begin), np.maximum.reduceat(kind, begin)
            same = np.minimum.reduceat(sign[member], begin) == np.maximum.reduceat(sign[member], begin)
            alike = (lowest == highest) & (lowest != 0) & same
        matrix = sp.csr_array(matrix[alike])
        member = matrix.indices.astype(np.int64)
        start = matrix.indptr[:-1].astype(np.int64)
        end = np.where(mirror.at_low, mirror.low, mirror.high)[member]
        ends = np.add.reduceat(matrix.data * end, start) if len(start) else np.zeros(0)
        factor = sign[member[start]] * matrix.data[start]
        return _Simplexes(rows.apart[alike], start, member, sign[member], factor, ends)

    def balanced(self, target: Floats, u: Floats) -> Floats:
        """The multipliers of the rows that make them hold, where something is left for the exponentials; else 0."""
        exponent = self.sign * u[self.member] - 1.0
        highest = np.maximum.reduceat(exponent, self.start)
        count = np.diff(np.append(self.start, len(self.member)))
        total = np.add.reduceat(np.exp(exponent - np.repeat(highest, count)), self.start)
        left = (target[self.row] - self.ends) / self.factor
        return np.where(left > 0, (highest + np.log(total / np.where(left > 0, left, 1.0))) / self.factor, 0.0)
