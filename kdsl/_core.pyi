"""The types of the compiled core, which kdsl/core/python_*.cpp bind."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]
Ints = NDArray[np.int32]
Singles = NDArray[np.float32]

def version() -> str: ...
def isa() -> str: ...

class Kernel:
    def __init__(self, kind: str, gamma: float = 1.0, offset: float = 0.0, degree: int = 1) -> None: ...

class Points:
    @staticmethod
    def dense(points: Floats | Singles) -> Points: ...
    @staticmethod
    def sparse(start: Longs, feature: Ints, value: Floats, features: int) -> Points: ...

class Pieces:
    def __init__(
        self, offsets: Longs, left: Floats, right: Floats, curvature: Floats, slope: Floats, value: Floats
    ) -> None: ...

class KernelHessian:
    def __init__(
        self,
        kernel: Kernel,
        points: Points,
        centre: Floats | None,
        start: Longs,
        point: Longs,
        coefficient: Floats,
        threads: int,
        memory: float,
    ) -> None: ...
    @property
    def blur(self) -> float: ...
    @property
    def thin(self) -> bool: ...

class Expansion:
    def __init__(self, kernel: Kernel, points: Points, centre: Floats | None, threads: int) -> None: ...
    @property
    def thin(self) -> bool: ...
    def values(self, coefficient: Floats, at: Points, threads: int, single: bool) -> Floats | None: ...

class RowsHessian:
    def __init__(self, size: int, rows: Callable[[Longs], Floats]) -> None: ...

class RowPass:
    def __init__(self, points: Floats, coefficient: Floats | None, row: Floats | None, threads: int) -> None: ...
    def up(self, v: Floats) -> Floats: ...
    def squares(self) -> Floats: ...
    def down(self, x: Floats) -> Floats: ...
    def weigh(self, weight: Floats) -> Floats: ...
    def decide(self, h: Pieces, v: Floats, scale: Floats) -> dict[str, Any]: ...
    def measure(self, h: Pieces, v: Floats, t: Floats) -> dict[str, Any]: ...

class Classes:
    def __init__(self, begin: Longs, first_is_free: bool, direction: Floats | None) -> None: ...

class Options:
    def __init__(
        self,
        *,
        tolerance: float,
        kkt_tolerance: float | None,
        memory: float,
        threads: int,
        all_threads: bool,
        strategy: str,
        working_set: int,
        any_start: bool,
    ) -> None: ...

def solve(
    h: Pieces,
    classes: Classes,
    hessians: list[KernelHessian | RowsHessian],
    constant: float,
    start: Floats,
    known: tuple[Floats, Floats] | None,
    options: Options,
    time_limit: float,
    max_iterations: int,
    callback: Callable[[int, float], bool | None] | None,
) -> dict[str, Any]: ...
def descend(
    points: Points,
    row: Floats,
    target: Floats,
    shift: Floats,
    h: Pieces,
    t: Floats,
    constant: float,
    tolerance: float,
    seed: int,
    time_limit: float,
    max_iterations: int,
    callback: Callable[[int, float], bool | None] | None,
) -> dict[str, Any]: ...
def kernel_product(
    kernel: Kernel, rows: Points, coefficient: Floats, cols: Points, threads: int, single: bool
) -> Floats: ...
