"""Formulas as LaTeX mathematics that needs amsmath only."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from kdsl.render import expr as e
from kdsl.render.names import GREEK, is_letter

_RELATIONS = {"<=": r"\le", ">=": r"\ge", "!=": r"\ne", "in": r"\in", "=": "=", "<": "<", ">": ">", "": ""}
_GREEK_COMMANDS = {"eps": r"\varepsilon", "epsilon": r"\varepsilon"}
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "_": r"\_",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "$": r"\$",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": "$<$",
    ">": "$>$",
    "≥": r"$\ge$",
    "≤": r"$\le$",
    "∈": r"$\in$",
    "−": "$-$",
    "∞": r"$\infty$",
    "…": r"\dots{}",
    "—": "---",
    "–": "--",
    "⇒": r"$\Rightarrow$",
    "ℓ": r"$\ell$",
}
_LAST_LATIN = 0x17F  # pdflatex knows the letters up to here without a package


def relation(text: str) -> str:
    return _RELATIONS[text]


def escaped(text: str) -> str:
    """Words for the body of a document: what LaTeX would read as a command is spelt out."""
    return "".join(_SPECIAL.get(c, c) if c in _SPECIAL or ord(c) <= _LAST_LATIN else _beyond(c) for c in text)


def _beyond(c: str) -> str:
    name = next((name for name, letter in GREEK.items() if letter == c), None)
    return "?" if name is None else f"${greek(name)}$"


def greek(name: str) -> str:
    return _GREEK_COMMANDS.get(name, f"\\{name}")


def formula(node: e.Expr) -> str:
    if isinstance(node, e.Terms):
        return terms(node.terms)
    if isinstance(node, e.Product):
        return _product(node)
    if isinstance(node, e.Quotient):
        return f"\\frac{{{formula(node.top)}}}{{{formula(node.bottom)}}}"
    if isinstance(node, e.Total):
        return f"{_sums(node)} {_factor(node.body)}"
    if isinstance(node, e.Chain):
        text = formula(node.sides[0])
        for sign, side in zip(node.relations, node.sides[1:], strict=True):
            text += f" {relation(sign)} {formula(side)}"
        return text
    if isinstance(node, e.Listing):
        return ", ".join(formula(item) for item in node.items)
    if isinstance(node, e.Best):
        return f"\\operatorname*{{argmax}}_{{{formula(e.Ident(node.binder.letter))}}} {_factor(node.body)}"
    if isinstance(node, e.Cases):
        rows = r" \\ ".join(f"{formula(v)} & \\text{{for }} {formula(c)}" for v, c in node.rows)
        return f"\\begin{{cases}} {rows} \\end{{cases}}"
    return _atom(node)


def _atom(node: e.Expr) -> str:
    if isinstance(node, e.Ident):
        return ident(node)
    if isinstance(node, e.Numeral):
        value = node.value
        return str(value) if value.denominator == 1 else f"\\tfrac{{{value.numerator}}}{{{value.denominator}}}"
    if isinstance(node, e.Infinity):
        return r"\infty"
    if isinstance(node, e.Power):
        return _power(node)
    if isinstance(node, e.Apply):
        arguments = ", ".join(formula(a) for a in node.arguments)
        parameters = "; " + ", ".join(formula(a) for a in node.parameters) if node.parameters else ""
        if any(_is_tall(argument) for argument in node.arguments):
            return f"{_head(node.head)}\\Bigl({arguments}{parameters}\\Bigr)"
        return f"{_head(node.head)}({arguments}{parameters})"
    if isinstance(node, e.Angles):
        return f"\\langle {formula(node.left)}, {formula(node.right)} \\rangle"
    if isinstance(node, e.Norm):
        return f"\\lVert {formula(node.body)} \\rVert"
    if isinstance(node, e.Modulus):
        return f"\\lvert {formula(node.body)} \\rvert"
    if isinstance(node, e.SquareRoot):
        return f"\\sqrt{{{formula(node.body)}}}"
    if isinstance(node, e.Iverson):
        return f"[{formula(node.body)}]"
    if isinstance(node, e.Partial):
        return f"\\frac{{\\partial L}}{{\\partial {formula(node.of)}}}"
    if isinstance(node, e.Slopes):
        return f"\\partial {_factor(node.of)}"
    assert isinstance(node, e.Words)
    if node.text == "…":
        return r"\dots"
    return f"\\text{{{escaped(node.text)}}}" if node.text else ""


def ident(node: e.Ident) -> str:
    base = r"\ell" if node.name == "ell" else greek(node.name) if node.name in GREEK else _word(node.name)
    if node.accent == "hat":
        base = f"\\hat{{{base}}}"
    subs = ([_tag(node.tag)] if node.tag else []) + [formula(sub) for sub in node.subs]
    separator = "" if all(is_letter(s.name) and not s.subs for s in node.subs if isinstance(s, e.Ident)) else ", "
    primes = node.accent if node.accent != "hat" else ""
    return base + (f"_{{{separator.join(subs)}}}" if subs else "") + primes


def _tag(tag: str) -> str:
    return greek(tag) if tag in GREEK else _word(tag) if not tag.isdigit() else tag


def _word(name: str) -> str:
    if len(name) == 1:
        return name
    return f"\\mathrm{{{name.replace('_', chr(92) + '_')}}}"


def _head(head: e.Ident) -> str:
    if is_letter(head.name) or head.name == "ell":
        return ident(head)
    return r"\log" if head.name == "log" else f"\\operatorname{{{head.name.replace('_', chr(92) + '_')}}}"


def _sums(node: e.Total) -> str:
    """One sum sign for each set: i and j from 1 to l together, labels under a sign of their own."""
    groups: dict[tuple[str, bool], list[str]] = {}
    for binder in node.binders:
        groups.setdefault((binder.size, binder.labelled), []).append(formula(e.Ident(binder.letter)))
    where = [formula(condition) for condition in node.where]
    signs = []
    for n, ((size, labelled), letters) in enumerate(groups.items()):
        under = ", ".join(letters)
        last = n == len(groups) - 1
        bottom = f"{under} \\in {_size(size)}" if labelled else f"{under} = 1"
        if where and last:
            bottom = f"\\substack{{{bottom} \\\\ {', '.join(where)}}}"
        signs.append(f"\\sum_{{{bottom}}}" + ("" if labelled else f"^{{{_size(size)}}}"))
    return " ".join(signs)


def _size(size: str) -> str:
    return size if size.isdigit() else r"\ell" if size == "l" else greek(size) if size in GREEK else _word(size)


def terms(parts: tuple[tuple[int, e.Expr], ...], first: bool = True) -> str:
    """Signed terms; where they are not the first of their sum, the leading sign is binary."""
    text = ""
    for n, (sign, term) in enumerate(parts):
        body = bracketed(formula(term), term) if isinstance(term, e.Terms) else formula(term)
        if n == 0:
            text = (body if sign > 0 else f"-{body}") if first else f"{{}}{'+' if sign > 0 else '-'} {body}"
        else:
            text += f" {'+' if sign > 0 else '-'} {body}"
    return text


def bracketed(text: str, node: e.Expr) -> str:
    return f"\\Bigl({text}\\Bigr)" if _is_tall(node) else f"({text})"


def _is_tall(node: e.Expr) -> bool:
    """Whether a bracket around it should be large."""
    if isinstance(node, e.Total | e.Quotient | e.Partial):
        return True
    if isinstance(node, e.Terms):
        return any(_is_tall(term) for _, term in node.terms)
    return isinstance(node, e.Product) and any(_is_tall(f) for f in node.factors)


def _factor(node: e.Expr) -> str:
    text = formula(node)
    return bracketed(text, node) if isinstance(node, e.Terms | e.Chain | e.Listing) else text


def _product(node: e.Product) -> str:
    pieces = []
    last = len(node.factors) - 1
    for n, factor in enumerate(node.factors):
        piece = _factor(factor)
        if n < last and isinstance(factor, e.Total):
            piece = bracketed(piece, factor)
        pieces.append(piece)
    text = pieces[0]
    for before, piece in pairwise(pieces):
        digits = before[-1].isdigit() and piece[0].isdigit()
        text += (r" \cdot " if digits else r" \, " if piece.startswith(r"\operatorname") else " ") + piece
    return text


def _power(node: e.Power) -> str:
    base = formula(node.base)
    if isinstance(node.base, e.Ident) and node.base.accent and node.base.accent != "hat":
        base = f"{{{base}}}"
    plain = isinstance(node.base, e.Ident | e.Norm | e.Modulus | e.Apply | e.Iverson | e.Angles)
    whole = isinstance(node.base, e.Numeral) and node.base.value == Fraction(int(node.base.value))
    return f"{base}^{{{node.exponent}}}" if plain or whole else f"{bracketed(base, node.base)}^{{{node.exponent}}}"
