"""Random normal forms for tests of the backends, with the text of each one in CVXPY."""

from __future__ import annotations

from typing import NamedTuple

import cvxpy
import numpy as np
import scipy.sparse as sp

from kdsl.binding.gram import DenseGram
from kdsl.numerics.arrays import Floats, Ints
from kdsl.numerics.native_kernel import NativeKernel
from kdsl.solving.normal_form import HilbertBlock, NormalForm, Rows, Separable


class Kind(NamedTuple):
    """What a random problem has; `rows` and `inequalities` are counts of rows of random numbers."""

    name: str
    box: bool = True
    kinks: bool = False
    curved: bool = False
    rows: int = 0
    inequalities: int = 0
    pairs: bool = False
    shift: bool = False
    blocks: int = 1
    free: bool = False
    linear: bool = False


KINDS = (
    Kind("svm", rows=1),
    Kind("svm_without_bias"),
    Kind("squared_hinge", box=True, free=True, curved=True, rows=1),
    Kind("regression", kinks=True, rows=1),
    Kind("regression_without_bias", kinks=True),
    Kind("huber", kinks=True, curved=True, rows=1),
    Kind("nu", rows=2),
    Kind("inequality", rows=1, inequalities=1),
    Kind("pairs", pairs=True),
    Kind("pairs_with_row", pairs=True, kinks=True, rows=1),
    Kind("two_spaces", blocks=2, shift=True, rows=2),
    Kind("ridge", box=False, curved=True),
    Kind("ridge_with_bias", box=False, curved=True, rows=1),
    Kind("ridge_two_spaces", box=False, curved=True, rows=3, blocks=2, shift=True, pairs=True),
    Kind("linear", rows=1, linear=True),
    Kind("linear_regression", kinks=True, rows=1, linear=True, shift=True),
    Kind("linear_ridge", box=False, curved=True, rows=1, linear=True),
)


class LinearGram(NamedTuple):
    """X X', whose points are known to those who ask."""

    points: Floats

    @property
    def size(self) -> int:
        return len(self.points)

    def diagonal(self) -> Floats:
        return (self.points**2).sum(axis=1)

    def rows(self, indices: Ints) -> Floats:
        return self.points[indices] @ self.points.T

    def matvec(self, vector: Floats) -> Floats:
        return self.points @ (self.points.T @ vector)

    def native(self) -> NativeKernel:
        return NativeKernel("linear", self.points)


def random_form(kind: Kind, size: int = 24, seed: int = 0) -> NormalForm:
    """A feasible, bounded problem of that kind."""
    random = np.random.default_rng([seed, *kind.name.encode()])
    blocks = tuple(_block(f"w{b}", kind, size, random) for b in range(kind.blocks))
    h = _separable(kind, size, random)
    inside = np.clip(random.uniform(0.2, 0.8, size), h.lower, h.upper)
    signs = random.choice([-1.0, 1.0], size)
    matrix = np.vstack([signs, np.ones(size), *random.standard_normal((4, size))])
    total = kind.rows + kind.inequalities
    equality = np.arange(total) < kind.rows
    target = matrix[:total] @ inside + np.where(equality, 0.0, 0.1)
    return NormalForm(blocks, h, Rows(sp.csr_array(matrix[:total]), target, equality), constant=0.7)


def _block(name: str, kind: Kind, size: int, random: np.random.Generator) -> HilbertBlock:
    points = random.standard_normal((size, 4))
    gram = LinearGram(points) if kind.linear else DenseGram(_gaussian(points))
    if kind.pairs:
        first, second = random.integers(0, size, size), random.integers(0, size, size)
        atoms = sp.csc_array(
            (np.r_[np.ones(size), -0.5 * np.ones(size)], (np.r_[first, second], np.tile(np.arange(size), 2))),
            (size, size),
        )
    else:
        atoms = sp.csc_array(sp.diags_array(random.choice([-1.0, 1.0], size)))
    return HilbertBlock(name, gram, atoms, random.standard_normal(size) / 3 if kind.shift else None)


def _gaussian(points: Floats) -> Floats:
    squares = (points**2).sum(axis=1)
    return np.exp(-0.3 * (squares[:, None] + squares[None, :] - 2 * points @ points.T))


