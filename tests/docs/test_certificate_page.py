"""docs/certificate.md explains every member of the JSON object, every line of the report and every status."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    return (root / "docs" / "certificate.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def schema(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((root / "docs" / "schema" / "solve-1.json").read_text(encoding="utf-8"))
    solution: dict[str, Any] = found["$defs"]["solution"]
    return solution


def first_cells(page: str, heading: str) -> set[str]:
    """The words in backticks in the first column of the tables of a section."""
    section = page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`.*?) \|", section, flags=re.MULTILINE)
    return {word for cell in cells for word in re.findall(r"`([^`]+)`", cell)}


def test_every_member_is_explained(page: str, schema: dict[str, Any]) -> None:
    assert first_cells(page, "In JSON") == set(schema["properties"])


def test_every_status_is_explained(page: str, schema: dict[str, Any]) -> None:
    assert first_cells(page, "The statuses") == set(schema["properties"]["status"]["enum"])


def test_every_line_of_a_report_is_explained(page: str, root: Path) -> None:
    source = (root / "kdsl" / "models" / "report.py").read_text(encoding="utf-8")
    text = source.partition("def solution_text")[2]
    lines = set(re.findall(r'(?<! in )\("([a-z][\w -]*)", ', text))
    assert {"problem", "status", "value", "m - M", "effort"} <= lines
    assert sorted(lines - first_cells(page, "Line by line")) == []
