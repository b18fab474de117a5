"""Formulas as MathML elements."""

from __future__ import annotations

from kdsl.render import expr as e
from kdsl.render.names import GREEK, is_letter

_RELATIONS = {"<=": "≤", ">=": "≥", "!=": "≠", "in": "∈", "=": "=", "<": "&lt;", ">": "&gt;", "": ""}


_PRIMES = {2: "″", 3: "‴"}
_FENCES = frozenset("()[]⟨⟩‖|")


def math(node: e.Expr, display: bool = False, follows: bool = False) -> str:
    """A <math> element; one that `follows` goes on with a sum, so that its first sign is shown."""
    style = ' displaystyle="true"' if display else ""
    sum_ = node.sides[0] if isinstance(node, e.Chain) else node
    plus = follows and isinstance(sum_, e.Terms) and sum_.terms[0][0] > 0
    sign = '<mo form="prefix">+</mo>' if plus else ""
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML"{style}>{sign}{formula(node)}</math>'


def relation_math(relation: str) -> str:
    return f'<math xmlns="http://www.w3.org/1998/Math/MathML"><mo>{_RELATIONS[relation]}</mo></math>'


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def _row(*parts: str) -> str:
    return parts[0] if len(parts) == 1 else f"<mrow>{''.join(parts)}</mrow>"


def _operator(text: str) -> str:
    return f'<mo stretchy="false">{text}</mo>' if text in _FENCES else f"<mo>{text}</mo>"


def formula(node: e.Expr) -> str:
    if isinstance(node, e.Terms):
        return _terms(node)
    if isinstance(node, e.Product):
        return _product(node)
    if isinstance(node, e.Quotient):
        return f"<mfrac>{formula(node.top)}{formula(node.bottom)}</mfrac>"
    if isinstance(node, e.Total):
        return _row(*_sums(node), _factor(node.body))
    if isinstance(node, e.Chain):
        parts = [formula(node.sides[0])]
        for sign, side in zip(node.relations, node.sides[1:], strict=True):
            parts += [_operator(_RELATIONS[sign]), formula(side)]
        return _row(*parts)
    if isinstance(node, e.Listing):
        return _row(*_separated(node.items))
    if isinstance(node, e.Best):
        under = formula(e.Ident(node.binder.letter))
        return _row(f"<munder><mo>argmax</mo>{under}</munder>", _factor(node.body))
    if isinstance(node, e.Cases):
        rows = "".join(
            f'<mtr><mtd columnalign="left">{formula(v)}</mtd>'
            f'<mtd columnalign="left"><mtext>for&#160;</mtext>{formula(c)}</mtd></mtr>'
            for v, c in node.rows
        )
        return _row('<mo stretchy="true">{</mo>', f"<mtable>{rows}</mtable>")
    return _atom(node)


def _atom(node: e.Expr) -> str:
    if isinstance(node, e.Ident):
        return ident(node)
    if isinstance(node, e.Numeral):
        value = node.value
        if value.denominator == 1:
            return f"<mn>{value}</mn>"
        return f"<mfrac><mn>{value.numerator}</mn><mn>{value.denominator}</mn></mfrac>"
    if isinstance(node, e.Infinity):
        return "<mn>∞</mn>"
    if isinstance(node, e.Power):
        return _power(node)
    if isinstance(node, e.Apply):
        inside = _separated(node.arguments)
        if node.parameters:
            inside += [_operator(";"), *_separated(node.parameters)]
        return _row(ident(node.head), _operator("&#x2061;"), _operator("("), *inside, _operator(")"))
    if isinstance(node, e.Angles):
        return _row(_operator("⟨"), formula(node.left), _operator(","), formula(node.right), _operator("⟩"))
    if isinstance(node, e.Norm):
        return _row(_operator("‖"), formula(node.body), _operator("‖"))
    if isinstance(node, e.Modulus):
        return _row(_operator("|"), formula(node.body), _operator("|"))
    if isinstance(node, e.SquareRoot):
        return f"<msqrt>{formula(node.body)}</msqrt>"
    if isinstance(node, e.Iverson):
        return _row(_operator("["), formula(node.body), _operator("]"))
    if isinstance(node, e.Partial):
        return f"<mfrac><mrow><mo>∂</mo><mi>L</mi></mrow><mrow><mo>∂</mo>{formula(node.of)}</mrow></mfrac>"
    if isinstance(node, e.Slopes):
        return _row(_operator("∂"), _factor(node.of))
    assert isinstance(node, e.Words)
    return f"<mtext>{escaped(node.text)}</mtext>"