def _separable(kind: Kind, size: int, random: np.random.Generator) -> Separable:
    slope = random.uniform(-1.5, -0.5, size)
    curvature = np.full(size, 0.5) if kind.curved else np.zeros(size)
    if kind.kinks:
        return _piecewise(kind, size, random)
    if not kind.box:
        return Separable.single(np.full(size, -np.inf), np.full(size, np.inf), curvature, slope)
    upper = np.full(size, np.inf) if kind.free else random.uniform(1.0, 2.0, size)
    return Separable.single(np.zeros(size), upper, curvature, slope)


def _piecewise(kind: Kind, size: int, random: np.random.Generator) -> Separable:
    """Three pieces on [-1, 2] with breaks at 0 and 0.6, or two unbounded ones with curvature."""
    pieces = []
    for _ in range(size):
        s = float(random.uniform(-1.0, 1.0))
        if kind.curved:
            pieces.append([(-np.inf, 0.0, 0.4, s - 0.3, 0.2), (0.0, np.inf, 1.0, s + 0.3, 0.2)])
        else:
            pieces.append(
                [(-1.0, 0.0, 0.0, s - 0.3, 0.1), (0.0, 0.6, 0.0, s + 0.2, 0.1), (0.6, 2.0, 0.5, s + 0.1, 0.07)]
            )
    flat = np.array([piece for some in pieces for piece in some])
    offsets = np.r_[0, np.cumsum([len(some) for some in pieces])].astype(np.int64)
    return Separable(offsets, *(np.ascontiguousarray(flat[:, column]) for column in range(5)))


def objective(problem: NormalForm, t: Floats) -> float:
    """The value of a normal form at t, written as in its definition."""
    h, total = problem.separable, problem.constant
    for block in problem.blocks:
        v = block.atoms @ t + (0.0 if block.shift is None else block.shift)
        total += 0.5 * float(v @ block.gram.matvec(v))
    for k in range(problem.size):
        for p in range(h.offsets[k], h.offsets[k + 1]):
            if h.left[p] <= t[k] <= h.right[p]:
                total += 0.5 * h.curvature[p] * t[k] ** 2 + h.slope[p] * t[k] + h.value[p]
                break
        else:
            return np.inf
    return float(total)


def violation(problem: NormalForm, t: Floats) -> float:
    """The largest violation of a row."""
    rest = problem.rows.matrix @ t - problem.rows.target
    return float(np.where(problem.rows.equality, np.abs(rest), np.maximum(rest, 0.0)).max(initial=0.0))


def optimum(problem: NormalForm) -> float:
    """The optimum by CVXPY from the definition: convex pieces as a maximum over epigraphs of their hinge form."""
    h, n = problem.separable, problem.size
    t = cvxpy.Variable(n)
    cost: object = problem.constant
    for block in problem.blocks:
        values, vectors = np.linalg.eigh(block.gram.rows(np.arange(block.gram.size)))
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        v = block.atoms @ t + (0.0 if block.shift is None else block.shift)
        cost = cost + 0.5 * cvxpy.sum_squares(root.T @ v)
    for k in range(n):
        cost = cost + _hinges(h, k, t[k])
    conditions = [t[k] >= h.lower[k] for k in range(n) if np.isfinite(h.lower[k])]
    conditions += [t[k] <= h.upper[k] for k in range(n) if np.isfinite(h.upper[k])]
    for i, target in enumerate(problem.rows.target):
        row = problem.rows.matrix[[i]].toarray().ravel()
        conditions.append(row @ t == target if problem.rows.equality[i] else row @ t <= target)
    task = cvxpy.Problem(cvxpy.Minimize(cost), conditions)
    task.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return float(task.value)


def _hinges(h: Separable, k: int, t: object) -> object:
    """h_k as its first piece, extended, plus at each break b a change of slope and curvature of (t - b)_+."""
    first = int(h.offsets[k])
    cost = h.curvature[first] / 2 * cvxpy.square(t) + h.slope[first] * t + h.value[first]
    for p in range(first + 1, int(h.offsets[k + 1])):
        b = h.left[p]
        jump = (h.curvature[p] - h.curvature[p - 1]) * b + h.slope[p] - h.slope[p - 1]
        bend = h.curvature[p] - h.curvature[p - 1]
        cost = cost + jump * cvxpy.pos(t - b) + bend / 2 * cvxpy.square(cvxpy.pos(t - b))
    return cost
