"""The exact text of K6 messages: under tests/solving/expected, and on the page that explains the code."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from kdsl.language.diagnostics import Diagnostic

EXPECTED = Path(__file__).parent / "expected"


def written(diagnostic: Diagnostic) -> str:
    """A message without a place in a source text."""
    lines = [f"{diagnostic.severity}[{diagnostic.code}]: {diagnostic.message}"]
    lines += [f"  = {word}: {text}" for word, text in (("why", diagnostic.why), ("help", diagnostic.help)) if text]
    return "\n".join(lines) + "\n"


def compare(code: str, diagnostics: Iterable[Diagnostic]) -> None:
    """All of one code, with the text expected of them; KDSL_UPDATE_GOLDEN writes it."""
    found = list(diagnostics)
    assert {diagnostic.code for diagnostic in found} == {code}
    text = "\n".join(map(written, found))
    path = EXPECTED / f"{code}.txt"
    if os.environ.get("KDSL_UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
