"""One Diagnostic object for everything kdsl has to say about a model, a data set or a solution."""

from __future__ import annotations

from typing import NamedTuple

from kdsl.language.syntax import Span


class Label(NamedTuple):
    """A stretch of the source with a word about it; the first label of a diagnostic is the primary one."""

    span: Span
    text: str = ""


class Diagnostic(NamedTuple):
    """What is wrong (`message`), where (`labels`), why it matters (`why`), and what to do (`help`)."""

    code: str  # "K203"
    message: str
    labels: tuple[Label, ...] = ()
    why: str = ""
    help: str = ""
    severity: str = "error"  # or "warning"


class KdslError(Exception):
    """Carries every diagnostic found by the pass that could not go on; its text has their reasons and remedies."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...] | list[Diagnostic]) -> None:
        self.diagnostics = tuple(diagnostics)
        super().__init__(self.diagnostics)

    def __str__(self) -> str:
        from kdsl.language.python_words import worded

        return "\n".join(worded(diagnostic) for diagnostic in self.diagnostics)
