"""Makes the options of a solve from what a caller asks for, and refuses what cannot be meant."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import Any

from kdsl.solving.backends.interface import Options

MOST_THREADS = 1024


def asked_options(
    tol: float = 1e-6,
    kkt_tol: float | None = None,
    max_iterations: int | None = None,
    time_limit: float = math.inf,
    threads: int | None = None,
    memory: int | None = None,
    seed: int = 0,
    called: Mapping[str, str] | None = None,
) -> Options:
    """Every limit and tolerance is a number of its kind, or None where it may be left out.

    called: what the caller has for other names of these.
    """

    def check(name: str, given: object, kind: type, holds: Callable[[Any], bool], what: str) -> None:
        said = f"{(called or {}).get(name, name)} must be {what}, not {given!r}"
        if isinstance(given, bool) or not isinstance(given, kind):
            raise TypeError(said)
        if not holds(given):
            raise ValueError(said)

    check("tol", tol, Real, _is_positive, "a positive number")
    check("time_limit", time_limit, Real, lambda value: value > 0, "a positive number of seconds")
    check("seed", seed, Integral, lambda value: value >= 0, "a whole number, 0 or more")
    if kkt_tol is not None:
        check("kkt_tol", kkt_tol, Real, _is_positive, "a positive number")
    if max_iterations is not None:
        check("max_iterations", max_iterations, Integral, _is_positive, "a positive whole number")
    if threads is not None:
        most = f"a whole number from 1 to {MOST_THREADS:,}"
        check("threads", threads, Integral, lambda value: 1 <= value <= MOST_THREADS, most)
    if memory is not None:
        check("memory", memory, Integral, _is_positive, "a positive whole number of bytes")
    return Options(tol, kkt_tol, max_iterations, time_limit, threads, memory, seed)


def _is_positive(value: Any) -> bool:
    return bool(0 < value < math.inf)
