"""Which names a spec declares, and which of them can be seen from where: symbols, scopes, the list of findings."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import NamedTuple

from kdsl.language.diagnostics import Diagnostic, Label
from kdsl.language.model import Index, IndexSet, Interval
from kdsl.language.syntax import Expr, LetDecl, LossDecl, Name, Span
from kdsl.language.values import Type

FUNCTIONS: dict[str, str] = {
    "phi": "phi(x)",
    "max": "max(r, s)",
    "abs": "abs(r)",
    "pos": "pos(r)",
    "square": "square(r)",
    "sign": "sign(r)",
    "exp": "exp(r)",
    "log": "log(r)",
}


LONGEST_QUOTE = 80  # characters of an expression that a message repeats


class Symbol(NamedTuple):
    """One declared name.

    kind: "index", "size", "set", "datum", "parameter", "kernel", "variable", "abbreviation" or "loss".
    `value` is what it is once all subscripts (over `sets`) are given; `declaration` the let or loss line;
    `values` all the numbers that a datum may be, where they are listed.
    """

    name: str
    kind: str
    span: Span
    sets: tuple[IndexSet, ...] = ()
    subscripts: tuple[str, ...] = ()
    value: Type | None = None
    interval: Interval | None = None
    declaration: LetDecl | LossDecl | None = None
    values: tuple[Fraction, ...] = ()


KIND_WORDS: dict[str, str] = {
    "index": "an index",
    "size": "a size",
    "set": "a set of labels",
    "datum": "a datum",
    "parameter": "a parameter",
    "kernel": "a kernel",
    "variable": "an unknown",
    "abbreviation": "an abbreviation",
    "loss": "a loss",
}


class Owner(NamedTuple):
    """The statement an expression stands in.

    kind: "objective", "constraint", "predict", "let", "loss", "where", or "definition" for the body of a let
    before it is known whether it is used where unknowns are sought or where they are found; `title` names it;
    `indices` are the ones it binds; `span` is where they are written (or its head).
    """

    kind: str
    title: str
    indices: tuple[str, ...] = ()
    span: Span = Span(0, 0)


class Scope(NamedTuple):
    """The owner of an expression and the indices and formals bound around it."""

    owner: Owner
    bound: dict[str, Type]
    places: Mapping[str, Span] = MappingProxyType({})  # where the indices among them were bound

    @property
    def solved(self) -> bool:
        """Whether the unknowns count as known numbers here, so that any function of them may be written."""
        return self.owner.kind in ("predict", "definition")

    def bind(self, names: dict[str, Type]) -> Scope:
        return self._replace(bound={**self.bound, **names})


class Findings:
    """Collects diagnostics; of several with one code and place, or about one subject, the first is kept."""

    def __init__(self) -> None:
        self.diagnostics: list[Diagnostic] = []
        self._seen: set[tuple[object, ...]] = set()

    def add(self, diagnostic: Diagnostic, *subject: str) -> None:
        start, end = diagnostic.labels[0].span if diagnostic.labels else (0, 0)
        keys: list[tuple[object, ...]] = [(diagnostic.code, start, end)]
        if subject:
            keys.append(("subject", *subject))
        if any(key in self._seen for key in keys):
            return
        self._seen.update(keys)
        self.diagnostics.append(diagnostic)

    @property
    def failed(self) -> bool:
        return any(diagnostic.severity == "error" for diagnostic in self.diagnostics)


class Environment:
    """Everything that checking an expression needs: the declared names, the source, where to report."""

    def __init__(self, source: str, findings: Findings, functions: Collection[str] = ()) -> None:
        self.source = source
        self.functions = functions  # kernels that the caller has written in Python
        self.findings = findings
        self.symbols: dict[str, Symbol] = {}
        self.indices: dict[str, Index] = {}
        self.used: set[str] = set()
        self.disputed: set[str] = set()  # names that are declared twice: their uses are not judged
        self.expanded: dict[tuple[object, ...], Type] = {}
        self.expanding: list[str] = []

    def text(self, expression: Expr) -> str:
        """The expression as it was written, on one line; the middle of a long one is left out."""
        written = self.slice(expression.span)
        return written if len(written) <= LONGEST_QUOTE else f"{written[: LONGEST_QUOTE - 25]} ... {written[-20:]}"

    def slice(self, span: Span) -> str:
        return " ".join(self.source[span.start : span.end].split())

    def index_set(self, name: str) -> IndexSet:
        index = self.indices[name]
        return index.sets[index.names.index(name)]

    def kernels(self) -> list[str]:
        return [symbol.name for symbol in self.symbols.values() if symbol.kind == "kernel"]

    def error(
        self,
        code: str,
        message: str,
        at: Span,
        note: str = "",
        *,
        also: tuple[Label, ...] = (),
        why: str = "",
        help: str = "",
        subject: tuple[str, ...] = (),
        severity: str = "error",
    ) -> None:
        labels = (Label(at, note), *also)
        self.findings.add(Diagnostic(code, message, labels, why, help, severity), *subject)

    def is_index(self, name: Name) -> bool:
        return name.id in self.indices
