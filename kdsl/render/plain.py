"""Formulas as one line of text, in Unicode or in ASCII, with marks where the line may be broken."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from kdsl.render import expr as e
from kdsl.render.names import GREEK, is_letter

_SUBSCRIPTS = dict(zip("0123456789aehijklmnoprstuvxβγρφχ", "₀₁₂₃₄₅₆₇₈₉ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ", strict=True))
_SUPERSCRIPTS = dict(zip("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹", strict=True))
_FRACTIONS = {
    Fraction(1, 2): "½",
    Fraction(1, 3): "⅓",
    Fraction(2, 3): "⅔",
    Fraction(1, 4): "¼",
    Fraction(3, 4): "¾",
    Fraction(1, 8): "⅛",
}
_RELATIONS = {"<=": "≤", ">=": "≥", "!=": "≠", "in": "∈", "=": "=", "<": "<", ">": ">", "": ""}
_PRIMES = {2: "″", 3: "‴"}
_HAT = "\u0302"
_LONGEST_TAG = 3  # a longer one is easier to read on the line
_FIRST_BREAK = 0xE000  # a private character: a space before + or -, one for each depth of brackets
_DEPTHS = 16


class Plain(NamedTuple):
    """The printer; with `ascii` the spelling of the specs is used."""

    ascii: bool = False

    # ------------------------------------------------------------------- parts

    def relation(self, relation: str) -> str:
        return relation if self.ascii else _RELATIONS[relation]

    def formula(self, node: e.Expr, depth: int = 0) -> str:
        """`node` with marks at the places where a line may be broken; `laid` turns them into spaces."""
        if isinstance(node, e.Terms):
            return self._terms(node, depth)
        if isinstance(node, e.Product):
            return self._product(node, depth)
        if isinstance(node, e.Quotient):
            return f"{self._factor(node.top, depth)}/{self._denominator(node.bottom, depth)}"
        if isinstance(node, e.Total):
            where = ": " + ", ".join(self.formula(c, depth) for c in node.where) if node.where else ""
            return f"{self._sum_sign(node, where)} {self._factor(node.body, depth)}"
        if isinstance(node, e.Chain):
            return self._chain(node, depth)
        if isinstance(node, e.Listing):
            return ", ".join(self.formula(item, depth) for item in node.items)
        if isinstance(node, e.Best):
            return f"argmax{self._subscripted((e.Ident(node.binder.letter),))} {self._factor(node.body, depth)}"
        if isinstance(node, e.Cases):
            return "; ".join(f"{self.formula(v, depth)} {self.formula(c, depth)}" for v, c in node.rows)
        return self._atom(node, depth)

    def _atom(self, node: e.Expr, depth: int) -> str:
        if isinstance(node, e.Ident):
            return self.ident(node)
        if isinstance(node, e.Numeral):
            return self._numeral(node.value)
        if isinstance(node, e.Infinity):
            return "inf" if self.ascii else "∞"
        if isinstance(node, e.Power):
            return self._power(node, depth)
        if isinstance(node, e.Apply):
            arguments = ", ".join(self.formula(a, depth + 1) for a in node.arguments)
            parameters = "; " + ", ".join(self.formula(a, depth + 1) for a in node.parameters)
            return f"{self.ident(node.head)}({arguments}{parameters if node.parameters else ''})"
        if isinstance(node, e.Angles):
            left, right = self.formula(node.left, depth + 1), self.formula(node.right, depth + 1)
            return f"<{left}, {right}>" if self.ascii else f"⟨{left}, {right}⟩"
        if isinstance(node, e.Norm):
            bar = "||" if self.ascii else "‖"
            return f"{bar}{self.formula(node.body, depth + 1)}{bar}"
        if isinstance(node, e.Modulus):
            return f"|{self.formula(node.body, depth + 1)}|"
        if isinstance(node, e.SquareRoot):
            return f"{'sqrt' if self.ascii else '√'}({self.formula(node.body, depth + 1)})"
        if isinstance(node, e.Iverson):
            return f"[{self.formula(node.body, depth + 1)}]"
        if isinstance(node, e.Partial):
            of = self.formula(node.of, depth + 1)
            return f"dL/d{of}" if self.ascii else f"∂L/∂{of}"
        if isinstance(node, e.Slopes):
            return f"{'d' if self.ascii else '∂'}{self._factor(node.of, depth)}"
        assert isinstance(node, e.Words)
        return node.text.replace("…", "...") if self.ascii else node.text

    def ident(self, node: e.Ident) -> str:
        name = node.name
        if self.ascii:
            base = "l" if name == "ell" else name
            tag = node.tag if node.tag.isdigit() or not node.tag else f"_{node.tag}"
            accent = "'" if node.accent == "hat" else node.accent
            return base + tag + accent + self._subscripted(node.subs)
        base = "ℓ" if name == "ell" else GREEK.get(name, name)
        accent = _HAT if node.accent == "hat" else _PRIMES.get(len(node.accent), "′" * len(node.accent))
        return base + self._tag(node.tag) + accent + self._subscripted(node.subs)

    def _tag(self, tag: str) -> str:
        if tag and len(tag) <= _LONGEST_TAG and all(c in _SUBSCRIPTS for c in tag):
            return "".join(_SUBSCRIPTS[c] for c in tag)
        return f"_{tag}" if tag else ""

    def _subscripted(self, subs: tuple[e.Expr, ...]) -> str:
        if not subs:
            return ""
        texts = [self.formula(sub, 1) for sub in subs]
        if not self.ascii and all(len(t) == 1 and t in _SUBSCRIPTS for t in texts):
            return "".join(_SUBSCRIPTS[t] for t in texts)
        return f"[{', '.join(texts)}]"

    def _numeral(self, value: Fraction) -> str:
        if not self.ascii and value in _FRACTIONS:
            return _FRACTIONS[value]
        return str(value)

    def _sum_sign(self, node: e.Total, where: str) -> str:
        letters = [e.Ident(b.letter) for b in node.binders]
        if self.ascii or where:
            return f"{'sum' if self.ascii else 'Σ'}[{', '.join(self.ident(x) for x in letters)}{where}]"
        return "Σ" + self._subscripted(tuple(letters))

    def _chain(self, node: e.Chain, depth: int) -> str:
        text = self.formula(node.sides[0], depth)
        for relation, side in zip(node.relations, node.sides[1:], strict=True):
            text += f" {self.relation(relation)} {self.formula(side, depth)}"
        return text

    # ----------------------------------------------------------- sums, products

    def _terms(self, node: e.Terms, depth: int) -> str:
        minus = "-" if self.ascii else "−"
        text = ""
        for n, (sign, term) in enumerate(node.terms):
            body = self._term(term, depth)
            if n == 0:
                text = body if sign > 0 else minus + body
            else:
                text += f"{_mark(depth)}{'+' if sign > 0 else minus} {body}"
        return text

    def _term(self, node: e.Expr, depth: int) -> str:
        return f"({self.formula(node, depth + 1)})" if isinstance(node, e.Terms) else self.formula(node, depth)

    def _factor(self, node: e.Expr, depth: int) -> str:
        loose = isinstance(node, (e.Terms, e.Chain, e.Listing))
        return f"({self.formula(node, depth + 1)})" if loose else self.formula(node, depth)

    def _denominator(self, node: e.Expr, depth: int) -> str:
        loose = isinstance(node, (e.Terms, e.Product, e.Quotient, e.Total)) or (
            isinstance(node, e.Numeral) and node.value.denominator != 1
        )
        return f"({self.formula(node, depth + 1)})" if loose else self.formula(node, depth)

    def _product(self, node: e.Product, depth: int) -> str:
        text = ""
        last = len(node.factors) - 1
        for n, factor in enumerate(node.factors):
            piece = self._factor(factor, depth)
            if n < last and (isinstance(factor, e.Total) or self._loose_quotient(factor)):
                piece = f"({piece})"
            text += (" " if n and self._apart(node.factors[n - 1], factor) else "") + piece
        return text

    def _loose_quotient(self, node: e.Expr) -> bool:
        """Whether a fraction before other factors needs brackets: not 1/(2 C), not one half as a single sign."""
        if isinstance(node, e.Numeral):
            return node.value.denominator != 1 and node.value not in _FRACTIONS and not self.ascii
        if not isinstance(node, e.Quotient):
            return False
        return not e.is_number(node.top, 1) or not self._denominator(node.bottom, 0).startswith("(")

    def _apart(self, left: e.Expr, right: e.Expr) -> bool:
        """Whether two factors need a space between them."""
        if self.ascii or isinstance(right, (e.Total, e.Best)) or isinstance(left, e.Quotient):
            return True
        return self._is_word(left) or self._is_word(right) or isinstance(right, e.SquareRoot)

    def _is_word(self, node: e.Expr) -> bool:
        if isinstance(node, e.Power):
            node = node.base
        if isinstance(node, e.Modulus):
            return self._is_word(node.body)
        if isinstance(node, e.Apply):
            return not is_letter(node.head.name)
        if not isinstance(node, e.Ident):
            return False
        spelled = any(self.ident(x).isdigit() for x in node.subs if isinstance(x, e.Ident))
        return not (is_letter(node.name) or node.name == "ell") or spelled

    def _power(self, node: e.Power, depth: int) -> str:
        base = node.base
        text = self.formula(base, depth + 1)
        if not isinstance(base, (e.Ident, e.Norm, e.Modulus, e.Apply, e.Iverson, e.Angles)) and not (
            isinstance(base, e.Numeral) and base.value.denominator == 1
        ):
            text = f"({text})"
        if self.ascii:
            return f"{text}^{node.exponent}"
        return text + "".join(_SUPERSCRIPTS[c] for c in str(node.exponent))


# ------------------------------------------------------------------- line breaking


def _mark(depth: int) -> str:
    return chr(_FIRST_BREAK + min(depth, _DEPTHS - 1))


def laid(text: str) -> str:
    """The text with its marks turned into spaces."""
    return "".join(" " if _is_mark(c) else c for c in text)


def _is_mark(c: str) -> bool:
    return _FIRST_BREAK <= ord(c) < _FIRST_BREAK + _DEPTHS


def width(text: str) -> int:
    """The columns that the text takes: a combining hat takes none."""
    return len(text) - text.count(_HAT)


def broken(text: str, room: int, hanging: int = 2) -> list[str]:
    """The text in lines of at most `room` columns, broken before the outermost + or - that fits; then hanging."""
    lines = []
    while width(text) > room:
        cut = _cut(text, room)
        if cut is None:
            break
        lines.append(laid(text[:cut]).rstrip())
        text = " " * (hanging + _deeper(text[cut])) + text[cut + 1 :]
    return [*lines, laid(text)]


def _deeper(mark: str) -> int:
    """How much further a line begins that goes on inside brackets."""
    return 3 * (ord(mark) - _FIRST_BREAK) if _is_mark(mark) else 3


def _cut(text: str, room: int) -> int | None:
    """The last place of the least depth within the room; a plain space where there is no mark."""
    start = len(text) - len(text.lstrip(" ")) + 1
    best: tuple[int, int] | None = None
    column = 0
    for n, c in enumerate(text):
        if column > room:
            break
        if n > start and column > room // 3 and _is_mark(c):
            key = (-ord(c), n)
            best = key if best is None or key > best else best
        column += c != _HAT
    if best is not None:
        return best[1]
    limit = n if column > room else len(text)
    space = max((k for k in range(start, limit) if text[k] == " " or _is_mark(text[k])), default=None)
    return space
