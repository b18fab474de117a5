"""Gives tokens the meaning that depends on where they stand: lines, keywords, brackets and the kinds of comma."""

from __future__ import annotations

from kdsl.language.diagnostics import Diagnostic, Label
from kdsl.language.lexer import KEYWORDS, Token
from kdsl.language.syntax import Span

OPERAND_ENDS = frozenset({"NAME", "NUMBER", "POWER", "RPAR", "RSQB", "RBRACE", "NORM_CLOSE", "INNER_CLOSE"})
RELATIONS = frozenset({"LESS_EQUAL", "GREATER_EQUAL", "NOT_EQUAL", "EQUAL", "LESS", "GREATER"})
OPERATORS = frozenset({"PLUS", "MINUS", "STAR", "SLASH"})
STATEMENTS = frozenset(KEYWORDS.values())
BINDER_END = "the bracket that closes sum[...]"
CONTINUES_AFTER = (
    RELATIONS
    | OPERATORS
    | (STATEMENTS - {"SUBJECT_TO"})
    | {
        "COMMA",
        "DECL_COMMA",
        "SEMI",
        "COLON",
        "IN",
        "ON",
        "WHERE",
        "DOTDOT",
        "CROSS",
        "INNER_OPEN",
        "NORM_OPEN",
        BINDER_END,
    }
)
CONTINUES_BEFORE = (
    (RELATIONS - {"LESS"}) | OPERATORS | {"COMMA", "COLON", "IN", "ON", "WHERE", "RPAR", "RSQB", "RBRACE"}
)
DECLARATIONS = frozenset({"DATA", "PARAM", "VAR"})
CLOSERS = {"LPAR": "RPAR", "LSQB": "RSQB", "LBRACE": "RBRACE", "INNER_OPEN": "INNER_CLOSE", "NORM_OPEN": "NORM_CLOSE"}
FIRM = frozenset({"LPAR", "LSQB", "LBRACE"})
DOMAIN_WORDS = {"real": "REAL", "input": "INPUT"}


def arrange(raw: list[Token], start: str) -> list[Token]:
    """Return the tokens the grammar is written in; in a whole "spec" each logical line is closed by a NEWLINE."""
    return _Layout(raw, start).run()


