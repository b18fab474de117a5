"""What to say about characters of other scripts: letters that look alike, subscripts, typographic signs."""

from __future__ import annotations

# Capital Greek and Cyrillic letters that are printed like Latin ones.
_TWINS = dict(
    zip(
        "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧοАВЕЅІЈКМНОРСТУХаеѕіјорсух",
        "ABEZHIKMNOPTYXoABESIJKMHOPCTYXaesijopcyx",
        strict=True,
    )
)
_SUBSCRIPTS = dict(zip("₀₁₂₃₄₅₆₇₈₉ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ", "0123456789aehijklmnoprstuvx", strict=True))
_SIGNS = {
    "“": '"',
    "”": '"',
    "„": '"',
    "‘": "'",
    "–": "-",
    "—": "-",
    "∗": "*",
    "÷": "/",
    "∕": "/",
    "⁄": "/",
    "∥": "||",
    "⩵": "=",
    "≦": "<=",
    "≧": ">=",
    "〈": "<",
    "〉": ">",
    "（": "(",
    "）": ")",
    "，": ",",
    "：": ":",
    "；": ";",
    "½": "1/2",
    "¼": "1/4",
    "¾": "3/4",
    "√": "a square",
    "ᵀ": "<u, v>",
    "⊤": "<u, v>",
}
_REMEDIES = {
    ".": "an inner product is written <u, v>, a product u * v, a decimal number 0.5",
    "±": "write the expression once with + and once with -, or abs(r) <= c for both",
}


def foreign(piece: str) -> tuple[str, str, str]:
    """Return the code, the message and the help for a run of letters or a character without a meaning."""
    shown = piece if len(piece) <= 20 else piece[:20] + "..."
    twins = [c for c in piece if c in _TWINS]
    if twins:
        latin = "".join(_TWINS.get(c, c) for c in shown)
        script = "Cyrillic" if "\u0400" <= twins[0] <= "\u052f" else "Greek"
        message = f"`{shown}` is written with the {script} letter U+{ord(twins[0]):04X}, which only looks like Latin"
        return "K120", message, f"write `{latin}` with Latin letters"
    if any(c in _SUBSCRIPTS for c in piece):
        index = "".join(_SUBSCRIPTS.get(c, "") for c in shown)
        return "K124", f"the subscript `{shown}` is not read", f"write the index in brackets: x[{index}]"
    if piece == "∀":
        return "K129", "the range of a constraint stands in its label", "write label[i]: and `index i in 1..l` above"
    if piece in _SIGNS:
        return "K101", f"the character `{piece}` has no meaning here", f"write `{_SIGNS[piece]}`"
    if piece in _REMEDIES:
        return "K101", f"the character `{piece}` has no meaning here", _REMEDIES[piece]
    if "\ufffd" in piece:
        message = "a byte that is not UTF-8 was replaced here"
        return "K102", message, "save the file as UTF-8"
    if not piece.isprintable():
        point = next(c for c in piece if not c.isprintable())
        return "K101", f"the character U+{ord(point):04X} has no meaning here", "delete it"
    return "K101", f"`{shown}` has no meaning here", _plain(shown)


def _plain(piece: str) -> str:
    import unicodedata

    plain = unicodedata.normalize("NFKC", piece)
    if plain != piece and plain.isascii():
        return f"write `{plain}`"
    if any(c.isalnum() for c in piece):
        return "names are made of Latin and small Greek letters"
    return "operators are + - * / ^, relations <= >= = and, in `where`, < > !="
