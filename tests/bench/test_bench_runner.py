"""How a row is run: turns, tolerances, budgets and the words for what happened, with contenders that are made up."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

from kdsl.bench import runner
from kdsl.bench.contender import MOST, TURN, Answer, Contender, best_in_a_turn, timed_in_a_turn
from kdsl.bench.machine import Machine
from kdsl.bench.own import Kdsl
from kdsl.bench.peers import Cvxpy, SnapML, contenders, version
from kdsl.bench.problems import Problem, Task, make
from kdsl.bench.rows import GROUPS, Row, Target, rows_of
from kdsl.bench.runner import Entry, Result
from kdsl.bench.table import markdown, merged, section, summary, what_limits
from kdsl.bench.worker import TimeOut, Worker

TASK = Task("c-svc", "two Gaussians", 60, 10)
MACHINE = Machine("a processor", "avx2", 2, 2.0**33, "Linux", (("Python", "3"),), 100.0)
Run = Callable[[Problem, float], Answer]


class Scripted:
    """A contender that does what it is told, under the name and package of an installed one."""

    def __init__(self, name: str, run: Run, package: str = "numpy") -> None:
        self.name, self.package, self.run = name, package, run

    def accepts(self, task: Task, tol: float) -> bool:
        return True


class Here:
    """The worker's interface, without a process."""

    def __init__(self, everybody: list[Contender]) -> None:
        self.everybody, self.asked = everybody, []  # type: tuple[list[Contender], list[tuple[str, float]]]

    def __enter__(self) -> Here:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def get_ready(self, number: int, task: Task, limit: float) -> str | None:
        return None

    def solve(self, number: int, task: Task, tol: float, limit: float) -> Answer | str:
        self.asked.append((self.everybody[number].name, tol))
        try:
            answer = self.everybody[number].run(make(task), tol)
        except ArithmeticError as error:
            return str(error)
        if answer.seconds > limit:
            raise TimeOut
        return answer


def as_good_as(factor: float, seconds: float = 1.0) -> Run:
    """kdsl's answer to a tolerance that is `factor` times the one asked for, said to take `seconds`."""

    def run(problem: Problem, tol: float) -> Answer:
        return Kdsl().run(problem, min(factor * tol, 0.5))._replace(seconds=seconds, processor=2 * seconds)

    return run


def result_of(
    monkeypatch: pytest.MonkeyPatch,
    peers: list[Scripted],
    row: Row | None = None,
    own: Run | None = None,
    budget: float | None = None,
) -> tuple[Result, list[tuple[str, float]]]:
    everybody: list[Contender] = [Scripted("kdsl", own or as_good_as(0.5, 0.1)), *peers]
    here = Here(everybody)
    monkeypatch.setattr(runner, "contenders", lambda: tuple(everybody))
    monkeypatch.setattr(runner, "Worker", lambda: here)
    targets = (Target("scikit-learn", 8.0), Target("best peer", 20.0))
    (result,) = runner.run_rows((row or Row("engine", "l={n:,}", TASK, 1e-3, targets, 60, 1.0),), 3, budget)
    return result, here.asked


def test_contenders_take_turns_and_the_best_run_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter((1.0, 3.0, 0.9))
    peer = Scripted("scikit-learn", lambda problem, tol: as_good_as(0.5, next(times))(problem, tol))
    result, asked = result_of(monkeypatch, [peer])
    assert [name for name, _ in asked] == ["kdsl", "scikit-learn"] * 3
    entry = result.entries[1]
    assert (entry.outcome, entry.seconds, entry.runs, entry.asked) == ("passed", 0.9, 3, 1e-3)
    first, second = result.ratios
    assert (first.ratio, first.bound, first.reached) == (pytest.approx(9.0), False, True)
    assert (second.peer, second.reached) == (entry, False)


def test_a_peer_that_misses_is_asked_for_less_until_it_meets_the_tolerance(monkeypatch: pytest.MonkeyPatch) -> None:
    result, asked = result_of(monkeypatch, [Scripted("scikit-learn", as_good_as(10.0))])
    tolerances = [tol for name, tol in asked if name == "scikit-learn"]
    first, second, *again = tolerances
    assert first == 1e-3 and 1e-5 <= second <= 2.5e-4 and again == [second, second]
    assert result.entries[1].outcome == "passed" and result.entries[1].gap <= 1.01e-3


