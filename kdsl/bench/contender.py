"""What takes part in a comparison: kdsl or a peer, each answering a problem with arrays that the judge understands."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, TypeVar

from kdsl.bench.problems import Problem, Task

Result = TypeVar("Result")
OWN = "kdsl"
SETTLING = 0.1  # seconds
TURN, MOST = 0.3, 20  # seconds, and runs, of a turn


class Answer(NamedTuple):
    """Wall-clock and processor seconds of what is compared, the arrays to judge, and facts to tell."""

    seconds: float
    processor: float
    arrays: Mapping[str, Any]
    facts: Mapping[str, float | int | str]


def is_own(name: str) -> bool:
    """Whether a contender is kdsl itself, in double precision ("kdsl") or in single ("kdsl, float32")."""
    return name.partition(",")[0] == OWN


class Contender(Protocol):
    """`package` is the distribution that must be installed; `accepts` says whether it takes part."""

    @property
    def name(self) -> str: ...

    @property
    def package(self) -> str: ...

    def accepts(self, task: Task, tol: float) -> bool: ...

    def run(self, problem: Problem, tol: float) -> Answer:
        """Solve, or train and predict; only what a user would wait for is timed, not the reading out of the arrays."""
        ...


class Timed(NamedTuple):
    seconds: float
    processor: float


def settle() -> None:
    """Wait until threads of BLAS that spin after training or judging sleep: they are no part of what comes next."""
    time.sleep(SETTLING)


def timed(run: Callable[[], Result]) -> tuple[Result, Timed]:
    """What `run` returns, and how long it took."""
    wall, processor = time.perf_counter(), time.process_time()
    result = run()
    return result, Timed(time.perf_counter() - wall, time.process_time() - processor)


def best_in_a_turn(run: Callable[[], Result], seconds: Callable[[Result], float]) -> Result:
    """The quickest of as many runs as a turn has room for: what takes longer has one.

    After another contender's seconds the caches hold nothing of this one's, and its first run takes up to twice as
    long as the next. In the long run of a slow contender that is little, in a millisecond's it would be all.
    """
    began = time.perf_counter()
    best = run()
    longest = time.perf_counter() - began
    for _ in range(MOST - 1):
        again = time.perf_counter()
        if again - began + longest > TURN:
            break
        result = run()
        longest = max(longest, time.perf_counter() - again)
        best = min(best, result, key=seconds)
    return best


def timed_in_a_turn(run: Callable[[], Result]) -> tuple[Result, Timed]:
    """What `run` returns, and how long the quickest run of a turn took."""
    return best_in_a_turn(lambda: timed(run), lambda told: told[1].seconds)
