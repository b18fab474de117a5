"""Inner products of long vectors without the threads of a BLAS, which spin on for a while in the solver's way."""

from __future__ import annotations

import numpy as np

from kdsl.solving.normal_form import Floats


def dot(a: Floats, b: Floats) -> float:
    return float(np.einsum("i,i->", a, b))