def test_a_peer_that_never_meets_it_bounds_the_ratio(monkeypatch: pytest.MonkeyPatch) -> None:
    def stubborn(problem: Problem, tol: float) -> Answer:
        return as_good_as(0.5, 1.0 if tol > 5e-4 else 11.0)(problem, 0.1)

    result, asked = result_of(monkeypatch, [Scripted("scikit-learn", stubborn)])
    assert len([tol for name, tol in asked if name == "scikit-learn"]) == 2  # eleven times as long: enough
    ratio = result.ratios[0]
    assert result.entries[1].outcome == "missed" and ratio.bound and ratio.ratio == pytest.approx(110.0)
    assert ratio.reached is True and ">= 110" in markdown([result], MACHINE)


def test_a_bound_below_the_target_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    peer = Scripted("scikit-learn", lambda problem, tol: as_good_as(0.5, 0.2)(problem, 0.1))
    ratio = result_of(monkeypatch, [peer])[0].ratios[0]
    assert (ratio.ratio, ratio.bound, ratio.reached) == (pytest.approx(2.0), True, None)


def test_the_fastest_peer_that_meets_the_tolerance_is_the_one_compared_with(monkeypatch: pytest.MonkeyPatch) -> None:
    quick_and_wrong = Scripted("wrong", lambda problem, tol: as_good_as(0.5, 0.2)(problem, 0.1))
    slow, good = Scripted("slow", as_good_as(1, 5)), Scripted("good", as_good_as(1, 3))
    result, _ = result_of(monkeypatch, [quick_and_wrong, slow, good])
    (ratio,) = [ratio for ratio in result.ratios if ratio.against == "best peer"]
    assert ratio.peer is not None and ratio.peer.name == "good" and ratio.reached is True
    assert next(r for r in result.ratios if r.against == "scikit-learn").ratio is None


def test_within_a_budget_nobody_waits_for_what_is_slower_than_the_fastest(monkeypatch: pytest.MonkeyPatch) -> None:
    peers = [Scripted("quick", as_good_as(1, 3.0)), Scripted("slow", as_good_as(1, 6.0))]
    result, asked = result_of(monkeypatch, peers, budget=1000.0)
    assert [entry.outcome for entry in result.entries] == ["passed", "passed", "stopped"]
    assert result.entries[2].seconds == pytest.approx(4.5) and [name for name, _ in asked].count("slow") == 1
    (ratio,) = [ratio for ratio in result.ratios if ratio.against == "best peer"]
    assert (ratio.ratio, ratio.bound, ratio.reached) == (pytest.approx(30.0), False, True)
    result, asked = result_of(monkeypatch, [*peers, Scripted("scikit-learn", as_good_as(1, 6.0))], budget=1000.0)
    assert [name for name, _ in asked][:2] == ["kdsl", "scikit-learn"]  # it has a column of its own, so it comes first
    assert result.entries[1].outcome == "passed"
    assert [name for name, _ in asked].count("scikit-learn") == 3


def test_a_peer_stopped_before_the_fastest_ended_leaves_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    def stops(problem: Problem, tol: float) -> Answer:
        raise TimeOut

    monkeypatch.setattr(runner, "LONGEST", 2.0)
    peers = [Scripted("stopped", stops), Scripted("slow", as_good_as(1, 1.5)), Scripted("none", stops)]
    result, _ = result_of(monkeypatch, peers)
    ratio = result.ratios[1]
    assert ratio.peer is not None and (ratio.peer.name, ratio.bound) == ("slow", False)
    monkeypatch.setattr(runner, "LONGEST", 1.0)
    result, _ = result_of(monkeypatch, peers)
    assert result.ratios[1].bound and result.ratios[1].ratio == pytest.approx(10.0)


def test_accidents_are_lines_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    def hangs(problem: Problem, tol: float) -> Answer:
        raise TimeOut

    def breaks(problem: Problem, tol: float) -> Answer:
        raise ArithmeticError("it broke")

    peers = [Scripted("hanging", hangs), Scripted("broken", breaks), Scripted("absent", breaks, "no-such-package")]
    result, _ = result_of(monkeypatch, peers)
    assert [entry.outcome for entry in result.entries] == ["passed", "stopped", "failed", "not installed"]
    assert result.entries[2].note == "it broke" and result.entries[3].note == "pip install no-such-package"
    table = section("engine", [result], MACHINE)
    assert "Not installed: absent." in table and "stopped after 20 s" in table and "it broke" in table


