"""Recovers b, rho, r^2, eps and the slacks: the minimum of the primal over its scalars with the Hilbert part fixed.

One scalar beside slacks: every slack is the largest of its lower lines, so the primal is a convex piecewise
quadratic F of the scalar; bisection over its sorted break points finds where F' changes sign, and the whole
interval where F' = 0 when the minimiser is not unique. More scalars: one by one, as declared or in coordinates in
which every slack sees one; else a linear program (narrowed_program.py where it is large) or a polished quadratic
one (scalar_program.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kdsl.numerics.arrays import Floats
from kdsl.solving.directions import directions_of
from kdsl.solving.narrowed_program import WORTHWHILE, Linear, Lines, narrowed_minimum
from kdsl.solving.scalar_problem import ScalarProblem
from kdsl.solving.scalar_program import by_cones, least_scalars
from kdsl.solving.smooth_scalars import along_one, along_several, by_programs
from kdsl.solving.sparse_forms import Entries

_FEW = 64  # scalars beside the slacks up to which their slopes are taken as a dense array
_FLAT = 1e-12  # F' counts as 0 below this share of the sum of the sizes of its terms
_POINT = 1e-12  # an interval that is shorter is a point
_RANK = 1e-12  # of the largest singular value: rows that depend on others


@dataclass(frozen=True, eq=False)
class Scalars:
    """The minimiser z; `interval` is where the one free scalar may lie, if that is more than a point."""

    z: Floats
    interval: tuple[float, float] | None = None
    column: int | None = None


def minimise_scalars(problem: ScalarProblem) -> Scalars:
    """A minimiser of the scalar problem, as feasible as floating point allows."""
    if problem.squares is not None:
        return Scalars(by_cones(problem))
    lines, few = _lines_of(problem)
    if problem.smooth:
        return Scalars(_smooth_scalars(problem, lines))
    if lines is not None and len(few) <= 1:
        return lines.minimise()
    v = None if lines is None else lines.one_by_one()
    if lines is not None and v is None:
        v = lines.turned()
    if lines is not None and v is None:
        v = lines.narrowed()
    if lines is not None and v is not None:
        return Scalars(lines.at(v))
    z = least_scalars(problem)
    return Scalars(z if lines is None else lines.at(z[few]))


def value_without_scalars(problem: ScalarProblem) -> float:
    """The value where all scalars but slacks are 0, and slacks at their best; 0 where they cannot be told apart."""
    lines, few = _lines_of(problem)
    return 0.0 if lines is None else problem.value(lines.at(np.zeros(len(few))))


def _lines_of(problem: ScalarProblem) -> tuple[_Lines | None, NDArray[np.int64]]:
    """The lines of the slacks, None where there is no telling them apart, and the other scalars."""
    slacks = _slack_columns(problem)
    few = _others(problem.size, slacks)
    return _Lines.of(problem, slacks, few) if problem.diagonal else None, few


def _smooth_scalars(problem: ScalarProblem, lines: _Lines | None) -> Floats:
    """By Newton's method where equations define every slack and hold the rest; one by one; by programs."""
    if lines is None:
        return by_programs(problem)
    rows, offset, equality = lines.hard
    if not problem.losses and lines.are_fixed:
        origin, basis = _solutions(rows[equality], offset[equality])
        z = along_several(problem, lines.at(origin), lines.directions(basis))
        if (rows[~equality] @ z[lines.few] + offset[~equality] <= 0).all():
            return z
    v = lines.one_by_one()
    return lines.at(by_programs(problem)[lines.few] if v is None else v)


def _solutions(rows: Floats, offset: Floats) -> tuple[Floats, Floats]:
    """(v, N): rows v + offset = 0, and for every v + N u as well."""
    left, sizes, right = np.linalg.svd(rows)
    rank = int(np.count_nonzero(sizes > _RANK * sizes.max(initial=0.0)))
    return -right[:rank].T @ ((left[:, :rank].T @ offset) / sizes[:rank]), right[rank:].T


