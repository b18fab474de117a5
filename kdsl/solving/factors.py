"""Factors of Hessians whose kernels are linear: Q = F F' with as many columns as the points have features."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from kdsl.numerics.arrays import Floats
from kdsl.numerics.native_kernel import OffersNative
from kdsl.solving.normal_form import HilbertBlock, NormalForm

WORTHWHILE = 4  # coordinates for each column of F from which on F is used instead of Q


class Factor(NamedTuple):
    """1/2 sum_H (S_H t + s_H)'K_H(S_H t + s_H) = 1/2 ||F't + e||^2."""

    F: sp.csr_array[Any]
    e: Floats


def linear_points(block: HilbertBlock) -> Floats | sp.csr_array[Any] | None:
    """X with K = X X', where the kernel is linear and its points are known."""
    native = block.gram.native() if isinstance(block.gram, OffersNative) else None
    return native.points if native is not None and native.kind == "linear" else None


def low_rank(problem: NormalForm) -> Factor | None:
    """F and e, where all kernels are linear and F is much narrower than it is long."""
    points = [linear_points(block) for block in problem.blocks]
    known = [X for X in points if X is not None]
    if len(known) < len(points) or WORTHWHILE * sum(int(X.shape[1]) for X in known) > problem.size:
        return None
    parts = [sp.csr_array(block.atoms.T) @ sp.csr_array(X) for block, X in zip(problem.blocks, known, strict=True)]
    shifts = [
        np.zeros(X.shape[1]) if block.shift is None else np.asarray(X.T @ block.shift)
        for block, X in zip(problem.blocks, known, strict=True)
    ]
    empty = sp.csr_array((problem.size, 0))
    return Factor(sp.csr_array(sp.hstack([empty, *parts], format="csr")), np.concatenate([np.zeros(0), *shifts]))
