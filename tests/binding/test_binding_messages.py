"""Every K5xx message, word for word, as its page in docs/diagnostics has it; no code without a page and a case."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import file_messages
import kernel_messages
import pytest
import shape_messages
import value_messages
from binding_models import said, written

from kdsl.language.diagnostics import KdslError

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs" / "diagnostics"
TEXT = re.compile(r"```text\n(.*?)\n```", re.DOTALL)
CASES = file_messages.CASES | shape_messages.CASES | value_messages.CASES | kernel_messages.CASES
CODES = sorted({name[:4].upper() for name in CASES})


def texts(code):
    return TEXT.findall((PAGES / f"{code}.md").read_text(encoding="utf-8"))


def cases(code):
    return [name for name in CASES if name[:4].upper() == code]


@pytest.mark.parametrize("name", CASES)
def test_the_message_is_the_one_on_its_page(name, tmp_path, monkeypatch):
    code = name[:4].upper()
    monkeypatch.chdir(tmp_path)
    case = CASES[name]
    arguments = (monkeypatch,) if inspect.signature(case).parameters else ()
    try:
        found = "\n".join(written(note) for note in case(*arguments) or ())
    except KdslError as error:
        found = said(error)
    assert found == texts(code)[cases(code).index(name)]
    assert found.splitlines()[0].startswith((f"error[{code}]: ", f"warning[{code}]: "))


def test_every_code_in_the_room_has_a_case_and_a_page():
    sources = (ROOT / "kdsl" / "binding").glob("*.py")
    used = {code for source in sources for code in re.findall(r'"(K5\d\d)"', source.read_text(encoding="utf-8"))}
    assert used == set(CODES)
    assert {page.stem for page in PAGES.glob("K5*.md")} == set(CODES)


@pytest.mark.parametrize("code", CODES)
def test_a_page_has_a_title_a_fix_and_one_text_for_each_case(code):
    page = (PAGES / f"{code}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {code}: ") and "\n## What to do\n" in page
    assert len(texts(code)) == len(cases(code))
