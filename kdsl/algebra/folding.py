"""The dual as the books print it, with the way back from its variables to those of the exact form."""

from __future__ import annotations

from typing import NamedTuple

from kdsl.algebra.dual import Dual, FoldedNorm, MergedPair
from kdsl.algebra.steps import Step


class Folding(NamedTuple):
    dual: Dual
    pairs: tuple[MergedPair, ...] = ()
    norms: tuple[FoldedNorm, ...] = ()
    steps: tuple[Step, ...] = ()
