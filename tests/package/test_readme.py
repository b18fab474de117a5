"""README tells the truth: its spec is the shipped one, its derivation is what the tool prints, its verbs exist."""

from __future__ import annotations

import re
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


def test_derivation_is_what_the_tool_prints(
    readme: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    assert command.main(["derive", "svm_1norm"]) == 0
    assert blocks(readme, "text") == [capsys.readouterr().out]


def test_there_are_two_commands_of_one_line(readme: str) -> None:
    commands = blocks(readme, "sh")
    assert [text.count("\n") for text in commands] == [1, 1]
    assert "pip install . && .venv/bin/kdsl " in commands[0]
    assert commands[1].rstrip().split("&& ")[-1].startswith(".venv/bin/pytest")


def test_table_of_verbs_is_complete(readme: str) -> None:
    assert re.findall(r"^\| `kdsl (\w+)", readme, flags=re.MULTILINE) != []
    assert set(re.findall(r"^\| `kdsl (\w+)", readme, flags=re.MULTILINE)) == set(command.VERBS)
