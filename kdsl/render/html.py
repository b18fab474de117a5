"""A document as one HTML page that needs nothing else: MathML, a little style, no script."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdsl.render import expr as e
from kdsl.render.document import document
from kdsl.render.layout import Block, Display, Document, Line, Numbered, Paragraph, Pieces, Section, Table
from kdsl.render.mathml import escaped, math, relation_math
from kdsl.render.phrases import split_sum
from kdsl.render.plain import Plain, laid, width

if TYPE_CHECKING:
    from kdsl.algebra.derivation import Derivation
    from kdsl.algebra.evidence import Evidence

_ROOM = 84  # columns of text beyond which a sum goes on on the next line
STYLE = """
:root { color-scheme: light dark; --ink: #111; --paper: #fff; --rule: #999; --faint: #ccc; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e4e2; --paper: #17191c; --rule: #77797d; --faint: #45484d; } }
@media print { :root { color-scheme: light; --ink: #000; --paper: #fff; --rule: #999; --faint: #ccc; } }
body { max-width: 58em; margin: 2em auto; padding: 0 1em; font: 17px/1.5 Georgia, "Times New Roman", serif;
  color: var(--ink); background: var(--paper); }
h1 { font-size: 1.6em; margin: 0 0 0.2em; }
h2 { font-size: 1.15em; margin: 1.8em 0 0.4em; padding-bottom: 0.2em; border-bottom: 1px solid var(--rule, #999); }
code, .label { font-family: ui-monospace, Menlo, Consolas, monospace; font-size: 0.85em; }
table { border-collapse: collapse; margin: 0.5em 0 0.5em 1.5em; }
.formulas { display: block; overflow-x: auto; }
td, th { padding: 0.2em 0.5em; text-align: left; font-weight: normal; vertical-align: middle; }
th { font-style: italic; border-bottom: 1px solid var(--faint, #ccc); }
.formulas td { padding: 0.25em 0.2em; }
.formulas td.label, .formulas td.name { padding-right: 1.2em; }
.formulas td.left { text-align: right; white-space: nowrap; }
.formulas td.side { padding-left: 2em; }
.within { padding-left: 1em; }
.more { padding-left: 2.5em; }
ol { padding-left: 1.6em; }
li { margin: 0.9em 0; }
li > p { margin: 0.1em 0; }
.title { font-weight: bold; }
@media (max-width: 40em) { table { display: block; overflow-x: auto; margin-left: 0; }
  .formulas td.side { padding-left: 1em; } }
@media print { body { margin: 0; max-width: none; } li { break-inside: avoid; } }
"""


def render(derivation: Derivation, evidence: Evidence | None = None) -> str:
    """The derivation as an HTML page."""
    return document_html(document(derivation, evidence))


def document_html(doc: Document) -> str:
    body = [f"<h1>{escaped(doc.title)}</h1>", f'<p class="label">{escaped(doc.name)}</p>']
    for section in doc.sections:
        body += section_html(section)
    return page_html(escaped(doc.title), STYLE, body)


def page_html(title: str, style: str, body: list[str], head: tuple[str, ...] = ()) -> str:
    """A whole page; `title`, `body` and `head` are HTML."""
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8"/>',
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>',
        *head,
        f"<title>{title}</title>",
        f"<style>{style}</style>",
        "</head>",
        "<body>",
        *body,
    ]
    return "\n".join([*lines, "</body>", "</html>", ""])


def section_html(section: Section, level: int = 2) -> list[str]:
    """A section under a heading of the level."""
    heading = f"<h{level}>{escaped(section.title)}</h{level}>"
    return [f'<section id="{section.key}">', heading, *_blocks(section.blocks), "</section>"]


def _blocks(blocks: tuple[Block, ...]) -> list[str]:
    lines: list[str] = []
    listing = False
    for block in blocks:
        if isinstance(block, Numbered) != listing:
            lines.append("</ol>" if listing else "<ol>")
            listing = not listing
        lines += _block(block)
    return [*lines, "</ol>"] if listing else lines


def _block(block: Block) -> list[str]:
    if isinstance(block, Paragraph):
        return [f"<p>{_prose(block.pieces)}</p>"]
    if isinstance(block, Display):
        return _display(block)
    if isinstance(block, Table):
        return _table(block)
    assert isinstance(block, Numbered)
    title = f'<p class="title">{_prose(block.title)}</p>'
    return [f'<li value="{block.number}">', title, *_blocks(block.blocks), "</li>"]


def _prose(pieces: Pieces) -> str:
    return "".join(escaped(p) if isinstance(p, str) else math(p) for p in pieces)


def _display(block: Display) -> list[str]:
    """Relations are aligned unless a line has none: then each formula is one cell."""
    aligned = all(line.left is not None for line in block.lines)
    return ['<table class="formulas" role="presentation">', *(_line(line, aligned) for line in block.lines), "</table>"]


def _line(line: Line, aligned: bool) -> str:
    within = line.label.startswith(" ")
    kind = "label" if within else "name"
    label = f'<td class="{kind}"><span class="{"within" if within else ""}">{escaped(line.label.strip())}</span></td>'
    side = f'<td class="side">{_prose(line.side)}</td>'
    if line.left is None or not aligned:
        whole = line.right if line.left is None else e.Chain((line.left, line.right), (line.relation,))
        return f"<tr>{label}<td>{_broken(whole)}</td>{side}</tr>"
    left = f'<td class="left">{math(line.left, display=True)}</td>'
    return f"<tr>{label}{left}<td>{relation_math(line.relation)}</td><td>{_broken(line.right)}</td>{side}</tr>"


def _broken(node: e.Expr) -> str:
    """The formula, on several lines where it is a long sum."""
    plain = Plain()
    lines, tail = split_sum(node, lambda part: width(laid(plain.formula(part))), _ROOM)
    if len(lines) == 1:
        return math(node, display=True)
    last = e.Terms(lines[-1])
    shown: list[e.Expr] = [e.Terms(terms) for terms in lines[:-1]]
    shown.append(e.Chain((last, *(side for _, side in tail)), tuple(sign for sign, _ in tail)) if tail else last)
    first, *others = (math(part, display=True, follows=n > 0) for n, part in enumerate(shown))
    return "".join([first, *(f'<br/><span class="more">{other}</span>' for other in others)])


def _table(block: Table) -> list[str]:
    lines = ["<table>"]
    if any(block.header):
        lines.append("<tr>" + "".join(f'<th scope="col">{escaped(h)}</th>' for h in block.header) + "</tr>")
    lines += ["<tr>" + "".join(f"<td>{_prose(cell)}</td>" for cell in row) + "</tr>" for row in block.rows]
    return [*lines, "</table>"]
