"""What every test may ask for, the checkout's root and the shared data, and how many had to do without the latter."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def pytest_configure() -> None:
    """Ctrl-C is tested, also where whoever began the tests in the background has it ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


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


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests wanted data that the repository does not hold."""
    skipped = terminalreporter.stats.get("skipped", [])
    wanting = [report for report in skipped if "KDSL_SHARED" in str(report.longrepr)]
    terminalreporter.write_line(f"{len(wanting)} tests skipped for want of the shared data (KDSL_SHARED)")
