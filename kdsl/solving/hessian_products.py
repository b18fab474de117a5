"""Products with the Hessian of a normal form by products with its Gram matrices; the Hessian is never formed."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from kdsl.solving.factors import linear_points
from kdsl.solving.native_kernel import rough_product
from kdsl.solving.normal_form import Floats, Ints, NormalForm, expanded


class HessianProducts:
    """H = sum_H S'KS + diag(curvature) on the chosen coordinates (all of them by default), each h_k of one piece.

    `single` says whether the core offers its products in single precision too. The objective is
    1/2 t'Ht + linear't + constant; `exact` and `rough` count the products there were in either precision.
    """

    def __init__(self, problem: NormalForm, threads: int | None, chosen: Ints | None = None) -> None:
        h = problem.separable
        everything = slice(None) if chosen is None else chosen
        self.curvature = h.curvature[everything].astype(float)
        self.linear = h.slope[everything].astype(float)
        self.constant = problem.constant + float(h.value.sum())
        self._blocks = []
        for block in problem.blocks:
            atoms = sp.csr_array(block.atoms if chosen is None else block.atoms[:, chosen])
            across = sp.csr_array(atoms.T)
            self._blocks.append((block.gram, atoms, across, linear_points(block), rough_product(block.gram, threads)))
            if block.shift is not None:
                image = block.gram.matvec(block.shift)
                self.linear = self.linear + across @ image
                self.constant += 0.5 * float(block.shift @ image)
        self.single = all(rough is not None for *_, rough in self._blocks)
        self.exact, self.rough = 0, 0

    @property
    def size(self) -> int:
        return len(self.curvature)

    def times(self, t: Floats, single: bool = False) -> Floats:
        """H t."""
        self.exact += not single
        self.rough += single
        image: Floats = self.curvature * t
        for gram, atoms, across, points, rough in self._blocks:
            v = atoms @ t
            if single and rough is not None:
                image = image + across @ rough(v)
            elif points is not None:
                image = image + across @ (points @ (points.T @ v))
            else:  # a matrix of one's own is worth keeping where nothing quicker computes it again
                image = image + across @ (gram.matvec(v) if rough is None else expanded(gram, v))
        return image

    def diagonal(self) -> Floats:
        """That of H, where no atom has several points that see one another; an estimate elsewhere."""
        result = self.curvature
        for gram, _, across, *_ in self._blocks:
            result = result + across.power(2) @ gram.diagonal()
        return result

    def linear_factor(self) -> Floats | None:
        """F with H = F F' + diag(curvature), where all kernels are linear on dense points."""
        parts = []
        for _, _, across, points, _ in self._blocks:
            if not isinstance(points, np.ndarray):
                return None
            parts.append(np.asarray(across @ points))
        return np.hstack([np.zeros((self.size, 0)), *parts])
