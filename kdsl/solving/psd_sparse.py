"""Audits a sparse Hessian: is it positive semidefinite, component by component of its graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from kdsl.binding.gram import DenseGram
from kdsl.binding.psd import EPS, PsdReport, audit_psd

EXACT = 200  # rows of a component up to which all its eigenvalues are computed,
DENSE = 2000  # and where it has no Cholesky factor up to these; above, it is taken as sparse


def audit_sparse(P: sp.csc_array[Any]) -> PsdReport:
    """lambda_min is the smallest over the connected components of P; components of one row are read off."""
    from scipy.sparse.csgraph import connected_components

    pattern = sp.csr_array(P)
    pattern.eliminate_zeros()
    n = int(P.shape[0])
    count, label = connected_components(pattern, directed=False)
    sizes = np.bincount(label, minlength=count)
    alone = sizes[label] == 1
    diagonal = pattern.diagonal()
    at_least = at_most = float(diagonal[alone].min(initial=np.inf))
    largest = float(np.abs(diagonal[alone]).max(initial=0.0))
    exact = True
    members, ends = np.argsort(label, kind="stable"), np.cumsum(sizes)
    for component in np.flatnonzero(sizes > 1):
        chosen = members[ends[component] - sizes[component] : ends[component]]
        report = _audit_component(pattern[chosen][:, chosen])
        at_least, at_most = min(at_least, report.at_least), min(at_most, report.at_most)
        largest = max(largest, report.rounding / (4 * len(chosen) * EPS))
        exact = exact and report.exact
    return PsdReport(n, exact, at_least, at_most, 4 * n * EPS * largest, False)


def _audit_component(block: sp.csr_array[Any]) -> PsdReport:
    """Eigenvalues of a small one; of a larger one, the signs of its pivots where they settle the matter."""
    n = int(block.shape[0])
    rounding = 4 * n * EPS * float(abs(block).sum(axis=0).max())
    if n <= EXACT or (n <= DENSE and not has_factor(block, rounding)):
        return audit_psd(DenseGram(block.toarray()), DENSE)
    off = np.asarray(abs(block).sum(axis=1)).ravel() - np.abs(block.diagonal())
    discs = float((block.diagonal() - off).min())
    least = float(block.diagonal().min())
    negative = 0 if n <= DENSE else negative_pivots(block, rounding)
    if negative != 0:
        least = min(least, lowest_quotient(block))
    return PsdReport(n, False, max(discs, -rounding) if negative == 0 else discs, least, rounding, False)


def has_factor(block: sp.csr_array[Any], shift: float) -> bool:
    """Whether block + shift I has a Cholesky factor: then no eigenvalue is below -shift."""
    from scipy.linalg import lapack

    dense = block.toarray(order="F")
    dense[np.diag_indices_from(dense)] += shift
    return int(lapack.dpotrf(dense, lower=1, overwrite_a=1)[1]) == 0


def lowest_quotient(block: sp.csr_array[Any]) -> float:
    """A Rayleigh quotient near lambda_min, by Lanczos: certainly not below it."""
    from scipy.sparse.linalg import ArpackNoConvergence, eigsh

    try:
        vector = eigsh(block, k=1, which="SA", tol=1e-4, maxiter=2000, v0=np.ones(block.shape[0]))[1][:, 0]
    except ArpackNoConvergence as partly:
        if partly.eigenvectors.shape[1] == 0:
            return np.inf
        vector = partly.eigenvectors[:, 0]
    return float(vector @ (block @ vector) / (vector @ vector))


def negative_pivots(block: sp.csr_array[Any], shift: float) -> int:
    """Eigenvalues of the block below -shift, by Sylvester's law on an unpivoted LU; -1 if rows were exchanged."""
    from scipy.sparse.linalg import splu

    try:
        factor = splu(
            sp.csc_matrix(block + shift * sp.eye_array(block.shape[0])),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
    except RuntimeError:
        return -1
    if (factor.perm_r != factor.perm_c).any():
        return -1
    return int(np.count_nonzero(factor.U.diagonal() < 0))
