"""README tells the truth: its spec is the shipped one, its derivation is what the tool prints, its verbs exist."""

from __future__ import annotations

import re
import runpy
import shlex
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
    assert "pip install '.[plot]' && .venv/bin/kdsl derive " in commands[0]
    assert all(f".venv/bin/kdsl {verb} " in commands[0] for verb in ("solve", "plot"))
    assert commands[1].rstrip().split("&& ")[-1].startswith(".venv/bin/pytest")


def test_table_of_verbs_is_complete(readme: str) -> None:
    assert set(re.findall(r"^\| `kdsl ([\w-]+)", readme, flags=re.MULTILINE)) == set(command.VERBS)


def test_example_data_are_what_their_script_writes(root: Path) -> None:
    made = runpy.run_path(str(root / "examples" / "make_crescents.py"))["crescents"]()
    assert (root / "examples" / "crescents.csv").read_text(encoding="utf-8") == made


def test_the_solve_it_shows_prints_what_it_shows(
    readme: str, root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (shown,) = blocks(readme, "console")
    first, *lines = shown.splitlines()
    monkeypatch.chdir(root)
    assert command.main([*shlex.split(first.removeprefix("$ kdsl ")), "-q"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[:-1]] == [line.split()[0] for line in printed[: len(lines) - 1]]
    for line, wanted in zip(printed, lines[:-1], strict=False):
        if wanted.split()[0] in ("value", "dual"):
            assert float(line.split()[1]) == pytest.approx(float(wanted.split()[1]), rel=2e-6)
        else:
            assert line == wanted