class _Layout:
    """One pass over the tokens; its state is the logical line it is in and the brackets that are open."""

    def __init__(self, raw: list[Token], start: str) -> None:
        self.raw = [token for token in raw if token.type != "COMMENT"]
        self.lines = start == "spec"
        self.out: list[Token] = []
        self.brackets: list[Token] = []
        self.kind = {"spec": "", "kernel_list": "KERNEL"}.get(start, "EXPRESSION")
        self.binders: list[int] = []  # how many brackets are open inside each open `sum[`
        self.in_sets = False
        self.previous = ""

    def run(self) -> list[Token]:
        at_start = self.lines
        position = 0
        while position < len(self.raw):
            token = self.raw[position]
            if token.type == "NEWLINE":
                at_start = self.lines
                position += 1
                continue
            if at_start:
                at_start = False
                width = self._keyword_width(position)
                if width:
                    last = self.raw[position + width - 1]
                    self._end_line()
                    self.kind = KEYWORDS[token.text]
                    self._emit(Token(self.kind, token.text, token.start, last.end))
                    position += width
                    if self.kind == "SUBJECT_TO":
                        self._end_line()
                        at_start = True
                    continue
                if self._starts_line(position):
                    self._end_line()
                    self.kind = "CONSTRAINT"
            self._emit(self._retype(token, position))
            position += 1
        self._end_line()
        return self.out

    def _keyword_width(self, position: int) -> int:
        """How many tokens the statement keyword at `position` takes; 0 where there is none."""
        token = self.raw[position]
        if token.type != "NAME" or token.text not in KEYWORDS:
            return 0
        if token.text != "subject":
            return 1
        return 2 if position + 1 < len(self.raw) and self.raw[position + 1].text == "to" else 0

    def _starts_line(self, position: int) -> bool:
        """Whether the token, first on its physical line, begins a logical line too."""
        if not self.previous:
            return True
        if self.kind not in DECLARATIONS and self._is_label(position):
            return True
        if any(bracket.type in FIRM for bracket in self.brackets):
            return False
        return self.previous not in CONTINUES_AFTER and self.raw[position].type not in CONTINUES_BEFORE

    def _is_label(self, position: int) -> bool:
        """Whether `name:`, `name[...]:` or `name[...] where ...:` begins at `position`."""
        if self.raw[position].type != "NAME":
            return False
        depth, filtered = 0, False
        for token in self.raw[position + 1 :]:
            if token.type == "NEWLINE":
                return False
            if token.type == "COLON" and depth == 0:
                return True
            if token.type == "LSQB":
                depth += 1
            elif token.type == "RSQB":
                depth -= 1
            elif token.type == "WHERE":
                filtered = True
            elif depth == 0 and not filtered:
                return False
        return False

    def _emit(self, token: Token) -> None:
        self.out.append(token)
        if token.type == "LSQB" and self.previous in ("SUM", "ARGMAX"):
            self.binders.append(len(self.brackets))
        if token.type == "RSQB" and self.binders and self.binders[-1] > len(self.brackets):
            self.binders.pop()
            self.previous = BINDER_END
        else:
            self.previous = token.type

    def _end_line(self) -> None:
        if self.lines and self.previous:
            end = self.out[-1].end
            self.out.append(Token("NEWLINE", "", end, end))
        self.brackets.clear()
        self.binders.clear()
        self.previous = ""
        self.in_sets = False

    def _retype(self, token: Token, position: int) -> Token:
        kind = token.type
        after_operand = self.previous in OPERAND_ENDS
        if kind == "LESS" and not after_operand:
            kind = "INNER_OPEN"
        elif kind == "GREATER" and self._innermost() == "INNER_OPEN":
            kind = "INNER_CLOSE"
        elif kind == "NORM_OPEN" and after_operand and self._innermost() == "NORM_OPEN":
            kind = "NORM_CLOSE"
        elif kind == "COMMA":
            kind = self._comma(position)
        elif kind == "IN" and self.kind == "INDEX":
            self.in_sets = True
        elif kind == "WHERE":
            self.in_sets = False
        elif self.in_sets and after_operand and (token.text == "x" or token.text in "*×·⋅"):
            kind = "CROSS"
        elif kind == "NAME" and self.previous == "COLON" and self.kind in DECLARATIONS:
            kind = self._domain_word(token, position)
        if kind in CLOSERS:
            self.brackets.append(token._replace(type=kind))
        elif kind in ("RPAR", "RSQB", "RBRACE", "INNER_CLOSE", "NORM_CLOSE") and self.brackets:
            self.brackets.pop()
        return token if kind == token.type else token._replace(type=kind)

    def _innermost(self) -> str:
        return self.brackets[-1].type if self.brackets else ""

    def _comma(self, position: int) -> str:
        if self.brackets or self.kind not in ("KERNEL", "INDEX"):
            return "COMMA"
        following = [token for token in self.raw[position + 1 : position + 40] if token.type != "NEWLINE"]
        if self.kind == "KERNEL":
            found = [token.type for token in following[:2]] == ["NAME", "EQUAL"]
            return "DECL_COMMA" if found else "COMMA"
        if following and following[0].type == "LPAR":
            while following and following[0].type != "RPAR":
                following = following[1:]
        if len(following) > 1 and following[1].type == "IN":
            self.in_sets = False
            return "DECL_COMMA"
        return "COMMA"

    def _domain_word(self, token: Token, position: int) -> str:
        if token.text == "H" and position + 1 < len(self.raw) and self.raw[position + 1].type == "LPAR":
            return "HILBERT"
        return DOMAIN_WORDS.get(token.text, "NAME")
