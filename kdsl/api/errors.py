"""The compiler's findings about a problem that was written in Python, under the Python lines they speak of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kdsl.api.places import Sources
from kdsl.language.diagnostics import Diagnostic, KdslError, Label
from kdsl.language.report import Lines, render_text
from kdsl.language.syntax import Span


class Report(NamedTuple):
    """Findings about one file; their spans are offsets into `source`."""

    diagnostics: tuple[Diagnostic, ...]
    source: str
    filename: str


class ProblemError(KdslError):
    """What is wrong with a problem; as text it shows the lines that are meant."""

    def __init__(self, reports: Sequence[Report]) -> None:
        super().__init__([diagnostic for report in reports for diagnostic in report.diagnostics])
        self.reports = tuple(reports)

    def __str__(self) -> str:
        return "\n" + reports_text(self.reports)

    def __reduce__(self) -> tuple[type[ProblemError], tuple[tuple[Report, ...]]]:
        return ProblemError, (self.reports,)


def reports_text(reports: Iterable[Report], color: bool = False, ascii: bool = False) -> str:
    """The text of the command line's reports, file by file."""
    return "\n".join(render_text(r.diagnostics, r.source, r.filename, color, ascii) for r in reports)


def reports_of(diagnostics: Iterable[Diagnostic], sources: Sources) -> list[Report]:
    """Findings whose spans are offsets into all sources, by the file of their first label."""
    grouped: dict[str, list[Diagnostic]] = {}
    texts: dict[str, str] = {}
    for diagnostic in diagnostics:
        if not diagnostic.labels:
            grouped.setdefault("", []).append(diagnostic)
            continue
        file = sources.file_of(diagnostic.labels[0].span)
        texts[file.name] = file.text
        grouped.setdefault(file.name, []).append(_within(diagnostic, sources))
    return [Report(tuple(found), texts.get(name, ""), name) for name, found in grouped.items()]


def _within(diagnostic: Diagnostic, sources: Sources) -> Diagnostic:
    """Labels as offsets into the first one's file; what they say about other files goes into the reason."""
    home = sources.file_of(diagnostic.labels[0].span)
    kept, reasons = [], [diagnostic.why] if diagnostic.why else []
    for label in diagnostic.labels:
        file = sources.file_of(label.span)
        moved = Span(label.span.start - file.base, label.span.end - file.base)
        if file.name == home.name:
            kept.append(Label(moved, label.text))
        else:
            reasons.append(f"{label.text or 'see'}: {file.name}, line {Lines(file.text).position(moved.start).line}")
    return diagnostic._replace(labels=tuple(kept), why="\n".join(reasons))
