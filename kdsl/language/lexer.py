"""Cuts the text of a specification into tokens: one master expression, no knowledge of lines or context."""

from __future__ import annotations

import re
from typing import NamedTuple

from kdsl.language import limits
from kdsl.language.diagnostics import Diagnostic, Label
from kdsl.language.foreign import foreign
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

RESERVED: dict[str, str] = {"in": "IN", "on": "ON", "where": "WHERE", "sum": "SUM", "argmax": "ARGMAX", "inf": "NUMBER"}

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
EXPONENT_DIGITS = str.maketrans(SUPERSCRIPTS, "0123456789")

# Other languages' spellings: what they are read as, so that the rest of the line can be checked, and what to write.
SLIPS: dict[str, tuple[str, str, str]] = {
    "==": ("EQUAL", "K111", "="),
    "<>": ("NOT_EQUAL", "K111", "!="),
    "=>": ("GREATER_EQUAL", "K111", ">="),
    "**": ("POWER_SIGN", "K112", "^"),
    "&&": ("COMMA", "K111", ","),
    "...": ("DOTDOT", "K111", ".."),
}

LATEX: dict[str, tuple[str, str]] = {
    "le": ("LESS_EQUAL", "<="),
    "leq": ("LESS_EQUAL", "<="),
    "ge": ("GREATER_EQUAL", ">="),
    "geq": ("GREATER_EQUAL", ">="),
    "ne": ("NOT_EQUAL", "!="),
    "neq": ("NOT_EQUAL", "!="),
    "cdot": ("STAR", "*"),
    "times": ("STAR", "*"),
    "in": ("IN", "in"),
    "sum": ("SUM", "sum[i]"),
    "langle": ("INNER_OPEN", "<"),
    "rangle": ("INNER_CLOSE", ">"),
    "Vert": ("NORM_OPEN", "||"),
    "lVert": ("NORM_OPEN", "||"),
    "rVert": ("NORM_OPEN", "||"),
    "infty": ("NUMBER", "inf"),
    "varepsilon": ("NAME", "eps"),
    "epsilon": ("NAME", "eps"),
    "varphi": ("NAME", "phi"),
    "ell": ("NAME", "l"),
    "hat": ("NAME", "a prime, xi'"),
    "frac": ("NAME", "a/b"),
}

_LETTERS = "A-Za-z_" + "".join(c for c in GREEK if c.isalpha())
_PRIMES = "'′’\u0302"
_BLANKS = " \t\u00a0\u2002-\u200a\u202f\u205f\u3000"
_SYMBOL = "|".join(re.escape(s) for s in sorted(SYMBOLS, key=len, reverse=True))
_SLIP = "|".join(re.escape(s) for s in SLIPS)
_MASTER = re.compile(
    rf"(?P<SPACE>[{_BLANKS}]+)"
    r"|(?P<SUCH_THAT>s\.[ \t]*t\b\.?)"
    rf"|(?P<NAME>[{_LETTERS}][{_LETTERS}0-9]*[{_PRIMES}]*)"
    rf"|(?P<NUMBER>[0-9]+/[0-9]+(?![0-9.eE]|[ \t]*[\^{SUPERSCRIPTS}])|[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|∞)"
    rf"|(?P<POWER>\^[ \t]*[0-9]+(?![0-9]|\.[0-9]|[eE][+-]?[0-9])|[{SUPERSCRIPTS}]+)"
    rf"|(?P<FULL_STOP>\.(?=[{_BLANKS}]*(?:[\r\n\#]|\Z)))"
    r"|(?P<NEWLINE>\r\n|\n|\r)"
    r"|(?P<COMMENT>\#[^\r\n]*)"
    r'|(?P<STRING>"[^"\r\n]*"?)'
    rf"|(?P<SLIP>{_SLIP})"
    rf"|(?P<SYMBOL>{_SYMBOL})"
    r"|(?P<LATEX>\\(?:[A-Za-z]+|\|))"
    r"|(?P<BAR>\|)"
    r"|(?P<POWER_SIGN>\^)"
    r"|(?P<FOREIGN>\w+)"
    r"|(?P<BAD>.)",
    re.DOTALL,
)
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
_DECIMAL = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_TRANSLATION = str.maketrans(GREEK)


def canonical_name(text: str) -> str:
    """The ASCII spelling of a name: `ξ'` is `xi'`, `ξ̂` too."""
    return text if text.isascii() else text.translate(_TRANSLATION)


