"""Products with the Hessian of a normal form by products with its Gram matrices; the Hessian is never formed."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kdsl.numerics.arrays import Floats, Ints
from kdsl.numerics.grams import GramOracle, expanded
from kdsl.numerics.native_kernel import rough_product
from kdsl.solving.factors import linear_points
from kdsl.solving.normal_form import NormalForm, together


class HessianProducts:
    """H = sum_H S'KS + diag(curvature) on the chosen coordinates (all of them by default).

    The h_k of `smooth` coordinates (all of them by default), each of one piece, are part of it and the others are not.
    `single` says whether the core offers its products in single precision too. The objective is
    1/2 t'Ht + linear't + constant; `exact` and `rough` count the products there were in either precision. Where a
    `factor` F is given, all of them are by H = F F' + diag(curvature).
    """

    factor: Floats | None = None

    def __init__(
        self,
        problem: NormalForm,
        threads: int | None,
        chosen: Ints | None = None,
        smooth: NDArray[np.bool_] | None = None,
    ) -> None:
        h = problem.separable
        everything = slice(None) if chosen is None else chosen
        first = h.offsets[:-1]
        counted = np.ones(h.size, dtype=bool) if smooth is None else smooth
        self.curvature = np.where(counted, h.curvature[first], 0.0)[everything]
        self.linear = np.where(counted, h.slope[first], 0.0)[everything]
        self.constant = problem.constant + float(h.value[first[counted]].sum())
        self._blocks = problem.blocks
        self._atoms = [sp.csr_array(b.atoms if chosen is None else b.atoms[:, chosen]) for b in problem.blocks]
        self._across = [sp.csr_array(atoms.T) for atoms in self._atoms]
        self._points = {id(block.gram): linear_points(block) for block in problem.blocks}
        grams = {id(block.gram): block.gram for block in problem.blocks}
        self._rough = {key: rough_product(gram, threads) for key, gram in grams.items()}
        for block, across in zip(self._blocks, self._across, strict=True):
            if block.shift is not None:
                image = block.gram.matvec(block.shift)
                self.linear = self.linear + across @ image
                self.constant += 0.5 * float(block.shift @ image)
        self.single = all(rough is not None for rough in self._rough.values())
        self.exact, self.rough = 0, 0

    @property
    def size(self) -> int:
        return len(self.curvature)

    def times(self, t: Floats, single: bool = False) -> Floats:
        """H t."""
        self.exact += not single
        self.rough += single
        image: Floats = self.curvature * t
        if self.factor is not None:
            return image + self.factor @ (self.factor.T @ t)
        vectors = [atoms @ t for atoms in self._atoms]
        images = together(self._blocks, vectors, self._by_rough if single else self._by_exact)
        for across, part in zip(self._across, images, strict=True):
            image = image + across @ part
        return image

    def _by_rough(self, gram: GramOracle, v: Floats) -> Floats:
        rough = self._rough[id(gram)]
        assert rough is not None
        return rough(v)

    def _by_exact(self, gram: GramOracle, v: Floats) -> Floats:
        points = self._points[id(gram)]
        if points is not None:
            return np.asarray(points @ (points.T @ v))
        if self._rough[id(gram)] is not None:
            return expanded(gram, v)
        return gram.matvec(v)  # it may keep the matrix, which nothing quicker computes again

    def diagonal(self) -> Floats:
        """That of H, where no atom has several points that see one another; an estimate elsewhere."""
        result = self.curvature
        for block, across in zip(self._blocks, self._across, strict=True):
            result = result + across.power(2) @ block.gram.diagonal()
        return result

    def linear_factor(self) -> Floats | None:
        """F with H = F F' + diag(curvature), where all kernels are linear on dense points."""
        parts = []
        for block, across in zip(self._blocks, self._across, strict=True):
            points = self._points[id(block.gram)]
            if not isinstance(points, np.ndarray):
                return None
            parts.append(np.asarray(across @ points))
        return np.hstack([np.zeros((self.size, 0)), *parts])
