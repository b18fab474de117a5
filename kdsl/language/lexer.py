"""Cuts the text of a specification into tokens: one master expression, no knowledge of lines or context."""

from __future__ import annotations

import re
from typing import NamedTuple

from kdsl.language.diagnostics import Diagnostic, Label
from kdsl.language.syntax import Span


class Token(NamedTuple):
    """A terminal of the grammar; `text` is canonical for names and numbers, as written for the rest."""

    type: str
    text: str
    start: int
    end: int


SYMBOLS: dict[str, str] = {
    "<=": "LESS_EQUAL",
    "≤": "LESS_EQUAL",
    "⩽": "LESS_EQUAL",
    ">=": "GREATER_EQUAL",
    "≥": "GREATER_EQUAL",
    "⩾": "GREATER_EQUAL",
    "!=": "NOT_EQUAL",
    "≠": "NOT_EQUAL",
    "=": "EQUAL",
    "<": "LESS",
    ">": "GREATER",
    "⟨": "INNER_OPEN",
    "⟩": "INNER_CLOSE",
    "||": "NORM_OPEN",
    "‖": "NORM_OPEN",
    "+": "PLUS",
    "-": "MINUS",
    "−": "MINUS",
    "*": "STAR",
    "·": "STAR",
    "⋅": "STAR",
    "×": "STAR",
    "/": "SLASH",
    "(": "LPAR",
    ")": "RPAR",
    "[": "LSQB",
    "]": "RSQB",
    "{": "LBRACE",
    "}": "RBRACE",
    ",": "COMMA",
    ";": "SEMI",
    ":": "COLON",
    "..": "DOTDOT",
    "…": "DOTDOT",
    "Σ": "SUM",
    "∑": "SUM",
    "∈": "IN",
}

RESERVED: dict[str, str] = {"in": "IN", "on": "ON", "where": "WHERE", "sum": "SUM", "argmax": "ARGMAX"}

KEYWORDS: dict[str, str] = {
    "model": "MODEL",
    "index": "INDEX",
    "data": "DATA",
    "param": "PARAM",
    "var": "VAR",
    "kernel": "KERNEL",
    "let": "LET",
    "loss": "LOSS",
    "minimize": "MINIMIZE",
    "maximize": "MAXIMIZE",
    "subject": "SUBJECT_TO",
    "predict": "PREDICT",
}

GREEK: dict[str, str] = {
    "α": "alpha",
    "β": "beta",
    "γ": "gamma",
    "δ": "delta",
    "ε": "eps",
    "ϵ": "eps",
    "ζ": "zeta",
    "η": "eta",
    "θ": "theta",
    "ϑ": "theta",
    "ι": "iota",
    "κ": "kappa",
    "λ": "lambda",
    "μ": "mu",
    "µ": "mu",
    "ν": "nu",
    "ξ": "xi",
    "π": "pi",
    "ρ": "rho",
    "ϱ": "rho",
    "σ": "sigma",
    "ς": "sigma",
    "τ": "tau",
    "υ": "upsilon",
    "φ": "phi",
    "ϕ": "phi",
    "χ": "chi",
    "ψ": "psi",
    "ω": "omega",
    "Γ": "Gamma",
    "Δ": "Delta",
    "Θ": "Theta",
    "Λ": "Lambda",
    "Ξ": "Xi",
    "Φ": "Phi",
    "Ψ": "Psi",
    "Ω": "Omega",
    "ℓ": "l",
    "ℝ": "real",
    "′": "'",
    "’": "'",
    "\u0302": "'",
}

SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹"

_LETTERS = "A-Za-z_" + "".join(c for c in GREEK if c.isalpha())
_PRIMES = "'′’\u0302"
_SYMBOL = "|".join(re.escape(s) for s in sorted(SYMBOLS, key=len, reverse=True))
_MASTER = re.compile(
    rf"(?P<SPACE>[ \t]+)"
    rf"|(?P<NAME>[{_LETTERS}][{_LETTERS}0-9]*[{_PRIMES}]*)"
    rf"|(?P<NUMBER>[0-9]+/[0-9]+(?![0-9.eE]|[ \t]*[\^{SUPERSCRIPTS}])|[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|∞)"
    rf"|(?P<POWER>\^[ \t]*[0-9]+(?![0-9]|\.[0-9]|[eE][+-]?[0-9])|[{SUPERSCRIPTS}]+)"
    r"|(?P<NEWLINE>\r\n|\n|\r)"
    r"|(?P<COMMENT>\#[^\r\n]*)"
    r'|(?P<STRING>"[^"\r\n]*")'
    rf"|(?P<SYMBOL>{_SYMBOL})"
    r"|(?P<BAD>.)",
    re.DOTALL,
)
_DECIMAL = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_TRANSLATION = str.maketrans(GREEK)


def canonical_name(text: str) -> str:
    """The ASCII spelling of a name: `ξ'` is `xi'`, `ξ̂` too."""
    return text if text.isascii() else text.translate(_TRANSLATION)


def scan(text: str) -> tuple[list[Token], list[Diagnostic]]:
    """Cut `text` into tokens, comments and physical newlines included, and say what cannot be cut."""
    tokens: list[Token] = []
    diagnostics: list[Diagnostic] = []
    position, end = 0, len(text)
    previous = ""
    match = _MASTER.match
    while position < end:
        found = match(text, position)
        assert found is not None, "the last alternative matches any character"
        kind = found.lastgroup or ""
        start, position = position, found.end()
        if kind == "SPACE":
            continue
        piece = text[start:position]
        if kind == "NAME":
            piece = canonical_name(piece)
            if piece == "inf":
                kind = "NUMBER"
            else:
                kind = RESERVED.get(piece, kind)
        elif kind == "SYMBOL":
            kind = SYMBOLS[piece]
        elif kind == "NUMBER":
            if piece == "∞":
                piece = "inf"
            elif previous == "SLASH" and "/" in piece:
                whole = _DECIMAL.match(text, start)
                assert whole is not None, "a rational begins with a decimal"
                position, piece = whole.end(), whole.group()
        elif kind == "BAD":
            diagnostics.append(Diagnostic("K101", f"unexpected character {piece!r}", (Label(Span(start, position)),)))
            continue
        tokens.append(Token(kind, piece, start, position))
        previous = kind
    return tokens, diagnostics
