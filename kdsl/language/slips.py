"""Explains a syntax error: the frequent slips by their own codes, everything else by what was expected."""

from __future__ import annotations

import itertools
from typing import NamedTuple

from kdsl.language.diagnostics import Diagnostic, Label
from kdsl.language.expectations import example, expected_words, found_words
from kdsl.language.kernel_catalog import FAMILIES_BY_NAME
from kdsl.language.lexer import KEYWORDS, RESERVED, Token
from kdsl.language.scopes import FUNCTIONS
from kdsl.language.syntax import Span
from kdsl.language.terminals import OPERAND_ENDS, OPERAND_STARTS, OPERATORS, RELATIONS, SUMS
from kdsl.language.wordings import RANGE_WORDS

_MEANS = ("mean", "average", "avg")


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
    return _unexpected(failure, example(failure.kind))


def _unexpected(failure: Failure, hint: str) -> Diagnostic:
    message = f"expected {expected_words(failure.accepted, failure.kind)}, found {found_words(failure.token)}"
    return Diagnostic("K103", message, (_at(failure.token),), help=hint)


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
    before, after = failure.before, failure.line[failure.position + 1 : failure.position + 4]
    if before is not None and before.type == "NAME" and [token.text for token in after[:1]] == ["T"]:
        hint = _inner_product(before.text, after[1:])
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


def _indexed_function(failure: Failure) -> Diagnostic | None:
    """`max[i] (...)`, `mean[i] ...`, or a sum with a capital letter."""
    before = failure.before
    if before is None or before.type != "RSQB" or not _is_factor(failure):
        return None
    opening = max((n for n, token in enumerate(failure.line[: failure.position]) if token.type == "LSQB"), default=0)
    name = failure.line[opening - 1]
    word = name.text.lower()
    if word in ("sum", "argmax"):
        return Diagnostic("K121", f"`{name.text}` is written `{word}`", (_at(name),), help=f"write {word}[i] ...")
    message = f"`{name.text}` does not run over an index"
    if word in _MEANS:
        return Diagnostic("K121", message, (_at(name),), help="write 1/l * sum[i] ..., with `index i in 1..l`")
    if name.text not in FUNCTIONS and word != "max":
        return None
    why = f"it takes its arguments in parentheses: {FUNCTIONS[word]}"
    hint = "for the largest of many, minimise an unknown t with a constraint for each: above[i]: r[i] <= t"
    return Diagnostic("K121", message, (_at(name),), why, hint if word == "max" else "")


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


def _leading_range(failure: Failure) -> Diagnostic | None:
    if failure.kind != "CONSTRAINT" or failure.line[0].text not in RANGE_WORDS or not failure.position:
        return None
    why = "the label says for which indices there is a multiplier"
    message = "the range of a constraint stands in its label"
    hint = "write label[i]: ... and `index i in 1..l` above"
    return Diagnostic("K129", message, (_at(failure.line[0]),), why, hint)


def _brace_subscript(failure: Failure) -> Diagnostic | None:
    before = failure.before
    if failure.token.type != "LBRACE" or before is None or not before.text.endswith("_"):
        return None
    hint = f"write {before.text.rstrip('_')}[i]"
    return Diagnostic("K124", "a subscript stands in square brackets", (_at(before),), help=hint)


def _norm_with_order(failure: Failure) -> Diagnostic | None:
    before = failure.before
    if before is None or before.type != "NORM_CLOSE" or not failure.token.text.startswith("_"):
        return None
    message = f"`{failure.token.text}` after a norm is not read"
    why = "||u|| is the norm of the space of a kernel, and there is no other"
    hint = "write ||u|| alone; a sum of sizes is sum[j] abs(v[j]), with unknowns v[j]"
    return Diagnostic("K124", message, (_at(failure.token),), why, hint)


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


def _reserved_label(failure: Failure) -> Diagnostic | None:
    first = failure.line[0]
    closing = next((n for n, token in enumerate(failure.line) if token.type == "RSQB"), 0)
    following = {token.type for n in (0, closing) for token in failure.line[n + 1 : n + 2]}
    if failure.kind != "CONSTRAINT" or first.text not in RESERVED or following.isdisjoint({"COLON", "WHERE"}):
        return None
    message = f"`{first.text}` is a word of the language and cannot be a label"
    return Diagnostic("K103", message, (_at(first),), help="choose another label")


