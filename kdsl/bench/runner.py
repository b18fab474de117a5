"""Runs rows: kdsl and every installed peer by turns, the best of several runs, each answer judged, within a budget."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Literal, NamedTuple

from kdsl.bench.contender import Answer, Contender, is_own, settle
from kdsl.bench.judge import Judge, measure_of
from kdsl.bench.peers import contenders, version
from kdsl.bench.problems import make
from kdsl.bench.rows import Against, Row
from kdsl.bench.worker import TimeOut, Worker

Outcome = Literal["passed", "missed", "stopped", "failed", "not installed", "not run"]
ALLOWED = 1.01  # times the tolerance
TIGHTER, TIGHTEST = 4.0, 100.0  # a peer that misses is asked for twice what it missed by, and within these
STEPS = 8
PATIENCE = 10.0  # times its first run that a peer may take in all to meet the tolerance
LONGEST, GENEROUS = 900.0, 20.0  # seconds that anything may take without a budget, and times its row's guessed cost
SHARE = 0.5  # of what is left for a row that one peer may take at its first run
SHORT = 1.0  # seconds of a run that is repeated even where its row's time is spent
SLOWER = 1.5  # times the fastest peer so far that another is waited for where there is a budget
ENOUGH = 0.5  # of a row's guessed cost that a budget must hold for it
LEAST = 0.1  # of a row's guessed cost that must be left when its turn comes


class Entry(NamedTuple):
    """What a contender did: its best run among `runs`, the gap of its worst accepted answer, what it was asked."""

    name: str
    version: str
    outcome: Outcome
    seconds: float = float("nan")
    processor: float = float("nan")
    gap: float = float("nan")
    asked: float = float("nan")
    runs: int = 0
    facts: Mapping[str, float | int | str] = {}
    note: str = ""


class Ratio(NamedTuple):
    """How the target of a row fared; `bound`: the true ratio is at least this, as far as `everybody` was asked.

    None: there is nothing to compare; not a number: kdsl itself missed the tolerance.
    """

    against: Against
    ratio: float | None
    bound: bool
    peer: Entry | None
    target: float | None
    everybody: bool = True

    @property
    def reached(self) -> bool | None:
        """None where no target is set or nothing can be said.

        A lower bound below the target decides nothing, nor does one above it while a peer had no turn.
        """
        if self.target is None or self.ratio is None:
            return None
        if self.against == "itself":
            return self.ratio <= self.target
        if self.ratio >= self.target:
            return True if self.everybody else None
        return None if self.bound else False


class Result(NamedTuple):
    """A row with its entries, kdsl's first; `base` is kdsl's on the row's other problem; `note`: why it was not run."""

    row: Row
    entries: tuple[Entry, ...]
    base: Entry | None = None
    note: str = ""

    @property
    def own(self) -> Entry:
        """The fastest of kdsl's that meets the tolerance; the first where none does."""
        passed = [entry for entry in self.entries if is_own(entry.name) and entry.outcome == "passed"]
        return min(passed, key=self._clock, default=self.entries[0])

    @property
    def complete(self) -> bool:
        """Whether every installed peer had its turn."""
        return not any(entry.outcome in ("not run", "failed") for entry in self.entries)

    @property
    def ratios(self) -> tuple[Ratio, ...]:
        """One for each target; without targets, one against the best peer and one against scikit-learn."""
        targets = {target.against: target.ratio for target in self.row.targets}
        wanted: tuple[Against, ...] = tuple(targets)
        if not targets and self.row.base is not None:
            wanted = ("itself",)
        elif not targets:
            rivals: tuple[Against, ...] = ("scikit-learn", "best peer")
            wanted = tuple(a for a in rivals if a == "best peer" or any(e.name == a for e in self.entries))
        return tuple(self._ratio(against, targets.get(against)) for against in wanted)

    def _ratio(self, against: Against, target: float | None) -> Ratio:
        own = self._clock(self.own)
        if self.own.outcome != "passed":
            return Ratio(against, None if self.own.outcome == "not run" else float("nan"), False, None, target)
        if against == "itself":
            usable = self.base is not None and self.base.outcome == "passed"
            ratio = own / self._clock(self.base) if usable and self.base is not None else None
            return Ratio(against, ratio, False, self.base, target)
        others = [e for e in self.entries if not is_own(e.name)]
        peers = [e for e in others if against == "best peer" or e.name == "scikit-learn"]
        passed = [e for e in peers if e.outcome == "passed"]
        bounds = [e for e in peers if e.outcome == "stopped" or (e.outcome == "missed" and not passed)]
        best = min([*passed, *bounds], key=self._clock, default=None)
        if best is None:
            return Ratio(against, None, False, None, target)
        everybody = against != "best peer" or self.complete
        return Ratio(against, self._clock(best) / own, best.outcome != "passed", best, target, everybody)

    def _clock(self, entry: Entry) -> float:
        return entry.processor if self.row.clock == "processor" else entry.seconds


