"""Explains a syntax error: the frequent slips by their own codes, everything else by what was expected."""

from __future__ import annotations

from typing import NamedTuple

from kdsl.language.diagnostics import Diagnostic, Label
from kdsl.language.expectations import example, expected_words, found_words
from kdsl.language.lexer import KEYWORDS, Token
from kdsl.language.syntax import Span
from kdsl.language.terminals import OPERAND_ENDS, OPERAND_STARTS, OPERATORS, RELATIONS, SUMS


class Failure(NamedTuple):
    """Where the parser stopped: the tokens of the logical line, the one it could not take, and what it would take."""

    line: list[Token]
    position: int
    kind: str  # the statement: "INDEX", ..., "CONSTRAINT", or "EXPRESSION" and "KERNEL" outside a file
    accepted: frozenset[str]
    in_block: bool  # whether the last statement above is `subject to`

    @property
    def token(self) -> Token:
        return self.line[self.position]

    @property
    def before(self) -> Token | None:
        return self.line[self.position - 1] if self.position else None


def explain(failure: Failure) -> Diagnostic:
    """The diagnostic of the first slip that fits."""
    for recognise in _SLIPS:
        diagnostic = recognise(failure)
        if diagnostic is not None:
            return diagnostic
    message = f"expected {expected_words(failure.accepted, failure.kind)}, found {found_words(failure.token)}"
    return Diagnostic("K103", message, (_at(failure.token),), help=example(failure.kind))


def _at(token: Token, text: str = "") -> Label:
    return Label(Span(token.start, token.end), text)


def _bars(failure: Failure) -> Diagnostic | None:
    if failure.token.type != "BAR":
        return None
    hint = "write abs(r) for an absolute value, ||w|| for a norm"
    return Diagnostic("K113", "a single bar has no meaning here", (_at(failure.token),), help=hint)


def _exponent(failure: Failure) -> Diagnostic | None:
    if failure.token.type != "POWER_SIGN" or "POWER" not in failure.accepted:
        return None
    message = "an exponent must be a whole number such as 2"
    hint = "for a root or a symbolic power, restate the problem with products and squares"
    return Diagnostic("K109", message, (_at(failure.token),), help=hint)


def _sum_without_index(failure: Failure) -> Diagnostic | None:
    before = failure.before
    if before is None or failure.token.type == "LSQB":
        return None
    if before.type not in SUMS and not (before.type == "NAME" and before.text.startswith("sum_")):
        return None
    word = "argmax" if before.type == "ARGMAX" else "sum"
    why = f"without it, nothing says what the {word} runs over"
    return Diagnostic("K121", f"`{before.text}` has no index in brackets", (_at(before),), why, f"write {word}[i] ...")


def _sum_with_range(failure: Failure) -> Diagnostic | None:
    if failure.token.type not in ("EQUAL", "IN") or "RSQB" not in failure.accepted:
        return None
    if not any(token.type in SUMS for token in failure.line[: failure.position]):
        return None
    message = "the range of an index stands in its declaration, not in the sum"
    return Diagnostic("K121", message, (_at(failure.token),), help="write `index i in 1..l` once, and sum[i] here")


def _trailing_range(failure: Failure) -> Diagnostic | None:
    ends = failure.token.type == "COMMA" or failure.token.text in ("for", "forall", "all")
    related = any(token.type in RELATIONS for token in _after_colon(failure))
    if failure.kind != "CONSTRAINT" or not ends or "NEWLINE" not in failure.accepted or not related:
        return None
    why = "the label says for which indices there is a multiplier"
    hint = f"write {failure.line[0].text}[i]: ... and `index i in 1..l` above"
    message = "the range of a constraint stands in its label"
    return Diagnostic("K129", message, (_at(failure.token),), why, hint)


def _brace_subscript(failure: Failure) -> Diagnostic | None:
    before = failure.before
    if failure.token.type != "LBRACE" or before is None or not before.text.endswith("_"):
        return None
    hint = f"write {before.text.rstrip('_')}[i]"
    return Diagnostic("K124", "a subscript stands in square brackets", (_at(before),), help=hint)


