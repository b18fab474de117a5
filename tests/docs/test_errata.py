"""Runs every script of docs/errata and compares it with the page: the correction is right, the print is not."""

from __future__ import annotations

import importlib.util
import math
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "errata.md"
SCRIPTS = sorted(path.stem for path in (DOCS / "errata").glob("*.py"))

Figure = tuple[str, float, float, float]


@cache
def figures(script: str) -> tuple[Figure, ...]:
    spec = importlib.util.spec_from_file_location(f"errata_{script}", DOCS / "errata" / f"{script}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return tuple(module.figures())


@cache
def tables() -> dict[str, list[tuple[str, str, str, str]]]:
    """Script -> the rows of the table below its link, as written on the page."""
    found: dict[str, list[tuple[str, str, str, str]]] = {}
    script = ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if link := re.fullmatch(r"\[errata/(\w+)\.py\]\(errata/\1\.py\)", line):
            script = link.group(1)
            found[script] = []
        elif line.startswith("#"):
            script = ""
        elif script and line.startswith("|") and not line.startswith(("| figure", "|---")):
            cells = [cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            what, printed, corrected, truth = cells
            found[script].append((what, printed, corrected, truth))
    return found


def as_number(cell: str) -> float:
    return math.nan if cell == "none" else float(cell.replace("−", "-").replace("∞", "inf"))


def test_every_script_has_its_table_and_every_table_its_script() -> None:
    assert sorted(tables()) == SCRIPTS


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_derivation_is_right_and_the_print_is_not(script: str) -> None:
    for what, printed, corrected, truth in figures(script):
        assert corrected == pytest.approx(truth, rel=1e-4, abs=1e-4), what
        assert printed != pytest.approx(truth, rel=1e-3, abs=1e-3), what


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_page_shows_what_the_script_computes(script: str) -> None:
    shown = tables()[script]
    computed = figures(script)
    assert [row[0] for row in shown] == [figure[0] for figure in computed]
    for row, figure in zip(shown, computed, strict=True):
        for cell, value in zip(row[1:], figure[1:], strict=True):
            assert as_number(cell) == pytest.approx(value, rel=1e-3, abs=1.5e-4, nan_ok=True), (script, row[0])


def test_a_script_prints_its_figures() -> None:
    script = DOCS / "errata" / "km_union_bound.py"
    printed = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True, timeout=60)
    assert printed.stdout == "penalty for k = 10, l = 100: printed 0.0230, corrected 0.0115, truth 0.0115\n"
