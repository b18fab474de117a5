"""Puts the lines of a file together: constraints under their `subject to`, and the model line first."""

from __future__ import annotations

from typing import Any

from kdsl.language import limits
from kdsl.language.actions import ModelLine
from kdsl.language.diagnostics import Diagnostic, Label
from kdsl.language.lexer import Token
from kdsl.language.syntax import (
    ConstraintDecl,
    DataLine,
    IndexLine,
    KernelLine,
    LetDecl,
    LossDecl,
    Name,
    ParamLine,
    Span,
    Spec,
    Statement,
    SubjectTo,
    VarLine,
)

_DECLARING = (IndexLine, DataLine, ParamLine, VarLine, KernelLine)


def assemble(lines: list[Any], tokens: list[Token], end: int, faults: list[Diagnostic]) -> Spec:
    """Build the Spec from its lines, and add to `faults` what is wrong with their order."""
    complete = not faults
    name: Name | None = None
    title = ""
    statements: list[Statement] = []
    block: list[ConstraintDecl] | None = None
    block_start = 0
    stray = False
    surplus = _surplus(lines)
    if surplus is not None:
        message = f"a specification of over {limits.STATEMENTS} statements, constraints and declared names"
        faults.append(
            Diagnostic("K126", message, (Label(surplus),), help="state families with an index, not one by one")
        )
        return Spec(None, "", ())
    for line in lines:
        if isinstance(line, ConstraintDecl):
            if block is None:
                if not stray:
                    faults.append(_stray(line))
                stray = True
            else:
                block.append(line)
                statements[-1] = SubjectTo(tuple(block), Span(block_start, line.span.end))
            continue
        if block == [] and complete:
            faults.append(_empty(statements[-1].span))
        block = None
        stray = False
        if isinstance(line, ModelLine):
            if name is not None or statements:
                faults.append(_late_model(line))
            name, title = line.name, line.title
        else:
            statements.append(line)
            if isinstance(line, SubjectTo):
                block, block_start = [], line.span.start
    if block == [] and complete:
        faults.append(_empty(statements[-1].span))
    _underscores(statements, tokens, faults)
    return Spec(name, title, tuple(statements), Span(0, end))


def _surplus(lines: list[Any]) -> Span | None:
    """Where the first statement, constraint or name beyond the limit stands, if there is one."""
    spans = [part.span for line in lines for part in (line.entries if isinstance(line, _DECLARING) else (line,))]
    return spans[limits.STATEMENTS] if len(spans) > limits.STATEMENTS else None


def _stray(constraint: ConstraintDecl) -> Diagnostic:
    message = f"the constraint `{constraint.label.id}` stands outside `subject to`"
    return Diagnostic("K116", message, (Label(constraint.label.span),), help="write `subject to` on the line before")


def _empty(span: Span) -> Diagnostic:
    hint = "write the constraints on the lines below it, or delete it"
    return Diagnostic("K122", "no constraint follows `subject to`", (Label(span),), help=hint)


def _late_model(line: ModelLine) -> Diagnostic:
    hint = "a file states one model; its model line is the first"
    return Diagnostic("K123", "a model line must come first, and once", (Label(line.span),), help=hint)


def _underscores(statements: list[Statement], tokens: list[Token], faults: list[Diagnostic]) -> None:
    """Report `xi_i` where `xi[i]` is declared and `xi_i` is not."""
    suspects = [
        token
        for before, token in zip([None, *tokens], tokens, strict=False)
        if token.type == "NAME" and "_" in token.text[1:] and not (before and before.text == "model")
    ]
    if not suspects:
        return
    entries = [e for s in statements if isinstance(s, (DataLine, ParamLine, VarLine)) for e in s.entries]
    indexed = {entry.name.id for entry in entries if entry.subscripts}
    declared = {entry.name.id for entry in entries}
    declared |= {s.name.id for s in statements if isinstance(s, (LetDecl, LossDecl))}
    declared |= {c.label.id for s in statements if isinstance(s, SubjectTo) for c in s.constraints}
    for token in suspects:
        base, _, index = token.text.rpartition("_")
        if base in indexed and token.text not in declared and index:
            label = Label(Span(token.start, token.end))
            hint = f"write {base}[{index}]"
            faults.append(
                Diagnostic("K124", f"`{token.text}` is one name, not `{base}` with an index", (label,), help=hint)
            )
