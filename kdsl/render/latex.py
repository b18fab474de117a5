"""A document as LaTeX that pdflatex sets with amsmath and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdsl.render import expr as e
from kdsl.render import tex
from kdsl.render.document import document
from kdsl.render.layout import Block, Display, Document, Line, Numbered, Paragraph, Pieces, Table
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
_ROOM = 84  # columns of text that fit on a line of mathematics


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
    for block in blocks:
        if isinstance(block, Numbered) != listing:
            lines.append("\\end{enumerate}" if listing else "\\begin{enumerate}")
            listing = not listing
        lines += _block(block)
    return [*lines, "\\end{enumerate}"] if listing else lines


def _block(block: Block) -> list[str]:
    if isinstance(block, Paragraph):
        return [_prose(block.pieces), ""]
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
    label_room = max((width(line.label) + 2 for line in block.lines if line.label), default=0)
    left_room = max((_columns(line.left, plain) for line in block.lines if line.left is not None), default=0)
    rows = []
    for line in block.lines:
        room = _ROOM - label_room - (0 if line.left is None else left_room + 3)
        rows += _rows(line, room, plain)
    body = [f"  {row} \\\\[{_gap(row)}]" for row in rows]
    return ["\\[", "\\begin{array}{@{}l@{\\quad}r@{\\;}c@{\\;}l@{\\qquad}l@{}}", *body, "\\end{array}", "\\]"]


def _gap(row: str) -> str:
    """Space below a row: more where sums or fractions stand high."""
    return "8pt" if "\\sum" in row or "\\frac" in row else "3pt"


def _columns(node: e.Expr | None, plain: Plain) -> int:
    if node is None:
        return 0
    if isinstance(node, e.Partial):
        return 5
    return width(laid(plain.formula(node)))


def _rows(line: Line, room: int, plain: Plain) -> list[str]:
    label = f"\\text{{{tex.escaped(line.label.strip())}}}" if line.label else ""
    if line.label.startswith(" "):
        label = f"\\quad {label}"
    side = _in_formula(line.side)
    first, *others = _broken(line.right, room, plain)
    shown = f"\\displaystyle {first}"
    if line.left is None:
        rows = [f"{label} & \\multicolumn{{3}}{{l}}{{{shown}}} & {side}"]
        return rows + [f" & \\multicolumn{{3}}{{l}}{{\\quad \\displaystyle {part}}} &" for part in others]
    left = f"\\displaystyle {tex.formula(line.left)}"
    rows = [f"{label} & {left} & {tex.relation(line.relation)} & {shown} & {side}"]
    return rows + [f" & & & \\quad \\displaystyle {part} &" for part in others]


def _broken(node: e.Expr, room: int, plain: Plain) -> list[str]:
    """A sum that is too long for one line in several, each beginning with its sign."""
    tail = ""
    if isinstance(node, e.Chain) and isinstance(node.sides[0], e.Terms):
        tail = "".join(
            f" {tex.relation(r)} {tex.formula(s)}" for r, s in zip(node.relations, node.sides[1:], strict=True)
        )
        node = node.sides[0]
    if not isinstance(node, e.Terms) or _columns(node, plain) <= room:
        return [tex.formula(node) + tail]
    lines: list[str] = []
    current: list[tuple[int, e.Expr]] = []
    for item in node.terms:
        if current and _columns(e.Terms((*current, item)), plain) > room:
            lines.append(tex.terms(tuple(current), first=not lines))
            current = []
        current.append(item)
    return [*lines, tex.terms(tuple(current), first=not lines) + tail]


# ------------------------------------------------------------------------ tables


def _table(block: Table) -> list[str]:
    rows = []
    if any(block.header):
        rows.append(" & ".join(f"\\textit{{{tex.escaped(h)}}}" for h in block.header) + " \\\\")
    rows += [" & ".join(_prose(cell) for cell in row) + " \\\\[2pt]" for row in block.rows]
    columns = "l" * len(block.rows[0])
    return ["", f"\\begin{{tabular}}{{@{{}}{columns}@{{}}}}", *(f"  {row}" for row in rows), "\\end{tabular}", ""]
