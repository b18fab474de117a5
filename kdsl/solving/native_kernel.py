"""The protocol by which a Gram oracle tells the engine that it can evaluate the kernel itself."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import scipy.sparse as sp

from kdsl.solving.normal_form import Floats

NativeKind = Literal["linear", "polynomial", "gaussian", "laplacian", "sigmoid"]


class NativeKernel(NamedTuple):
    """One of the kernels of kdsl/core on dense or sparse points, one point a row.

    linear      <x, z>
    polynomial  (gamma <x, z> + offset)^degree
    gaussian    exp(-gamma ||x - z||^2)
    laplacian   exp(-gamma ||x - z||_1)
    sigmoid     tanh(gamma <x, z> + offset)
    """

    kind: NativeKind
    points: Floats | sp.csr_array[Any]
    gamma: float = 1.0
    offset: float = 0.0
    degree: int = 1


@runtime_checkable
class OffersNative(Protocol):
    """A Gram oracle may offer this; None means that blocks must be asked for through `rows`."""

    def native(self) -> NativeKernel | None: ...
