"""A process of its own for each contender: one that hangs, dies or fills the memory spoils nobody else's row.

    python -m kdsl.bench.worker DESCRIPTOR

takes questions (number of a contender, task, tolerance) from the connection with that descriptor. Without a tolerance
it makes the data and, before a contender's first task of a kind, solves a tiny one: what is compiled or loaded at
first use is nobody's speed. With one it solves for a turn, and answers with the best Answer. What goes wrong is
answered as text.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from multiprocessing.connection import Connection, Pipe
from operator import attrgetter
from types import TracebackType

from kdsl.bench.contender import Answer, best_in_a_turn
from kdsl.bench.problems import Kind, Problem, Task, make

Reply = Answer | str | None


class TimeOut(Exception):
    """The contender was stopped: it had taken as long as it may."""


class Worker:
    """Asks contenders; the process starts with the first question and after each accident."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def get_ready(self, number: int, task: Task, limit: float) -> str | None:
        """Make the data and warm up; what went wrong, if anything did."""
        reply = self._ask((number, task, None), limit)
        return reply if isinstance(reply, str) else None

    def solve(self, number: int, task: Task, tol: float, limit: float) -> Answer | str:
        """An answer, or why there is none; TimeOut where it takes more than `limit` seconds."""
        reply = self._ask((number, task, tol), limit)
        return "it answered nothing" if reply is None else reply

    def _ask(self, question: tuple[int, Task, float | None], limit: float) -> Reply:
        connection = self._start()
        try:
            connection.send(question)
            if not connection.poll(max(limit, 0.0)):
                self.stop()
                raise TimeOut
            reply: Reply = connection.recv()
        except (EOFError, OSError):
            process, self._process, self._connection = self._process, None, None
            code = process.wait() if process is not None else 0
            return f"its process ended with {code}"
        return reply

    def stop(self) -> None:
        if self._connection is not None:
            self._connection.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._process = self._connection = None

    def _start(self) -> Connection:
        if self._connection is None:
            self._connection, theirs = Pipe()
            handle = theirs.fileno()
            command = [sys.executable, "-P", "-m", "kdsl.bench.worker", str(handle)]
            same_modules = os.pathsep.join(path or os.getcwd() for path in sys.path)
            self._process = subprocess.Popen(
                command,
                pass_fds=[handle],
                env={**os.environ, "PYTHONPATH": same_modules},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            theirs.close()
        return self._connection


def serve(connection: Connection) -> None:
    """Answer requests until the other end closes."""
    import warnings

    from kdsl.bench.peers import contenders

    warnings.simplefilter("ignore")
    everybody = contenders()
    warm: set[tuple[int, Kind]] = set()
    kept: dict[Task, Problem] = {}
    while True:
        try:
            number, task, tol = connection.recv()
        except EOFError:
            return
        reply: Reply = None
        try:
            if (number, task.kind) not in warm:
                warm.add((number, task.kind))
                everybody[number].run(make(tiny(task)), 1e-3)
            if task not in kept:
                kept = {**dict(list(kept.items())[-1:]), task: make(task)}
            if tol is not None:
                reply = best_in_a_turn(partial(everybody[number].run, kept[task], tol), attrgetter("seconds"))
        except Exception as error:  # a stranger's code: whatever it throws is a line of the table
            reply = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        connection.send(reply)


def tiny(task: Task) -> Task:
    """A task of the same kind that takes no time."""
    return task._replace(data="random, dense" if task.kind == "qp" else task.data, n=min(task.n, 100) or 20)


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])))
