"""A derivation as a notebook shows it: typeset mathematics, as HTML with MathML or as LaTeX."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdsl.render import tex
from kdsl.render.document import document
from kdsl.render.html import document_html
from kdsl.render.latex import document_latex
from kdsl.render.layout import Display, Document, Line, Numbered, Section
from kdsl.render.text import document_text

if TYPE_CHECKING:
    from kdsl.algebra.derivation import Derivation
    from kdsl.algebra.evidence import Evidence


class Derived:
    """The derivation itself is `derivation`; `text()`, `latex()` and `html()` are the command line's renderings."""

    def __init__(self, derivation: Derivation) -> None:
        self.derivation = derivation
        self._document = document(derivation)

    def __str__(self) -> str:
        return document_text(self._document)

    def __repr__(self) -> str:
        return f"Derived({self.derivation.model.name!r})"

    def text(self, ascii: bool = False) -> str:
        return document_text(self._document, ascii)

    def section(self, key: str) -> str:
        """One section as text: "primal", "lagrangian", "dual", "kkt", ...; its heading is left out."""
        for section in self._document.sections:
            if section.key == key:
                lines = document_text(self._document._replace(sections=(section,))).splitlines()
                return "\n".join(lines[5:])  # after the title and the heading, both underlined
        keys = ", ".join(section.key for section in self._document.sections)
        raise KeyError(f"{key!r} is no section of this derivation: it has {keys}")

    def latex(self) -> str:
        """A whole LaTeX document."""
        return document_latex(self._document)

    def html(self) -> str:
        """A whole HTML page."""
        return document_html(self._document)

    def verify(self, seed: int = 0, time_limit: float = 20.0) -> Evidence:
        """What random small instances, solved without the dual, say about the derivation."""
        from kdsl.algebra.evidence import verify

        return verify(self.derivation, seed=seed, time_limit=time_limit)

    def primal_html(self) -> str:
        """The problem alone, for a notebook."""
        sections = tuple(section for section in self._document.sections if section.key == "primal")
        return _fragment(self._document._replace(sections=sections))

    def _repr_html_(self) -> str:
        return _fragment(self._document)

    def _repr_latex_(self) -> str:
        return "\n\n".join(part for section in self._document.sections if (part := _mathematics(section)))


def _fragment(doc: Document) -> str:
    """What stands in the body of the page, its style kept within."""
    page = document_html(doc)
    style = page.partition("<style>")[2].partition("</style>")[0]
    body = page.partition("<body>")[2].partition("</body>")[0]
    return f'<div class="kdsl"><style>.kdsl {{ {style} }}</style>{body}</div>'


def _mathematics(section: Section) -> str:
    """The displayed formulas of a section under its title, in what MathJax understands; "" where there are none."""
    displays = [block for block in section.blocks if isinstance(block, Display)]
    for block in section.blocks:
        if isinstance(block, Numbered):
            displays += [inner for inner in block.blocks if isinstance(inner, Display)]
    if not displays:
        return ""
    title = f"$\\textbf{{{tex.escaped(section.title)}}}$"
    return "\n".join([title, *(_aligned(display) for display in displays)])


def _aligned(display: Display) -> str:
    rows = " \\\\\n".join(_row(line) for line in display.lines)
    return f"$$\\begin{{aligned}}\n{rows}\n\\end{{aligned}}$$"


def _row(line: Line) -> str:
    label = f"\\text{{{tex.escaped(line.label.strip())}}}" if line.label else ""
    side = "".join(f"\\text{{{tex.escaped(p)}}}" if isinstance(p, str) else tex.formula(p) for p in line.side)
    left = "" if line.left is None else f"{tex.formula(line.left)} {tex.relation(line.relation)} "
    return f"{label}\\quad & {left}{tex.formula(line.right)}" + (f" \\qquad {side}" if side else "")
