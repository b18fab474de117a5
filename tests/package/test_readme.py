"""README's spec is the shipped one, its commands are two, its verbs exist; tests/docs runs what it shows."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from kdsl.cli import main as command


@pytest.fixture(scope="module")
def readme(root: Path) -> str:
    return (root / "README.md").read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    """The fenced blocks of the language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def test_spec_is_the_shipped_one_without_its_comments(readme: str, root: Path) -> None:
    shipped = (root / "specs" / "svm_1norm.kspec").read_text(encoding="utf-8")
    assert blocks(readme, "kspec") == [re.sub(r"^#.*\n", "", shipped, flags=re.MULTILINE)]


def test_there_are_two_commands_of_one_line(readme: str) -> None:
    commands = blocks(readme, "sh")
    assert [text.count("\n") for text in commands] == [1, 1]
    assert "pip install '.[plot]' && .venv/bin/kdsl derive " in commands[0]
    assert all(f".venv/bin/kdsl {verb} " in commands[0] for verb in ("solve", "plot"))
    assert commands[1].rstrip().split("&& ")[-1].startswith(".venv/bin/pytest")


def test_table_of_verbs_is_complete(readme: str) -> None:
    assert set(re.findall(r"^\| `kdsl ([\w-]+)", readme, flags=re.MULTILINE)) == set(command.VERBS)


def test_example_data_are_what_their_script_writes(root: Path) -> None:
    made = runpy.run_path(str(root / "examples" / "make_crescents.py"))["crescents"]()
    assert (root / "examples" / "crescents.csv").read_text(encoding="utf-8") == made
