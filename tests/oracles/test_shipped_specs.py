"""The shipped specs read, check without a word, stand in the house style, and say which page they are from."""

from __future__ import annotations

from pathlib import Path

import pytest

from kdsl.language.checker import check_spec
from kdsl.language.formatter import format_source
from kdsl.language.parser import parse_spec_text

SPECS = sorted((Path(__file__).resolve().parents[2] / "specs").glob("*.kspec"))
TEXTS = (
    "Kernel Methods for Pattern Analysis",
    "Support Vector Machines",
    "Elements of Statistical Learning",
    "The notes",
    "Handbook chapter",
    "handbook chapter",
)


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_a_shipped_spec_is_in_order(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    spec = parse_spec_text(text)
    model, diagnostics = check_spec(spec, text, path.stem)
    assert diagnostics == ()
    assert model is not None and model.name == path.stem and model.title
    assert format_source(text) == text
    assert model.predictions


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_a_shipped_spec_names_its_page_and_its_use(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    comment = lines[: next(n for n, line in enumerate(lines) if not line.startswith("#"))]
    assert len(comment) >= 2
    assert any(text in " ".join(comment) for text in TEXTS)
    assert all(len(line) <= 120 for line in lines)
