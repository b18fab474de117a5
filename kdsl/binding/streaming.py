"""read_blocks: a table of any length as a sequence of Tables of bounded size, in the order of the rows."""

from __future__ import annotations

import gzip
import io
import os
import sys
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from typing import IO

import numpy as np

from kdsl.binding.delimited import SAMPLE, drop_unnamed, read_body, read_head
from kdsl.binding.faults import fault
from kdsl.binding.opening import encoding_of, intact_gzip, kind_of, no_rows, reading, refuse_json, refuse_nul
from kdsl.binding.reading import DELIMITED, layout_of, read_by_content, read_content, read_table
from kdsl.binding.table import Table


def read_blocks(
    path: str,
    rows: int = 10_000,
    header: bool | None = None,
    base: int | None = None,
    words: Collection[str] = (),
) -> Iterator[Table]:
    """Tables of at most `rows` rows. Delimited text is never held whole; other formats are read and then cut.

    Named arrays are one table: each has rows of its own. `words` as for `read_table`.
    """
    stem = path[:-3] if path.lower().endswith(".gz") else path
    if path != "-" and os.path.splitext(stem)[1].lower() not in DELIMITED:
        yield from cut(read_table(path, header=header, base=base, words=words), rows)
        return
    with ExitStack() as files:
        with reading(path):
            stream = open_stream(path, files)
            first = stream.peek(8)
            binary = stream.read() if kind_of(first) else b""
        if binary:
            yield from cut(read_content(binary, path, header, base), rows)
        else:
            yield from text_blocks(as_lines(stream, first, files), path, rows, header, base, words)


def cut(table: Table, rows: int) -> Iterator[Table]:
    if table.rows == 0 and not table.arrays:
        raise no_rows(table.source)
    yield from [table] if table.arrays else slices(table, rows)


def slices(table: Table, rows: int) -> Iterator[Table]:
    for start in range(0, table.rows, rows):
        yield table.take(np.arange(start, min(table.rows, start + rows)))


def open_stream(path: str, files: ExitStack) -> io.BufferedReader:
    """The bytes of a file, or of standard input; `files` closes what is opened."""
    if path == "-":
        return io.BufferedReader(sys.stdin.buffer)  # type: ignore[arg-type]
    return files.enter_context(io.BufferedReader(io.FileIO(path)))


def as_lines(stream: io.BufferedReader, first: bytes, files: ExitStack) -> IO[str]:
    """Lines of UTF-8, or of UTF-16 with its mark, with gz undone on the way."""
    packed = files.enter_context(gzip.GzipFile(fileobj=stream)) if first[:2] == b"\x1f\x8b" else stream
    return files.enter_context(io.TextIOWrapper(packed, encoding=encoding_of(first), newline=None))


def text_blocks(
    stream: IO[str],
    path: str,
    rows: int,
    header: bool | None,
    base: int | None = None,
    words: Collection[str] = (),
) -> Iterator[Table]:
    before = 0
    text, lines = next_lines(stream, path, max(rows, SAMPLE))
    while text and not text.strip():
        before += lines
        text, lines = next_lines(stream, path, max(rows, SAMPLE))
    if not text:
        raise fault("K506", f"`{path}` is empty", "there is no row in it", "check how it was written")
    refuse_json(text, path)
    if path == "-" and layout_of(text) != "delimited":
        text += next_lines(stream, path, sys.maxsize)[0]
        yield from slices(read_by_content(text, path, header, base, words), rows)
        return
    layout, names = read_head(text, path, header)
    while text:
        refuse_nul(text, path, before)
        if text.strip():
            table = read_body(text, layout, names, path, before, words)
            names = names or table.order
            yield from slices(drop_unnamed(table), rows)
        layout = layout._replace(header=False)
        before += lines
        text, lines = next_lines(stream, path, rows)


def next_lines(stream: IO[str], path: str, rows: int) -> tuple[str, int]:
    """The next `rows` lines, and more while a quoted cell is open."""
    try:
        with reading(path), intact_gzip(path):
            return some_lines(stream, rows)
    except UnicodeDecodeError as error:
        raise fault(
            "K504",
            f"`{path}` is not UTF-8 text: it holds the byte 0x{error.object[error.start]:02x}",
            "guessing an encoding can change names and labels silently",
            "save it as UTF-8 (`iconv -f latin1 -t utf-8`)",
        ) from None


def some_lines(stream: IO[str], rows: int) -> tuple[str, int]:
    kept: list[str] = []
    quotes = 0
    for line in stream:
        kept.append(line)
        quotes += line.count('"')
        if len(kept) >= rows and quotes % 2 == 0:
            break
    return "".join(kept), len(kept)
