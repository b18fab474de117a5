"""Turns the grammar into the parser's tables, a module of plain literals: `make_tables.py GRAMMAR OUT`."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lark import Lark
from lark.grammar import Rule
from lark.lexer import Lexer, LexerState, Token
from lark.parsers.lalr_analysis import Shift

STARTS = ("spec", "expression", "kernel_list")


class _NoLexer(Lexer):
    """Stands in for lark's lexer, which is not run for its tables: kdsl has its own."""

    def __init__(self, conf: object) -> None:
        pass

    def lex(self, lexer_state: LexerState, parser_state: Any) -> Iterator[Token]:
        return iter(())


def make_tables(grammar: str) -> str:
    """Return the text of `kdsl/language/_tables.py`; any conflict in the grammar is an error."""
    lark = Lark(grammar, parser="lalr", start=list(STARTS), strict=True, lexer=_NoLexer, maybe_placeholders=False)
    table = lark.parser.parser._parse_table
    order: dict[object, int] = {}

    def visit(state: object) -> int:
        return order.setdefault(state, len(order))

    starts = {name: visit(table.start_states[name]) for name in STARTS}
    rules: dict[Rule, int] = {}
    actions: list[dict[str, int]] = []
    gotos: list[dict[str, int]] = []
    position = 0
    while position < len(order):
        state = list(order)[position]
        position += 1
        action: dict[str, int] = {}
        goto: dict[str, int] = {}
        for symbol, (kind, argument) in sorted(table.states[state].items()):
            if kind is not Shift:
                action[symbol] = -1 - rules.setdefault(argument, len(rules))
            elif symbol.isupper() or symbol == "$END":
                action[symbol] = visit(argument)
            else:
                goto[symbol] = visit(argument)
        actions.append(action)
        gotos.append(goto)
    ends = {name: order[table.end_states[name]] for name in STARTS}
    rule_rows = [(str(rule.origin.name), len(rule.expansion), str(rule.alias or "same")) for rule in rules]
    digest = hashlib.sha256(grammar.encode()).hexdigest()
    return "\n".join(
        [
            '"""The parser\'s tables, made from grammars/kspec.lark by grammars/make_tables.py; do not edit."""',
            "",
            "# fmt: off",
            f"GRAMMAR_SHA256 = {digest!r}",
            f"STARTS: dict[str, int] = {starts!r}",
            f"ENDS: dict[str, int] = {ends!r}",
            "# (left-hand side, length of the right-hand side, action)",
            f"RULES: tuple[tuple[str, int, str], ...] = {_rows(rule_rows)}",
            "# for each state: terminal -> next state, or -1 - rule to reduce by",
            f"ACTIONS: tuple[dict[str, int], ...] = {_rows(actions)}",
            f"GOTOS: tuple[dict[str, int], ...] = {_rows(gotos)}",
            "",
        ]
    )


def _rows(rows: list[tuple[str, int, str]] | list[dict[str, int]]) -> str:
    return "(\n" + "".join(f"    {row!r},\n" for row in rows) + ")"


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: make_tables.py GRAMMAR OUT")
    Path(sys.argv[2]).write_text(make_tables(Path(sys.argv[1]).read_text(encoding="utf-8")), encoding="utf-8")
