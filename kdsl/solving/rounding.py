"""How much of an answer the rounding of kernel values may hide: no gap shows it, for both sides use the same values."""

from __future__ import annotations

import numpy as np

from kdsl.language.diagnostics import Diagnostic
from kdsl.numerics.arrays import Floats
from kdsl.numerics.grams import GramOracle
from kdsl.solving.certify import Point
from kdsl.solving.posed import Posed
from kdsl.solving.unknowns import UNIT_ROUNDOFF

ROUNDED = "the rounding of the kernel's values is above the tolerance"


def kernel_rounding(posed: Posed, point: Point) -> float:
    """What the value may be off by, in its own units.

    Each entry of K is off by u max K, u the unit roundoff, and no two alike: so 1/2 v'Kv is off by 1/2 u max K ||v||^2.
    Where a norm was folded away the value is a root of that energy, and off by half as much in proportion.
    """
    if posed.energies.norm is None:
        problem = point.lowered.problem
        expansions = (b.atoms @ point.theta + (0.0 if b.shift is None else b.shift) for b in problem.blocks)
        return sum(0.5 * _noise(block.gram, v) for block, v in zip(problem.blocks, expansions, strict=True))
    vectors = point.unknowns.values()
    noise = sum(_noise(posed.spaces[w.space].oracle, w.coefficients) for w in vectors)
    size = sum(float(w.squared_norms().sum()) for w in vectors)
    return abs(point.certificate.value) * min(1.0, 0.5 * noise / max(size, 1e-300))


def _noise(gram: GramOracle, coefficients: Floats) -> float:
    """u max K ||v||^2; no kernel is evaluated but on the diagonal, where the largest value is."""
    return UNIT_ROUNDOFF * float(np.abs(gram.diagonal()).max(initial=0.0)) * float((coefficients**2).sum())


def rounding_note(error: float) -> Diagnostic:
    return Diagnostic(
        "K624",
        f"the rounding of the kernel's values may change the value by {error:.1e}",
        (),
        "inner products of features that are large beside their differences cancel: the duality gap does not show it, "
        "for both of its sides are computed with the same values",
        "move and scale the features (`--scale standard`), or use a kernel of distances such as rbf",
        "warning",
    )
