"""Reads a specification, an expression or a kernel into its syntax tree, or says everything that is wrong with it."""

from __future__ import annotations

from typing import Any

from kdsl.language import _tables
from kdsl.language.actions import ACTIONS, ModelLine
from kdsl.language.diagnostics import Diagnostic, KdslError, Label
from kdsl.language.layout import arrange
from kdsl.language.lexer import Token, scan
from kdsl.language.syntax import ConstraintDecl, Expr, KernelDecl, Name, Span, Spec, Statement, SubjectTo


def parse_spec_text(text: str) -> Spec:
    """Parse a whole file; every syntax error of the file is in the KdslError that is raised if there is any."""
    lines: list[Any] = _parse(text, "spec")
    name: Name | None = None
    title = ""
    statements: list[Statement] = []
    for line in lines:
        if isinstance(line, ModelLine):
            name, title = line.name, line.title
        elif isinstance(line, ConstraintDecl):
            last = statements[-1] if statements else None
            if not isinstance(last, SubjectTo):
                raise KdslError([Diagnostic("K102", "a constraint outside `subject to`", (Label(line.span),))])
            span = Span(last.span.start, line.span.end)
            statements[-1] = SubjectTo((*last.constraints, line), span)
        else:
            statements.append(line)
    return Spec(name, title, tuple(statements), Span(0, len(text)))


def parse_expression(text: str) -> Expr:
    """Parse one expression, newlines counting as blanks."""
    return _parse(text, "expression")  # type: ignore[no-any-return]


def parse_kernel(text: str) -> tuple[KernelDecl, ...]:
    """Parse what may follow the word `kernel`: `k = rbf(gamma = 0.1), q = linear`."""
    return tuple(_parse(text, "kernel_list"))


def _parse(text: str, start: str) -> Any:
    raw, diagnostics = scan(text)
    tokens = arrange(raw, start)
    tokens.append(Token("$END", "", len(text), len(text)))
    value = _drive(tokens, start, diagnostics)
    if diagnostics:
        raise KdslError(diagnostics)
    return value


def _drive(tokens: list[Token], start: str, diagnostics: list[Diagnostic]) -> Any:
    """The LALR automaton, with an explicit stack; after an error it goes on at the next line."""
    actions, gotos, rules = _tables.ACTIONS, _tables.GOTOS, _tables.RULES
    end = _tables.ENDS[start]
    states = [_tables.STARTS[start]]
    values: list[Any] = []
    spans: list[Span] = []
    position = 0
    while True:
        token = tokens[position]
        if token.type == "$END" and states[-1] == end:
            return values[0]
        action = actions[states[-1]].get(token.type)
        if action is None:
            diagnostics.append(Diagnostic("K103", f"unexpected `{token.text}`", (Label(Span(token.start, token.end)),)))
            if start != "spec":
                return None
            while tokens[position].type not in ("NEWLINE", "$END"):
                position += 1
            if tokens[position].type == "NEWLINE":
                position += 1
            del states[2:], values[1:], spans[1:]
            if len(states) < 2:
                states = [_tables.STARTS[start], gotos[_tables.STARTS[start]]["lines"]]
                values, spans = [[]], [Span(0, 0)]
        elif action >= 0:
            states.append(action)
            values.append(token)
            spans.append(Span(token.start, token.end))
            position += 1
        else:
            left, length, name = rules[-1 - action]
            if length:
                span = Span(spans[-length].start, spans[-1].end)
                value = ACTIONS[name](values[-length:], span)
                del states[-length:], values[-length:], spans[-length:]
            else:
                span = Span(token.start, token.start)
                value = ACTIONS[name]([], span)
            states.append(gotos[states[-1]][left])
            values.append(value)
            spans.append(span)
