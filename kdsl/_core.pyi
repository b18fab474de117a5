"""The types of the compiled core, kdsl/core/module.cpp."""

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

class Points:
    @staticmethod
    def dense(points: Floats | Singles) -> Points: ...
    @staticmethod
    def sparse(start: Longs, feature: Ints, value: Floats, features: int) -> Points: ...

class KernelHessian:
    def __init__(
        self,
        kind: str,
        gamma: float,
        offset: float,
        degree: int,
        points: Points,
        centre: Floats | None,
        start: Longs,
        point: Longs,
        coefficient: Floats,
        threads: int,
    ) -> None: ...
    @property
    def thin(self) -> bool: ...

class Expansion:
    def __init__(
        self, kind: str, gamma: float, offset: float, degree: int, points: Points, centre: Floats | None, threads: int
    ) -> None: ...
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
    def decide(
        self,
        offsets: Longs,
        left: Floats,
        right: Floats,
        curvature: Floats,
        slope: Floats,
        value: Floats,
        v: Floats,
        scale: Floats,
    ) -> dict[str, Any]: ...
    def measure(
        self,
        offsets: Longs,
        left: Floats,
        right: Floats,
        curvature: Floats,
        slope: Floats,
        value: Floats,
        v: Floats,
        t: Floats,
    ) -> dict[str, Any]: ...

def solve(
    offsets: Longs,
    left: Floats,
    right: Floats,
    curvature: Floats,
    slope: Floats,
    value: Floats,
    class_begin: Longs,
    first_is_free: bool,
    decoupled: bool,
    rank: int,
    direction: Floats,
    start: Floats,
    any_start: bool,
    known: Floats,
    product: Floats,
    hessians: list[KernelHessian | RowsHessian],
    constant: float,
    tolerance: float,
    kkt_tolerance: float,
    memory: float,
    threads: int,
    all_threads: bool,
    strategy: str,
    working_set: int,
    time_limit: float,
    max_iterations: int,
    callback: Callable[[int, float], bool | None] | None,
) -> dict[str, Any]: ...
def descend(
    points: Points,
    row: Floats,
    target: Floats,
    shift: Floats,
    offsets: Longs,
    left: Floats,
    right: Floats,
    curvature: Floats,
    slope: Floats,
    value: Floats,
    t: Floats,
    constant: float,
    tolerance: float,
    seed: int,
    time_limit: float,
    max_iterations: int,
    callback: Callable[[int, float], bool | None] | None,
) -> dict[str, Any]: ...
def kernel_product(
    kind: str,
    gamma: float,
    offset: float,
    degree: int,
    rows: Points,
    coefficient: Floats,
    cols: Points,
    threads: int,
    single: bool,
) -> Floats: ...
