"""What the figures were measured on: processor, instruction set, memory, versions; and what it can do at best."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kdsl import allowance

SIDE, DEPTH, RUNS = 2048, 500, 3
TOUCHED, MOST = 0.4, 16 * 2**30  # of the memory that is free, and bytes


class Machine(NamedTuple):
    """`gflops`: the faster of two single-precision products on all processors, NumPy's and that of kdsl's core."""

    processor: str
    isa: str
    cores: int
    memory: float
    system: str
    versions: tuple[tuple[str, str], ...]
    gflops: float

    @property
    def lines(self) -> tuple[str, ...]:
        told = ", ".join(f"{name} {version}" for name, version in self.versions)
        return (
            f"processor: {self.processor}, {self.cores} cores usable, kdsl's core uses {self.isa}",
            f"memory: {self.memory / 2**30:.0f} GiB; {self.system}",
            f"single-precision matrix products: {self.gflops:.0f} GFLOP/s",
            f"versions: {told}",
        )


def touch_memory() -> None:
    """Write to much of what is free once: a virtual machine's host hands out memory at first use, ten times slower.

    Whoever asks for fresh memory first would pay for it, by turns that no contender chose.
    """
    try:
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return
    np.ones(int(min(TOUCHED * free, MOST)) // 8)


def describe_machine(packages: tuple[str, ...]) -> Machine:
    from importlib.metadata import PackageNotFoundError, version

    from kdsl import _core

    versions = [("Python", platform.python_version())]
    for package in packages:
        try:
            versions.append((package, version(package)))
        except PackageNotFoundError:
            versions.append((package, "not installed"))
    memory = allowance.memory()
    system = f"{platform.system()} {platform.machine()}"
    cores = allowance.processors()
    return Machine(_model(), _core.isa(), cores, memory, system, tuple(versions), _gflops(cores))


def _model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def _gflops(cores: int) -> float:
    """OpenBLAS may mistake the processor for a lesser one; a kernel of the core stands beside it."""
    from kdsl import _core

    A = np.random.default_rng(0).random((SIDE, SIDE), dtype=np.float32)
    X = A[:, :DEPTH].astype(np.float64)
    kernel, points, ones = _core.Kernel("gaussian", gamma=1e-3), _core.Points.dense(X), np.ones(SIDE)

    def kernel_values() -> object:
        return _core.kernel_product(kernel, points, ones, points, cores, True)

    return max(2.0 * SIDE**3 / _fastest(lambda: A @ A), 2.0 * SIDE**2 * DEPTH / _fastest(kernel_values)) / 1e9


def _fastest(run: Callable[[], object]) -> float:
    seconds = float("inf")
    for _ in range(RUNS):
        began = time.perf_counter()
        run()
        seconds = min(seconds, time.perf_counter() - began)
    return seconds
