"""Turns the bytes of a file into text that the lexer accepts, or says why they are no specification."""

from __future__ import annotations

from kdsl.language import limits
from kdsl.language.diagnostics import Diagnostic, KdslError, Label
from kdsl.language.syntax import Span

_WIDE = (b"\xff\xfe", b"\xfe\xff")
_MARK = b"\xef\xbb\xbf"


def decode_source(data: bytes) -> str:
    """Decode UTF-8, without its byte order mark; newlines stay as they are."""
    check_size(len(data))
    data = data.removeprefix(_MARK)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        start = len(data[: error.start].decode("utf-8"))
        message = f"the file is not UTF-8: byte 0x{data[error.start]:02x} at offset {error.start}"
        hint = "save it as UTF-8"
        if data.startswith(_WIDE):
            hint = "it looks like UTF-16; save it as UTF-8"
        raise KdslError([Diagnostic("K102", message, (Label(Span(start, start + 1)),), help=hint)]) from None


def check_size(size: int) -> None:
    """Refuse a source of more than the allowed number of bytes."""
    if size > limits.SOURCE_BYTES:
        message = f"the specification has {size} bytes; at most {limits.SOURCE_BYTES} are read"
        why = "a model of the length of a textbook page takes about 1,000"
        hint = "data belong in a table given with --data, not in the specification"
        raise KdslError([Diagnostic("K105", message, (Label(Span(0, 0)),), why, hint)])
