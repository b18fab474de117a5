"""A document as text of at most 100 columns, in Unicode or in ASCII."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdsl.render.document import document
from kdsl.render.expr import Cases
from kdsl.render.layout import Block, Display, Document, Line, Numbered, Paragraph, Pieces, Table
from kdsl.render.plain import Plain, broken, laid, width

if TYPE_CHECKING:
    from kdsl.algebra.derivation import Derivation
    from kdsl.algebra.evidence import Evidence

WIDTH = 100
_INDENT = "    "
_GLUE = "\ue0ff"  # a space at which a sentence is not broken
_UNBROKEN = 30
_DEEPEST_HANGING = 24
_WIDEST_LEFT = 40  # a longer left side is not aligned with the others


def render(derivation: Derivation, evidence: Evidence | None = None, ascii: bool = False) -> str:
    """The derivation for a terminal."""
    return document_text(document(derivation, evidence), ascii)


def document_text(doc: Document, ascii: bool = False) -> str:
    plain = Plain(ascii)
    title = _spelled(doc.title, plain)
    lines = [title, ("=" if ascii else "═") * width(title)]
    for section in doc.sections:
        heading = _spelled(section.title, plain)
        lines += ["", heading, ("-" if ascii else "─") * width(heading)]
        lines += _blocks(section.blocks, plain, 0)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _blocks(blocks: tuple[Block, ...], plain: Plain, indent: int) -> list[str]:
    lines: list[str] = []
    for n, block in enumerate(blocks):
        if n and isinstance(block, Numbered):
            lines.append("")
        lines += _block(block, plain, indent)
    return lines


def _block(block: Block, plain: Plain, indent: int) -> list[str]:
    if isinstance(block, Paragraph):
        return _wrapped(_sentence(block.pieces, plain), indent)
    if isinstance(block, Display):
        return _display(block, plain, indent + 4)
    if isinstance(block, Table):
        return _table(block, plain, indent + 4)
    head = f"{block.number}. {pieces_text(block.title, plain)}"
    return [*_wrapped(head, indent, 3), *_blocks(block.blocks, plain, indent + 3)]


# -------------------------------------------------------------------- paragraphs


def pieces_text(pieces: Pieces, plain: Plain) -> str:
    return "".join(_spelled(p, plain) if isinstance(p, str) else laid(plain.formula(p)) for p in pieces)


def _sentence(pieces: Pieces, plain: Plain) -> str:
    """Words and formulas, a short formula kept on one line."""
    parts = []
    for piece in pieces:
        text = pieces_text((piece,), plain)
        short = not isinstance(piece, str) and width(text) <= _UNBROKEN
        parts.append(text.replace(" ", _GLUE) if short else text)
    return "".join(parts)


_SPELLINGS = {"∈": "in", "—": "-", "–": "-", "…": "...", "−": "-", "⇒": "=>", "≥": ">=", "≤": "<=", "∞": "inf"}


def _spelled(text: str, plain: Plain) -> str:
    if not plain.ascii or text.isascii():
        return text
    for sign, spelling in _SPELLINGS.items():
        text = text.replace(sign, spelling)
    return text.encode("ascii", "backslashreplace").decode()


def _wrapped(text: str, indent: int, hanging: int = 0) -> list[str]:
    lines, line = [], " " * indent
    for word in text.split(" "):
        fresh = not line.strip()
        if not fresh and width(line) + 1 + width(word) > WIDTH:
            lines.append(line)
            line, fresh = " " * (indent + hanging), True
        line += word if fresh else f" {word}"
    return [each.replace(_GLUE, " ") for each in (*lines, line)]


# --------------------------------------------------------------------- equations


def _display(block: Display, plain: Plain, indent: int) -> list[str]:
    labels = [_spelled(line.label, plain) for line in block.lines]
    margin = indent + (max(map(width, labels)) + 2 if any(labels) else 0)
    lefts = [laid(plain.formula(line.left)) if line.left is not None else "" for line in block.lines]
    column = max((width(left) for left in lefts if width(left) <= _WIDEST_LEFT), default=0)
    bodies = [_body(line, left, column, plain, WIDTH - margin) for line, left in zip(block.lines, lefts, strict=True)]
    sides = [pieces_text(line.side, plain) for line in block.lines]
    aligned = [width(body[-1]) for body, side in zip(bodies, sides, strict=True) if side]
    longest = max((n for n in aligned if margin + n + 4 + max(map(width, sides)) <= WIDTH), default=0)
    result = []
    for side, label, body in zip(sides, labels, bodies, strict=True):
        body = _sided(body, side, longest, WIDTH - margin)
        first = " " * indent + label
        result.append(first + " " * (margin - width(first)) + body[0])
        result += [" " * margin + rest for rest in body[1:]]
    return result


def _body(line: Line, left: str, column: int, plain: Plain, room: int) -> list[str]:
    if isinstance(line.right, Cases):
        return _cases(line.right, f"{' ' * max(column - width(left), 0)}{left} {plain.relation(line.relation)} ", plain)
    right = plain.formula(line.right)
    if line.left is None:
        return broken(right, room)
    relation = plain.relation(line.relation)
    if width(left) > _WIDEST_LEFT:
        return broken(f"{plain.formula(line.left)} {relation} {right}", room)
    head = f"{' ' * max(column - width(left), 0)}{left} {relation} "
    return broken(head + right, room, min(width(head), _DEEPEST_HANGING))


def _cases(cases: Cases, head: str, plain: Plain) -> list[str]:
    """One piece of a function on each line, after a brace."""
    values = [laid(plain.formula(value)) for value, _ in cases.rows]
    column = max(map(width, values))
    middle = (len(values) - 1) // 2
    lines = []
    for n, (value, (_, condition)) in enumerate(zip(values, cases.rows, strict=True)):
        start = head if n == middle else " " * width(head)
        gap = " " * (column - width(value) + 3)
        lines.append(f"{start}{_brace(n, len(values), plain)} {value}{gap}for {laid(plain.formula(condition))}")
    return lines


def _brace(n: int, count: int, plain: Plain) -> str:
    if plain.ascii:
        return "{"
    return "⎧" if n == 0 else "⎩" if n == count - 1 else "⎨"


def _sided(body: list[str], side: str, longest: int, room: int) -> list[str]:
    """The body with its side condition in a column of its own, or below where there is no room."""
    if not side:
        return body
    gap = max(longest - width(body[-1]), 0) + 4
    if width(body[-1]) + gap + width(side) <= room:
        return [*body[:-1], body[-1] + " " * gap + side]
    return [*body, *("    " + part for part in _wrapped_side(side, room - 4))]


def _wrapped_side(side: str, room: int) -> list[str]:
    lines, line = [], ""
    for word in side.split(" "):
        if line and width(line) + 1 + width(word) > room:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line]


# ------------------------------------------------------------------------ tables


def _table(block: Table, plain: Plain, indent: int) -> list[str]:
    rows = [tuple(_spelled(h, plain) for h in block.header)] if any(block.header) else []
    rows += [tuple(pieces_text(cell, plain) for cell in row) for row in block.rows]
    widths = [max(width(row[n]) for row in rows) for n in range(len(rows[0]))]
    if len(widths) > 2 and indent + sum(widths) + 3 * (len(widths) - 1) > WIDTH:
        widths[-2] = 0  # too wide: the last column follows the one before it, aligned no longer
    lines = []
    for row in rows:
        text = " " * indent
        for cell, room in zip(row[:-1], widths, strict=False):
            text += cell + " " * (max(room - width(cell), 0) + 3)
        hanging = indent + sum(widths[:-1]) + 3 * (len(widths) - 1)
        lines += _folded(text + row[-1], text, hanging)
    return lines


def _folded(line: str, without_last: str, hanging: int) -> list[str]:
    """A row whose last cell does not fit has it below, or goes on below it where that is long."""
    last = line[len(without_last) :]
    if width(line) > WIDTH and width(last) < WIDTH // 2:
        return [*_cut_at_spaces(without_last.rstrip(), hanging), " " * hanging + last]
    return _cut_at_spaces(line.rstrip(), hanging)


def _cut_at_spaces(text: str, hanging: int) -> list[str]:
    hanging = min(hanging, WIDTH // 2)
    lines = []
    while width(text) > WIDTH:
        cut = text.rfind(" ", hanging + 1, WIDTH)
        if cut < 0:
            break
        lines.append(text[:cut])
        text = " " * hanging + text[cut + 1 :]
    return [*lines, text]
