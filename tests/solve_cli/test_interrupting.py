"""Ctrl-C while a solver runs: once for the best so far and its certificate, twice to quit."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cli_runs import write_table


@pytest.fixture
def slow(tmp_path: Path) -> list[str]:
    """A command that takes minutes: the readable solver on overlapping classes with a huge C."""
    random = np.random.default_rng(0)
    x = random.normal(size=(400, 4))
    y = np.where(x[:, 0] + random.normal(size=400) > 0, 1, -1)
    table = write_table(tmp_path / "t.csv", {**{f"x{n}": x[:, n] for n in range(4)}, "y": y})
    options = ["-D", "C=1e7", "--kernel", "k = rbf(gamma = 0.1)", "--backend", "reference", "--tol", "1e-13"]
    return [sys.executable, "-m", "kdsl", "solve", "svm_1norm", "--data", str(table), *options]


def started(command: list[str]) -> subprocess.Popen[str]:
    """The command, once it has shown that it is solving."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    line = process.stderr.readline()
    assert "iterations, gap" in line, line
    assert "\r" not in line  # not a terminal: plain lines
    return process


def test_once_gives_the_best_so_far(slow: list[str]) -> None:
    process = started([*slow, "--json"])
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    entry = json.loads(out)
    assert process.returncode == 3
    assert entry["status"] == "user_limit"
    assert entry["value"] >= entry["dual"]
    assert entry["rel_gap"] > 1e-6
    assert "Ctrl-C again" in err


def test_twice_quits(slow: list[str]) -> None:
    """The second signal may come while the first is being obeyed, after it was, or when Python is leaving."""
    process = started(slow)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    assert "stopping" in process.stderr.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode in (130, 3, -signal.SIGINT)


def test_a_second_interrupt_is_a_keyboard_interrupt() -> None:
    """The same without a race: the handler itself."""
    from kdsl.cli.progress import Watch
    from kdsl.cli.terminal import Console

    watch = Watch(Console(True, False, False), quiet=True)
    with watch:
        with pytest.raises(KeyboardInterrupt):  # nothing runs yet that could be stopped
            signal.raise_signal(signal.SIGINT)
        assert watch(10, 0.5) is False
        signal.raise_signal(signal.SIGINT)
        assert watch(11, 0.4) is True
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):  # and the former handler is back
        signal.raise_signal(signal.SIGINT)


def test_quiet_is_silent(slow: list[str]) -> None:
    process = subprocess.Popen(
        [*slow, "-q", "--time-limit", "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    out, err = process.communicate(timeout=100)
    assert process.returncode == 3
    assert "user_limit" in out
    assert "iterations, gap" not in err
