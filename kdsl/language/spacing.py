"""The house style within a line: which tokens are written with a blank between them, and in which alphabet."""

from __future__ import annotations

from kdsl.language.lexer import EXPONENT_DIGITS, GREEK, SUPERSCRIPTS, Token
from kdsl.language.terminals import BINDER_END, CLOSERS, DECLARATIONS, OPENERS, OPERAND_ENDS, SUMS

_GREEK_LETTERS = {name: letter for letter, name in reversed(GREEK.items()) if letter.isalpha()}
_UNICODE = {
    "LESS_EQUAL": "≤",
    "GREATER_EQUAL": "≥",
    "NOT_EQUAL": "≠",
    "INNER_OPEN": "⟨",
    "INNER_CLOSE": "⟩",
    "NORM_OPEN": "‖",
    "NORM_CLOSE": "‖",
    "MINUS": "−",
    "STAR": "·",
    "SUM": "Σ",
    "IN": "∈",
    "REAL": "ℝ",
    "CROSS": "×",
}
_ASCII = {
    "LESS_EQUAL": "<=",
    "GREATER_EQUAL": ">=",
    "NOT_EQUAL": "!=",
    "INNER_OPEN": "<",
    "INNER_CLOSE": ">",
    "NORM_OPEN": "||",
    "NORM_CLOSE": "||",
    "MINUS": "-",
    "STAR": "*",
    "SUM": "sum",
    "IN": "in",
    "REAL": "real",
    "CROSS": "x",
    "DOTDOT": "..",
}
_TO_SUPERSCRIPT = str.maketrans("0123456789", SUPERSCRIPTS)
_NO_BLANK_BEFORE = CLOSERS | {"COMMA", "DECL_COMMA", "SEMI", "POWER", "DOTDOT"}
_NO_BLANK_AFTER = OPENERS | {"DOTDOT"}


def spell(token: Token, source: str, unicode: bool | None) -> str:
    """The text of `token`: as written (None), in Unicode (True) or in ASCII (False)."""
    kind = token.type
    if kind == "POWER":
        digits = token.text.lstrip("^").strip()
        if unicode is None:
            return digits if token.text[0] != "^" else f"^{digits}"
        digits = digits.translate(EXPONENT_DIGITS)
        return digits.translate(_TO_SUPERSCRIPT) if unicode else f"^{digits}"
    if unicode is None or kind in ("STRING", "COMMENT"):
        return source[token.start : token.end]
    if kind == "NAME":
        stem = token.text.rstrip("'")
        letter = _GREEK_LETTERS.get(stem) if unicode else None
        return token.text if letter is None else letter + token.text[len(stem) :]
    if token.text == "inf":
        return "∞" if unicode else "inf"
    table = _UNICODE if unicode else _ASCII
    return table.get(kind, token.text)


class Spacer:
    """Decides for the tokens of one logical line, one after the other, whether a blank precedes each."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.previous = ""
        self.unary = False
        self.number_divided = False
        self.tight = [False]  # for each open bracket: whether products inside are written without blanks
        self.binders: list[bool] = []

    def blank_before(self, token: Token, following: str) -> bool:
        """Whether a blank stands between the previous token and `token`; `following` is the next terminal."""
        kind, previous = token.type, self.previous
        blank = bool(previous) and self._blank(kind, previous, following)
        self._advance(kind, previous)
        return blank

    def _blank(self, kind: str, previous: str, following: str) -> bool:
        if kind in _NO_BLANK_BEFORE or previous in _NO_BLANK_AFTER or self.unary:
            return False
        if kind in ("LPAR", "LSQB"):
            return previous not in ("NAME", "HILBERT", "SLASH") and previous not in SUMS
        if kind == "SLASH":
            return previous == "NUMBER" and following == "NUMBER"
        if previous == "SLASH":
            return kind == "NUMBER" and self.number_divided
        if kind == "STAR" or previous == "STAR":
            return not self.tight[-1]
        if kind == "COLON":
            return self.kind in DECLARATIONS
        return True

    def _advance(self, kind: str, previous: str) -> None:
        self.unary = kind in ("MINUS", "PLUS") and previous not in OPERAND_ENDS
        if kind in OPENERS:
            self.tight.append(self.tight[-1] or previous == "SLASH")
            self.binders.append(previous in SUMS)
        binder = False
        if kind in CLOSERS:
            self.tight.pop()
            binder = self.binders.pop()
        if kind == "SLASH":
            self.number_divided = previous == "NUMBER"
        self.previous = BINDER_END if binder else kind
