"""What every test may ask for: the checkout's root, the shared data, and the command line in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of data that the repository does not hold; tests that need it are skipped without it."""
    folder = Path(os.environ.get("KDSL_SHARED", ROOT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip("no shared data: set KDSL_SHARED")
    return folder


@pytest.fixture(scope="session")
def kdsl_process(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run `kdsl ARGUMENTS` in a fresh process outside the checkout."""
    outside = tmp_path_factory.mktemp("outside")

    def run(
        *arguments: str, stdin: str | bytes = "", environment: dict[str, str] | None = None, cwd: Path = outside
    ) -> subprocess.CompletedProcess[str]:
        completed = subprocess.run(
            [sys.executable, "-m", "kdsl", *arguments],
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            cwd=cwd,
            env={**os.environ, **(environment or {})},
            timeout=120,
        )
        return subprocess.CompletedProcess(
            completed.args, completed.returncode, completed.stdout.decode(), completed.stderr.decode()
        )

    return run


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests wanted data that the repository does not hold."""
    skipped = terminalreporter.stats.get("skipped", [])
    wanting = [report for report in skipped if "shared" in str(report.longrepr).lower()]
    terminalreporter.write_line(f"{len(wanting)} tests skipped for want of the shared data (KDSL_SHARED)")
