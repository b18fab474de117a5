"""Writes a specification in the house style; comments stay where they are and the meaning is untouched."""

from __future__ import annotations

from typing import NamedTuple

from kdsl.language.layout import arrange
from kdsl.language.lexer import Token, scan
from kdsl.language.parser import parse_spec_text
from kdsl.language.spacing import Spacer, spell
from kdsl.language.terminals import STATEMENTS

KEYWORD_WIDTH = 7
INDENT = "  "


class _Row(NamedTuple):
    """What becomes one physical line: some tokens of a logical line, a comment, or both, after a blank line or not."""

    tokens: list[Token]
    comment: str
    logical: int  # the number of the logical line the tokens belong to, -1 for none
    blank: bool


def format_source(text: str, unicode: bool | None = None) -> str:
    """Return `text` in the house style; symbols and Greek names as written, or all in Unicode, or all in ASCII.

    Raises the KdslError of the parser if the text is no specification.
    """
    parse_spec_text(text)
    raw, _ = scan(text)
    lines = _logical_lines(arrange(raw, "spec", []))
    rows = _rows(raw, lines)
    widths = _label_widths(lines, text, unicode)
    spacers = [Spacer(_kind(line)) for line in lines]
    out: list[str] = []
    for position, row in enumerate(rows):
        if row.blank and out:
            out.append("")
        if not row.tokens:
            out.append(_comment_indent(rows, position, lines) + row.comment)
            continue
        line = lines[row.logical]
        written = _write(row, line, spacers[row.logical], widths[row.logical], text, unicode)
        out.append(f"{written}  {row.comment}" if row.comment else written)
    return "".join(f"{line}\n" for line in out)


def _logical_lines(tokens: list[Token]) -> list[list[Token]]:
    lines: list[list[Token]] = [[]]
    for token in tokens:
        if token.type == "NEWLINE":
            lines.append([])
        else:
            lines[-1].append(token)
    return lines[:-1]


def _kind(line: list[Token]) -> str:
    return line[0].type if line[0].type in STATEMENTS else "CONSTRAINT"


def _rows(raw: list[Token], lines: list[list[Token]]) -> list[_Row]:
    """Cut the tokens of the logical lines at the physical newlines, with the comments in their places.

    A logical line begins a row of its own, and only its own: `subject to` may be followed by a constraint.
    """
    owner = {token.start: (number, token) for number, line in enumerate(lines) for token in line}
    rows: list[_Row] = []
    tokens: list[Token] = []
    logical = -1
    newlines = 0

    def flush(comment: str) -> None:
        nonlocal tokens, newlines
        if tokens or comment:
            rows.append(_Row(tokens, comment, logical if tokens else -1, newlines > 1))
            newlines = 0
        tokens = []

    for token in raw:
        if token.type == "NEWLINE":
            flush("")
            newlines += 1
        elif token.type == "COMMENT":
            flush(token.text.rstrip())
        elif token.start in owner:
            number, arranged = owner[token.start]
            if tokens and number != logical:
                flush("")
            logical = number
            tokens.append(arranged)
    flush("")
    return rows


def _comment_indent(rows: list[_Row], position: int, lines: list[list[Token]]) -> str:
    """A comment on its own line stands where the next statement stands."""
    before = next((row.logical for row in reversed(rows[:position]) if row.tokens), -1)
    after = next((row for row in rows[position:] if row.tokens), None)
    if after is None:
        return ""
    if after.logical == before:
        return " " * _continuation(_kind(lines[before]))
    return INDENT if _kind(lines[after.logical]) == "CONSTRAINT" else ""


def _continuation(kind: str) -> int:
    if kind == "CONSTRAINT":
        return 3 * len(INDENT)
    return len(kind) + 1 if kind in ("MINIMIZE", "MAXIMIZE", "PREDICT") else KEYWORD_WIDTH


def _label_end(line: list[Token]) -> int:
    """The position of the colon after the label of a constraint."""
    return next(n for n, token in enumerate(line) if token.type == "COLON")


def _label_widths(lines: list[list[Token]], source: str, unicode: bool | None) -> list[int]:
    """For each logical line, the width of the longest label of its block."""
    widths = [0] * len(lines)
    block: list[int] = []
    for number, line in enumerate([*lines, []]):
        if line and _kind(line) == "CONSTRAINT":
            block.append(number)
            continue
        heads = [_join(lines[n][: _label_end(lines[n]) + 1], Spacer("CONSTRAINT"), source, unicode) for n in block]
        for n in block:
            widths[n] = max(len(head) for head in heads)
        block = []
    return widths


def _join(tokens: list[Token], spacer: Spacer, source: str, unicode: bool | None) -> str:
    pieces: list[str] = []
    for position, token in enumerate(tokens):
        following = tokens[position + 1].type if position + 1 < len(tokens) else ""
        if spacer.blank_before(token, following) and position:
            pieces.append(" ")
        pieces.append(spell(token, source, unicode))
    return "".join(pieces)


def _write(row: _Row, line: list[Token], spacer: Spacer, width: int, source: str, unicode: bool | None) -> str:
    kind = spacer.kind
    if row.tokens[0] is not line[0]:
        return " " * _continuation(kind) + _join(row.tokens, spacer, source, unicode)
    if kind == "CONSTRAINT":
        end = _label_end(line) + 1
        if len(row.tokens) <= end:
            return INDENT + _join(row.tokens, spacer, source, unicode)
        head = _join(row.tokens[:end], spacer, source, unicode)
        body = _join(row.tokens[end:], spacer, source, unicode)
        return f"{INDENT}{head:<{width}} {body}"
    if kind == "SUBJECT_TO":
        return "subject to"
    keyword = kind.lower()
    _join(row.tokens[:1], spacer, source, unicode)
    body = _join(row.tokens[1:], spacer, source, unicode)
    aligned = keyword if kind == "MODEL" else f"{keyword:<{KEYWORD_WIDTH - 1}}"
    return f"{aligned} {body}" if body else keyword
