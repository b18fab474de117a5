"""Every K6 code of backends, routing and general programs has its exact text, and that text on its page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from exact_text import EXPECTED

SOURCES = ("routing.py", "general_qp.py", "qp_files.py", "backends/registry.py")


def codes(root: Path) -> set[str]:
    """The codes that these sources can raise."""
    texts = [(root / "kdsl" / "solving" / name).read_text(encoding="utf-8") for name in SOURCES]
    return {code for text in texts for code in re.findall(r'"(K6\d\d)"', text)}


def test_every_code_has_a_text_and_every_text_a_code(root: Path) -> None:
    assert {path.stem for path in EXPECTED.glob("K6*.txt")} >= codes(root)


@pytest.mark.parametrize("path", sorted(EXPECTED.glob("K6*.txt")), ids=lambda path: path.stem)
def test_the_page_shows_the_text(path: Path, root: Path) -> None:
    page = (root / "docs" / "diagnostics" / f"{path.stem}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {path.stem}: ")
    assert f"## Message\n\n```text\n{path.read_text(encoding='utf-8')}```\n\n## What to do\n" in page