def run_rows(rows: tuple[Row, ...], repeat: int, budget: float | None) -> Iterator[Result]:
    """Every row in turn; with a budget those that fit, each with its share of what is left by its guessed cost."""
    everybody = contenders()
    fitting = fitting_rows(rows, math.inf if budget is None else budget)
    end = math.inf if budget is None else time.monotonic() + budget
    with ExitStack() as stack:
        workers = {c.package: stack.enter_context(Worker()) for c in everybody}
        for k, row in enumerate(rows):
            ahead = sum(later.cost for later in rows[k:] if later in fitting)
            allowance = (end - time.monotonic()) * row.cost / ahead if row in fitting else 0.0
            if allowance < LEAST * row.cost:
                note = "the budget is spent" if row in fitting else "it does not fit in the budget"
                yield Result(row, (Entry("kdsl", version(everybody[0]) or "", "not run"),), note=note)
            else:
                yield _Comparison(row, everybody, workers, allowance, end).result(repeat)


def fitting_rows(rows: tuple[Row, ...], budget: float) -> frozenset[Row]:
    """The cheapest rows, as many as half of their guessed cost lets into the budget."""
    fitting: list[Row] = []
    for row in sorted(rows, key=lambda row: row.cost):
        budget -= row.cost * ENOUGH
        if budget < 0:
            break
        fitting.append(row)
    return frozenset(fitting)


