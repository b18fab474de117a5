"""Random normal forms, their value computed plainly, and an independent answer from a general QP solver."""

from __future__ import annotations

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp

from kdsl import _core
from kdsl.numerics.native_kernel import NativeKernel
from kdsl.solving.normal_form import HilbertBlock, NormalForm, Rows, Separable


def with_isa(isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask for an instruction set; the test is skipped where this processor has it not."""
    monkeypatch.setenv("KDSL_ISA", isa)
    try:
        _core.isa()
    except RuntimeError:
        pytest.skip(f"this processor has no {isa}")


class MatrixGram:
    """A Gram matrix that is simply stored."""

    def __init__(self, K):
        self.K = np.ascontiguousarray(K, dtype=float)

    @property
    def size(self):
        return len(self.K)

    def diagonal(self):
        return np.diag(self.K).copy()

    def rows(self, indices):
        return self.K[indices]

    def matvec(self, vector):
        return self.K @ vector


class KernelGram(MatrixGram):
    """A stored Gram matrix that also tells the core how to evaluate it."""

    def __init__(self, kernel: NativeKernel):
        super().__init__(kernel_matrix(kernel, kernel.points, kernel.points))
        self.kernel = kernel

    def native(self):
        return self.kernel


def kernel_matrix(kernel: NativeKernel, X, Z):
    """k(x, z) by the formulas in NativeKernel's docstring."""
    X, Z = (np.asarray(P.todense()) if sp.issparse(P) else P for P in (X, Z))
    dot = X @ Z.T
    match kernel.kind:
        case "linear":
            return dot
        case "polynomial":
            return (kernel.gamma * dot + kernel.offset) ** kernel.degree
        case "sigmoid":
            return np.tanh(kernel.gamma * dot + kernel.offset)
        case "gaussian":
            return np.exp(-kernel.gamma * ((X[:, None, :] - Z[None, :, :]) ** 2).sum(-1))
        case "laplacian":
            return np.exp(-kernel.gamma * np.abs(X[:, None, :] - Z[None, :, :]).sum(-1))


def clouds(n, d=6, seed=0):
    """Two classes that overlap nearly everywhere: much is free or at a bound."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    return rng.normal(size=(n, d)) + 0.15 * y[:, None], y


def gaussian(X, gamma=0.1):
    return KernelGram(NativeKernel("gaussian", X, gamma))


def waves(X):
    """Values to fit, with noise."""
    return np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * np.random.default_rng(5).normal(size=len(X))


def pieces(*coordinates) -> Separable:
    """h from a list of pieces (left, right, curvature, slope) for each coordinate, made continuous with h(left) = 0."""
    offsets, rows = [0], []
    for coordinate in coordinates:
        value = None
        for left, right, curvature, slope in coordinate:
            at = left if np.isfinite(left) else (right if np.isfinite(right) else 0.0)
            start = 0.0 if value is None else value
            constant = start - (0.5 * curvature * at + slope) * at
            rows.append((left, right, curvature, slope, constant))
            value = (0.5 * curvature * right + slope) * right + constant if np.isfinite(right) else None
        offsets.append(len(rows))
    table = np.array(rows, dtype=float)
    return Separable(np.array(offsets), *(np.ascontiguousarray(table[:, j]) for j in range(5)))


def signed_atoms(signs) -> sp.csc_array:
    return sp.csc_array(sp.diags_array(np.asarray(signs, dtype=float)))


def make_rows(matrix, target, equality=None) -> Rows:
    matrix = np.atleast_2d(np.asarray(matrix, dtype=float))
    equality = np.ones(len(matrix), bool) if equality is None else np.asarray(equality, bool)
    return Rows(sp.csr_array(matrix), np.atleast_1d(np.asarray(target, dtype=float)), equality)


def no_rows(n) -> Rows:
    return Rows(sp.csr_array((0, n)), np.zeros(0), np.zeros(0, bool))


def svc(gram, y, C) -> NormalForm:
    """The dual of the 1-norm soft margin: min 1/2 a'Ga - sum a, y'a = 0, 0 <= a <= C."""
    n = len(y)
    C = np.broadcast_to(np.asarray(C, dtype=float), n)
    h = Separable.single(np.zeros(n), np.array(C), np.zeros(n), -np.ones(n))
    return NormalForm((HilbertBlock("w", gram, signed_atoms(y)),), h, make_rows(y, 0.0))


def dense_hessian(problem: NormalForm):
    """Q, p and the constant of the quadratic part, by plain matrix products."""
    n = problem.size
    Q, p, constant = np.zeros((n, n)), np.zeros(n), problem.constant
    for block in problem.blocks:
        K, S = block.gram.rows(np.arange(block.gram.size)), block.atoms.toarray()
        Q += S.T @ K @ S
        if block.shift is not None:
            p += S.T @ (K @ block.shift)
            constant += 0.5 * block.shift @ K @ block.shift
    return Q, p, constant


def separable_value(h: Separable, t) -> float:
    total = 0.0
    for k in range(h.size):
        p = next(
            (p for p in range(h.offsets[k], h.offsets[k + 1]) if h.left[p] <= t[k] <= h.right[p]), h.offsets[k + 1] - 1
        )
        total += (0.5 * h.curvature[p] * t[k] + h.slope[p]) * t[k] + h.value[p]
    return total


def value(problem: NormalForm, t) -> float:
    Q, p, constant = dense_hessian(problem)
    return float(0.5 * t @ Q @ t + p @ t + constant + separable_value(problem.separable, t))


def violation(problem: NormalForm, t) -> float:
    """The largest breach of a row or a bound, relative to the numbers in it."""
    h, rows = problem.separable, problem.rows
    rest = rows.matrix @ t - rows.target
    rest = np.where(rows.equality, np.abs(rest), np.maximum(rest, 0))
    size = 1 + abs(rows.matrix) @ np.abs(t) + np.abs(rows.target)
    bounds = np.maximum(np.maximum(h.lower - t, t - h.upper), 0)
    return float(max((rest / size).max(initial=0.0), bounds.max(initial=0.0)))


def by_general_qp(problem: NormalForm) -> tuple[float, bool]:
    """The optimal value from Clarabel, and whether it calls it accurate: each piece of each h_k is a variable."""
    Q, p, _ = dense_hessian(problem)
    h, n = problem.separable, problem.size
    columns, base, upper, curvature, slope = [], np.zeros(n), [], [], []
    for k in range(n):
        for q in range(h.offsets[k], h.offsets[k + 1]):
            left, right, c, s = h.left[q], h.right[q], h.curvature[q], h.slope[q]
            if np.isfinite(left):  # t_k = left + u, 0 <= u <= right - left
                columns.append((k, 1.0))
                anchor, sign = left, 1.0
            else:  # t_k = right - u, u >= 0; with no end at all u is free
                columns.append((k, -1.0))
                anchor, sign = (right if np.isfinite(right) else 0.0), -1.0
            if q == h.offsets[k] or (q == h.offsets[k] + 1 and not np.isfinite(h.left[q - 1])):
                base[k] = anchor
            free = not np.isfinite(left) and not np.isfinite(right)
            upper.append(np.inf if not np.isfinite(left) else right - left)
            curvature.append(c)
            slope.append((sign * (c * anchor + s), free))
    m = len(columns)
    B = sp.csc_array(([s for _, s in columns], ([k for k, _ in columns], range(m))), (n, m))
    P = sp.csc_matrix(sp.triu(B.T @ Q @ B + sp.diags_array(curvature)))
    q = B.T @ (Q @ base + p) + np.array([s for s, _ in slope])
    A = problem.rows.matrix
    bounded = np.flatnonzero(np.isfinite(upper))
    signed = np.array([i for i in range(m) if not slope[i][1]], dtype=int)
    eye = sp.eye_array(m, format="csr")
    equal = problem.rows.equality
    blocks = [(A[equal] @ B), (A[~equal] @ B), -eye[signed], eye[bounded]]
    target = problem.rows.target - A @ base
    b = np.concatenate([target[equal], target[~equal], np.zeros(len(signed)), np.array(upper)[bounded]])
    cones = [clarabel.ZeroConeT(int(equal.sum())), clarabel.NonnegativeConeT(len(b) - int(equal.sum()))]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    settings.max_iter = 200
    answer = clarabel.DefaultSolver(P, q, sp.csc_matrix(sp.vstack(blocks)), b, cones, settings).solve()
    t = base + B @ np.array(answer.x)
    return value(problem, np.clip(t, h.lower, h.upper)), str(answer.status) == "Solved"
