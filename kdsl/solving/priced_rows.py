"""Takes rows that tie every coordinate to every other out of a normal form, and finds the prices that put them back.

Solves   min 1/2 t'Qt + h(t) subject to B t = b and the rows that are kept, by the method of multipliers:
         t <- argmin 1/2 t'Qt + h(t) + nu'(B t - b) + rho/2 |B t - b|^2 on the kept rows,  nu <- nu + rho (B t - b).
Given    the rows B for which the columns of A fall into too many classes of parallel ones for directions inside a
         class to do the work: an unpenalised part that is linear in features, one row for each feature.
Returns  a point that nearly meets all rows: where the engine starts from.
How      rho/2 |B t|^2 is one more Hilbert block, a linear kernel on the columns of B, so every inner problem is a
         normal form with few classes for the same engine, from where the last one ended and as exact as the prices
         are by then. B is made orthonormal first, in units in which rho is about the size of Q's diagonal. Hestenes
         and Powell (1969); the inexact form is Rockafellar's (1976), where it is the proximal point method on nu.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kdsl.numerics.arrays import Floats, Ints
from kdsl.numerics.native_kernel import NativeKernel
from kdsl.solving.feasible import feasible_point
from kdsl.solving.normal_form import HilbertBlock, NormalForm, Rows, Separable
from kdsl.solving.raw_solution import RawSolution, Status

MOST = 1 << 25  # entries of rows that are handled as a dense array
MANY = 64  # classes of parallel columns above which rows are priced
_ROUNDS = 40
_COARSE = 1e-2  # the relative gap that the first round asks for
_STRONG = 4.0  # rho times the number of rows: the squares of B's columns, in units of Q's diagonal
_SHARE = 0.25  # of the tolerance, for the inner gap and for what is missing in the rows

Inner = Callable[[NormalForm, Floats | None, float], RawSolution]  # a problem, a start and a relative gap


class Priced(NamedTuple):
    """A start for the whole problem; `stopped` is how the last round ended where it ended early (a limit, a ray)."""

    theta: Floats
    stopped: Status | None


def priced_rows(rows: Rows, most: int) -> NDArray[np.bool_]:
    """Which rows to price, so that those that are kept leave at most `most` classes of parallel columns."""
    matrix = rows.matrix.toarray()
    counts = [len(np.unique(np.abs(row[row != 0]))) for row in matrix]
    order = np.argsort(counts, kind="stable")
    priced = np.zeros(len(matrix), bool)
    reference = matrix[order[0]]
    scale = np.where(reference != 0, reference, 1.0)
    code = np.zeros(matrix.shape[1], np.int64)
    for row in order:
        _, value = np.unique(np.round(matrix[row] / scale, 12), return_inverse=True)
        combined = np.unique(code * (value.max(initial=0) + 1) + value, return_inverse=True)[1]
        if combined.max(initial=0) < most:
            code = combined
        else:
            priced[row] = True
    return priced


def start_by_prices(
    problem: NormalForm, start: Floats | None, tol: float, inner: Inner, most: int = MANY
) -> Priced | None:
    """A point near the solution that meets the rows as well as rounding allows; None where there is none to price."""
    if not 0 < problem.rows.matrix.shape[0] * problem.size <= MOST:
        return None
    priced = priced_rows(problem.rows, most)
    if not priced.any():
        return None
    split = _split(problem, priced)
    if not len(split.target):
        return None
    nu, theta = np.zeros(len(split.target)), None if start is None else split.with_slacks(start)
    asked, before = _COARSE, np.inf
    rho = _STRONG / len(nu)
    for _ in range(_ROUNDS):
        found = inner(split.penalised(nu, rho), theta, max(asked, _SHARE * tol))
        theta = found.theta
        if found.status not in ("solved", "stalled"):
            return Priced(_on_rows(problem, theta), found.status)
        rest = split.matrix @ theta - split.target
        nu += rho * rest
        size = max(1.0, abs(float(found.facts.get("value", 1.0))))
        missing = float(np.abs(nu * rest).sum() + 0.5 * rho * rest @ rest) / size
        if missing <= _SHARE * tol and asked <= _SHARE * tol:
            break
        if missing > 0.25 * before and asked <= missing:
            rho *= 4.0
        before = missing
        asked = max(min(0.1 * asked, 0.1 * missing), _SHARE * tol)
    assert theta is not None
    return Priced(_on_rows(problem, theta), None)


def _on_rows(problem: NormalForm, theta: Floats) -> Floats:
    return feasible_point(problem, theta[: problem.size])[0]


class _Features:
    """The linear kernel on the columns of B."""

    def __init__(self, points: Floats) -> None:
        self.points = points

    @property
    def size(self) -> int:
        return len(self.points)

    def native(self) -> NativeKernel:
        return NativeKernel("linear", self.points)

    def diagonal(self) -> Floats:
        return np.asarray((self.points**2).sum(axis=1))

    def rows(self, indices: Ints) -> Floats:
        return np.asarray(self.points[indices] @ self.points.T)

    def matvec(self, vector: Floats) -> Floats:
        return np.asarray(self.points @ (self.points.T @ vector))


class _Split(NamedTuple):
    """The problem without the priced rows, with a slack for each priced inequality; B t = b are the priced rows."""

    problem: NormalForm
    matrix: Floats
    target: Floats
    inequalities: Floats  # A of the priced inequalities, whose slacks are the last coordinates
    limits: Floats

    def with_slacks(self, start: Floats) -> Floats:
        return np.concatenate([start, np.maximum(self.limits - self.inequalities @ start, 0.0)])

    def penalised(self, nu: Floats, rho: float) -> NormalForm:
        """The problem with nu'(B t - b) + rho/2 |B t - b|^2 in its objective."""
        linear = self.matrix.T @ (nu - rho * self.target)
        h = self.problem.separable
        separable = Separable(
            h.offsets, h.left, h.right, h.curvature, h.slope + np.repeat(linear, np.diff(h.offsets)), h.value
        )
        gram = _Features(np.ascontiguousarray(np.sqrt(rho) * self.matrix.T))
        penalty = HilbertBlock("rows", gram, sp.csc_array(sp.eye_array(len(linear), format="csc")))
        constant = self.problem.constant + float(0.5 * rho * self.target @ self.target - nu @ self.target)
        return NormalForm((*self.problem.blocks, penalty), separable, self.problem.rows, constant)


