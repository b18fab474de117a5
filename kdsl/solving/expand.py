"""Writes a normal form out as an explicit quadratic program, for solvers that want matrices.

A coordinate whose h has one piece stays one variable t_k. Where h_k has pieces p = 0, 1, ..., with breaks b_p between
them, t_k = b_0 + sum_p s_p with s_0 in [left_0 - b_0, 0] and s_p in [0, length of piece p]; each segment has its own
cost. h is convex, so the marginal costs of the segments increase along the line and a minimiser fills them in order.
The t_k stay the first variables, so that the dense part of the Hessian is Q itself and the way back is a slice.
Where all kernels are linear and the coordinates are many, Q = F F' is not formed: w = F't + e are the last variables.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from kdsl.numerics.arrays import Floats
from kdsl.solving.factors import low_rank
from kdsl.solving.normal_form import HilbertBlock, NormalForm, Separable

GRAM_BLOCK = 1024


class ExplicitQP(NamedTuple):
    """minimise 1/2 x'Px + q'x + constant  subject to  l <= Ax <= u, lower <= x <= upper; infinities are infinite."""

    P: sp.csc_array[Any]
    q: Floats
    A: sp.csr_array[Any]
    l: Floats
    u: Floats
    lower: Floats
    upper: Floats
    constant: float = 0.0

    @property
    def size(self) -> int:
        return len(self.q)

    def value(self, x: Floats) -> float:
        return float(x @ (self.P @ x) / 2 + self.q @ x) + self.constant


def expand(problem: NormalForm) -> ExplicitQP:
    """The explicit program; its first `problem.size` variables are the coordinates of the normal form."""
    h, n = problem.separable, problem.size
    several = np.flatnonzero(np.diff(h.offsets) > 1)
    single = np.flatnonzero(np.diff(h.offsets) == 1)
    own = h.offsets[single]
    anchor, segments = _segments(h, several)
    low = low_rank(problem)
    if low is None:
        hessian, linear, constant = quadratic_part(problem)
        Q, wide, e = sp.csc_array(hessian), 0, np.zeros(0)
    else:
        Q, linear, constant, wide, e = sp.csc_array((n, n)), np.zeros(n), 0.0, len(low.e), low.e
    narrow = len(segments.owner)
    size = n + narrow + wide
    Q.resize((size, size))
    diagonal = np.r_[np.zeros(n), segments.curvature, np.ones(wide)]
    diagonal[single] = h.curvature[own]
    linear[single] += h.slope[own]
    lower, upper = h.lower.astype(float), h.upper.astype(float)
    lower[several], upper[several] = -np.inf, np.inf
    rows = sp.csr_array(problem.rows.matrix, copy=True)
    rows.resize((rows.shape[0], size))
    ties = sp.csr_array(
        (
            np.r_[np.ones(len(several)), -np.ones(narrow)],
            (np.r_[np.arange(len(several)), segments.owner], np.r_[several, n + np.arange(narrow)]),
        ),
        (len(several), size),
    )
    parts = [rows, ties]
    if low is not None:
        parts.append(sp.hstack([low.F.T, sp.csr_array((wide, narrow)), -sp.eye_array(wide)], format="csr"))
    target = np.asarray(problem.rows.target, float)
    free = np.full(wide, np.inf)
    return ExplicitQP(
        P=sp.csc_array(Q + sp.diags_array(diagonal)),
        q=np.r_[linear, segments.slope, np.zeros(wide)],
        A=sp.csr_array(sp.vstack(parts, format="csr")),
        l=np.r_[np.where(problem.rows.equality, target, -np.inf), anchor, -e],
        u=np.r_[target, anchor, -e],
        lower=np.r_[lower, segments.lower, -free],
        upper=np.r_[upper, segments.upper, free],
        constant=constant + problem.constant + float(h.value[own].sum()) + segments.constant,
    )


def quadratic_part(problem: NormalForm) -> tuple[Floats, Floats, float]:
    """Q = sum_H S'KS, sum_H S'Ks and sum_H 1/2 s'Ks, dense."""
    n = problem.size
    hessian, linear, constant = np.zeros((n, n)), np.zeros(n), 0.0
    for block in problem.blocks:
        if (np.diff(block.atoms.indptr) == 1).all():
            _add_points(hessian, block)
        else:
            _add_atoms(hessian, block)
        if block.shift is not None:
            image = block.gram.matvec(block.shift)
            linear += block.atoms.T @ image
            constant += 0.5 * float(block.shift @ image)
    return (hessian + hessian.T) / 2, linear, constant


def _add_points(hessian: Floats, block: HilbertBlock) -> None:
    """S'KS added where every coordinate has one point."""
    points, weight = block.atoms.indices.astype(np.int64), block.atoms.data
    in_order = len(points) == block.gram.size and bool((points == np.arange(len(points))).all())
    for begin in range(0, len(points), GRAM_BLOCK):
        part = slice(begin, begin + GRAM_BLOCK)
        rows = block.gram.rows(points[part])
        hessian[part] += weight[part, None] * (rows if in_order else rows[:, points]) * weight


def _add_atoms(hessian: Floats, block: HilbertBlock) -> None:
    """S'KS added where coordinates have several points, or none."""
    by_point = sp.csr_array(block.atoms)
    used = np.flatnonzero(np.diff(by_point.indptr)).astype(np.int64)
    across = sp.csr_array(by_point.T)
    for begin in range(0, len(used), GRAM_BLOCK):
        part = used[begin : begin + GRAM_BLOCK]
        hessian += sp.csr_array(by_point[part].T) @ (across @ block.gram.rows(part).T).T


class _Segments(NamedTuple):
    """One variable for each piece of the coordinates that have several; `owner` counts those coordinates."""

    owner: Any
    lower: Floats
    upper: Floats
    curvature: Floats
    slope: Floats
    constant: float


def _segments(h: Separable, several: Any) -> tuple[Floats, _Segments]:
    """The breaks b_0, and each segment's box and cost, measured from the end that faces b_0."""
    counts = np.diff(h.offsets)[several]
    owner = np.repeat(np.arange(len(several)), counts)
    within = np.arange(len(owner)) - np.repeat(np.r_[0, np.cumsum(counts)].astype(np.int64)[:-1], counts)
    piece = h.offsets[several][owner] + within
    first = within == 0
    anchor = h.right[h.offsets[several]]
    edge = np.where(first, h.right[piece], h.left[piece])
    length = h.right[piece] - h.left[piece]
    start = h.offsets[several]
    at_anchor = h.curvature[start] / 2 * anchor**2 + h.slope[start] * anchor + h.value[start]
    return anchor, _Segments(
        owner=owner,
        lower=np.where(first, -length, 0.0),
        upper=np.where(first, 0.0, length),
        curvature=h.curvature[piece],
        slope=h.curvature[piece] * edge + h.slope[piece],
        constant=float(at_anchor.sum()),
    )
