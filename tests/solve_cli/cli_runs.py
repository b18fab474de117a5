"""Runs `kdsl` in this process, and writes the tables it is given."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
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


def solved(*arguments: object) -> dict[str, Any]:
    """The JSON object of a solve that must end optimal."""
    outcome = kdsl("solve", *arguments, "--json")
    assert outcome.code == 0, outcome.out + outcome.err
    assert outcome.json["status"] == "optimal"
    return outcome.json


def write_table(path: Path, columns: Mapping[str, Sequence[object]]) -> Path:
    """A CSV file with a header, numbers to the last bit."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*(map(spelt, column) for column in columns.values()), strict=True))
    return path


def spelt(value: object) -> str:
    return value if isinstance(value, str) else repr(float(value))  # type: ignore[arg-type]