def _kernel_value(failure: Failure) -> Diagnostic | None:
    """A number in the parentheses of a kernel that does not say which parameter it is."""
    if failure.kind != "KERNEL" or failure.token.type != "NUMBER" or "NAME" not in failure.accepted:
        return None
    before = failure.line[: failure.position]
    opening = max((n for n, token in enumerate(before) if token.type == "LPAR"), default=0)
    family = FAMILIES_BY_NAME.get(failure.line[opening - 1].text) if opening else None
    if family is None:
        return None
    kinds = {parameter.name: parameter.kind for parameter in family.parameters if parameter.kind != "kernel"}
    given = {token.text for token, sign in itertools.pairwise(before[opening:]) if sign.type == "EQUAL"}
    taken = given.union(*(group for group in family.exclusive if not given.isdisjoint(group)))
    free = [name for name in kinds if name not in taken]
    written = _decimal_comma(failure.line, failure.position - 2, apart=not free)
    if written and kinds.get(failure.line[failure.position - 4].text) == "real":
        hint = f"a decimal number has a point: {written}"
    elif free:
        written = _decimal_comma(failure.line, failure.position) if kinds[free[0]] == "real" else ""
        hint = f"write {free[0]} = {written or failure.token.text}"
    else:
        hint = "no number can stand here"
    return _unexpected(failure, hint)


def _decimal_comma(line: list[Token], position: int, apart: bool = False) -> str:
    """`0,5` at `position` as `0.5`; "" where it is not that. With `apart` there may be a blank beside the comma."""
    part = line[position : position + 3]
    if position < 0 or [token.type for token in part] != ["NUMBER", "COMMA", "NUMBER"]:
        return ""
    whole, comma, decimals = part
    near = apart or (whole.end == comma.start and comma.end == decimals.start)
    return f"{whole.text}.{decimals.text}" if near and (whole.text + decimals.text).isdigit() else ""


def _is_factor(failure: Failure) -> bool:
    """Whether a factor begins where the parser stopped, without a `*` before it."""
    before = failure.before
    between = before is not None and before.type in OPERAND_ENDS and failure.token.type in OPERAND_STARTS
    return between and "STAR" in failure.accepted


def _transposed(failure: Failure) -> Diagnostic | None:
    """`w'w` or `w' phi(x[i])`, which is two factors side by side."""
    before = failure.before
    if before is None or not _is_factor(failure):
        return None
    if before.type != "NAME" or failure.token.type != "NAME" or not before.text.endswith("'"):
        return None
    why = "a prime belongs to a name and transposes nothing"
    hint = _inner_product(before.text.rstrip("'"), failure.line[failure.position : failure.position + 2])
    if before.end < failure.token.start and failure.token.text not in (before.text.rstrip("'"), "phi"):
        hint += ", `*` between two numbers"
    return Diagnostic("K110", "two factors stand side by side", (_at(failure.token),), why, hint)


def _inner_product(left: str, right: list[Token]) -> str:
    """What to write for the vector `left`, transposed, times a factor that begins with the tokens `right`."""
    names = [token.text for token in right if token.type == "NAME"]
    if names[:1] == [left]:
        return f"write ||{left}||^2"
    called = len(right) > 1 and right[1].type == "LPAR"
    return f"write <{left}, {names[0] + '(...)' if called else 'v'}> for an inner product"


def _inner_beside(failure: Failure) -> Diagnostic | None:
    """`1/2 <w, w>`, whose `<` is taken for a relation."""
    line = failure.line
    opening = max((n for n, token in enumerate(line[: failure.position + 1]) if token.type == "LESS"), default=0)
    closing = next((n for n in range(opening, len(line)) if line[n].type in ("GREATER", "GREATER_EQUAL")), 0)
    inside = line[opening + 1 : closing]
    if not opening or closing < failure.position or all(token.type != "COMMA" for token in inside):
        return None
    if any(token.type == "WHERE" for token in line[:opening]):
        return None
    hint = "write `*` between them"
    if len(inside) == 3 and inside[0].text == inside[2].text:
        hint = f"write ||{inside[0].text}||^2, or `*` between them"
    why = "after a factor `<` is a relation"
    label = _at(line[opening], "`*` is missing before this")
    return Diagnostic("K110", "an inner product stands beside another factor", (label,), why, hint)


def _values_beside(failure: Failure) -> Diagnostic | None:
    """`{-1 1}`."""
    before = failure.before
    if before is None or not _is_factor(failure) or "RBRACE" not in failure.accepted:
        return None
    label = Label(Span(before.end, failure.token.start), "a comma is missing here")
    return Diagnostic("K103", "two values stand side by side", (label,), help="write a comma between them")


def _beside(failure: Failure) -> Diagnostic | None:
    before = failure.before
    if before is None or not _is_factor(failure):
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
    _indexed_function,
    _brace_subscript,
    _norm_with_order,
    _two_statements,
    _title,
    _range_bound,
    _reserved_label,
    _kernel_value,
    _leading_range,
    _inner_beside,
    _without_label,
    _double_relation,
    _trailing_range,
    _transposed,
    _values_beside,
    _beside,
)
