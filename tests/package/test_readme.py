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


def test_times_are_those_of_the_results(readme: str, root: Path) -> None:
    """Each row has the figures of the rows of its name in benchmarks/RESULTS.md."""
    results = (root / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    measured = [[cell.strip() for cell in line.split("|")] for line in results.splitlines() if line.startswith("| ")]
    table = re.search(r"^\| problem \| asked .*?\n\n", readme, flags=re.MULTILINE | re.DOTALL)
    assert table is not None
    rows = [[cell.strip() for cell in line.split("|")] for line in table[0].splitlines()[2:-1]]
    assert len(rows) == 10
    for _, problem, asked, seconds, learn, fastest, _ in rows:
        known = [cells for cells in measured if cells[1:4] == [problem, asked, seconds]]
        ratios = {cells[5] == "scikit-learn": (cells[6], cells[5].removeprefix("fastest: ")) for cells in known}
        assert ratios == {True: (learn, "scikit-learn"), False: tuple(fastest.split(", ", 1))}, problem
