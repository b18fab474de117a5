"""A derivation as a document: sections, paragraphs, aligned equations, tables and numbered steps, in no format yet."""

from __future__ import annotations

from typing import NamedTuple

from kdsl.render.expr import Expr

Pieces = tuple[str | Expr, ...]


class Paragraph(NamedTuple):
    pieces: Pieces


class Line(NamedTuple):
    """label: left relation right, side. Without a relation, `right` alone is the formula."""

    left: Expr | None
    relation: str
    right: Expr
    side: Pieces = ()
    label: str = ""


class Display(NamedTuple):
    """Formulas below one another, their relations aligned."""

    lines: tuple[Line, ...]


class Table(NamedTuple):
    header: tuple[str, ...]
    rows: tuple[tuple[Pieces, ...], ...]


class Numbered(NamedTuple):
    """One step of the derivation; `kind` is its stable word for programs."""

    number: int
    kind: str
    title: Pieces
    blocks: tuple[Block, ...]


Block = Paragraph | Display | Table | Numbered


class Section(NamedTuple):
    """`key` is the stable name of the section for programs and links."""

    key: str
    title: str
    blocks: tuple[Block, ...]


class Document(NamedTuple):
    title: str
    name: str
    sections: tuple[Section, ...]
