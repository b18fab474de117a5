"""Opens a data file: what can go wrong before the first number is read is said here, once for every format."""

from __future__ import annotations

import gzip
import os
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kdsl.binding.faults import cite, fault, nearest

MAGIC = (
    (b"PAR1", "Parquet"),
    (b"ARROW1", "Arrow"),
    (b"\x93NUMPY", "npy"),
    (b"PK\x03\x04", "zip (npz or a spreadsheet)"),
    (b"\x89HDF", "HDF5"),
    (b"SQLite format 3", "SQLite"),
    (b"%PDF", "PDF"),
)
JSON_START = re.compile(r'\s*(\{\s*["}]|\[\s*[\[{"\]])')  # no CSV, svmlight or ARFF begins so


def read_bytes(path: str) -> bytes:
    """The content of a file (`-` is standard input), with gz undone."""
    with reading(path):
        content = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    return ungzip(content, path) if content[:2] == b"\x1f\x8b" else content


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Says of which file it is that the system refuses to open or to read it."""
    try:
        yield
    except FileNotFoundError:
        raise missing_file(path) from None
    except IsADirectoryError:
        raise fault("K501", f"`{path}` is a directory", "a table is one file", "name a file inside it") from None
    except PermissionError:
        raise fault(
            "K502", f"no permission to read `{path}`", help="change its permissions, or run as a user who may read it"
        ) from None
    except OSError as error:
        raise fault("K502", f"cannot read `{path}`", error.strerror or str(error), "check the disk or mount") from None


def missing_file(path: str) -> Exception:
    folder = os.path.dirname(path) or "."
    there = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    hint = nearest(os.path.basename(path), there) if there else f"the folder `{folder}` does not exist or is empty"
    hint = hint if hint.startswith(("did you", "the folder")) else "check the path; it is taken from the current folder"
    return fault("K501", f"there is no file `{path}`", help=hint)


def no_rows(source: str) -> Exception:
    return fault("K506", f"{cite(source)} has columns and no rows", help="check how it was written")


def ungzip(content: bytes, path: str) -> bytes:
    with intact_gzip(path):
        return gzip.decompress(content)


@contextmanager
def intact_gzip(path: str) -> Iterator[None]:
    """Says of which file it is that its gz stream is not whole."""
    try:
        yield
    except EOFError:
        raise fault(
            "K505",
            f"`{path}` is cut short: the gz stream ends before its end mark",
            "rows are missing, and nothing says how many",
            "copy or download the file again",
        ) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise fault("K505", f"`{path}` is a damaged gz file", str(error), "copy or download the file again") from None


def kind_of(content: bytes) -> str:
    """The binary format that the first bytes give away, or "" for what may be text."""
    for magic, name in MAGIC:
        if content.startswith(magic):
            return name
    return ""


def refuse_json(text: str, path: str) -> None:
    if JSON_START.match(text):
        raise fault(
            "K504",
            f"`{path}` is JSON, and no reader takes it",
            "a table has a row on each line",
            "export the table as CSV, Parquet or npz",
        )


def refuse_nul(text: str, path: str, before: int) -> None:
    if "\0" in text:
        line = before + text[: text.index("\0")].count("\n") + 1
        raise fault(
            "K504",
            f"`{path}` is not a text table: line {line} holds a NUL byte",
            help="export the table as CSV, Parquet or npz",
        )


def encoding_of(content: bytes) -> str:
    """UTF-16 where its mark stands first, else UTF-8 with or without a mark."""
    return "utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"


def decode(content: bytes, path: str) -> str:
    """Text with lines ended by \\n: UTF-8, or UTF-16 with its mark; anything else is named, not guessed."""
    binary = kind_of(content)
    if binary:
        raise fault(
            "K504",
            f"`{path}` is a {binary} file, whatever its name says",
            "its first bytes are the mark of that format",
            "rename it to end as that format does, so that the right reader takes it",
        )
    try:
        text = content.decode(encoding_of(content))
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise fault(
            "K504",
            f"`{path}` is not UTF-8 text: line {line} holds the byte 0x{content[error.start]:02x}",
            "guessing an encoding can change names and labels silently",
            "save it as UTF-8 (`iconv -f latin1 -t utf-8`)",
        ) from None
    refuse_nul(text, path, 0)
    refuse_json(text, path)
    if not text.strip():
        raise fault("K506", f"`{path}` is empty", "there is no row in it", "check how it was written")
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