def _split(problem: NormalForm, priced: NDArray[np.bool_]) -> _Split:
    rows, h, n = problem.rows, problem.separable, problem.size
    loose = np.flatnonzero(priced & ~rows.equality)
    kept = np.flatnonzero(~priced)
    slacks = len(loose)
    A = rows.matrix.toarray()
    B = np.hstack([A[priced], np.zeros((int(priced.sum()), slacks))])
    B[np.searchsorted(np.flatnonzero(priced), loose), n + np.arange(slacks)] = 1.0
    factor = _orthonormaliser(B) * _size_of(problem)
    zero = np.zeros(slacks)
    separable = Separable(
        np.concatenate([h.offsets, h.offsets[-1] + 1 + np.arange(slacks)]).astype(np.int64),
        np.concatenate([h.left, zero]),
        np.concatenate([h.right, zero + np.inf]),
        np.concatenate([h.curvature, zero]),
        np.concatenate([h.slope, zero]),
        np.concatenate([h.value, zero]),
    )
    blocks = tuple(HilbertBlock(b.name, b.gram, _widened(b.atoms, slacks), b.shift) for b in problem.blocks)
    others = Rows(_widened(sp.csr_array(rows.matrix)[kept], slacks).tocsr(), rows.target[kept], rows.equality[kept])
    return _Split(
        NormalForm(blocks, separable, others, problem.constant),
        factor @ B,
        factor @ rows.target[priced],
        A[loose],
        rows.target[loose],
    )


def _widened(matrix: Any, columns: int) -> sp.csc_array:
    return sp.csc_array(sp.hstack([matrix, sp.csc_array((matrix.shape[0], columns))]))


def _orthonormaliser(B: Floats) -> Floats:
    """F with F B orthogonal rows of mean square 1; rows that depend on others are dropped."""
    values, vectors = np.linalg.eigh(B @ B.T)
    real = values > 1e-12 * values.max(initial=0.0)
    return np.asarray((vectors[:, real] * np.sqrt(B.shape[1] / values[real])).T)


def _size_of(problem: NormalForm) -> float:
    """The root of the mean of Q's diagonal as far as the diagonals of the kernels tell."""
    total = 0.0
    for block in problem.blocks:
        squares = sp.csc_array(block.atoms).power(2)
        total += float(np.mean(squares.T @ block.gram.diagonal()))
    return float(np.sqrt(total)) if total > 0 else 1.0
