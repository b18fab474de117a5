"""Inner products of long vectors without the threads of a BLAS, which spin on for 25 ms in the solver's way."""

from __future__ import annotations

import numpy as np

from kdsl.solving.normal_form import Floats


def dot(a: Floats, b: Floats) -> float:
    return float(np.einsum("i,i->", a, b))