def _others(count: int, taken: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers below `count` that are not taken."""
    left = np.ones(count, dtype=bool)
    left[taken] = False
    return np.flatnonzero(left)


def _slack_columns(problem: ScalarProblem) -> NDArray[np.int64]:
    """Families such that no row holds two of their members: the largest first."""
    rows, columns, count = _rows_of(problem.matrix), problem.matrix.indices, problem.matrix.shape[0]
    chosen: list[NDArray[np.int64]] = []
    taken = np.zeros(count, dtype=bool)
    for family in sorted(problem.families.values(), key=lambda f: -len(f.members)):
        if len(family.members) < 2 and family.unknown.origin != "residual" and not family.unknown.indices:
            continue
        here = np.zeros(problem.size, dtype=bool)
        here[family.members] = True
        counts = np.bincount(rows[here[columns]], minlength=count)
        if counts.max(initial=0) <= 1 and not np.any(taken & (counts > 0)):
            taken |= counts > 0
            chosen.append(family.members)
    return np.sort(np.concatenate(chosen)) if chosen else np.zeros(0, dtype=np.int64)


def _rows_of(matrix: sp.csr_array) -> NDArray[np.int64]:
    """The row of each entry."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def _places(chosen: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Where each number below `count` stands among the chosen ones; -1 for the others."""
    place = np.full(count, -1)
    place[chosen] = np.arange(len(chosen))
    return place


@dataclass(frozen=True, eq=False)
class _Lines:
    """A slack is at the highest of its lines `slopes v + height`, v the other scalars; lines are sorted by owner."""

    problem: ScalarProblem
    slacks: NDArray[np.int64]
    few: NDArray[np.int64]
    owner: NDArray[np.int64]  # position in `slacks`
    slopes: sp.csr_array
    height: Floats
    hard: tuple[Floats, Floats, NDArray[np.bool_]]  # rows without a slack: G v + g <= 0, = 0 where so marked
    bend: Floats  # the quadratic costs of all scalars

    @cached_property
    def slope(self) -> Floats:
        return np.asarray(self.slopes.toarray()[:, 0])

    @cached_property
    def first(self) -> Floats:
        """What a unit of its slack costs, for each line."""
        return np.asarray(self.problem.linear[self.slacks[self.owner]])

    @cached_property
    def curvature(self) -> Floats:
        """What the square of its slack costs, for each line."""
        return np.asarray(self.bend[self.slacks[self.owner]])

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where the lines of each slack begin."""
        return np.flatnonzero(np.r_[True, np.diff(self.owner) > 0])

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """How many lines each slack has."""
        return np.asarray(np.diff(np.r_[self.starts, len(self.owner)]), dtype=np.int64)

    @cached_property
    def in_pairs(self) -> bool:
        return bool((self.counts == 2).all())

    @cached_property
    def bent(self) -> bool:
        """Whether a square of a slack costs something."""
        return bool(self.curvature.any())

    @staticmethod
    def of(problem: ScalarProblem, slacks: NDArray[np.int64], few: NDArray[np.int64]) -> _Lines | None:
        """None where a slack is bounded from above by a line, or pulls its own cost down."""
        matrix, count = problem.matrix, problem.matrix.shape[0]
        rows, bend = _rows_of(matrix), problem.quadratic.diagonal()
        place = _places(slacks, problem.size)[matrix.indices]
        on_slack = np.flatnonzero(place >= 0)
        rows_with, owner, weight = rows[on_slack], place[on_slack], matrix.data[on_slack]
        exact = problem.equality[rows_with]
        if np.any((weight > 0) & ~exact) or not _each_is_settled(problem, slacks, owner, exact, bend):
            return None
        free, bottom = _bottoms(problem, slacks, owner[exact], bend)
        owner = np.concatenate([owner, free])
        order = np.argsort(owner, kind="stable")
        height = np.concatenate([-problem.offset[rows_with] / weight, bottom])
        line = _places(rows_with, count)
        of_few = _places(few, problem.size)[matrix.indices]
        sloped = np.flatnonzero((of_few >= 0) & (line[rows] >= 0))
        by_line, data = line[rows[sloped]], matrix.data[sloped]
        number = _places(order, len(order))[by_line]
        slopes = Entries(number, of_few[sloped], -data / weight[by_line], (len(order), len(few)))
        without = _others(count, rows_with)
        level = _places(without, count)
        flat = np.flatnonzero((of_few >= 0) & (level[rows] >= 0))
        hard = np.zeros((len(without), len(few)))
        hard[level[rows[flat]], of_few[flat]] = matrix.data[flat]
        return _Lines(
            problem,
            slacks,
            few,
            owner[order],
            slopes.by_row(),
            height[order],
            (hard, problem.offset[without], problem.equality[without]),
            bend,
        )

    def minimise(self) -> Scalars:
        if not len(self.few):
            return Scalars(self.at(np.zeros(0)))
        rows, offset, equality = self.hard
        low, high = _interval(rows[:, 0], offset, equality)
        column = int(self.few[0])
        if self.problem.smooth:
            return Scalars(self.at(np.array([along_one(self.problem, self.moving, low, high)])))
        if not len(self.owner):
            indifferent = self.bend[column] == 0 == self.problem.linear[column]
            free = (low, high) if indifferent and is_wider((low, high), _POINT) else None
            return Scalars(self.at(np.array([self._end(low, high)])), free, column)
        cuts = self._cuts()
        cuts = np.unique(np.concatenate([[low], cuts[(cuts > low) & (cuts < high)], [high]]))
        left, right = self._flat(cuts)
        middle = _middle(left, right)
        free = (left, right) if is_wider((left, right), _POINT) else None
        return Scalars(self.at(np.array([middle])), free, column)

    def one_by_one(self) -> Floats | None:
        """The other scalars where no slack, row or smooth loss sees two of them (a bias for each group); else None."""
        rows, offset, equality = self.hard
        seen = sp.csr_array(self.slopes)
        seen.eliminate_zeros()
        several = np.diff(seen.indptr) > 1
        smooth = self.problem.smooth
        mixed = any(loss.columns.shape[1] > 1 for loss in smooth) or (self.problem.losses and not smooth)
        if mixed or several.any() or np.any(np.count_nonzero(rows, axis=1) > 1):
            return None
        scalar = np.full(len(self.slacks), -1)
        line = np.flatnonzero(np.diff(seen.indptr))
        scalar[self.owner[line]] = seen.indices
        if np.any(scalar[self.owner[line]] != seen.indices):
            return None
        v, rise = np.zeros(len(self.few)), np.zeros(len(self.owner))
        rise[line] = seen.data
        for j in range(len(v)):
            mine = np.flatnonzero(scalar == j)
            lines = np.flatnonzero(scalar[self.owner] == j)
            places = np.arange(len(lines))
            here = np.flatnonzero(rows[:, j])
            part = _Lines(
                self.problem,
                self.slacks[mine],
                self.few[[j]],
                np.searchsorted(mine, self.owner[lines]),
                Entries(places, np.zeros_like(places), rise[lines], (len(lines), 1)).by_row(),
                self.height[lines],
                (rows[here][:, [j]], offset[here], equality[here]),
                self.bend,
            )
            v[j] = part.minimise().z[self.few[j]]
        return v

    def turned(self) -> Floats | None:
        """The other scalars where u = D v has coordinates of which each slack sees one (rho - b and rho + b for two
        labels, eps - b and eps + b for a tube), as long as no row holds them back; None elsewhere.
        """
        rows, offset, equality = self.hard
        if equality.any() or self.problem.losses or len(self.few) > _FEW or np.any(self.bend[self.few] > 0):
            return None
        slopes = self.slopes.toarray()
        some = np.flatnonzero(slopes.any(axis=1))
        classes = directions_of(slopes[some])
        if len(classes.direction) != len(self.few) or not classes.independent:
            return None
        back = np.linalg.inv(classes.direction)
        linear = self.problem.linear.copy()
        linear[self.few] = linear[self.few] @ back
        turned = replace(
            self,
            problem=replace(self.problem, linear=linear),
            slopes=Entries(some, classes.label, classes.scale, slopes.shape).by_row(),
            hard=(rows[:0], offset[:0], equality[:0]),
        )
        u = turned.one_by_one()
        if u is None or not np.isfinite(u).all():
            return None
        v = np.asarray(back @ u)
        return v if (rows @ v + offset <= 0).all() else None

    def narrowed(self) -> Floats | None:
        """The other scalars of a large linear program, from the few slacks near their kinks; None elsewhere."""
        problem = self.problem
        straight = not problem.quadratic.nnz and not problem.losses
        if not straight or len(self.slacks) < WORTHWHILE or len(np.unique(self.owner)) < len(self.slacks):
            return None
        lines = Lines(self.owner, self.slopes.toarray(), self.height, problem.linear[self.slacks])
        return narrowed_minimum(lines, Linear(problem.linear[self.few], *self.hard))

    def _end(self, low: float, high: float) -> float:
        """Without slacks F is a parabola or a line: its zero inside the interval, or the end it falls towards."""
        column = int(self.few[0])
        own, first = float(self.bend[column]), float(self.problem.linear[column])
        if own > 0:
            return float(np.clip(-first / own, low, high))
        return low if first > 0 else high if first < 0 else _middle(low, high)

    def _flat(self, cuts: Floats) -> tuple[float, float]:
        """The interval of minimisers among the open intervals between consecutive cuts and the cuts themselves."""
        count = len(cuts) - 1
        first, last = 0, count  # the first interval where F' is not negative
        while first < last:
            n = (first + last) // 2
            slope, bend, size = self._derivative(_middle(cuts[n], cuts[n + 1]))
            inside = _zero_inside(cuts[n], cuts[n + 1], slope, bend)
            if inside is not None:
                return inside, inside
            if slope < -_FLAT * size:
                first = n + 1
            else:
                last = n
        left = float(cuts[first])
        if first == count:
            return left, left
        end = first
        while end < count:
            slope, bend, size = self._derivative(_middle(cuts[end], cuts[end + 1]))
            if bend > 0:
                inside = _zero_inside(cuts[end], cuts[end + 1], slope, bend)
                if inside is not None:
                    return inside, inside
            if abs(slope) > _FLAT * size or bend > 0:
                break
            end += 1
        return left, float(cuts[end])

    def _derivative(self, v: float) -> tuple[float, float, float]:
        """(F', F'', the sum of the sizes of the terms of F') at a point where no two lines meet."""
        height = self.slope * v + self.height
        active = self._active(height)
        rate, slope, bends = self.slope[active], self.first[active], 0.0
        if self.bent or self.problem.losses:
            z, bend = height[active], self.curvature[active]
            slope = slope + bend * z
            if self.problem.losses:
                slope, bend = self._with_losses(self.owner[active], z, slope, bend)
            bends = float((bend * rate**2).sum())
        own = float(self.bend[self.few[0]])
        first = self.problem.linear[self.few[0]] + own * v
        terms = slope * rate
        size = float(np.abs(terms).sum()) + abs(self.problem.linear[self.few[0]]) + abs(own * v)
        return float(first + terms.sum()), own + bends, max(size, 1e-300)

    def _active(self, height: Floats) -> NDArray[np.int64]:
        """The index of the highest line of each slack, the first of several."""
        if self.in_pairs:  # a hinge: its line and 0
            return self.starts + (height[1::2] > height[::2])
        highest = np.maximum.reduceat(height, self.starts)
        candidates = np.flatnonzero(height == np.repeat(highest, self.counts))
        return np.asarray(candidates[np.diff(self.owner[candidates], prepend=-1) > 0], dtype=np.int64)

    def _with_losses(self, owner: NDArray[np.int64], z: Floats, slope: Floats, bend: Floats) -> tuple[Floats, Floats]:
        """(slope, curvature) with those of the losses of the given slacks at z added."""
        slope, bend = slope.copy(), bend.copy()
        position = _places(self.slacks[owner], self.problem.size)
        for loss in self.problem.losses:
            here = position[loss.columns]
            at = np.full(len(here), np.nan)
            at[here >= 0] = z[here[here >= 0]]
            for left, right, q, c, _ in loss.pieces:
                inside = (at > left) & (at <= right)
                slope[here[inside]] += q[inside] * at[inside] + c[inside]
                bend[here[inside]] += q[inside]
        return slope, bend

    def _cuts(self) -> Floats:
        """Where two lines of one slack cross, and where a line meets a break point of its loss."""
        cuts: list[Floats] = []
        for shift in range(1, int(np.bincount(self.owner).max(initial=1))):
            same = self.owner[shift:] == self.owner[:-shift]
            slope = (self.slope[shift:] - self.slope[:-shift])[same]
            height = (self.height[:-shift] - self.height[shift:])[same]
            cuts.append(height[slope != 0] / slope[slope != 0])
        position = _places(self.slacks, self.problem.size)
        line_of = np.full(len(self.slacks), -1)
        line_of[self.owner] = np.arange(len(self.owner))
        for loss in self.problem.losses:
            lines = line_of[position[loss.columns]]
            slope, height = self.slope[lines], self.height[lines]
            for _, right, *_ in loss.pieces[:-1]:
                cuts.append((right - height)[slope != 0] / slope[slope != 0])
        return np.concatenate(cuts) if cuts else np.zeros(0)

    @cached_property
    def are_fixed(self) -> bool:
        """Whether an equation defines every slack: it has one line, and none that it may leave."""
        return len(self.owner) == len(self.slacks) and not self.curvature.any() and not self.first.any()

    def directions(self, basis: Floats) -> Floats:
        """What z changes by, where every slack has one line, as the other scalars change by the columns of `basis`."""
        result = np.zeros((self.problem.size, basis.shape[1]))
        result[self.few] = basis
        result[self.slacks[self.owner]] = self.slopes @ basis
        return result

    def moving(self, v: float) -> tuple[Floats, Floats]:
        """`at` for the one scalar, and its derivative where no two lines meet."""
        z, rates = self.at(np.array([v])), np.zeros(self.problem.size)
        rates[self.few] = 1.0
        active = self._active(self.slope * v + self.height) if len(self.owner) else np.zeros(0, dtype=np.int64)
        rates[self.slacks[self.owner[active]]] = self.slope[active]
        return z, rates

    def at(self, v: Floats) -> Floats:
        """z with every slack at its best for the other scalars v."""
        z = np.zeros(self.problem.size)
        z[self.few] = v
        height = self.slopes @ v + self.height
        active = self._active(height) if len(height) else np.zeros(0, dtype=np.int64)
        z[self.slacks[self.owner[active]]] = height[active]
        return z


def _each_is_settled(
    problem: ScalarProblem,
    slacks: NDArray[np.int64],
    owner: NDArray[np.int64],
    exact: NDArray[np.bool_],
    bend: Floats,
) -> bool:
    """Whether the best value of every slack is its highest line: it is fixed by an equation, or costs more above."""
    count = np.bincount(owner, minlength=len(slacks))
    fixed = np.zeros(len(slacks), dtype=bool)
    fixed[owner[exact]] = True
    curved = bend[slacks] > 0
    if np.any(fixed & (count > 1)) or np.any((count == 0) & ~curved):
        return False
    losses = np.zeros(problem.size, dtype=bool)
    for loss in problem.losses:
        losses[loss.columns] = True
    priced = ((problem.linear[slacks] >= 0) | curved) & ~losses[slacks]
    return bool(np.all(fixed | priced))


def _bottoms(
    problem: ScalarProblem, slacks: NDArray[np.int64], fixed: NDArray[np.int64], bend: Floats
) -> tuple[NDArray[np.int64], Floats]:
    """A level line for every slack of quadratic cost that no equation fixes: where its own cost is least."""
    curvature = bend[slacks]
    bent = curvature > 0
    bent[fixed] = False
    free = np.flatnonzero(bent)
    return free, -problem.linear[slacks[free]] / curvature[free]


def is_wider(interval: tuple[float, float], tolerance: float) -> bool:
    """Whether an interval, whose ends may be infinite, is more than a point up to a relative tolerance."""
    low, high = interval
    return high - low > tolerance * max([1.0, *(abs(end) for end in interval if np.isfinite(end))])


def _interval(slope: Floats, offset: Floats, equality: NDArray[np.bool_]) -> tuple[float, float]:
    """Where slope v + offset <= 0 (= 0) for all rows that move with v; where rounding leaves nothing, its middle."""
    moving = slope != 0
    bound = -offset[moving] / slope[moving]
    rising, exact = slope[moving] > 0, equality[moving]
    high = float(np.min(bound[rising | exact], initial=np.inf))
    low = float(np.max(bound[~rising | exact], initial=-np.inf))
    return (low, high) if low <= high else (0.5 * (low + high), 0.5 * (low + high))


def _middle(left: float, right: float) -> float:
    if np.isinf(left) and np.isinf(right):
        return 0.0
    if np.isinf(left):
        return right - max(1.0, abs(right))
    if np.isinf(right):
        return left + max(1.0, abs(left))
    return 0.5 * (left + right)


def _zero_inside(left: float, right: float, slope: float, bend: float) -> float | None:
    """The zero of a linear F' inside an interval, F' being `slope` in its middle."""
    if bend <= 0:
        return None
    zero = _middle(left, right) - slope / bend
    return zero if left <= zero <= right else None
