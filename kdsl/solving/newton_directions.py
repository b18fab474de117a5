"""Newton directions of a primal objective in the weights t of its expansion, by products or by a factorisation.

Solves   (I + B G) s = -e,  B = W - WA'(AWA')^-1 AW, for a Hessian G + G B G and a gradient G e, given e and G e
How      conjugate gradients in the metric of G, in which I + B G is symmetric: one product with G for each, every
         iterate descends. Where G = F F' + diag(0) with few columns, from s = B F (I + F'BF)^-1 F'e - e. Or from
         (I + R G R) y + R A'delta = R G e, A R y = 0, R = W^(1/2), s = R y - e, by a Cholesky factor
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
import scipy.linalg as la

from kdsl.numerics.arrays import Floats
from kdsl.numerics.quiet_products import dot
from kdsl.solving.entropy_mirror import RowSystem
from kdsl.solving.hessian_products import HessianProducts

INDEFINITE = "rounding made the Hessian indefinite"


class Direction(NamedTuple):
    """s with G s, and the products that it took; `fault` says why it is none."""

    s: Floats
    image: Floats
    products: int = 0
    fault: str = ""


class Weights:
    """B, as an operator on vectors."""

    def __init__(self, weight: Floats, rows: RowSystem) -> None:
        self.weight, self.rows = weight, rows
        self._weighted = rows.weighted(weight) if rows.matrix.shape[0] else None

    def times(self, v: Floats) -> Floats:
        scaled = self.weight * v
        if self._weighted is None:
            return scaled
        rows = self.rows
        return np.asarray(scaled - self.weight * rows.carried(self._weighted.solve(rows.matrix @ scaled)))

    def between(self, F: Floats) -> Floats:
        """F'BF."""
        scaled = F * self.weight[:, None]
        product = F.T @ scaled
        if self._weighted is None:
            return np.asarray(product)
        missing = self.rows.times(scaled)
        return np.asarray(product - missing.T @ self._weighted.solve(missing))


class Effort(NamedTuple):
    """The share of the gradient that a direction may leave, the products and the time that it may take."""

    share: float
    products: int
    until: float


def by_products(hessian: HessianProducts, weights: Weights, e: Floats, image: Floats, effort: Effort) -> Direction:
    """s as exact as the effort allows."""
    s, moved, left, slope = np.zeros_like(e), np.zeros_like(e), -e, -image
    size, products = dot(left, slope), 0
    if not size > 0:
        return Direction(s, moved, 0, INDEFINITE)
    enough = effort.share**2 * size
    d, along = left, slope
    while size > enough and products < effort.products and time.perf_counter() <= effort.until:
        bent = d + weights.times(along)
        bend = dot(along, bent)
        if not bend > 0:
            return Direction(s, moved, products, "" if products else INDEFINITE)
        s, moved = s + size / bend * d, moved + size / bend * along
        left = left - size / bend * bent
        slope = hessian.times(left, hessian.single)
        products += 1
        before, size = size, dot(left, slope)
        if not size > 0:
            break  # rounding: nothing is left that products could show
        d, along = left + size / before * d, slope + size / before * along
    return Direction(s, moved, products)


def by_columns(factor: Floats, weights: Weights, e: Floats) -> Direction:
    """The same for G = F F': then F's = -(I + F'BF)^-1 F'e."""
    core = weights.between(factor)
    core[np.diag_indices_from(core)] += 1.0
    try:
        image = -(factor @ la.solve(core, factor.T @ e, assume_a="pos", check_finite=False))
    except la.LinAlgError:
        return Direction(np.zeros_like(e), np.zeros_like(e), 0, INDEFINITE)
    return Direction(-weights.times(image) - e, image)


def by_matrix(matrix: Floats, weights: Weights, e: Floats, image: Floats) -> Direction:
    """The same for a matrix G that is at hand."""
    root, rows = np.sqrt(weights.weight), weights.rows.matrix
    whole = matrix * root * root[:, None]
    whole[np.diag_indices_from(whole)] += 1.0
    try:
        factor = la.cho_factor(whole, lower=True, overwrite_a=True, check_finite=False)
    except la.LinAlgError:
        return Direction(np.zeros_like(e), np.zeros_like(e), 0, INDEFINITE)
    y = la.cho_solve(factor, root * image, check_finite=False)
    if rows.shape[0]:
        across = np.asarray((rows * root).toarray())
        through = la.cho_solve(factor, across.T, check_finite=False)
        y = y - through @ np.linalg.lstsq(across @ through, across @ y, rcond=1e-12)[0]
    z = root * y
    return Direction(z - e, matrix @ z - image)
