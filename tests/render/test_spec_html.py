"""A spec on a page: every letter is there, and words are marked by what they are."""

from __future__ import annotations

import html
import re

import pytest
from derivations import SPECS
from hypothesis import given
from hypothesis import strategies as st

from kdsl.render.spec_html import highlighted


def letters(page: str) -> str:
    """What a reader sees."""
    return html.unescape(re.sub(r"<[^>]+>", "", page))


@pytest.mark.parametrize("name", SPECS)
def test_every_letter_of_a_shipped_spec_is_there(name: str) -> None:
    text = SPECS[name].read_text(encoding="utf-8")
    page = highlighted(text)
    assert letters(page) == text
    assert page.count('<span class="comment">#') == text.count("\n#") + text.startswith("#")
    assert '<span class="word">model</span>' in page


@given(st.text(max_size=80) | st.text(alphabet="#\"<>&[](){}=x1 \n'|^.", max_size=80))
def test_any_text_comes_through(text: str) -> None:
    page = highlighted(text)
    assert letters(page) == text
    assert not re.search(r"<(?!/?(pre|code|span)\b)", page)


def test_words_are_marked_where_they_are_words() -> None:
    page = highlighted('model data "model"\nvar w : H(k), b : real # real\nminimize 2 * model\n')
    assert page.count('<span class="word">model</span>') == 1  # the name and the factor are no statements
    assert '<span class="title">&quot;model&quot;</span>' in page
    assert '<span class="word">real</span> <span class="comment"># real</span>' in page
    assert '<span class="number">2</span>' in page