def test_kdsl_has_to_meet_the_tolerance_too(monkeypatch: pytest.MonkeyPatch) -> None:
    loose = Scripted("scikit-learn", as_good_as(0.5))
    result, asked = result_of(monkeypatch, [loose], own=lambda problem, tol: as_good_as(1.0)(problem, 0.1))
    assert result.own.outcome == "missed" and [name for name, _ in asked].count("kdsl") == 1
    assert all(ratio.reached is False for ratio in result.ratios)
    assert "kdsl missed it" in markdown([result], MACHINE)


def test_a_row_may_compare_kdsl_with_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    base = TASK._replace(values=(("C", 10.0),))

    def twice_as_long(problem: Problem, tol: float) -> Answer:
        return as_good_as(0.5, 2.0 if problem.task == TASK else 1.0)(problem, tol)

    row = Row("engine", "l={n:,}", TASK, 1e-3, (Target("itself", 1.5),), 60, 1.0, base=base)
    result, asked = result_of(monkeypatch, [Scripted("scikit-learn", as_good_as(1))], row, twice_as_long)
    (ratio,) = result.ratios
    assert (ratio.ratio, ratio.reached) == (2.0, False)
    assert "scikit-learn" not in [name for name, _ in asked]


def test_what_does_not_fit_in_the_budget_is_said_not_to_have_run() -> None:
    rows = rows_of("engine", quick=False)[:2]
    results = list(runner.run_rows(rows, 3, 1e-3))
    assert [result.own.outcome for result in results] == ["not run", "not run"]
    assert "it does not fit in the budget" in markdown(results, MACHINE)
    every = rows_of("engine", quick=False)
    assert set(every) == runner.fitting_rows(every, 1200.0)
    some = runner.fitting_rows(every, 100.0)
    assert 10 < len(some) < len(every) and max(row.cost for row in some) <= min(r.cost for r in set(every) - some)


