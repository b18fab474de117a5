"""Pivoted Cholesky factors of Gram matrices, a block of pivots at a time: the measured rank, and what it leaves out.

Solves   K ~ F F' with few columns, K given by its diagonal and its rows
Returns  F and the trace of K - F F' relative to that of K; None where the columns allowed are not enough, or the time
How      candidates are drawn with the residuals as probabilities (Chen, Epperly, Tropp and Webber 2023); among them
         pivots are taken greedily while they promise at least a share of the largest residual (Harbrecht, Peters and
         Schneider 2012), and all points are updated at once
"""

from __future__ import annotations

import math
import time

import numpy as np

from kdsl.numerics.arrays import Floats
from kdsl.numerics.grams import GramOracle

CANDIDATES = 32
SHARE = 0.02  # of the largest residual, below which a candidate waits for the next block
ENOUGH = 1e-14  # residual of every point, relative to the largest diagonal entry


def pivoted_cholesky(
    gram: GramOracle, most: int, memory: float, until: float = math.inf
) -> tuple[Floats, float] | None:
    diagonal = np.array(gram.diagonal(), np.float64)
    n, largest = gram.size, float(diagonal.max(initial=0.0))
    total = float(diagonal.sum())
    most = min(most, n)
    if 8.0 * n * (most + CANDIDATES) > memory:
        most = int(memory / (8.0 * n)) - CANDIDATES
    if most <= 0 or not np.isfinite(total):
        return None
    F = np.zeros((n, min(64, most)))
    rest, rank, random = diagonal.copy(), 0, np.random.default_rng(0)
    while largest > 0 and float(rest.max(initial=0.0)) > ENOUGH * largest:
        if rank >= most or time.perf_counter() > until:
            return None
        block = _block(gram, F[:, :rank], rest, most - rank, random)
        if block is None:
            break
        width = block.shape[1]
        if rank + width > F.shape[1]:
            grown = np.zeros((n, min(max(2 * F.shape[1], rank + width), most)))
            grown[:, :rank] = F[:, :rank]
            F = grown
        F[:, rank : rank + width] = block
        rest = np.maximum(rest - np.einsum("ij,ij->i", block, block), 0.0)
        rank += width
    return np.ascontiguousarray(F[:, :rank]), float(rest.sum()) / total if total > 0 else 0.0


def _block(gram: GramOracle, F: Floats, rest: Floats, most: int, random: np.random.Generator) -> Floats | None:
    """The next columns of F, at least one; None where rounding leaves nothing to divide by."""
    count = min(CANDIDATES, most, len(rest))
    with np.errstate(divide="ignore"):
        waiting = random.exponential(size=len(rest)) / rest
    waiting[np.argmax(rest)] = 0.0
    chosen = np.argpartition(waiting, count - 1)[:count].astype(np.int64)
    rows = np.asarray(gram.rows(chosen), np.float64) - F[chosen] @ F.T
    small = rows[:, chosen].copy()
    floor = SHARE * float(rest.max())
    order: list[int] = []
    columns: list[Floats] = []
    left = small.diagonal().copy()
    while len(order) < count:
        best = int(np.argmax(left))
        if left[best] <= (floor if order else 0.0):
            break
        column = small[:, best] - sum((c * c[best] for c in columns), np.zeros(count))
        column = column / np.sqrt(column[best]) if column[best] > 0 else np.zeros(count)
        order.append(best)
        columns.append(column)
        left = left - column**2
        left[order] = -np.inf
    if not order:
        return None
    from scipy.linalg import solve_triangular

    L = np.column_stack(columns)[order]
    return np.asarray(solve_triangular(L, rows[order], lower=True, check_finite=False).T)
