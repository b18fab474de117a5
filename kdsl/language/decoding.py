"""Turns the bytes of a spec into text, or says where they stop being UTF-8."""

from __future__ import annotations

from kdsl.language.diagnostics import Diagnostic, Label
from kdsl.language.syntax import Span


def decode_spec(content: bytes) -> tuple[str, tuple[Diagnostic, ...]]:
    """The text, and a diagnostic if it is not UTF-8; then U+FFFD stands in it for what could not be read."""
    try:
        return content.decode("utf-8"), ()
    except UnicodeDecodeError as error:
        start = len(content[: error.start].decode("utf-8"))
        fault = Diagnostic(
            "K190",
            f"byte {content[error.start]:#04x} at offset {error.start} is not UTF-8 text",
            (Label(Span(start, start + 1), "from here on it is something else"),),
            why="specs are written in UTF-8, so that ξ and ⟨w, φ(x)⟩ mean the same everywhere",
            help="save the file as UTF-8, or write the ASCII spellings (`xi`, `<w, phi(x)>`)",
        )
        return content.decode("utf-8", "replace"), (fault,)
