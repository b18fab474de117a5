"""What a Gram matrix is to whoever multiplies by it: rows and products, and never the whole of it."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from kdsl.numerics.arrays import Floats, Ints


class GramOracle(Protocol):
    """A kernel on a fixed list of points; nothing larger than what is asked for is ever formed."""

    @property
    def size(self) -> int: ...

    def diagonal(self) -> Floats: ...

    def rows(self, indices: Ints) -> Floats:
        """K[indices, :] in float64."""
        ...

    def matvec(self, vector: Floats) -> Floats:
        """K @ vector in float64, computed in blocks; the vector may be a matrix."""
        ...


@runtime_checkable
class Expands(Protocol):
    """A Gram oracle may offer this: K v, or K V, for once, of which nothing is kept."""

    def expand(self, coefficients: Floats) -> Floats: ...


def expanded(gram: GramOracle, v: Floats) -> Floats:
    """K v, or K V, by the quickest way for a few of them."""
    return gram.expand(v) if isinstance(gram, Expands) else gram.matvec(v)
