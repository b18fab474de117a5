"""docs/model-file.md describes the file that is written: its first lines, its members, and how to read it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from saved_models import small_solution

from kdsl.models.model_file import contents


@pytest.fixture
def page(root: Path) -> str:
    return (root / "docs" / "model-file.md").read_text(encoding="utf-8")


def test_every_member_is_described(page: str) -> None:
    header, _ = contents(small_solution())
    section = page.split("## Members of the header")[1].split("## Writing")[0]
    named = {
        word for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE) for word in re.findall(r"`(\w+)`", row)
    }
    assert named == set(header)


def test_the_first_lines_look_like_that(page: str, tmp_path: Path) -> None:
    small_solution().save(tmp_path / "model.kdsl")
    shown = re.findall(r"```text\n(.*?)```", page, re.DOTALL)[0].splitlines()[:5]
    written = (tmp_path / "model.kdsl").read_bytes().split(b"\n")[:5]

    def shape(line: str) -> str:
        return re.sub(r"[0-9a-f]{64}", "<hash>", re.sub(r"header \d+", "header <bytes>", line))

    assert [shape(line.decode()) for line in written] == [shape(line) for line in shown]


def test_the_program_reads_it(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    solution = small_solution()
    solution.save(tmp_path / "model.kdsl")
    monkeypatch.chdir(tmp_path)
    found: dict[str, Any] = {}
    exec(re.findall(r"```python\n(.*?)```", page, re.DOTALL)[0], found)
    assert np.array_equal(found["w"], solution.predictor.vectors["w"].coefficients.ravel())
