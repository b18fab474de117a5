"""Reads delimited text (CSV, TSV, semicolons, blanks): header, delimiter and decimal comma are found, quotes undone."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple
from warnings import catch_warnings, simplefilter

import numpy as np

from kdsl.binding.faults import count, fault, warning
from kdsl.binding.table import Table, Texts, empty_values, numbered
from kdsl.numerics.arrays import Floats

MISSING = frozenset(("", "NA", "N/A", "NaN", "nan", "NAN", "NULL", "null", "?", "."))
COMMA_NUMBER = re.compile(r"[+-]?(\d+,\d*|,\d+)([eE][+-]?\d+)?")
SAMPLE = 200
SAMPLE_CHARACTERS = 200_000
UNNAMED = "\0"


class Layout(NamedTuple):
    """How the text is cut into cells; delimiter "" stands for runs of blanks."""

    delimiter: str
    decimal: str
    header: bool


class Row(NamedTuple):
    line: int
    cells: list[str]


def read_delimited(text: str, source: str, header: bool | None = None, words: Collection[str] = ()) -> Table:
    """Solves: text -> Table. Cells that say nothing (`NA`, `?`, empty) are missing; a column with one word is text.

    words: columns that are text whatever is in them.
    """
    layout, names = read_head(text, source, header)
    return drop_unnamed(read_body(text, layout, names, source, 0, words))


def read_head(text: str, source: str, header: bool | None) -> tuple[Layout, tuple[str, ...] | None]:
    """The layout of a text from its first lines, and the names that its header gives."""
    layout = find_layout(head_of(text), header)
    if not cut(text, layout.delimiter, 1):
        raise fault("K506", f"`{source}` is empty", "there is no cell in it", "check how it was written")
    return layout, read_header(text, layout, source) if layout.header else None


def read_body(
    text: str,
    layout: Layout,
    names: tuple[str, ...] | None,
    source: str,
    before: int,
    words: Collection[str] = (),
) -> Table:
    """The rows of a text (of which `before` lines were read earlier), at the speed of C where they are all numbers."""
    fast = read_numbers(text, layout)
    order = names or numbered("V", 0 if fast is None else fast[0].shape[1])
    if fast is not None and len(order) == fast[0].shape[1] and not set(words).intersection(order):
        values, lines = fast
        return Table(source, order, values, order=order, lines=lines + before, named=names is not None)
    try:
        rows = [Row(row.line + before, row.cells) for row in cut(text, layout.delimiter)]
    except csv.Error:
        raise endless_cell(text, layout.delimiter, source, before) from None
    body = rows[1:] if layout.header else rows
    if not body:
        raise fault("K506", f"`{source}` has a header and no rows", help="check how it was written")
    order = names or numbered("V", len(body[0].cells))
    check_rectangle(body, len(order), layout, source)
    return replace(from_cells(order, body, layout.decimal, source, words), named=names is not None)


def endless_cell(text: str, delimiter: str, source: str, before: int) -> Exception:
    """A cell beyond the limit of the csv module; where its quote was opened is found by reading up to it."""
    reader = csv.reader((line + "\n" for line in text.split("\n")), delimiter=delimiter, skipinitialspace=True)
    line = 0
    with suppress(csv.Error):
        for _ in reader:
            line = reader.line_num
    return fault(
        "K510",
        f"`{source}`, line {line + 1 + before}: a cell is longer than {csv.field_size_limit():,} characters",
        "most often a quote is opened there and never closed",
        'close the quote, or double it inside a cell ("")',
    )


def drop_unnamed(table: Table) -> Table:
    """Leaves out a first column without a name (row names, as R and pandas write them) and empty nameless columns."""
    unnamed = [name for name in table.order if name.startswith(UNNAMED)]
    if not unnamed:
        return table
    gone = [n for n in unnamed if n == f"{UNNAMED}1" or (n in table.names and np.isnan(table.column(n)).all())]
    places = {name: int(name.removeprefix(UNNAMED)) for name in unnamed}
    renamed = {name: f"V{place}" for name, place in places.items() if name not in gone}
    kept = [p for p, name in enumerate(table.names) if name not in gone]
    note = warning(
        "K546",
        f"`{table.source}`: column {listing_of([places[n] for n in gone])} has no name and is left out",
        "a first column without a name holds row names; a later one is empty",
        "give it a name in the first line to use it",
    )
    return replace(
        table,
        names=tuple(renamed.get(table.names[p], table.names[p]) for p in kept),
        values=table.values[:, kept],
        text={renamed.get(n, n): column for n, column in table.text.items() if n not in gone},
        order=tuple(renamed.get(n, n) for n in table.order if n not in gone),
        notes=(note,) if gone else (),
    )


def listing_of(places: Sequence[int]) -> str:
    return " and ".join(str(place) for place in places)


def from_cells(
    order: tuple[str, ...], body: Sequence[Row], decimal: str, source: str, words: Collection[str] = ()
) -> Table:
    """Columns of numbers go to the matrix, the others, and those of `words`, stay text."""
    lines = np.array([row.line for row in body], dtype=np.int64)
    numeric: dict[str, Floats] = {}
    text: dict[str, Texts] = {}
    for name, cells in zip(order, zip(*(row.cells for row in body), strict=True), strict=True):
        column = None if name in words else to_numbers(cells, decimal)
        if column is None:
            text[name] = np.array([None if c in MISSING else c for c in cells], dtype=object)
        else:
            numeric[name] = column
    values = np.column_stack(list(numeric.values())) if numeric else empty_values(len(body))
    return Table(source, tuple(numeric), values, text, order, lines)


def to_numbers(cells: Sequence[str], decimal: str) -> Floats | None:
    """The column as numbers, NaN where a cell is missing; None if any cell is a word."""
    if decimal == ",":
        cells = [c.replace(",", ".") for c in cells]
    try:
        column = np.array([np.nan if c in MISSING else float(c) for c in cells], dtype=np.float64)
    except ValueError:
        return None
    return None if any("_" in c for c in cells) else column


def is_number(cell: str, decimal: str = ".") -> bool:
    try:
        float(cell.replace(",", ".") if decimal == "," else cell)
    except ValueError:
        return False
    return "_" not in cell


def head_of(text: str) -> str:
    """The first lines: SAMPLE of them, fewer where they are long."""
    end, lines = 0, 0
    while lines < SAMPLE and end != -1 and (lines < 3 or end < SAMPLE_CHARACTERS):
        end = text.find("\n", end + 1)
        lines += 1
    return text if end == -1 else text[:end]


def cut(text: str, delimiter: str, limit: int | None = None) -> list[Row]:
    """The rows with the line each ends on, without blank lines; cells are stripped of blanks around them."""
    lines = text.split("\n")
    rows: list[Row] = []
    if delimiter == "":
        for number, line in enumerate(lines, 1):
            if line.strip():
                rows.append(Row(number, line.split()))
                if len(rows) == limit:
                    break
        return rows
    reader = csv.reader((line + "\n" for line in lines), delimiter=delimiter, skipinitialspace=True)
    for cells in reader:
        if len(cells) > 1 or any(cell.strip() for cell in cells):
            rows.append(Row(reader.line_num, [cell.strip() for cell in cells]))
            if len(rows) == limit:
                break
    return rows


def find_layout(text: str, header: bool | None) -> Layout:
    delimiter = find_delimiter(text)
    sample = [row.cells for row in cut(text, delimiter, SAMPLE)]
    body = sample[1:] or sample
    words = [cell for cells in body for cell in cells if not is_number(cell)]
    decimal = "," if delimiter != "," and any(COMMA_NUMBER.fullmatch(cell) for cell in words) else "."
    return Layout(delimiter, decimal, has_header(sample, decimal) if header is None else header)


def find_delimiter(text: str) -> str:
    """The first of tab, semicolon, comma, bar and blanks that cuts every sampled line into the same number of cells.

    Where none does (ragged rows), the one with which most lines agree on more than one cell.
    """
    best, agreement = ",", 0
    for delimiter in ("\t", ";", ",", "|", ""):
        try:
            widths = Counter(len(row.cells) for row in cut(text, delimiter, SAMPLE))
        except csv.Error:
            continue
        if not widths:
            continue
        width, lines = widths.most_common(1)[0]
        if width > 1 and len(widths) == 1:
            return delimiter
        if width > 1 and lines > agreement and delimiter:
            best, agreement = delimiter, lines
    return best


def has_header(sample: Sequence[Sequence[str]], decimal: str) -> bool:
    """A first row of names: a word above numbers, or words that never occur below themselves."""
    if not sample:
        return False
    first, body = sample[0], sample[1:]
    if not body:
        return not any(is_number(cell, decimal) for cell in first)
    repeats = 0
    for position, cell in enumerate(first):
        below = [cells[position] for cells in body if position < len(cells)]
        present = [c for c in below if c not in MISSING]
        if is_number(cell, decimal):
            continue
        if cell not in MISSING and present and all(is_number(c, decimal) for c in present):
            return True
        repeats += cell in below
    return not any(is_number(cell, decimal) for cell in first) and 2 * repeats < len(first)


def read_header(text: str, layout: Layout, source: str) -> tuple[str, ...]:
    first = cut(text, layout.delimiter, 1)[0]
    names = tuple(cell or f"{UNNAMED}{p + 1}" for p, cell in enumerate(first.cells))
    refuse_duplicates(names, source)
    return names


def refuse_duplicates(names: Sequence[str], source: str) -> None:
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        columns = " and ".join(str(p + 1) for p, name in enumerate(names) if name == twice[0])
        raise fault(
            "K508",
            f"`{source}` has the column name `{twice[0]}` more than once (columns {columns})",
            "a name has to pick out one column",
            "rename the columns in the first line",
        )


def read_numbers(text: str, layout: Layout) -> tuple[Floats, np.ndarray[tuple[int], np.dtype[np.int64]]] | None:
    """The body at the speed of C when it is numbers throughout; None sends it to the reader that can explain."""
    if '"' in text or layout.decimal == ",":
        return None
    lines = text.split("\n")
    kept = [number for number, line in enumerate(lines) if line.strip()]
    kept = kept[1:] if layout.header else kept
    if not kept:
        return None
    body = lines[kept[0] :] if kept[-1] - kept[0] + 1 == len(kept) else [lines[number] for number in kept]
    try:
        with catch_warnings():
            simplefilter("error")
            values = np.loadtxt(body[: len(kept)], delimiter=layout.delimiter or None, comments=None, ndmin=2)
    except (ValueError, UserWarning):
        return None
    return values, np.array(kept, dtype=np.int64) + 1


def check_rectangle(body: Sequence[Row], width: int, layout: Layout, source: str) -> None:
    ragged = [row for row in body if len(row.cells) != width]
    if not ragged:
        return
    row = ragged[0]
    shown = {"\t": "tab", "": "blank"}.get(layout.delimiter, f"`{layout.delimiter}`")
    more = f" ({count(len(ragged), 'such row')})" if len(ragged) > 1 else ""
    raise fault(
        "K507",
        f"`{source}`, line {row.line}: {count(len(row.cells), 'cell')} where {width} are expected{more}",
        f"the {'header' if layout.header else 'first row'} has {count(width, 'cell')}, cut at each {shown}",
        "fill or remove the row; quote cells that hold the delimiter",
    )
