"""Which terminals of the grammar play which part: operands, relations, brackets, and what continues a line."""

from __future__ import annotations

from kdsl.language.lexer import KEYWORDS

BINDER_END = "the bracket that closes sum[...]"
OPERAND_ENDS = frozenset({"NAME", "NUMBER", "REAL", "POWER", "RPAR", "RSQB", "RBRACE", "NORM_CLOSE", "INNER_CLOSE"})
OPERAND_STARTS = frozenset({"NAME", "NUMBER", "LPAR", "INNER_OPEN", "NORM_OPEN", "SUM", "ARGMAX"})
RELATIONS = frozenset({"LESS_EQUAL", "GREATER_EQUAL", "NOT_EQUAL", "EQUAL", "LESS", "GREATER"})
OPERATORS = frozenset({"PLUS", "MINUS", "STAR", "SLASH"})
SUMS = frozenset({"SUM", "ARGMAX"})
STATEMENTS = frozenset(KEYWORDS.values())
DECLARATIONS = frozenset({"DATA", "PARAM", "VAR"})
DOMAIN_WORDS = {"real": "REAL", "input": "INPUT"}

PAIRS = {
    "LPAR": "RPAR",
    "LSQB": "RSQB",
    "LBRACE": "RBRACE",
    "INNER_OPEN": "INNER_CLOSE",
    "NORM_OPEN": "NORM_CLOSE",
}
OPENERS = frozenset(PAIRS)
CLOSERS = frozenset(PAIRS.values())
FIRM = frozenset({"LPAR", "LSQB", "LBRACE"})  # a newline inside these does not end the line

CONTINUES_AFTER = (
    RELATIONS
    | OPERATORS
    | (STATEMENTS - {"SUBJECT_TO"})
    | {"COMMA", "DECL_COMMA", "SEMI", "COLON", "IN", "ON", "WHERE", "DOTDOT", "CROSS"}
    | {"INNER_OPEN", "NORM_OPEN", BINDER_END}
)
CONTINUES_BEFORE = (
    (RELATIONS - {"LESS"}) | OPERATORS | {"COMMA", "COLON", "IN", "ON", "WHERE", "RPAR", "RSQB", "RBRACE"}
)
