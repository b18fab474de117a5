"""Reads a specification, an expression or a kernel into its syntax tree, or says everything that is wrong with it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from kdsl.language import limits
from kdsl.language.actions import ACTIONS, GROWING, Chain, Values
from kdsl.language.assembly import assemble
from kdsl.language.built import tables
from kdsl.language.diagnostics import Diagnostic, KdslError, Label
from kdsl.language.layout import arrange
from kdsl.language.lexer import Token, scan
from kdsl.language.source import check_size
from kdsl.language.syntax import Expr, KernelDecl, Span, Spec
from kdsl.language.terminals import STATEMENTS


class _Rule(NamedTuple):
    left: str
    length: int
    build: Callable[[Values, Span], Any]
    grows: bool  # whether the alternative may put a node above its parts


_LISTS = frozenset(
    {"index_entries", "sets", "symbols", "values", "kernels"} | {"kernel_arguments", "names", "conditions", "exprs"}
)
_RULES = tuple(_Rule(left, length, ACTIONS[name], name in GROWING) for left, length, name in tables.RULES)


def _entries(rule: _Rule, value: Any) -> int:
    """How many entries the sum, product or list has that `rule` lengthens; 0 for other rules."""
    if type(value) is Chain:
        return len(value.operands)
    return len(value) if rule.left in _LISTS else 0


def parse_spec_text(text: str) -> Spec:
    """Parse a whole file; every syntax error of the file is in the KdslError that is raised if there is any."""
    lines, tokens, faults = _parse(text, "spec")
    spec = assemble(lines or [], tokens, len(text), faults)
    _raise_if_any(faults)
    return spec


def parse_expression(text: str) -> Expr:
    """Parse one expression, newlines counting as blanks."""
    value, _, faults = _parse(text, "expression")
    _raise_if_any(faults)
    return value  # type: ignore[no-any-return]


@lru_cache(maxsize=64)
def parse_kernel(text: str) -> tuple[KernelDecl, ...]:
    """Parse what may follow the word `kernel`: `k = rbf(gamma = 0.1), q = linear`."""
    value, _, faults = _parse(text, "kernel_list")
    _raise_if_any(faults)
    return tuple(value)


def _raise_if_any(faults: list[Diagnostic]) -> None:
    if not faults:
        return
    faults.sort(key=lambda fault: fault.labels[0].span.start)
    if len(faults) > limits.ERRORS:
        hint = f"the rest is not reported; a file with over {limits.ERRORS} syntax errors may be no specification"
        faults[limits.ERRORS - 1 :] = [faults[limits.ERRORS - 1]._replace(help=hint)]
    raise KdslError(faults)


def _parse(text: str, start: str) -> tuple[Any, list[Token], list[Diagnostic]]:
    check_size(len(text.encode("utf-8", "surrogatepass")))
    raw, faults = scan(text)
    tokens = arrange(raw, start, faults)
    tokens.append(Token("$END", "", len(text), len(text)))
    return _Automaton(tokens, start, faults).run(), tokens, faults


class _Automaton:
    """The LALR automaton with an explicit stack; after an error it goes on at the next logical line."""

    def __init__(self, tokens: list[Token], start: str, faults: list[Diagnostic]) -> None:
        self.tokens = tokens
        self.start = start
        self.faults = faults
        self.marks = sorted(fault.labels[0].span.start for fault in faults)
        self.states = [tables.STARTS[start]]
        self.values: Values = []
        self.spans: list[Span] = []
        self.heights: list[int] = []

    def run(self) -> Any:
        """Return the value of the start symbol; with errors in a whole file, the lines that are right."""
        tokens, states = self.tokens, self.states
        actions, end = tables.ACTIONS, tables.ENDS[self.start]
        position = 0
        while True:
            token = tokens[position]
            action = actions[states[-1]].get(token.type)
            if action is None:
                if token.type == "$END" and states[-1] == end:
                    return self.values[0]
                next_line = self._fail(position)
                if next_line is None:
                    return None
                position = next_line
            elif action >= 0:
                self._push(action, token, Span(token.start, token.end), 0)
                position += 1
            elif not self._reduce(_RULES[-1 - action], token.start):
                next_line = self._skip(position)
                if next_line is None:
                    return None
                position = next_line

    def _push(self, state: int, value: Any, span: Span, height: int) -> None:
        self.states.append(state)
        self.values.append(value)
        self.spans.append(span)
        self.heights.append(height)

    def _reduce(self, rule: _Rule, here: int) -> bool:
        """Replace the parts of `rule` on the stack by what its action makes of them; False where that is too much."""
        length = rule.length
        if not length:
            span, height = Span(here, here), 0
            value = rule.build([], span)
        else:
            parts = self.values[-length:]
            span = Span(self.spans[-length].start, self.spans[-1].end)
            height = max(self.heights[-length:])
            if rule.grows and (length > 1 or len(parts[0].operands) > 1):
                height += 1
                if height > limits.HEIGHT:
                    return self._too_much(
                        "K106", f"nested over {limits.HEIGHT} expressions deep", span, "name a part of it with `let`"
                    )
            value = rule.build(parts, span)
            if length > 1 and _entries(rule, value) == limits.TERMS + 1:
                message = f"a sum, product or list of over {limits.TERMS} entries"
                return self._too_much("K107", message, span, "use an index and sum[i], and put numbers into data")
            del self.states[-length:], self.values[-length:], self.spans[-length:], self.heights[-length:]
        self._push(tables.GOTOS[self.states[-1]][rule.left], value, span, height)
        return True

    def _too_much(self, code: str, message: str, span: Span, hint: str) -> bool:
        self.faults.append(Diagnostic(code, message, (Label(Span(span.start, span.start + 1)),), help=hint))
        return False

    def _fail(self, position: int) -> int | None:
        """Report the error at `position`; return where the next logical line begins, None where there is none."""
        first = last = position
        while first and self.tokens[first - 1].type != "NEWLINE":
            first -= 1
        while self.tokens[last].type not in ("NEWLINE", "$END"):
            last += 1
        if not self._marked(self.tokens[first].start, self.tokens[last].end):
            self._explain(first, position, last)
        return self._skip(last)

    def _skip(self, position: int) -> int | None:
        """Forget the line of `position`; return where the next one begins, None where there is none."""
        while self.tokens[position].type not in ("NEWLINE", "$END"):
            position += 1
        if self.start != "spec" or self.tokens[position].type == "$END" or len(self.faults) > limits.ERRORS:
            return None
        del self.states[2:], self.values[1:], self.spans[1:], self.heights[1:]
        if not self.values:
            self._push(tables.GOTOS[self.states[0]]["lines"], [], Span(0, 0), 0)
        return position + 1

    def _explain(self, first: int, position: int, last: int) -> None:
        from kdsl.language.expectations import acceptable
        from kdsl.language.slips import Failure, explain

        line = self.tokens[first : last + 1]
        kind = line[0].type if line[0].type in STATEMENTS else "CONSTRAINT"
        if self.start != "spec":
            kind = "KERNEL" if self.start == "kernel_list" else "EXPRESSION"
        above = next((token.type for token in reversed(self.tokens[:first]) if token.type in STATEMENTS), "")
        failure = Failure(
            line, position - first, kind, acceptable(line[: position - first], self.start), above == "SUBJECT_TO"
        )
        self.faults.append(explain(failure))

    def _marked(self, start: int, end: int) -> bool:
        """Whether the lexer or the layout has already said what is wrong between `start` and `end`."""
        found = bisect_left(self.marks, start)
        return found < len(self.marks) and self.marks[found] <= end