def ident(node: e.Ident) -> str:
    base = _name(node.name)
    if node.accent == "hat":
        base = f"<mover>{base}<mo>^</mo></mover>"
    subs = ([_name(node.tag)] if node.tag else []) + [formula(sub) for sub in node.subs]
    primes = "" if node.accent in ("", "hat") else f"<mo>{_PRIMES.get(len(node.accent), '′' * len(node.accent))}</mo>"
    if subs and primes:
        return f"<msubsup>{base}{_subscripts(node, subs)}{primes}</msubsup>"
    if subs:
        return f"<msub>{base}{_subscripts(node, subs)}</msub>"
    return f"<msup>{base}{primes}</msup>" if primes else base


def _subscripts(node: e.Ident, subs: list[str]) -> str:
    simple = all(is_letter(s.name) and not s.subs for s in node.subs if isinstance(s, e.Ident))
    return _row(*subs) if simple else _row(*_between(subs))


def _name(name: str) -> str:
    if name.isdigit():
        return f"<mn>{name}</mn>"
    if name == "ell":
        return "<mi>ℓ</mi>"
    shown = GREEK.get(name, name)
    return f"<mi>{shown}</mi>" if len(shown) == 1 else f'<mi mathvariant="normal">{escaped(shown)}</mi>'


def _separated(items: tuple[e.Expr, ...]) -> list[str]:
    return _between([formula(item) for item in items])


def _between(parts: list[str]) -> list[str]:
    result: list[str] = []
    for part in parts:
        result += [_operator(","), part] if result else [part]
    return result


def _sums(node: e.Total) -> list[str]:
    groups: dict[tuple[str, bool], list[str]] = {}
    for binder in node.binders:
        groups.setdefault((binder.size, binder.labelled), []).append(formula(e.Ident(binder.letter)))
    signs = []
    for n, ((size, labelled), letters) in enumerate(groups.items()):
        under = _between(letters)
        under += [_operator("∈"), _name(size)] if labelled else [_operator("="), "<mn>1</mn>"]
        if node.where and n == len(groups) - 1:
            under += [_operator(":"), *_separated(node.where)]
        low = f"<mrow>{''.join(under)}</mrow>"
        top = _name("ell" if size == "l" else size)
        signs.append(
            f"<munder><mo>∑</mo>{low}</munder>" if labelled else f"<munderover><mo>∑</mo>{low}{top}</munderover>"
        )
    return signs


def _terms(node: e.Terms) -> str:
    parts = []
    for n, (sign, term) in enumerate(node.terms):
        if n or sign < 0:
            form = ' form="prefix"' if n == 0 else ' form="infix"'
            parts.append(f"<mo{form}>{'+' if sign > 0 else '−'}</mo>")
        parts.append(_factor(term) if isinstance(term, e.Terms) else formula(term))
    return _row(*parts)


def _factor(node: e.Expr) -> str:
    text = formula(node)
    return _bracketed(text) if isinstance(node, e.Terms | e.Chain | e.Listing) else text


def _bracketed(text: str) -> str:
    return _row(_operator("("), text, _operator(")"))


def _product(node: e.Product) -> str:
    parts: list[str] = []
    last = len(node.factors) - 1
    for n, factor in enumerate(node.factors):
        piece = _factor(factor)
        if n < last and isinstance(factor, e.Total):
            piece = _bracketed(piece)
        parts += [_operator("&#x2062;"), piece] if parts else [piece]
    return _row(*parts)


def _power(node: e.Power) -> str:
    base = formula(node.base)
    simple = isinstance(node.base, e.Ident | e.Norm | e.Modulus | e.Apply | e.Iverson | e.Angles | e.Numeral)
    if not simple:
        base = _bracketed(base)
    return f"<msup>{base}<mn>{node.exponent}</mn></msup>"
