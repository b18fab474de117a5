"""Ends an interior point solve: what is near a bound goes onto it, and the rest makes up for the move."""

from __future__ import annotations

import numpy as np

from kdsl.numerics.arrays import Floats
from kdsl.solving.interior_point import Interior, Program, solver_of

REFINEMENTS = 3
SLIGHT = 1e-14  # of the own curvature of a coordinate or of the largest of a matrix: less counts as so much


def snapped(program: Program, interior: Interior) -> tuple[Floats, Floats]:
    """s with as many coordinates as possible on their bounds, and v, with  B's + e = M v  as exactly as floats allow.

    A coordinate goes to a bound where the curvature of its barrier exceeds its own in the objective, ||B_k||^2. The
    others take one step of Newton's method with the barrier as it is: D ds + B dv = -rd,  B'ds - M dv = -rp.
    """
    B, seg, M, e = program
    s, v, q = interior.s, interior.v, len(e)
    squares = B.squares()
    usual = float(squares.mean()) if len(squares) else 1.0
    own = seg.spread(np.where(squares > 0, squares, usual)) + seg.curvature
    steep = np.maximum(interior.low_barrier, interior.high_barrier) > own
    low = steep & (interior.zl > interior.zu)
    begun = np.where(low, seg.lower, np.where(steep, seg.upper, s))
    D = seg.curvature + interior.low_barrier + interior.high_barrier
    W = np.where(steep, 0.0, 1.0 / np.maximum(D, SLIGHT * own))
    H = M + B.weigh(np.ascontiguousarray(seg.gathered(W))).reshape(q, q)
    largest = float(np.diag(H).max(initial=0.0))
    if largest == 0.0:
        return begun, v
    solve = solver_of(H, SLIGHT * largest)
    if solve is None:
        return begun, v
    ended = begun
    for _ in range(REFINEMENTS):
        force = seg.slope - interior.zl + interior.zu + (D - seg.curvature) * (ended - s)
        rd = seg.curvature * ended + force + seg.spread(B.up(v))
        rp = B.down(np.ascontiguousarray(seg.gathered(ended))) + e - M @ v
        dv = solve(rp - B.down(np.ascontiguousarray(seg.gathered(W * rd))))
        ended = ended - W * (rd + seg.spread(B.up(dv)))
        v = v + dv
    return np.clip(ended, seg.lower, seg.upper), v
