"""Names as the language reads them: Greek letters in ASCII, nothing that a spec could not spell."""

from __future__ import annotations

from kdsl.api.expressions import refused
from kdsl.api.places import Sources
from kdsl.language.diagnostics import Diagnostic, Label
from kdsl.language.lexer import KEYWORDS, scan
from kdsl.language.syntax import Name, Span


def name_at(text: object, span: Span, sources: Sources, first_on_line: bool = False) -> Name:
    """A name at its place; `first_on_line` refuses the words that begin a statement."""
    if not isinstance(text, str):
        raise TypeError(f"a name is a text, not {text!r}")
    tokens, faults = scan(text)
    words = [token for token in tokens if token.type != "NEWLINE"]
    if faults or len(words) != 1 or words[0].type != "NAME" or text != text.strip():
        why = "a name begins with a letter and goes on with letters, digits, _ and '; `in`, `sum`, `where` are taken"
        raise refused(
            sources, Diagnostic("K103", f"`{text}` is not a name", (Label(span),), why, "choose another name")
        )
    if first_on_line and words[0].text in KEYWORDS:
        message = f"`{text}` begins a statement and cannot label a constraint"
        raise refused(sources, Diagnostic("K214", message, (Label(span, "reserved"),), help="choose another label"))
    return Name(words[0].text, span)