def scan(text: str) -> tuple[list[Token], list[Diagnostic]]:
    """Cut `text` into tokens, comments and physical newlines included, and say what cannot be cut.

    A spelling of another language is reported and read as what it means, so that the line can still be checked.
    """
    tokens: list[Token] = []
    faults: list[Diagnostic] = []
    position = 1 if text.startswith("\ufeff") else 0
    end = len(text)
    previous = ""
    bad_end = -1  # where a run of meaningless characters ends, which is reported once
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
            kind = RESERVED.get(piece, kind)
        elif kind == "SYMBOL":
            kind = SYMBOLS[piece]
        elif kind == "NUMBER":
            if previous == "SLASH" and "/" in piece:
                whole = _DECIMAL.match(text, start)
                assert whole is not None, "a rational begins with a decimal"
                position, piece = whole.end(), whole.group()
            piece = _number(piece, Span(start, position), faults)
        elif kind == "POWER":
            piece = _power(piece, Span(start, position), faults)
        elif kind in ("COMMENT", "STRING"):
            _free_text(kind, piece, start, faults)
        elif kind == "FULL_STOP":
            faults.append(
                Diagnostic(
                    "K101", "a line has no full stop at its end", (Label(Span(start, position)),), help="delete it"
                )
            )
            continue
        elif kind == "BAD" and bad_end == start:
            bad_end = position
            continue
        elif kind not in ("NEWLINE", "BAR", "POWER_SIGN"):
            if len(faults) > limits.ERRORS:
                break
            bad_end = position if kind == "BAD" else -1
            kind, piece = _slip(kind, piece, Span(start, position), faults)
        tokens.append(Token(kind, piece, start, position))
        previous = kind
    return tokens, faults


def _number(piece: str, span: Span, faults: list[Diagnostic]) -> str:
    """Check that the literal has a value of reasonable size."""
    if piece == "∞":
        return "inf"
    mantissa, _, exponent = piece.lower().partition("e")
    _, slash, denominator = piece.partition("/")
    if slash and not denominator.strip("0"):
        faults.append(Diagnostic("K108", "a fraction with denominator 0", (Label(span, "has no value"),)))
    elif len(mantissa) > limits.DIGITS or len(exponent) > 5 or abs(int(exponent or "0")) > limits.DIGITS:
        message = f"a literal of over {limits.DIGITS} digits"
        faults.append(Diagnostic("K108", message, (Label(span),), help="floating point numbers end at 1e308"))
    return piece


def _power(piece: str, span: Span, faults: list[Diagnostic]) -> str:
    """Check that the exponent is small enough to be expanded; one that is not is read as 1."""
    digits = piece.lstrip("^").strip().translate(EXPONENT_DIGITS).lstrip("0")
    if len(digits) > 4 or int(digits or "0") > limits.EXPONENT:
        message = f"an exponent over {limits.EXPONENT}"
        faults.append(Diagnostic("K108", message, (Label(span),), "powers of sums are multiplied out"))
        return "^1"
    return piece


def _free_text(kind: str, piece: str, start: int, faults: list[Diagnostic]) -> None:
    """Check a title or a comment: the quotes of the one, and that neither holds what nobody sees."""
    label = Label(Span(start, start + len(piece)))
    if kind == "STRING" and (len(piece) == 1 or not piece.endswith('"')):
        faults.append(Diagnostic("K119", "the title has no closing quote", (label,), help='write model name "title"'))
    unseen = _UNSEEN.search(piece)
    if unseen is not None:
        code, message, hint = foreign(unseen.group())
        place = Label(Span(start + unseen.start(), start + unseen.end()))
        faults.append(Diagnostic(code, message, (place,), help=hint))


def _slip(kind: str, piece: str, span: Span, faults: list[Diagnostic]) -> tuple[str, str]:
    """Report what has no meaning here; return the terminal and text it is read as."""
    label = (Label(span),)
    if kind == "SUCH_THAT":
        faults.append(Diagnostic("K117", f"`{piece}` is not a statement word", label, help="write `subject to`"))
        return "SUBJECT_TO", "subject to"
    if kind == "SLIP":
        terminal, code, right = SLIPS[piece]
        hint = "separate conditions by a comma" if right == "," else f"write `{right}`"
        faults.append(Diagnostic(code, f"`{piece}` is not a symbol of this language", label, help=hint))
        return terminal, right
    if kind == "LATEX":
        terminal, right = LATEX.get(piece[1:], ("NAME", piece[1:]))
        if piece == "\\|":
            terminal, right = "NORM_OPEN", "||"
        why = "names and symbols are written as on paper, without backslashes"
        faults.append(Diagnostic("K114", f"`{piece}` is a LaTeX command", label, why, f"write `{right}`"))
        return terminal, right
    code, message, hint = foreign(piece)
    faults.append(Diagnostic(code, message, label, help=hint))
    return kind, piece
