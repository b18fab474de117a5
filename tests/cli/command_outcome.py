"""What a command of the command line leaves: its exit code and both of its streams."""

from __future__ import annotations

import pytest

from kdsl.cli import main as command


def outcome(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = command.main(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err
