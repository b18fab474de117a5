"""Shows how a long solve gets on, and lets Ctrl-C stop it: once for the best so far, twice to quit."""

from __future__ import annotations

import signal
import sys
import time
from types import FrameType, TracebackType
from typing import Any

from kdsl.cli.terminal import Console

PATIENCE = 1.0  # seconds without a word
REFRESH = 0.2  # seconds between two states of the line on a terminal
GROWTH = 1.5  # elsewhere a line each time the elapsed time has grown by this factor


class Watch:
    """The `progress` of a solve, used as a context: it prints to standard error and takes Ctrl-C.

    The first Ctrl-C while a solver runs stops it; one at any other time, or a second, is a KeyboardInterrupt.
    """

    def __init__(self, console: Console, quiet: bool) -> None:
        self._console, self._quiet = console, quiet
        self._terminal = sys.stderr is not None and sys.stderr.isatty()
        self._began = time.perf_counter()
        self._next = PATIENCE
        self._shown = 0  # width of what stands on the line
        self._running = False
        self._former: Any = None
        self.stopped = False

    def __enter__(self) -> Watch:
        self._former = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        signal.signal(signal.SIGINT, self._former)
        self._clear()

    def __call__(self, iterations: int, gap: float) -> bool:
        """Called before a solver's first step, by many now and then after it; True asks it to stop."""
        self._running = iterations > 0
        self._say(f"{iterations:,} iterations, gap {gap:.2g} by the solver")
        return self.stopped

    def step(self, done: int, whole: int, what: str) -> None:
        """Progress of work whose end is known."""
        self._say(f"{what}: {100 * done // max(whole, 1)} %")

    def count(self, done: int, what: str) -> None:
        """Progress of work whose end is not known."""
        self._say(f"{done:,} {what}")

    def _say(self, text: str) -> None:
        elapsed = time.perf_counter() - self._began
        if not self._quiet and elapsed >= self._next:
            self._show(f"{text}, {elapsed:.1f} s")
            self._next = elapsed + REFRESH if self._terminal else elapsed * GROWTH

    def _show(self, text: str) -> None:
        if self._terminal:
            self._console.err("\r" + text.ljust(self._shown))
            self._shown = len(text)
        else:
            self._console.err(text + "\n")

    def _clear(self) -> None:
        if self._shown:
            self._console.err("\r" + " " * self._shown + "\r")
            self._shown = 0

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.stopped or not self._running:
            raise KeyboardInterrupt
        self.stopped = True
        if not self._quiet:
            self._clear()
            self._console.err("stopping; the best so far will be certified (Ctrl-C again to quit at once)\n")
