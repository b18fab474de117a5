"""A document as LaTeX that pdflatex sets with amsmath and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdsl.render import expr as e
from kdsl.render import tex
from kdsl.render.document import document
from kdsl.render.layout import Block, Display, Document, Line, Numbered, Paragraph, Pieces, Table
from kdsl.render.phrases import split_sum
from kdsl.render.plain import Plain, laid, width

if TYPE_CHECKING:
    from kdsl.algebra.derivation import Derivation
    from kdsl.algebra.evidence import Evidence

_PREAMBLE = r"""\documentclass[a4paper,11pt,fleqn]{article}
\usepackage{amsmath}
\setlength{\textwidth}{17.5cm}
\setlength{\oddsidemargin}{-0.8cm}
\setlength{\textheight}{24cm}
\setlength{\topmargin}{-1.2cm}
\setlength{\parindent}{0pt}
\setlength{\mathindent}{1em}
\setlength{\parskip}{4pt}
"""
_ROOM = 92  # columns of text that fit on a line of mathematics
_NARROWEST = 30  # a right side this narrow is not broken
_SUM_SIGN = 3  # columns that a sum sign with its limits takes beyond its letters
_WIDEST_LEFT = 36  # a longer left side is not aligned with the others


def render(derivation: Derivation, evidence: Evidence | None = None) -> str:
    """The derivation as a LaTeX document."""
    return document_latex(document(derivation, evidence))


def document_latex(doc: Document) -> str:
    lines = [
        f"% Derived by kdsl from the specification {doc.name}.",
        _PREAMBLE + "\\begin{document}",
        f"\\section*{{{tex.escaped(doc.title)}}}",
    ]
    for section in doc.sections:
        lines += ["", f"\\subsection*{{{tex.escaped(section.title)}}}"]
        lines += _blocks(section.blocks)
    return "\n".join([*lines, "\\end{document}", ""])


def _blocks(blocks: tuple[Block, ...]) -> list[str]:
    lines: list[str] = []
    listing = False
    for n, block in enumerate(blocks):
        if isinstance(block, Paragraph) and n and isinstance(blocks[n - 1], Paragraph):
            lines.append("")
        if isinstance(block, Numbered) != listing:
            lines.append("\\end{enumerate}" if listing else "\\begin{enumerate}")
            listing = not listing
        lines += _block(block)
    return [*lines, "\\end{enumerate}"] if listing else lines


def _block(block: Block) -> list[str]:
    if isinstance(block, Paragraph):
        return [_prose(block.pieces)]
    if isinstance(block, Display):
        return _display(block)
    if isinstance(block, Table):
        return _table(block)
    assert isinstance(block, Numbered)
    return [f"\\item \\textbf{{{_prose(block.title)}}}", *_blocks(block.blocks)]


def _prose(pieces: Pieces) -> str:
    return "".join(tex.escaped(p) if isinstance(p, str) else f"${tex.formula(p)}$" for p in pieces)


def _in_formula(pieces: Pieces) -> str:
    """A side condition: words as text, the rest as it is."""
    return "".join(f"\\text{{{tex.escaped(p)}}}" if isinstance(p, str) else tex.formula(p) for p in pieces)


# --------------------------------------------------------------------- equations


def _display(block: Display) -> list[str]:
    """An array with columns for labels, left sides, relations, right sides and side conditions."""
    plain = Plain()
    labels = max((width(line.label) + 2 for line in block.lines if line.label), default=0)
    sides = max((_width(_in_text(line.side, plain)) + 4 for line in block.lines if line.side), default=0)
    lefts = [_columns(line.left, plain) for line in block.lines if line.left is not None]
    aligned = max((n for n in lefts if n <= _WIDEST_LEFT), default=0)
    rows = []
    for line in block.lines:
        rows += _rows(line, _ROOM - labels, aligned, sides, plain)
    body = [f"  {row} \\\\[{_gap(row)}]" for row in rows]
    return ["\\[", "\\begin{array}{@{}l@{\\quad}r@{\\;}c@{\\;}l@{\\qquad}l@{}}", *body, "\\end{array}", "\\]"]


def _gap(row: str) -> str:
    """Space below a row: more where sums or fractions stand high."""
    return "11pt" if "\\sum" in row or "\\frac" in row else "3pt"


def _columns(node: e.Expr | None, plain: Plain) -> int:
    if node is None:
        return 0
    if isinstance(node, e.Partial):
        return 5
    text = laid(plain.formula(node))
    return width(text) + _SUM_SIGN * text.count("Σ")


def _width(text: str) -> int:
    return width(laid(text))


def _in_text(pieces: Pieces, plain: Plain) -> str:
    return "".join(p if isinstance(p, str) else plain.formula(p) for p in pieces)


def _rows(line: Line, room: int, aligned: int, sides: int, plain: Plain) -> list[str]:
    """The line in its columns; without alignment where its left side is too wide for that."""
    label = f"\\text{{{tex.escaped(line.label.strip())}}}" if line.label else ""
    if line.label.startswith(" "):
        label = f"\\quad {label}"
    side = _in_formula(line.side)
    left_width = _columns(line.left, plain)
    if line.left is None or left_width > _WIDEST_LEFT:
        head = "" if line.left is None else f"{tex.formula(line.left)} {tex.relation(line.relation)} "
        first, *others = _broken(line.right, room - left_width - 3, plain)
        wide = left_width + 3 + _columns(line.right, plain) + sides > room
        shown = f"\\displaystyle {head}{first}"
        if wide or left_width > _WIDEST_LEFT:
            rows = [f"{label} & \\multicolumn{{4}}{{l}}{{{shown}{_aside(side) if not others and not wide else ''}}}"]
        else:
            rows = [f"{label} & \\multicolumn{{3}}{{l@{{\\qquad}}}}{{{shown}}} & {side}"]
            side = ""
        rows += [f" & \\multicolumn{{4}}{{l}}{{\\qquad \\displaystyle {part}}}" for part in others]
        if side and (others or wide):
            rows.append(f" & \\multicolumn{{4}}{{l}}{{\\qquad {side}}}")
        return rows
    left = f"\\displaystyle {tex.formula(line.left)}"
    first, *others = _broken(line.right, max(room - aligned - sides - 3, _NARROWEST), plain)
    rows = [f"{label} & {left} & {tex.relation(line.relation)} & \\displaystyle {first} & {side}"]
    return rows + [f" & & & \\quad \\displaystyle {part} &" for part in others]


def _aside(side: str) -> str:
    return f" \\qquad {side}" if side else ""


def _broken(node: e.Expr, room: int, plain: Plain) -> list[str]:
    """A sum that is too long for one line in several, each beginning with its sign."""
    lines, tail = split_sum(node, lambda part: _columns(part, plain), room)
    shown = [tex.terms(part, first=n == 0) for n, part in enumerate(lines)]
    ending = "".join(f" {tex.relation(sign)} {tex.formula(side)}" for sign, side in tail)
    return [*shown[:-1], shown[-1] + ending]


# ------------------------------------------------------------------------ tables


def _table(block: Table) -> list[str]:
    """A tabular; where it is too wide, the last cell of a wide row goes below the one before it."""
    plain = Plain()
    rows = []
    if any(block.header):
        rows.append(" & ".join(f"\\textit{{{tex.escaped(h)}}}" for h in block.header) + " \\\\")
    widths = [max(_cell_width(row[n], plain) for row in block.rows) for n in range(len(block.rows[0]))]
    wide = len(widths) > 2 and sum(widths) > _ROOM
    for row in block.rows:
        cells = [_prose(cell) for cell in row]
        if wide and row[-1] and _cell_width(row[-2], plain) + _cell_width(row[-1], plain) > _ROOM - sum(widths[:-2]):
            rows.append(" & ".join(cells[:-1]) + " \\\\")
            cells = ["" for _ in cells[2:]] + [f"\\quad {cells[-1]}"]
        elif wide:
            cells = [*cells[:-2], f"{cells[-2]}\\quad {cells[-1]}"]
        rows.append(" & ".join(cells) + " \\\\[2pt]")
    columns = "lp{13cm}" if len(widths) == 2 else "l" * len(widths)
    return ["", f"\\begin{{tabular}}{{@{{}}{columns}@{{}}}}", *(f"  {row}" for row in rows), "\\end{tabular}", ""]


def _cell_width(cell: Pieces, plain: Plain) -> int:
    return _width(_in_text(cell, plain))
