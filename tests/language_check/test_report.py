"""Diagnostics are laid out under the characters they speak of, in every encoding, and as JSON."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from kdsl.language.diagnostics import Diagnostic, Label
from kdsl.language.report import Lines, render_json, render_text
from kdsl.language.syntax import Span


def diagnostic(start: int, end: int, text: str = "here", *more: Label, code: str = "K201") -> Diagnostic:
    return Diagnostic(code, "something", (Label(Span(start, end), text), *more), "because", "do this")


def lines_of(source: str, found: Diagnostic, **options: bool) -> list[str]:
    return render_text([found], source, "a.kspec", **options).splitlines()


def test_layout_of_the_design() -> None:
    source = "\n" * 9 + "  margin[i]: y[i] * f(x[j]) >= 1 - xi[i]\n"
    found = Diagnostic(
        "K203",
        "index `j` is not bound in `margin[i]`",
        (Label(Span(33, 34), "unbound; the label binds only `i`"), Label(Span(17, 20))),
        "margin[i] gets one multiplier per i, so L has no sum over j",
        "write x[i], or label it margin[i,j]",
    )
    assert (
        render_text([found], source, "svm.kspec")
        == """\
error[K203]: index `j` is not bound in `margin[i]`
  --> svm.kspec:10:25
10 |   margin[i]: y[i] * f(x[j]) >= 1 - xi[i]
   |         ---             ^ unbound; the label binds only `i`
   = why: margin[i] gets one multiplier per i, so L has no sum over j
   = help: write x[i], or label it margin[i,j]
"""
    )


def test_several_labels_on_a_line() -> None:
    found = diagnostic(8, 9, "third", Label(Span(0, 1), "first"), Label(Span(4, 5), "second"))
    assert lines_of("a + b + c", found)[2:7] == [
        "1 | a + b + c",
        "  | -   -   ^ third",
        "  | |   |",
        "  | |   second",
        "  | first",
    ]


def test_labels_on_several_lines() -> None:
    found = diagnostic(8, 9, "last", Label(Span(0, 1), "first"))
    assert lines_of("a\nb\nc\nd\ne", found)[1:6] == [" --> a.kspec:5:1", "1 | a", "  | - first", "...", "5 | e"]
    assert "..." not in lines_of("a\nb\nc\nd\ne", diagnostic(2, 3, "", Label(Span(0, 1))))


def test_tabs_wide_and_combining_characters_are_aligned() -> None:
    assert lines_of("\tx + y", diagnostic(5, 6))[2:4] == ["1 |     x + y", "  |         ^ here"]
    assert lines_of("漢 + y", diagnostic(4, 5))[2:4] == ["1 | 漢 + y", "  |      ^ here"]
    assert lines_of("ξ\u0302 + y", diagnostic(5, 6))[2:4] == ["1 | ξ\u0302 + y", "  |     ^ here"]


def test_without_unicode_the_line_is_spelled_in_ascii_and_stays_aligned() -> None:
    shown = lines_of("ξ² ≤ ⟨w, φ⟩ + ν", diagnostic(14, 15), ascii=True)
    assert shown[2] == "1 | xi^2 <= <w, phi> + nu"
    assert shown[3] == "  |                    ^^ here"
    assert "\n".join(shown).isascii()


@given(st.text(max_size=60), st.integers(0, 60), st.integers(0, 60))
def test_any_text_can_be_shown(source: str, start: int, length: int) -> None:
    start = min(start, len(source))
    found = diagnostic(start, min(start + length, len(source)))
    ascii_text = render_text([found], source, "a.kspec", ascii=True)
    assert ascii_text.isascii()
    shown = render_text([found], source, "a.kspec")
    assert all(character == "\n" or character.isprintable() for character in shown)
    assert "^" in shown


@given(st.text(alphabet="ab\r\n", max_size=40))
def test_positions_agree_with_the_lines_of_the_text(source: str) -> None:
    lines = Lines(source)
    for offset, character in enumerate(source):
        if character in "ab":
            line, column = lines.position(offset)
            assert lines.text(line)[column - 1] == character


def test_byte_order_mark_and_line_ends() -> None:
    assert lines_of("\ufeffa\r\nb\rc", diagnostic(1, 2))[1:3] == [" --> a.kspec:1:1", "1 | a"]
    assert lines_of("\ufeffa\r\nb\rc", diagnostic(4, 5))[1:3] == [" --> a.kspec:2:1", "2 | b"]
    assert lines_of("\ufeffa\r\nb\rc", diagnostic(6, 7))[1:3] == [" --> a.kspec:3:1", "3 | c"]


def test_the_end_of_a_text_can_be_marked() -> None:
    assert lines_of("ab", diagnostic(2, 2))[2:4] == ["1 | ab", "  |   ^ here"]
    assert lines_of("", diagnostic(0, 0))[2:4] == ["1 |", "  | ^ here"]


def test_a_label_over_several_lines_is_cut_at_the_end_of_the_first() -> None:
    assert lines_of("abc\ndef", diagnostic(1, 6))[2:4] == ["1 | abc", "  |  ^^ here"]


def test_of_a_very_long_line_a_part_is_shown() -> None:
    source = "x" * 1000 + "!" + "y" * 1000
    shown = lines_of(source, diagnostic(1000, 1001))
    assert len(shown[2]) < 200
    assert shown[2][shown[3].index("^")] == "!"
    assert shown[1] == " --> a.kspec:1:1001"


def test_control_characters_do_not_reach_the_terminal() -> None:
    found = Diagnostic("K101", "bad \x1b[31m", (Label(Span(0, 1)),))
    assert "\x1b" not in render_text([found], "\x1b[31mred", "a\x1b.kspec")


def test_colours_are_used_only_when_asked_for() -> None:
    found = diagnostic(0, 1)
    assert "\x1b[" not in render_text([found], "a", "a.kspec")
    colored = render_text([found], "a", "a.kspec", color=True)
    assert "\x1b[1;31merror[K201]\x1b[0m" in colored
    warning = render_text([found._replace(severity="warning")], "a", "a.kspec", color=True)
    assert "\x1b[1;33mwarning[K201]\x1b[0m" in warning


def test_in_order_of_position_with_a_blank_line_between() -> None:
    text = render_text([diagnostic(4, 5, code="K202"), diagnostic(0, 1)], "a + b", "a.kspec")
    assert [block.split("]")[0] for block in text.split("\n\n")] == ["error[K201", "error[K202"]
    assert render_text([], "a", "a.kspec") == ""


def test_a_diagnostic_without_a_place() -> None:
    assert lines_of("a", Diagnostic("K401", "message")) == ["error[K401]: message", " --> a.kspec"]


def test_json() -> None:
    found = diagnostic(4, 5, "here", Label(Span(0, 1), "there"))
    data = json.loads(render_json([found], "ξ +\nb", "a.kspec"))
    assert data["schema"] == 1
    assert data["file"] == "a.kspec"
    (entry,) = data["diagnostics"]
    assert entry["code"] == "K201"
    assert entry["severity"] == "error"
    assert entry["message"] == "something"
    assert (entry["why"], entry["help"]) == ("because", "do this")
    assert entry["labels"][0] == {
        "start": 4,
        "end": 5,
        "line": 2,
        "column": 1,
        "end_line": 2,
        "end_column": 2,
        "text": "here",
    }
    assert json.loads(render_json([], "", "a.kspec"))["diagnostics"] == []
