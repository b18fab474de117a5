"""Every diagnostic code has failing specs with their exact messages, and a page whose examples are run."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path

import pytest

from kdsl.language.checker import check_spec
from kdsl.language.diagnostics import Diagnostic, KdslError
from kdsl.language.model import Model
from kdsl.language.parser import parse_spec_text
from kdsl.language.report import render_text
from kdsl.pipeline import derive

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
PAGES = ROOT / "docs" / "diagnostics"
UPDATE = bool(os.environ.get("KDSL_UPDATE_GOLDEN"))
CASES = sorted(HERE.glob("*/*.kspec"))
CODE = re.compile(r"K[1-4]\d\d")
REPEATED = re.compile(r"⟪(\d+) × (.*?)⟫", re.DOTALL)


def expand(text: str) -> str:
    """Write out `⟪n × text⟫`, by which examples of what is too long stay short."""
    return REPEATED.sub(lambda match: match[2] * int(match[1]), text)


def diagnose(text: str, name: str) -> tuple[Diagnostic, ...]:
    """Everything that parser, checker and derivation have to say about a spec."""
    try:
        model, found = check_spec(parse_spec_text(text), text, name)
    except KdslError as error:
        return error.diagnostics
    return found if model is None else (*found, *derivation_diagnostics(model))


def derivation_diagnostics(model: Model) -> tuple[Diagnostic, ...]:
    """What the algebra refuses (K4)."""
    try:
        derive(model)
    except KdslError as error:
        return error.diagnostics
    return ()


def emitted_codes() -> set[str]:
    """Every code that a string of the language's or the algebra's source names."""
    found: set[str] = set()
    for room in ("language", "algebra"):
        for path in (ROOT / "kdsl" / room).glob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and CODE.fullmatch(node.value):
                    found.add(node.value)
    return found


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_exact_text(path: Path) -> None:
    text = expand(path.read_bytes().decode("utf-8"))
    found = diagnose(text, path.stem)
    rendered = render_text(found, text, path.name)
    expected = path.with_suffix(".expected")
    if UPDATE:
        expected.write_bytes(rendered.encode("utf-8"))
    assert rendered == expected.read_bytes().decode("utf-8")
    if CODE.fullmatch(path.parent.name):
        assert {diagnostic.code for diagnostic in found} == {path.parent.name}, "one mistake, one message"


@pytest.mark.parametrize("code", sorted(emitted_codes()))
def test_each_code_has_a_failing_spec(code: str) -> None:
    assert list((HERE / code).glob("*.kspec"))


def examples(page: str) -> list[tuple[str, str]]:
    """The fenced specs of a page with the heading that each stands under."""
    found: list[tuple[str, str]] = []
    heading = ""
    for match in re.finditer(r"^## (?P<heading>[^\n]+)$|^```kspec\n(?P<spec>.*?)^```$", page, re.MULTILINE | re.DOTALL):
        if match["heading"]:
            heading = match["heading"].strip()
        else:
            found.append((heading, expand(match["spec"])))
    return found


@pytest.mark.parametrize("code", sorted(emitted_codes()))
def test_each_page_keeps_its_word(code: str) -> None:
    page = (PAGES / f"{code}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {code}: ")
    by_heading = dict(examples(page))
    assert set(by_heading) == {"Wrong", "Right"}
    assert code in {diagnostic.code for diagnostic in diagnose(by_heading["Wrong"], code)}
    assert diagnose(by_heading["Right"], code) == ()
    assert "## Why" in page


def test_no_case_or_page_is_left_over() -> None:
    known = emitted_codes()
    assert {path.stem for path in PAGES.glob("K[1-3]*.md")} <= known
    assert {path.name for path in HERE.iterdir() if re.fullmatch(r"K[1-3]\d\d", path.name)} <= known


def test_there_are_at_least_forty_codes() -> None:
    assert len(emitted_codes()) >= 40
