"""Runs `kdsl` in this process, with its streams caught."""

from __future__ import annotations

import io
import json
import sys
from typing import Any, NamedTuple

import pytest

from kdsl.cli.main import main


class Outcome(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found


def kdsl(*arguments: object) -> Outcome:
    """One command, its streams caught."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", streams[0])
        patch.setattr(sys, "stderr", streams[1])
        code = main([str(a) for a in arguments])
    texts = []
    for stream in streams:
        stream.flush()
        texts.append(stream.buffer.getvalue().decode("utf-8"))  # type: ignore[attr-defined]
    return Outcome(code, *texts)
