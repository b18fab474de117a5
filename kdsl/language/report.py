"""Renders diagnostics for people (text under the lines they speak of) and for programs (JSON)."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import Any, NamedTuple

from kdsl.language.diagnostics import Diagnostic, Label
from kdsl.language.lexer import GREEK, SUPERSCRIPTS, SYMBOLS

SCHEMA = 1
TAB = 4
WIDEST_LINE = 160  # columns; of a longer source line only the part around the finding is shown
_COLORS = {"error": "\x1b[1;31m", "warning": "\x1b[1;33m", "note": "\x1b[1;34m", "strong": "\x1b[1m"}
_RESET = "\x1b[0m"


class Position(NamedTuple):
    """A place in a source text, both numbers from 1, the column in characters."""

    line: int
    column: int


class Lines:
    """The lines of a source text; a byte order mark is no part of the first."""

    def __init__(self, source: str) -> None:
        self.starts = [1 if source.startswith("\ufeff") else 0]
        self.ends: list[int] = []
        for found in re.finditer(r"\r\n|\r|\n", source):
            self.ends.append(found.start())
            self.starts.append(found.end())
        self.ends.append(len(source))
        self.source = source

    def position(self, offset: int) -> Position:
        """The line and column of a character offset."""
        line = max(0, bisect_right(self.starts, offset) - 1)
        return Position(line + 1, max(0, offset - self.starts[line]) + 1)

    def text(self, line: int) -> str:
        return self.source[self.starts[line - 1] : self.ends[line - 1]]


def by_position(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """In the order of the places they speak of; those without a place come first, of one code as they came."""

    def place(d: Diagnostic) -> tuple[tuple[int, ...], str, str]:
        return (tuple(d.labels[0].span), d.code, d.message) if d.labels else ((-1, -1), d.code, "")

    return sorted(diagnostics, key=place)


def render_text(
    diagnostics: Iterable[Diagnostic], source: str, filename: str, color: bool = False, ascii: bool = False
) -> str:
    """All diagnostics as text, each under the line it speaks of, with a blank line between two; "" for none."""
    lines = Lines(source)
    blocks = [_render(diagnostic, lines, filename, color, ascii) for diagnostic in by_position(diagnostics)]
    return "\n".join(block + "\n" for block in blocks)


def _render(diagnostic: Diagnostic, lines: Lines, filename: str, color: bool, ascii: bool) -> str:
    def paint(style: str, text: str) -> str:
        return f"{_COLORS[style]}{text}{_RESET}" if color and text.strip() else text

    def clean(text: str) -> str:
        return _clean(text, ascii)

    grouped: dict[int, list[tuple[int, Label]]] = {}
    for rank, label in enumerate(diagnostic.labels):
        grouped.setdefault(lines.position(label.span.start).line, []).append((rank, label))
    width = len(str(max(grouped, default=1)))
    blank = " " * width
    head = paint(diagnostic.severity, f"{diagnostic.severity}[{diagnostic.code}]")
    out = [f"{head}: {paint('strong', clean(diagnostic.message))}"]
    place = clean(filename)
    if diagnostic.labels:
        line, column = lines.position(diagnostic.labels[0].span.start)
        place += f":{line}:{column}"
    if place:
        out.append(f"{blank}{paint('note', '-->')} {place}")
    previous = 0
    for line, labels in sorted(grouped.items()):
        if previous and line > previous + 1:
            out.append(paint("note", "..."))
        previous = line
        shown, rows = _annotate(lines, line, labels, ascii)
        out.append(f"{paint('note', f'{line:>{width}} |')} {shown}".rstrip())
        for row in rows:
            painted = paint(diagnostic.severity if "^" in row else "note", row)
            out.append(f"{blank} {paint('note', '|')} {painted}")
    for word, text in (("why", diagnostic.why), ("help", diagnostic.help)):
        if text:
            indent = "\n" + " " * (width + len(word) + 5)
            out.append(
                f"{blank} {paint('note', '=')} {paint('strong', word + ':')} {indent.join(clean(text).split(chr(10)))}"
            )
    return "\n".join(out)


def _annotate(lines: Lines, line: int, labels: list[tuple[int, Label]], ascii: bool) -> tuple[str, list[str]]:
    """The line as shown, and the rows of marks and words under it."""
    text = lines.text(line)
    start = lines.starts[line - 1]
    if len(text) > 8 * WIDEST_LINE:  # what is far from the finding is not even looked at
        primary_at = min((rank, label.span.start) for rank, label in labels)[1] - start
        first = max(0, min(primary_at - 4 * WIDEST_LINE, len(text) - 8 * WIDEST_LINE))
        text, start = text[first : first + 8 * WIDEST_LINE], start + first
    cells, columns = _cells(text, ascii)
    marks: list[tuple[int, int, str, str]] = []  # first column, column after the last, mark, words
    for rank, label in sorted(labels, key=lambda entry: (entry[1].span.start, -entry[0])):
        first = min(max(0, label.span.start - start), len(text))
        last = min(max(first, label.span.end - start), len(text))
        left = columns[first]
        right = max(columns[last], left + 1)
        marks.append((left, right, "^" if rank == 0 else "-", _clean(label.text, ascii)))
    shown = "".join(cells)
    primary = next((mark for mark in marks if mark[2] == "^"), marks[0])
    if columns[-1] > WIDEST_LINE:
        shown, shift = _window(shown, primary[0])
        ends = len(shown)
        marks = [
            (min(max(0, a - shift), ends - 1), min(max(1, b - shift), ends), mark, words) for a, b, mark, words in marks
        ]
    return shown, _rows(marks)


def _rows(marks: list[tuple[int, int, str, str]]) -> list[str]:
    under = [" "] * max(right for _, right, _, _ in marks)
    for left, right, mark, _ in sorted(marks, key=lambda entry: entry[2] == "^"):
        under[left:right] = mark * (right - left)
    row = "".join(under).rstrip()
    worded = [mark for mark in marks if mark[3]]
    if worded and worded[-1] == marks[-1]:
        row = f"{row} {worded.pop()[3]}"
    rows = [row]
    if worded:
        stems = [" "] * (worded[-1][0] + 1)
        for left, _, _, _ in worded:
            stems[left] = "|"
        rows.append("".join(stems))
    while worded:
        left, _, _, words = worded.pop()
        stems = [" "] * left
        for other, _, _, _ in worded:
            if other < left:
                stems[other] = "|"
        rows.append("".join(stems) + words)
    return rows


def _window(shown: str, column: int) -> tuple[str, int]:
    """At most WIDEST_LINE columns of a line, around `column`, and by how much they are shifted to the left."""
    first = max(0, min(column - WIDEST_LINE // 3, len(shown) - WIDEST_LINE))
    part = shown[first : first + WIDEST_LINE]
    if first:
        part = "..." + part[3:]
    if first + WIDEST_LINE < len(shown):
        part = part[:-3] + "..."
    return part, first


def _cells(text: str, ascii: bool) -> tuple[list[str], list[int]]:
    """What is shown for each character, and the column where each begins (one more: where the text ends)."""
    if text.isascii() and text.isprintable():
        return list(text), list(range(len(text) + 1))
    from unicodedata import combining, east_asian_width

    cells: list[str] = []
    columns = [0]
    for character in text:
        if character == "\t":
            cell, width = " " * (TAB - columns[-1] % TAB), TAB - columns[-1] % TAB
        else:
            cell = _shown(character, ascii)
            wide = not ascii and east_asian_width(cell[:1] or " ") in ("W", "F")
            width = 0 if not ascii and combining(character) else len(cell) + wide
        cells.append(cell)
        columns.append(columns[-1] + width)
    return cells, columns


_FIRST_SPELLINGS = {kind: symbol for symbol, kind in reversed(SYMBOLS.items()) if symbol.isascii()}
_ASCII: dict[str, str] = {
    **{symbol: _FIRST_SPELLINGS[kind] for symbol, kind in SYMBOLS.items() if kind in _FIRST_SPELLINGS},
    **GREEK,
    **{digit: f"^{value}" for value, digit in enumerate(SUPERSCRIPTS)},
    "⟨": "<",
    "⟩": ">",
    "∞": "inf",
    "∑": "sum",
    "Σ": "sum",
    "∈": " in ",
}


def _shown(character: str, ascii: bool) -> str:
    if not ascii:
        return character if character.isprintable() or character == "\n" else "�"
    if character.isascii():
        return character if character.isprintable() or character == "\n" else "?"
    return _ASCII.get(character, "?")


def _clean(text: str, ascii: bool) -> str:
    if text.isprintable() and (text.isascii() or not ascii):
        return text
    return "".join(_shown(character, ascii) for character in text)


def render_json(diagnostics: Iterable[Diagnostic], source: str, filename: str) -> str:
    """All diagnostics as one JSON object; lines and columns count from 1, offsets from 0, ends are exclusive."""
    import json

    lines = Lines(source)
    listed = [_entry(diagnostic, lines) for diagnostic in by_position(diagnostics)]
    return json.dumps({"schema": SCHEMA, "file": filename, "diagnostics": listed}, indent=2, ensure_ascii=False)


def _entry(diagnostic: Diagnostic, lines: Lines) -> dict[str, Any]:
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity,
        "message": diagnostic.message,
        "labels": [
            {
                "start": label.span.start,
                "end": label.span.end,
                "line": lines.position(label.span.start).line,
                "column": lines.position(label.span.start).column,
                "end_line": lines.position(label.span.end).line,
                "end_column": lines.position(label.span.end).column,
                "text": label.text,
            }
            for label in diagnostic.labels
        ],
        "why": diagnostic.why,
        "help": diagnostic.help,
    }
