"""Solves that must end well, and the tables that commands are given."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from command_runs import kdsl


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
