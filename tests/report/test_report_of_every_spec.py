"""Every shipped spec has a report, whatever its data are; pictures are left to other tests."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from reported import ROOT

from kdsl import resources
from kdsl.report.account import account_of
from kdsl.report.page import report_page
from kdsl.solving.api import solve

sys.path.insert(0, str(ROOT / "tests" / "solving"))
from solved_instances import instance


class Balanced(HTMLParser):
    """Every tag is closed by its own."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        return

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", resources.spec_names())
def test_every_shipped_spec_has_a_report(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    case = instance(name)
    account = account_of(solve(name, case.data, case.parameters, case.kernels))
    text = report_page(account)
    reader = Balanced()
    reader.feed(text)
    assert reader.open == []
    ElementTree.fromstring(text.removeprefix("<!DOCTYPE html>\n").replace("&#", ""))
    for key in ("spec", "data", "route", "certificate", "solution", "derivation"):
        assert f'<section id="{key}" aria-labelledby' in text
    for datum in account.derivation.model.data:
        assert f'<tr><th scope="row"><code>{datum.name}</code></th>' in text
    assert Path(resources.spec_path(name) or "").read_text("utf-8") == account.derivation.model.source
    assert not re.search(r"<t[dh][^>]*>[^<]*\b(nan|inf|None|array\()", text)
