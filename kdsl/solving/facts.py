"""The facts of a normal form by which a backend is chosen: computed from it, never guessed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from kdsl.numerics.arrays import Floats, Ints
from kdsl.numerics.grams import GramOracle
from kdsl.numerics.native_kernel import OffersNative
from kdsl.solving.factors import linear_points
from kdsl.solving.normal_form import NormalForm, Rows


@dataclass(frozen=True)
class Facts:
    """size coordinates t_k over `points` points of all Hilbert variables together.

    boxed        some t_k has a finite bound
    quadratic    every h_k is one quadratic on the whole line (no bound, no kink)
    curved       every h_k has curvature > 0 throughout: the problem is strictly convex whatever the kernels are
    kinks        break points inside the boxes
    largest_atom points of the largest atom: 0 none, 1 examples only, more for pairs, groups and averages
    row_rank     number of independent rows
    shared       coordinates that occur in more than one row
    gram_rank    a bound on the rank of Q that is known beforehand (linear kernels), else None
    dense_bytes  what the whole Hessian takes
    entropies    coordinates that have an entropy
    memory       bytes that may be used, None where nobody has said
    """

    size: int
    points: int
    blocks: int
    equalities: int
    inequalities: int
    row_rank: int
    shared: int
    boxed: bool
    quadratic: bool
    curved: bool
    kinks: int
    largest_atom: int
    sparse: bool
    gram_rank: int | None
    dense_bytes: int
    entropies: int = 0
    memory: float | None = None

    @property
    def rows(self) -> int:
        return self.equalities + self.inequalities

    @property
    def linear_system(self) -> bool:
        """Whether the optimality conditions are linear equations."""
        return self.quadratic and self.inequalities == 0

    def describe(self) -> str:
        """One sentence for the report."""
        atoms = {0: "no kernel", 1: "one example each"}.get(self.largest_atom, f"up to {self.largest_atom} points each")
        bounds = "a box" if self.boxed else "no box"
        cost = "a quadratic cost" if self.quadratic else "a piecewise cost" if self.kinks else "one piece each"
        smooth = f", an entropy for {self.entropies:,} of them" if self.entropies else ""
        numbers = ((self.equalities, "equality row"), (self.inequalities, "inequality row"))
        rows = " and ".join(_count(number, noun) for number, noun in numbers if number) or "no rows"
        return f"{_count(self.size, 'coordinate')} ({atoms}){smooth}, {bounds}, {cost}, {rows}"


def facts_of(problem: NormalForm, memory: float | None = None) -> Facts:
    """The facts of `problem`, and the memory that may be used for it; no kernel value is computed."""
    h, n = problem.separable, problem.size
    pieces = np.diff(h.offsets)
    unbounded = np.isneginf(h.lower) & np.isposinf(h.upper)
    atoms = [int(np.diff(block.atoms.indptr).max(initial=0)) for block in problem.blocks]
    in_rows = np.bincount(problem.rows.matrix.indices, minlength=n)
    equalities = int(np.count_nonzero(problem.rows.equality))
    wide = h.right > h.left
    entropies = problem.entropies
    return Facts(
        size=n,
        points=sum(block.gram.size for block in problem.blocks),
        blocks=len(problem.blocks),
        equalities=equalities,
        inequalities=len(problem.rows.target) - equalities,
        row_rank=_rank(problem.rows, in_rows),
        shared=int(np.count_nonzero(in_rows > 1)),
        boxed=not bool(unbounded.all()),
        quadratic=bool(unbounded.all() and (pieces == 1).all()),
        curved=bool((h.curvature[wide] > 0).all()),
        kinks=int((pieces - 1).sum()),
        largest_atom=max(atoms, default=0),
        sparse=any(_is_sparse(block.gram) for block in problem.blocks),
        gram_rank=_gram_rank(problem),
        dense_bytes=8 * n * n,
        entropies=0 if entropies is None else int(np.count_nonzero(entropies.at_low | entropies.at_high)),
        memory=memory,
    )


def beyond_memory(matrices: int, size: int, memory: float | None) -> str | None:
    """Why so many matrices of `size` rows and columns may not be formed, None where they may."""
    needed = matrices * 8.0 * size * size
    if memory is None or needed <= memory:
        return None
    return f"{matrices} matrices of {size:,} rows take {needed / 1e9:.2g} GB, and {memory / 1e9:.2g} are allowed"


def _rank(rows: Rows, in_rows: Ints) -> int:
    """Independent rows; rows without a common coordinate (simplexes) are independent without computing anything."""
    matrix = rows.matrix
    if in_rows.max(initial=0) <= 1:
        return int(np.count_nonzero(np.diff(matrix.indptr)))
    gram: Floats = (matrix @ matrix.T).toarray()
    return int(np.linalg.matrix_rank(gram, hermitian=True))


def _is_sparse(gram: GramOracle) -> bool:
    native = gram.native() if isinstance(gram, OffersNative) else None
    return native is not None and sp.issparse(native.points)


def _gram_rank(problem: NormalForm) -> int | None:
    """Linear kernels have the rank of their points at most."""
    points = [linear_points(block) for block in problem.blocks]
    known = [min(X.shape) for X in points if X is not None]
    return min(sum(known), problem.size) if len(known) == len(points) else None


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
