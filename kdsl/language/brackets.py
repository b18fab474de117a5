"""Keeps the open brackets of a logical line, finds the ones without a partner, and limits nesting."""

from __future__ import annotations

from typing import NamedTuple

from kdsl.language import limits
from kdsl.language.diagnostics import Diagnostic, Label
from kdsl.language.lexer import Token
from kdsl.language.syntax import Span
from kdsl.language.terminals import FIRM, PAIRS, SUMS

_SHOWN = {
    "LPAR": "(",
    "LSQB": "[",
    "LBRACE": "{",
    "INNER_OPEN": "<",
    "NORM_OPEN": "||",
    "RPAR": ")",
    "RSQB": "]",
    "RBRACE": "}",
    "INNER_CLOSE": ">",
    "NORM_CLOSE": "||",
}


class _Open(NamedTuple):
    """An open bracket and where it stands."""

    token: Token
    interval: bool  # after `in`, where `)` and `]` both close
    binder: bool  # after `sum` or `argmax`
    after_equal: bool  # the `<` of `=<`


class Brackets:
    """The brackets that are open, with the number of sums and signs that nest at each level."""

    def __init__(self, faults: list[Diagnostic]) -> None:
        self.faults = faults
        self.stack: list[_Open] = []
        self.prefixes = [0]
        self.commas = [False]
        self.depth = 0
        self.firm = 0  # how many of the open brackets are ( [ {
        self.unseen = 0  # brackets beyond the limit of nesting, which are only counted
        self.reported = False
        self.closed_binder = False

    def innermost(self) -> str:
        return self.stack[-1].token.type if self.stack else ""

    def inside_firm(self) -> bool:
        return self.firm > 0

    def comma_seen(self) -> bool:
        return self.commas[-1]

    def open(self, token: Token, previous: str, before: list[Token]) -> None:
        if len(self.stack) > limits.NESTING:
            self.unseen += 1
            return
        after_equal = previous == "EQUAL" and before[-1].end == token.start
        self.stack.append(_Open(token, previous == "IN", previous in SUMS, after_equal))
        self.firm += token.type in FIRM
        self.prefixes.append(0)
        self.commas.append(False)
        self._deepen(token)

    def prefix(self, token: Token) -> None:
        """Count a sum or a sign, whose operand nests inside it."""
        self.prefixes[-1] += 1
        self._deepen(token)

    def separate(self, kind: str) -> None:
        """Forget the sums and signs of the operand that ends here."""
        if kind in ("STAR", "SLASH"):
            return
        self.commas[-1] = self.commas[-1] or kind == "COMMA"
        self.depth -= self.prefixes[-1]
        self.prefixes[-1] = 0

    def close(self, token: Token) -> None:
        if self.unseen:
            self.unseen -= 1
            return
        if not self.stack:
            self._report(f"`{_SHOWN[token.type]}` closes nothing", (_at(token),))
            return
        top = self.stack[-1]
        if PAIRS[top.token.type] == token.type or (top.interval and token.type in ("RPAR", "RSQB")):
            self.closed_binder = top.binder
            self._pop()
        elif any(PAIRS[bracket.token.type] == token.type for bracket in self.stack):
            self._never_closed(top)
            while PAIRS[self.stack[-1].token.type] != token.type:
                self._pop()
            self._pop()
        else:
            shown = _SHOWN[top.token.type]
            labels = (_at(token), _at(top.token, "opened here"))
            self._report(f"`{_SHOWN[token.type]}` does not close `{shown}`", labels, _close_with(top.token))
            self._pop()

    def finish(self) -> None:
        """The logical line is over: whatever is open was never closed."""
        if self.stack:
            self._never_closed(self.stack[-1])
        self.stack.clear()
        self.prefixes = [0]
        self.commas = [False]
        self.depth = self.unseen = self.firm = 0
        self.reported = False

    def _pop(self) -> None:
        self.firm -= self.stack.pop().token.type in FIRM
        self.commas.pop()
        self.depth -= 1 + self.prefixes.pop()

    def _deepen(self, token: Token) -> None:
        self.depth += 1
        if self.depth > limits.NESTING and not self.reported:
            self.reported = True
            message = f"nested over {limits.NESTING} deep"
            hint = "give the inner part a name with `let`"
            self.faults.append(Diagnostic("K106", message, (_at(token),), help=hint))

    def _never_closed(self, bracket: _Open) -> None:
        if bracket.after_equal:
            hint = "write `<=` for the relation, or `= <` for an inner product"
        else:
            hint = _close_with(bracket.token)
        self._report(f"`{_SHOWN[bracket.token.type]}` is never closed", (_at(bracket.token, "opened here"),), hint)

    def _report(self, message: str, labels: tuple[Label, ...], hint: str = "") -> None:
        if not self.reported:
            self.reported = True
            self.faults.append(Diagnostic("K104", message, labels, help=hint))


def _at(token: Token, text: str = "") -> Label:
    return Label(Span(token.start, token.end), text)


def _close_with(opener: Token) -> str:
    return f"close it with `{_SHOWN[PAIRS[opener.type]]}`"