def _two_statements(failure: Failure) -> Diagnostic | None:
    for token in (failure.token, failure.before):
        if token is not None and token.type == "NAME" and token.text in KEYWORDS and token is not failure.line[0]:
            message = f"`{token.text}` begins a statement in the middle of a line"
            return Diagnostic("K128", message, (_at(token),), help="begin a new line before it")
    return None


def _title(failure: Failure) -> Diagnostic | None:
    if failure.kind != "MODEL" or failure.position < 2:
        return None
    hint = 'write model name "title"'
    return Diagnostic("K119", "the title must stand in double quotes", (_at(failure.token),), help=hint)


def _range_bound(failure: Failure) -> Diagnostic | None:
    before = failure.before
    in_range = any(token.type == "DOTDOT" for token in failure.line[max(0, failure.position - 3) : failure.position])
    takes_set = {"NAME", "NUMBER"} <= failure.accepted and before is not None and before.type == "DOTDOT"
    if failure.kind != "INDEX" or not in_range or not (takes_set or failure.token.type in OPERATORS):
        return None
    message = "the end of a range is a name or a number, not an expression"
    return Diagnostic("K127", message, (_at(failure.token),), help="name the size: `1..m`")


def _double_relation(failure: Failure) -> Diagnostic | None:
    if failure.token.type not in RELATIONS or not RELATIONS.isdisjoint(failure.accepted):
        return None
    body = _after_colon(failure)
    earlier = [token for token in body if token.type in RELATIONS]
    if not earlier or failure.kind not in ("CONSTRAINT", "INDEX"):
        return None
    labels = (_at(failure.token, "a second relation"), _at(earlier[-1], "the first"))
    hint = "split it into two constraints, each with its own label"
    return Diagnostic("K118", "a constraint has one relation", labels, "each relation has its own multiplier", hint)


def _after_colon(failure: Failure) -> list[Token]:
    colons = [n for n, token in enumerate(failure.line[: failure.position]) if token.type == "COLON"]
    return failure.line[colons[-1] + 1 if colons else 0 : failure.position]


def _without_label(failure: Failure) -> Diagnostic | None:
    if failure.kind != "CONSTRAINT" or any(t.type == "COLON" for t in failure.line[: failure.position + 1]):
        return None
    first = failure.line[0]
    relations = [token for token in failure.line if token.type in RELATIONS]
    two_words = [token.type for token in failure.line[:2]] == ["NAME", "NAME"]
    if relations and failure.in_block:
        whole = Label(Span(first.start, failure.line[-1].end))
        why = "the label names the multiplier and says for which indices there is one"
        hint = "write label[i]: before it"
        if [token.text for token in failure.line[-3:-1]] in ([">=", "0"], ["≥", "0"]):
            hint += ", or give the bound with the variable: `var xi[i] : real >= 0`"
        return Diagnostic("K115", "a constraint has no label", (whole,), why, hint)
    message = "a line begins with a statement word or with the label of a constraint"
    if relations and not two_words:
        definition = relations[0].type == "EQUAL"
        hint = "write `let` before a definition" if definition else "constraints stand under `subject to`, with a label"
    else:
        hint = "statement words are " + ", ".join("subject to" if word == "subject" else word for word in KEYWORDS)
    return Diagnostic("K117", message, (_at(first),), help=hint)


def _beside(failure: Failure) -> Diagnostic | None:
    before = failure.before
    if before is None or before.type not in OPERAND_ENDS or failure.token.type not in OPERAND_STARTS:
        return None
    if "STAR" not in failure.accepted:
        return None
    why = "only a number may stand beside its factor, as in 1/2 ||w||^2"
    labels = (Label(Span(before.end, failure.token.start), "`*` is missing here"),)
    if before.end == failure.token.start:
        labels = (_at(failure.token, "`*` is missing before this"),)
    return Diagnostic("K110", "two factors stand side by side", labels, why, "write `*` between them")


_SLIPS = (
    _bars,
    _exponent,
    _sum_without_index,
    _sum_with_range,
    _brace_subscript,
    _two_statements,
    _title,
    _range_bound,
    _without_label,
    _double_relation,
    _trailing_range,
    _beside,
)
