"""The rows B = [S'F, A'] of a normal form whose Gram matrices are products F F' of few columns, exactly or nearly."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import scipy.sparse as sp

from kdsl.numerics.arrays import Floats, Ints
from kdsl.solving.factors import linear_points
from kdsl.solving.normal_form import HilbertBlock, NormalForm, Separable
from kdsl.solving.pivoted_cholesky import pivoted_cholesky

if TYPE_CHECKING:
    from kdsl import _core


class ExplicitRows(NamedTuple):
    """Row k of B is [coefficient_k points_k, row_k]; a slack for each inequality row stands after the coordinates.

    The normal form is  min over t, max over v of  sum_k h_k(t_k) + v'(B't + e) - 1/2 v'Mv + constant,  M = diag(metric)
    (1 for the columns of F, 0 for the rows of A, each divided by its largest entry). `residual` is the largest trace
    of a K - F F', relative to that of K.
    """

    points: Floats
    coefficient: Floats | None
    row: Floats | None
    h: Separable
    e: Floats
    metric: Floats
    constant: float
    residual: float = 0.0

    @property
    def size(self) -> int:
        return self.h.size

    @property
    def columns(self) -> int:
        return len(self.e)

    def passes(self, threads: int) -> _core.RowPass:
        from kdsl import _core

        return _core.RowPass(self.points, self.coefficient, self.row, threads)

    def gathered(self, chosen: Ints) -> Floats:
        """The rows of B that are chosen."""
        parts = [self.points[chosen]]
        if self.coefficient is not None:
            parts[0] *= self.coefficient[chosen, None]
        if self.row is not None:
            parts.append(self.row[chosen])
        return np.ascontiguousarray(np.hstack(parts)) if len(parts) > 1 else parts[0]


def explicit_rows(problem: NormalForm, most: int, memory: float, until: float = math.inf) -> ExplicitRows | None:
    """B with at most `most` columns, or None where some Gram matrix has a larger rank, or a factor that is larger
    than `memory` bytes or not known `until` then; dense points are there already and cost nothing.
    """
    n, slack = problem.size, np.flatnonzero(~problem.rows.equality)
    factors = [_factor(block, most, memory, until) for block in problem.blocks]
    known = [factor for factor in factors if factor is not None]
    if len(known) < len(factors) or sum(F.shape[1] for F, _ in known) > most:
        return None
    shifts = [_image(block, F) for block, (F, _) in zip(problem.blocks, known, strict=True)]
    points, coefficient = _on_coordinates(problem, [F for F, _ in known])
    count = len(problem.rows.target)
    row = None
    target = np.zeros(0)
    if count:
        dense = np.ascontiguousarray(problem.rows.matrix.T.toarray() if count > 1 else _column(problem))
        size = np.abs(dense).max(axis=0, initial=0.0)
        size[size == 0] = 1.0
        row = dense if (size == 1.0).all() else dense / size
        target = problem.rows.target / size
    h = problem.separable
    if len(slack):
        assert row is not None
        unit = np.zeros((len(slack), count))
        unit[np.arange(len(slack)), slack] = 1.0
        row = np.vstack([row, unit])
        points = np.vstack([points, np.zeros((len(slack), points.shape[1]))])
        coefficient = None if coefficient is None else np.r_[coefficient, np.ones(len(slack))]
        h = h.with_slacks(len(slack))
    e = np.concatenate([*shifts, -target])
    metric = np.r_[np.ones(points.shape[1]), np.zeros(count)]
    residual = max((rest for _, rest in known), default=0.0)
    assert h.size == n + len(slack)
    return ExplicitRows(points, coefficient, row, h, e, metric, problem.constant, residual)


def _column(problem: NormalForm) -> Floats:
    """The only row as a column; a full row is stored in order."""
    matrix = problem.rows.matrix
    if matrix.nnz == problem.size and matrix.has_sorted_indices:
        return np.asarray(matrix.data, np.float64).reshape(-1, 1)
    return np.asarray(matrix.toarray(), np.float64).reshape(-1, 1)


def _factor(block: HilbertBlock, most: int, memory: float, until: float) -> tuple[Floats, float] | None:
    """F with K = F F' and the trace of what is left, relative to that of K."""
    points = linear_points(block)
    if points is None:
        return pivoted_cholesky(block.gram, most, memory, until)
    if points.shape[1] > most:
        return None
    if isinstance(points, np.ndarray):
        return np.ascontiguousarray(points, np.float64), 0.0
    return (points.toarray(), 0.0) if 8.0 * points.shape[0] * points.shape[1] <= memory else None


def _image(block: HilbertBlock, F: Floats) -> Floats:
    return np.zeros(F.shape[1]) if block.shift is None else np.asarray(F.T @ block.shift)


def _on_coordinates(problem: NormalForm, factors: list[Floats]) -> tuple[Floats, Floats | None]:
    """S'F side by side; where every coordinate has one point of its own, F itself and the coefficients of S."""
    if len(factors) == 1:
        atoms = sp.csc_array(problem.blocks[0].atoms)
        own = np.arange(problem.size)
        single = atoms.nnz == problem.size == len(factors[0]) and np.array_equal(atoms.indices, own)
        if single and np.array_equal(atoms.indptr, np.arange(problem.size + 1)):
            return factors[0], np.ascontiguousarray(atoms.data, np.float64)
    parts = [np.asarray(sp.csr_array(b.atoms.T) @ F) for b, F in zip(problem.blocks, factors, strict=True)]
    return np.ascontiguousarray(np.hstack([np.zeros((problem.size, 0)), *parts])), None
