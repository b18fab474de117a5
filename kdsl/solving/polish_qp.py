"""Sharpens a solver's point of a quadratic program: the active constraints it implies are solved for exactly.

Solves   Px + q + C'm = 0, Cx = c for the rows and bounds C that the multipliers call active
Given    x and multipliers of an approximate solution
Returns  x and multipliers of the equality problem; the caller keeps them only if its certificate is better
How      the regularised KKT matrix is factorised once (sparse LU) and the answer refined (as in Stellato et al. 2020)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from kdsl.numerics.arrays import Floats
from kdsl.solving.backends.explicit import Answer
from kdsl.solving.expand import ExplicitQP

REGULARISATION = 1e-9
REFINEMENTS = 30


def polish(program: ExplicitQP, answer: Answer) -> Answer | None:
    """The sharpened answer, or None where the KKT matrix cannot be factorised."""
    from scipy.sparse.linalg import splu

    n = program.size
    x = np.clip(answer.x, program.lower, program.upper)
    rows = _active(program.A @ x, answer.y, program.l, program.u)
    box = _active(x, answer.z, program.lower, program.upper)
    at = [np.flatnonzero(side) for side in (rows > 0, rows < 0, box > 0, box < 0)]
    C: Any = sp.vstack([program.A, sp.eye_array(n)], format="csr")
    ends = np.r_[program.u[at[0]], program.l[at[1]], program.upper[at[2]], program.lower[at[3]]]
    chosen = np.r_[at[0], at[1], len(program.l) + at[2], len(program.l) + at[3]]
    C = C[chosen]
    delta = REGULARISATION * max(1.0, abs(program.P).max() if program.P.nnz else 0.0)
    exact = sp.block_array([[program.P, C.T], [C, None]], format="csc") if len(chosen) else sp.csc_array(program.P)
    shift = sp.diags_array(np.r_[np.full(n, delta), np.full(len(chosen), -delta)])
    try:
        factor = splu(sp.csc_matrix(exact + shift))
    except RuntimeError:
        return None
    both = np.r_[x, np.r_[answer.y, answer.z][chosen]]
    rhs = np.r_[-program.q, ends]
    smallest = np.inf
    for _ in range(REFINEMENTS):
        rest = rhs - exact @ both
        size = float(np.abs(rest).max(initial=0.0))
        if not size < smallest / 1.2:
            break
        smallest = size
        both = both + factor.solve(rest)
    if not np.isfinite(both).all():
        return None
    multipliers = np.zeros(len(program.l) + n)
    multipliers[chosen] = both[n:]
    y, z = multipliers[: len(program.l)], multipliers[len(program.l) :]
    return answer._replace(x=both[:n], y=y, z=z, message=f"{answer.message}, polished")


def _active(values: Floats, multipliers: Floats, low: Floats, up: Floats) -> Floats:
    """1 where the upper end holds, -1 where the lower one does: where the multiplier outweighs the distance."""
    above = (multipliers > up - values) | (low == up)
    below = (-multipliers > values - low) & ~above
    return np.asarray(above.astype(float) - below.astype(float))
