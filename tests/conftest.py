"""What every test may ask for, the checkout's root and the shared data, and what may be skipped for want of what."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# Why a test may be skipped where `CI` is set, beside what KDSL_WITHOUT says to be missing: what no package brings.
NO_PACKAGE = (
    "KDSL_SHARED",
    "this processor",
    "this user may",
    "root may",
    "no /dev/",
    "SCIPY_ARRAY_API",
    "no case of this test",
)
Reports = Generator[None, pytest.TestReport | pytest.CollectReport, pytest.TestReport | pytest.CollectReport]


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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Reports:
    return no_hidden_skip((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Reports:
    return no_hidden_skip((yield))


def no_hidden_skip(report: pytest.TestReport | pytest.CollectReport) -> pytest.TestReport | pytest.CollectReport:
    """Where `CI` is set, a test that is skipped because something is not installed has failed."""
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("CI"):
        why = str(report.longrepr[-1] if isinstance(report.longrepr, tuple) else report.longrepr)
        known = NO_PACKAGE + tuple(os.environ.get("KDSL_WITHOUT", "").split())
        if not any(reason in why for reason in known):
            report.outcome = "failed"
            report.longrepr = f"skipped where everything is to be installed: {why}"
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many tests wanted data that the repository does not hold."""
    skipped = terminalreporter.stats.get("skipped", [])
    wanting = [report for report in skipped if "KDSL_SHARED" in str(report.longrepr)]
    terminalreporter.write_line(f"{len(wanting)} tests skipped for want of the shared data (KDSL_SHARED)")
