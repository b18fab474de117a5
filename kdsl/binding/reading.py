"""read_table: from a path or an object in memory to a Table, by the reader that the name or the content asks for."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from kdsl.binding.arrays import is_columns, read_npy, read_npz, table_from_array, table_from_columns, table_from_mapping
from kdsl.binding.attribute_relation import read_attribute_relation
from kdsl.binding.delimited import read_delimited
from kdsl.binding.faults import fault
from kdsl.binding.frames import is_frame, read_arrow, read_parquet, table_from_frame
from kdsl.binding.opening import decode, kind_of, read_bytes
from kdsl.binding.svmlight import read_svmlight
from kdsl.binding.table import Table

DELIMITED = (".csv", ".tsv", ".tab")
SVMLIGHT = (".svm", ".svmlight", ".libsvm")
FRAMES = {".parquet": "Parquet", ".pq": "Parquet", ".arrow": "Arrow", ".feather": "Arrow", ".ipc": "Arrow"}
NUMPY = {".npy": "npy", ".npz": "zip (npz or a spreadsheet)"}
READERS = {
    "Parquet": read_parquet,
    "Arrow": read_arrow,
    "npy": read_npy,
    "zip (npz or a spreadsheet)": read_npz,
}
SVMLIGHT_LINE = re.compile(r"\s*[+-]?[\d.eE+-]+(\s+qid:\d+)?(\s+\d+:\S+)+\s*(#.*)?")
FIRST_LINE = re.compile(r"\S[^\n]*")


def read_table(
    data: Any, *, header: bool | None = None, base: int | None = None, source: str = "", words: Collection[str] = ()
) -> Table:
    """A Table from a path, a NumPy array, a scipy sparse matrix, a mapping of columns or arrays, or a frame.

    `header` says whether delimited text begins with names, `base` where svmlight indices begin; both are
    found from the content when left out. `words` are columns of delimited text that are no numbers.
    """
    if isinstance(data, Table):
        return data
    if isinstance(data, (str, os.PathLike)):
        return read_file(os.fspath(data), header, base, words)
    if isinstance(data, np.ndarray) or sp.issparse(data):
        return table_from_array(data, source or "the array")
    if isinstance(data, Mapping):
        if is_columns(data):
            return table_from_columns(data, source or "the data")
        return table_from_mapping(data, source or "the data")
    if isinstance(data, (list, tuple)):
        return table_from_array(np.asarray(data), source or "the array")
    return frame_or_fault(data, source or "the frame")


def read_file(path: str, header: bool | None, base: int | None, words: Collection[str] = ()) -> Table:
    return read_content(read_bytes(path), path, header, base, words)


def read_content(
    content: bytes, path: str, header: bool | None, base: int | None, words: Collection[str] = ()
) -> Table:
    """By the ending of the path; what comes from standard input has none, and goes by its first bytes."""
    stem = path[:-3] if path.lower().endswith(".gz") else path
    ending = os.path.splitext(stem)[1].lower()
    if not content and path == "-":
        why = "standard input is read once, and nothing is left in it"
        raise fault("K506", "`-` is empty", why, "give the spec or the data as a file, or check what writes to it")
    if not content:
        raise fault("K506", f"`{path}` is empty", "there is no row in it", "check how it was written")
    kind = kind_of(content) if path == "-" else (FRAMES | NUMPY).get(ending, "")
    if kind in READERS:
        check_kind(content, path, kind)
        return READERS[kind](content, path)
    text = decode(content, path)
    if ending in SVMLIGHT:
        return read_svmlight(text, path, base)
    if ending in DELIMITED:
        return read_delimited(text, path, header, words)
    return read_by_content(text, path, header, base, words)


def read_by_content(text: str, path: str, header: bool | None, base: int | None, words: Collection[str] = ()) -> Table:
    """`.dat`, `.txt`, `a1a`: names that promise nothing."""
    layout = layout_of(text)
    if layout == "attributes":
        return read_attribute_relation(text, path, words)
    if layout == "svmlight":
        return read_svmlight(text, path, base)
    return read_delimited(text, path, header, words)


def layout_of(text: str) -> Literal["attributes", "svmlight", "delimited"]:
    """What the first line that is not blank says."""
    found = FIRST_LINE.search(text)
    first = "" if found is None else found[0]
    if first.lower().startswith(("@relation", "@attribute", "%")):
        return "attributes"
    return "svmlight" if SVMLIGHT_LINE.fullmatch(first) else "delimited"


def check_kind(content: bytes, path: str, expected: str) -> None:
    """A binary format is what its name says, or the message says what it is instead."""
    found = kind_of(content)
    if found == expected or (expected == "Arrow" and not found):
        return
    raise fault(
        "K504",
        f"`{path}` is {f'a {found} file' if found else 'no ' + expected.split()[0] + ' file'}, whatever its name says",
        "its first bytes are not the mark of the format",
        "rename it to end as its format does, so that the right reader takes it",
    )


def frame_or_fault(data: Any, source: str) -> Table:
    kind = type(data).__name__
    if not is_frame(data):
        raise fault(
            "K503",
            f"no reader for a Python object of type {kind}",
            help="give a path, a NumPy array, a scipy sparse matrix, a mapping of arrays, or a pandas or polars frame",
        )
    return table_from_frame(data, source)
