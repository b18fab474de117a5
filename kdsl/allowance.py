"""What of its machine this process may use: processors and memory, as the system, containers and surroundings say."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

CONTROL_GROUPS = Path("/sys/fs/cgroup")
OWN_GROUPS = Path("/proc/self/cgroup")
SURROUNDINGS = "OMP_NUM_THREADS"  # set by joblib, dask and schedulers of clusters for each of several workers
UNKNOWN_MEMORY = 4e9  # bytes, where the system does not tell


def processors() -> int:
    """How many threads may compute at once, at least one: more would only take turns."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    first = os.environ.get(SURROUNDINGS, "").partition(",")[0].strip()
    named = int(first) if first.isdecimal() and int(first) > 0 else allowed
    return max(1, min(allowed, named, math.ceil(min(_processor_quota(), allowed))))


def memory() -> float:
    """Bytes of memory that this process may take at most."""
    try:
        whole = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (ValueError, OSError, AttributeError):
        whole = UNKNOWN_MEMORY
    return min(whole, _memory_limit())


@cache
def _processor_quota() -> float:
    """Processors' worth of time that the control groups of this process leave it."""
    quota = math.inf
    for folder in _folders("cpu"):
        given, _, period = _read(folder / "cpu.max").partition(" ")
        given = given or _read(folder / "cpu.cfs_quota_us")
        period = period or _read(folder / "cpu.cfs_period_us")
        if given.isdecimal() and period.isdecimal() and int(given) > 0 < int(period):
            quota = min(quota, int(given) / int(period))
    return quota


@cache
def _memory_limit() -> float:
    limit = math.inf
    for folder in _folders("memory"):
        given = _read(folder / "memory.max") or _read(folder / "memory.limit_in_bytes")
        if given.isdecimal() and int(given) > 0:
            limit = min(limit, float(given))
    return limit


def _folders(controller: str) -> Iterator[Path]:
    """The control groups that this process is in, and those that they are in: of the second version, and of the first.

    In a container the folder that is named need not be there: what is seen as the root is the container's own.
    """
    for line in _read(OWN_GROUPS).splitlines():
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controllers and controller not in controllers.split(","):
            continue
        root = CONTROL_GROUPS / controller if controllers else CONTROL_GROUPS
        folder = root / path.lstrip("/")
        yield folder
        while folder != root and root in folder.parents:
            folder = folder.parent
            yield folder


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