def test_time_that_runs_out_is_no_failure_of_kdsls(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(problem: Problem, tol: float) -> Answer:
        time.sleep(0.7)
        raise TimeOut

    row = Row("engine", "l={n:,}", TASK, 1e-3, (Target("best peer", 2.0),), 60, 1.0)
    result, _ = result_of(monkeypatch, [], row, slow, budget=0.6)
    assert result.own.outcome == "not run" and "time is spent" in result.own.note
    assert result.ratios[0].reached is None


def test_every_target_of_the_table_has_its_row() -> None:
    rows = [row for group in GROUPS for row in rows_of(group, quick=False)]
    targets = sorted(target.ratio for row in rows for target in row.targets)
    wanted = [20, 50, 80, 120, 12, 30, 60, 80, 30, 40, 30, 25, 30, 40, 40, 30, 80, 100, 100, 40, 100, 2, 160, 130, 70]
    wanted += [10, 25, 25, 25, 8, 20, 25, 20, 15, 25, 10, 4, 4, 15, 12, 20, 30, 100, 100, 30, 20, 2, 8, 5, 3]
    wanted += [3, 3, 3, 100, 100, 100, 2, 2, 2, 2]
    assert targets == sorted(wanted)
    assert len({row.title for row in rows if row.tol == 1e-3}) == len([row for row in rows if row.tol == 1e-3])
    assert all(row.targets == () for group in GROUPS for row in rows_of(group, quick=True))


def test_a_group_is_replaced_in_the_results_and_the_others_are_kept() -> None:
    entry = Entry("kdsl", "1", "passed", 1.0, 1.0, 1e-4, 1e-3, 3, {"support": 10, "entries": 6000.0, "lower": 0.2})
    result = Result(Row("engine", "l={n:,}", TASK, 1e-3, (), 60, 1.0), (entry,))
    assert what_limits(result, MACHINE).startswith("lowering 20%; 10 nSV l kernel values")
    first = merged("", "engine", section("engine", [result], MACHINE))
    both = merged(first, "path", section("path", [result], MACHINE))
    again = merged(both, "engine", section("engine", [result._replace(note="another day")], MACHINE))
    assert [line for line in again.splitlines() if line.startswith("#")] == ["# Results", "## engine", "## path"]
    assert again.count("another day") == 2 and both.count("another day") == 0
    twice = merged(
        both + both.partition("## engine")[1] + "\nof yesterday\n", "engine", section("engine", [result], MACHINE)
    )
    assert twice.count("## engine\n") == 1 and "of yesterday" not in twice


def test_rows_without_targets_are_summed_up() -> None:
    row = Row("qp", "l={n:,}", TASK, 1e-3, (), 60, 1.0)

    def entry(name: str, seconds: float, outcome: runner.Outcome = "passed") -> Entry:
        return Entry(name, "1", outcome, seconds, seconds, 1e-4, 1e-3, 3)

    results = [
        Result(row, (entry("kdsl", 1.0), entry("A", 2.0), entry("B", 3.0, "missed"))),
        Result(row, (entry("kdsl", 1.0), entry("A", 8.0), entry("B", 3.0))),
    ]
    assert summary(results) == [
        "- kdsl: 2 of 2 within the tolerance",
        "- A: 2 of 2 within the tolerance, geometric mean of the ratios 4",
        "- B: 1 of 2 within the tolerance, geometric mean of the ratios 3",
    ]
    assert summary(results)[1] in markdown(results, MACHINE)


def test_a_worker_that_is_stopped_or_ends_is_started_again() -> None:
    number = [c.name for c in contenders()].index("kdsl")
    with Worker() as worker:
        with pytest.raises(TimeOut):
            worker.solve(number, TASK, 1e-3, 0.0)
        began = time.monotonic()
        assert "IndexError" in str(worker.solve(10_000, TASK, 1e-3, 60.0))
        assert worker.get_ready(number, TASK, 60.0) is None
        answer = worker.solve(number, TASK, 1e-3, 60.0)
        assert isinstance(answer, Answer) and answer.seconds < time.monotonic() - began
        assert np.count_nonzero(answer.arrays["beta"]) == answer.facts["support"]
        assert worker._process is not None
        worker._process.kill()
        assert worker.solve(number, TASK, 1e-3, 60.0) == "its process ended with -9"
        assert isinstance(worker.solve(number, TASK, 1e-3, 60.0), Answer)


def test_a_solver_of_cvxpys_counts_as_installed_with_cvxpy_only() -> None:
    assert version(Kdsl()) is not None
    assert version(SnapML("no such machine", "no-such-package")) is None
    assert version(Cvxpy("OSQP", "no-such-package")) is None


def test_a_turn_is_one_long_run_or_several_short_ones_of_which_the_best_counts() -> None:
    calls: list[float] = []

    def run() -> float:
        calls.append(0.001 if len(calls) == 2 else 0.003)
        time.sleep(calls[-1])
        return calls[-1]

    assert best_in_a_turn(run, lambda seconds: seconds) == 0.001
    assert 3 <= len(calls) <= MOST
    calls.clear()
    result, told = timed_in_a_turn(lambda: calls.append(time.sleep(TURN)))  # type: ignore[arg-type,func-returns-value]
    assert result is None and len(calls) == 1 and told.seconds >= TURN


def test_no_target_is_reached_against_peers_that_had_no_turn() -> None:
    row = Row("engine", "a row", TASK, 1e-3, (Target("best peer", 2.0), Target("scikit-learn", 2.0)), 0, 1.0)
    own = Entry("kdsl", "1", "passed", 1.0, 1.0, 1e-4, 1e-3, 3)
    slow = Entry("scikit-learn", "1", "stopped", 9.0, 9.0)
    waiting = Entry("another", "1", "not run", note="the row's time is spent")
    for outcome, told in (("stopped", slow), ("passed", slow._replace(outcome="passed", gap=1e-4))):
        alone, hurried = Result(row, (own, told)), Result(row, (own, told, waiting))
        assert [ratio.reached for ratio in alone.ratios] == [True, True], outcome
        assert [ratio.reached for ratio in hurried.ratios] == [None, True], outcome
        assert markdown([hurried], MACHINE).count("(not all ran)") == 1
