"""The tables of docs/coming-from-libsvm.md as rows of cells, and what their code means in Python."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

PAGE = Path(__file__).resolve().parents[2] / "docs" / "coming-from-libsvm.md"
CELL = re.compile(r"(?<!\\)\|")


def rows(heading: str) -> list[tuple[str, ...]]:
    """The rows of the table under a heading, without its titles."""
    section = PAGE.read_text(encoding="utf-8").split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    assert set(lines[1]) == {"|", "-"}
    return [tuple(cell.strip() for cell in CELL.split(line)[1:-1]) for line in lines[2:]]


def codes(cell: str) -> list[str]:
    """What stands between backticks."""
    return re.findall(r"`([^`]+)`", cell)


def code(cell: str) -> str:
    """The one piece of code of a cell, "" where it is empty."""
    found = codes(cell)
    assert len(found) <= 1, cell
    return found[0] if found else ""


def value(expression: str, names: dict[str, Any]) -> Any:
    """What an expression of the page comes to."""
    return eval(expression, {"__builtins__": {}, "where": np.where}, dict(names))


def named(cell: str, names: dict[str, Any]) -> dict[str, Any]:
    """`C = C * l`, `nu = nu` as values by name."""
    pairs = (text.split(" = ", 1) for text in codes(cell))
    return {name: value(expression, names) for name, expression in pairs}


def flags(cell: str, names: dict[str, Any]) -> str:
    """`-s 0 -c C` with numbers for its letters."""
    return " ".join(str(names.get(word, word)) for word in code(cell).split())


def ident(row: tuple[str, ...]) -> str:
    return next(cell for cell in row if cell).replace("`", "")[:50]