class _Comparison:
    """One row: its contenders, the end of its time, and the end of all; getting ready is not at a row's expense."""

    def __init__(
        self, row: Row, everybody: tuple[Contender, ...], workers: Mapping[str, Worker], allowance: float, last: float
    ) -> None:
        self.row, self.workers = row, workers
        self.end, self.last = time.monotonic() + allowance, last
        named = {target.against for target in row.targets}  # whom a target names has its turn before the time is spent
        accepting = [(n, c, version(c)) for n, c in enumerate(everybody) if c.accepts(row.task, row.tol)]
        self.numbered = sorted(accepting, key=lambda one: not is_own(one[1].name) and one[1].name not in named)

    @property
    def left(self) -> float:
        return self.end - time.monotonic()

    def _worthwhile(self, name: str, entries: list[Entry]) -> float:
        """With a budget: the seconds after which a peer is too slow to be the fastest that meets the tolerance."""
        asked_for = any(target.against == name for target in self.row.targets)
        if math.isinf(self.last) or asked_for or self.row.task.kind == "predict":
            return math.inf
        passed = [entry.seconds for entry in entries if not is_own(entry.name) and entry.outcome == "passed"]
        fastest = min(passed, default=math.inf)
        return max(SLOWER * fastest, SHORT)

    def _fits(self, seconds: float) -> bool:
        """Whether another run that takes so long may be made: short ones may as long as there is any time at all."""
        return seconds <= max(self.left, min(SHORT, self.last - time.monotonic()))

    def result(self, repeat: int) -> Result:
        row = self.row
        try:
            judge = Judge(make(row.task))
            base_judge = None if row.base is None else Judge(make(row.base))
        except (ImportError, OSError) as error:
            return Result(row, (Entry("kdsl", "", "not run"),), note=f"no data: {error}")
        began = time.monotonic()
        entries, spent = [self._first(*self.numbered[0], judge, math.inf)], {0: 0.0}
        base = None if base_judge is None else self._first(*self.numbered[0], base_judge, math.inf)
        spent[0] = time.monotonic() - began
        kept = min((repeat - 1) * spent[0], max(self.left, 0.0) / 2)  # for kdsl's own further runs
        self.end -= kept
        for place, (number, contender, installed) in enumerate(self.numbered):
            if place == 0 or base is not None:
                continue  # a row that compares kdsl with itself has no peers
            began = time.monotonic()
            last = number == self.numbered[-1][0]
            most = min(math.inf if last else self.left * SHARE, self._worthwhile(contender.name, entries))
            entries.append(self._first(number, contender, installed, judge, most))
            spent[place] = time.monotonic() - began
        self.end += kept
        for _ in range(repeat - 1):
            for place, entry in enumerate(entries):
                number = self.numbered[place][0]
                interesting = place == 0 or entry.seconds <= self._worthwhile(entry.name, entries)
                if entry.outcome == "passed" and interesting and self._fits(spent[place]):
                    began = time.monotonic()
                    entries[place] = self._again(number, entry, judge)
                    spent[place] = time.monotonic() - began
                if place == 0 and base is not None and base_judge is not None and self._fits(spent[place]):
                    base = self._again(number, base, base_judge)
        return Result(row, tuple(entries), base)

    def _get_ready(self, number: int, package: str, judge: Judge) -> str | None:
        """What went wrong, if anything did."""
        began = time.monotonic()
        try:
            return self.workers[package].get_ready(number, judge.problem.task, min(LONGEST, self.last - began))
        except TimeOut:
            return f"it was not ready after {time.monotonic() - began:.0f} s"
        finally:
            self.end = min(self.end + time.monotonic() - began, self.last)

    def _ask(self, number: int, package: str, judge: Judge, tol: float, limit: float) -> tuple[Answer, float] | str:
        """An answer with its gap, or what went wrong; TimeOut as the worker's."""
        settle()
        answer = self.workers[package].solve(number, judge.problem.task, tol, limit)
        if isinstance(answer, str):
            return answer
        try:
            return answer, judge(answer.arrays)
        except (ValueError, FloatingPointError) as error:
            return f"its answer cannot be judged: {error}"

    def _first(self, number: int, contender: Contender, installed: str | None, judge: Judge, most: float) -> Entry:
        """The first run; a peer that misses the tolerance is asked for less until it meets it or has taken too long."""
        name = contender.name
        if installed is None:
            return Entry(name, "", "not installed", note=f"pip install {contender.package}")
        entry = Entry(name, installed, "not run", note="the row's time is spent")
        asked, first, taken = self.row.tol, None, 0.0
        trouble = self._get_ready(number, contender.package, judge) if self.left > 0 else None
        if trouble is not None:
            return entry._replace(outcome="not run" if self.left <= 0 else "failed", note=trouble)
        stubborn = number == 0 or measure_of(judge.problem.task.kind) in ("residual", "error")
        for _ in range(STEPS):
            at_most = min(LONGEST, GENEROUS * self.row.cost, self.left)
            limit = min(at_most, most, math.inf if first is None else 2 * PATIENCE * first + 5)
            if limit <= 0 or (first is not None and limit < first):
                return entry
            try:
                told = self._ask(number, contender.package, judge, asked, limit)
            except TimeOut:
                note = f"stopped after {limit:.0f} s, asked for {asked:.1e}"
                if number == 0 and self.left <= 0:
                    return entry._replace(note=f"{entry.note} ({limit:.0f} s)")
                if judge.problem.task.kind == "predict":  # what was stopped may have been the training
                    return entry._replace(outcome="failed" if first is None else entry.outcome, note=note)
                bound = max(limit, 0.0 if first is None else entry.seconds)
                return entry._replace(outcome="stopped", seconds=bound, processor=bound, asked=asked, note=note)
            if isinstance(told, str):
                return entry._replace(outcome="failed" if first is None else entry.outcome, note=told)
            answer, gap = told
            passed = gap <= ALLOWED * self.row.tol
            entry = Entry(
                name,
                installed,
                "passed" if passed else "missed",
                answer.seconds,
                answer.processor,
                gap,
                asked,
                1,
                answer.facts,
            )
            first = answer.seconds if first is None else first
            taken += answer.seconds
            if passed or stubborn or taken >= PATIENCE * first:
                return entry
            asked /= min(max(TIGHTER, 2.0 * gap / self.row.tol), TIGHTEST)
        return entry

    def _again(self, number: int, entry: Entry, judge: Judge) -> Entry:
        package = next(c.package for n, c, _ in self.numbered if n == number)
        try:
            told = self._ask(number, package, judge, entry.asked, min(LONGEST, self.left))
        except TimeOut:
            return entry
        if isinstance(told, str):
            return entry._replace(note=told)
        answer, gap = told
        if gap > ALLOWED * self.row.tol:
            return entry._replace(note=f"a later run ended at {gap:.1e}", outcome="missed")
        facts = answer.facts if answer.seconds < entry.seconds else entry.facts
        return entry._replace(
            seconds=min(entry.seconds, answer.seconds),
            processor=min(entry.processor, answer.processor),
            gap=max(entry.gap, gap),
            runs=entry.runs + 1,
            facts=facts,
        )
