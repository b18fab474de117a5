"""The rooms of the package stand in layers: what a room may import is written here, and in docs/architecture.md."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import kdsl

PACKAGE = Path(kdsl.__file__).parent
MAY_IMPORT = {
    "language": {"language", "algebra"},  # a Model says which losses are built in, and offers its primal
    "algebra": {"language", "algebra"},
    "render": {"language", "algebra", "render"},
    "numerics": {"numerics", "allowance", "_core"},
    "binding": {"language", "numerics", "binding", "allowance", "_core"},
}


def imported(path: Path) -> set[str]:
    """The rooms, and single modules beside them, that a file imports from kdsl, wherever it does."""
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "kdsl":
            rooms |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kdsl."):
            rooms.add(str(node.module).split(".")[1])
    return rooms


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_imports_only_what_is_below_it(room: str) -> None:
    files = sorted((PACKAGE / room).rglob("*.py"))
    assert files
    wrong = {str(path.relative_to(PACKAGE)): sorted(imported(path) - MAY_IMPORT[room]) for path in files}
    assert not {path: rooms for path, rooms in wrong.items() if rooms}


def test_nothing_imports_the_command_line() -> None:
    outside = [path for path in PACKAGE.rglob("*.py") if path.parts[len(PACKAGE.parts)] not in ("cli", "__main__.py")]
    assert len(outside) > 200
    assert not [path for path in outside if "cli" in imported(path)]


def test_every_room_is_in_the_architecture(root: Path) -> None:
    told = (root / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert len(rooms) > 10
    assert not {room for room in rooms if f"`{room}/`" not in told}
