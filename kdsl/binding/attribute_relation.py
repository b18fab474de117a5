"""Reads Weka's ARFF and KEEL's .dat: `@attribute` lines name the columns, the rows after `@data` are delimited text."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection

from kdsl.binding.delimited import Layout, Row, check_rectangle, cut, from_cells, refuse_duplicates
from kdsl.binding.faults import fault
from kdsl.binding.table import Table

ATTRIBUTE = re.compile(r"""@attribute\s+('[^']*'|"[^"]*"|[^\s{\[]+)""", re.IGNORECASE)


def read_attribute_relation(text: str, source: str, words: Collection[str] = ()) -> Table:
    lines = text.split("\n")
    names: list[str] = []
    start = len(lines)
    for number, line in enumerate(lines):
        declared = ATTRIBUTE.match(line.strip())
        if declared:
            names.append(declared.group(1).strip("'\""))
        if line.strip().lower() == "@data":
            start = number + 1
            break
    refuse_duplicates(names, source)
    body = ["" if line.lstrip().startswith("%") else line for line in lines[start:]]
    if not any(line.strip() for line in body):
        raise fault("K506", f"`{source}` has no rows after @data", help="check how it was written")
    if next(line for line in body if line.strip()).lstrip().startswith("{"):
        rows = sparse_rows(body, len(names), start)
    else:
        rows = [Row(row.line + start, row.cells) for row in cut("\n".join(body), ",")]
    check_rectangle(rows, len(names), Layout(",", ".", True), source)
    unquoted = [Row(row.line, [cell.strip("'") for cell in row.cells]) for row in rows]
    return from_cells(tuple(names), unquoted, ".", source, words)


def sparse_rows(body: list[str], width: int, start: int) -> list[Row]:
    """`{3 1.5, 7 x}`: what is not listed is 0; positions count from 0."""
    rows: list[Row] = []
    for number, line in enumerate(body, start + 1):
        if not line.strip():
            continue
        cells = ["0"] * width
        for entry in next(csv.reader([line.strip().strip("{}")], skipinitialspace=True), []):
            position, _, value = entry.strip().partition(" ")
            if not position.isdigit() or int(position) >= width:
                cells.append(entry)
                continue
            cells[int(position)] = value.strip()
        rows.append(Row(number, cells))
    return rows
