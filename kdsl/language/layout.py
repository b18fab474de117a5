"""Gives tokens the meaning that depends on where they stand: lines, keywords, brackets and the kinds of comma."""

from __future__ import annotations

from kdsl.language import limits
from kdsl.language.brackets import Brackets
from kdsl.language.diagnostics import Diagnostic, Label
from kdsl.language.lexer import KEYWORDS, Token
from kdsl.language.syntax import Span
from kdsl.language.terminals import (
    BINDER_END,
    CLOSERS,
    CONTINUES_AFTER,
    CONTINUES_BEFORE,
    DECLARATIONS,
    DOMAIN_WORDS,
    OPENERS,
    OPERAND_ENDS,
    OPERATORS,
    RELATIONS,
    SUMS,
)
from kdsl.language.wordings import statement_slip


def arrange(raw: list[Token], start: str, faults: list[Diagnostic]) -> list[Token]:
    """Return the tokens the grammar is written in; in a whole "spec" each logical line is closed by a NEWLINE."""
    return _Layout(raw, start, faults).run()


class _Layout:
    """One pass over the tokens; its state is the logical line it is in and the brackets that are open."""

    def __init__(self, raw: list[Token], start: str, faults: list[Diagnostic]) -> None:
        self.raw = [token for token in raw if token.type != "COMMENT"]
        self.faults = faults
        self.lines = start == "spec"
        self.out: list[Token] = []
        self.brackets = Brackets(faults)
        self.kind = {"spec": "", "kernel_list": "KERNEL"}.get(start, "EXPRESSION")
        self.in_sets = False
        self.colon_seen = False
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
                width = self._begin_statement(position)
                if width:
                    position += width
                    at_start = self.kind == "SUBJECT_TO"
                    continue
                if self._starts_line(position):
                    self._end_line()
                    self.kind = "CONSTRAINT"
            self._emit(self._retype(token, position))
            position += 1
        self._end_line()
        return self.out

    def _begin_statement(self, position: int) -> int:
        """Open the statement whose keyword stands at `position`; return how many tokens were taken, 0 for none."""
        word, width = self._keyword(position)
        if not width:
            return 0
        self._end_line()
        self.kind = KEYWORDS[word]
        first, last = self.raw[position], self.raw[position + width - 1]
        self._emit(Token(self.kind, word, first.start, last.end))
        if self.kind == "SUBJECT_TO":
            self._end_line()
            if position + width < len(self.raw) and self.raw[position + width].type == "COLON":
                colon = self.raw[position + width]
                label = Label(Span(colon.start, colon.end))
                self.faults.append(Diagnostic("K103", "no colon stands after `subject to`", (label,), help="delete it"))
                return width + 1
        return width

    def _keyword(self, position: int) -> tuple[str, int]:
        token = self.raw[position]
        if token.type == "SUBJECT_TO":
            return "subject", 1
        if token.type != "NAME" or (self.kind not in DECLARATIONS and self._is_label(position)):
            return "", 0
        following = self.raw[position + 1] if position + 1 < len(self.raw) else None
        if token.text == "subject" and following is not None and following.text == "to":
            return "subject", 2
        if token.text in KEYWORDS and token.text != "subject":
            return token.text, 1
        if len(self.faults) > limits.ERRORS or (self.previous and not self._starts_line(position)):
            return "", 0
        word, width = statement_slip(self.raw, position)
        if width:
            span = Span(token.start, self.raw[position + width - 1].end)
            written = "subject to" if word == "subject" else word
            shown = " ".join(piece.text for piece in self.raw[position : position + width])
            message = f"`{shown}` is not a statement word"
            self.faults.append(Diagnostic("K117", message, (Label(span),), help=f"write `{written}`"))
        return word, width

    def _starts_line(self, position: int) -> bool:
        """Whether the token, first on its physical line, begins a logical line too."""
        if not self.previous:
            return True
        continues = self.brackets.inside_firm() or self.previous in CONTINUES_AFTER
        in_head = self.kind == "CONSTRAINT" and not self.colon_seen
        if self.kind not in DECLARATIONS and not (in_head and continues) and self._is_label(position):
            return True
        return not continues and self.raw[position].type not in CONTINUES_BEFORE

    def _is_label(self, position: int) -> bool:
        """Whether `name:`, `name[...]:` or `name[...] where ...:` begins at `position`."""
        if self.raw[position].type != "NAME":
            return False
        depth, filtered = 0, False
        for follower in range(position + 1, len(self.raw)):
            kind = self.raw[follower].type
            if kind == "NEWLINE":
                return False
            if kind == "COLON" and depth == 0:
                return True
            if kind == "LSQB":
                depth += 1
            elif kind == "RSQB":
                depth -= 1
            elif kind == "WHERE":
                filtered = True
            elif depth == 0 and not filtered:
                return False
        return False

    def _emit(self, token: Token) -> None:
        self.out.append(token)
        self.colon_seen = self.colon_seen or token.type == "COLON"
        self.previous = BINDER_END if self.brackets.closed_binder else token.type
        self.brackets.closed_binder = False

    def _end_line(self) -> None:
        if self.previous and self.lines:
            end = self.out[-1].end
            self.out.append(Token("NEWLINE", "", end, end))
        self.brackets.finish()
        self.previous = ""
        self.in_sets = self.colon_seen = False

    def _retype(self, token: Token, position: int) -> Token:
        """Give `token` the terminal that its surroundings ask for, and keep the brackets."""
        kind = token.type
        after_operand = self.previous in OPERAND_ENDS
        innermost = self.brackets.innermost()
        if kind == "LESS" and not after_operand:
            kind = "INNER_OPEN"
        elif kind == "INNER_OPEN" and after_operand:
            self._beside(token)
        elif kind == "GREATER" and innermost == "INNER_OPEN":
            kind = "INNER_CLOSE"
        elif kind == "GREATER_EQUAL" and innermost == "INNER_OPEN" and self.brackets.comma_seen():
            self._ambiguous(token)
            kind = "INNER_CLOSE"
        elif kind == "NORM_OPEN" and after_operand and innermost == "NORM_OPEN":
            kind = "NORM_CLOSE"
        elif kind == "COMMA":
            kind = self._comma(position)
        elif kind == "IN" and self.kind == "INDEX":
            self.in_sets = True
        elif kind == "WHERE":
            self.in_sets = False
        elif self.in_sets and after_operand and token.text in ("x", "×"):
            kind = "CROSS"
        elif kind == "NAME" and self.previous == "COLON" and self.kind in DECLARATIONS:
            kind = self._domain_word(token, position)
        changed = token if kind == token.type else Token(kind, token.text, token.start, token.end)
        if kind in OPENERS:
            self.brackets.open(changed, self.previous, self.out)
        elif kind in CLOSERS:
            self.brackets.close(changed)
        elif kind in SUMS or (kind == "MINUS" and not after_operand):
            self.brackets.prefix(changed)
        elif kind in RELATIONS or kind in OPERATORS or kind in ("COMMA", "SEMI", "COLON"):
            self.brackets.separate(kind)
        return changed

    def _beside(self, token: Token) -> None:
        label = Label(Span(token.start, token.end), "`*` is missing before this")
        why = "the ASCII spelling `<` would be a relation here"
        message = "an inner product stands beside another factor"
        self.faults.append(Diagnostic("K110", message, (label,), why, "write `*` between them"))

    def _ambiguous(self, token: Token) -> None:
        label = Label(Span(token.start, token.end), "`>` then `=`, or `>=` without the closing `>`?")
        hint = "write `> >=` for the relation, `> =` for an equality"
        self.faults.append(Diagnostic("K125", "`>=` right after an inner product", (label,), help=hint))

    def _comma(self, position: int) -> str:
        """DECL_COMMA where the comma parts two kernels or two indices, COMMA elsewhere."""
        if self.brackets.innermost() or self.kind not in ("KERNEL", "INDEX"):
            return "COMMA"
        if self.kind == "KERNEL":
            return "DECL_COMMA" if self._following(position, 2) == ["NAME", "EQUAL"] else "COMMA"
        following = self._following(position, 2)
        if following[:1] == ["LPAR"]:
            following = self._following(position, limits.NESTING)
            after = following.index("RPAR") + 1 if "RPAR" in following else 0
            following = ["NAME", *following[after : after + 1]]
        if following[1:] == ["IN"]:
            self.in_sets = False
            return "DECL_COMMA"
        return "COMMA"

    def _following(self, position: int, count: int) -> list[str]:
        """The first terminals after `position`, newlines apart."""
        window = self.raw[position + 1 : position + 1 + 2 * count]
        return [token.type for token in window if token.type != "NEWLINE"][:count]

    def _domain_word(self, token: Token, position: int) -> str:
        if token.text == "H" and position + 1 < len(self.raw) and self.raw[position + 1].type == "LPAR":
            return "HILBERT"
        return DOMAIN_WORDS.get(token.text, "NAME")
