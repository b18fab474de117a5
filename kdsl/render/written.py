"""Expressions of a spec as formulas, in the order and grouping in which the user wrote them."""

from __future__ import annotations

from fractions import Fraction

from kdsl.language import syntax as s
from kdsl.language.model import IndexSet, Model
from kdsl.render import expr as e
from kdsl.render.naming import Naming


def written(node: s.Expr, model: Model, naming: Naming) -> e.Expr:
    return _Writer(model, naming).expression(node)


def written_comparison(comparison: s.Comparison, model: Model, naming: Naming) -> tuple[e.Expr, str, e.Expr]:
    writer = _Writer(model, naming)
    return writer.expression(comparison.left), comparison.relation, writer.expression(comparison.right)


class _Writer:
    """Holds the tables of one model and nothing that changes."""

    def __init__(self, model: Model, naming: Naming) -> None:
        self.naming = naming
        self.sizes = {z.size for index in model.indices for z in index.sets}
        self.sets: dict[str, IndexSet] = {
            name: z for index in model.indices for name, z in zip(index.names, index.sets, strict=True)
        }
        self.abbreviations = {a.name for a in model.abbreviations}

    def expression(self, node: s.Expr) -> e.Expr:
        if isinstance(node, s.Number):
            return e.Infinity() if node.text == "inf" else e.number(Fraction(node.text))
        if isinstance(node, s.Name):
            return self.naming.size(node.id) if node.id in self.sizes else self.naming.name(node.id)
        if isinstance(node, s.Item):
            return self.naming.name(node.base.id, tuple(map(self.expression, node.subscripts)))
        if isinstance(node, s.Neg):
            return e.total((-1, self.expression(node.operand)))
        if isinstance(node, s.Add):
            signs = (1, *(1 if operator == "+" else -1 for operator in node.operators))
            return e.Terms(
                tuple(t for sign, term in zip(signs, node.terms, strict=True) for t in self._signed(sign, term))
            )
        if isinstance(node, s.Mul):
            return self._product(node)
        if isinstance(node, s.Pow):
            return e.Power(self.expression(node.base), node.exponent)
        if isinstance(node, s.Inner):
            return e.Angles(self.expression(node.left), self.expression(node.right))
        if isinstance(node, s.Norm):
            return e.Norm(self.expression(node.argument))
        if isinstance(node, s.Sum):
            binders = tuple(self._binder(name.id) for name in node.indices)
            return e.Total(binders, self.expression(node.body), tuple(map(self.condition, node.where)))
        if isinstance(node, s.Argmax):
            return e.Best(self._binder(node.letter.id), self.expression(node.body))
        return self._call(node)

    def condition(self, comparison: s.Comparison) -> e.Expr:
        sides = (self.expression(comparison.left), self.expression(comparison.right))
        return e.Chain(sides, (comparison.relation,))

    def _binder(self, letter: str) -> e.Binder:
        found = self.sets[letter]
        return e.Binder(letter, found.size, found.labelled)

    def _signed(self, sign: int, node: s.Expr) -> tuple[tuple[int, e.Expr], ...]:
        body = self.expression(node)
        if isinstance(node, s.Add):
            return ((sign, body),) if sign < 0 else e.signed(sign, body)
        if isinstance(body, e.Product) and isinstance(body.factors[0], e.Terms) and len(body.factors[0].terms) == 1:
            ((inner, first),) = body.factors[0].terms
            return ((sign * inner, e.times(first, *body.factors[1:])),)
        return e.signed(sign, body)

    def _product(self, node: s.Mul) -> e.Expr:
        """a/b c is (a/b) c, as in the language; a leading minus stays outside."""
        value = self.expression(node.factors[0])
        sign = 1
        if isinstance(node.factors[0], s.Neg):
            sign, value = -1, self.expression(node.factors[0].operand)
        for operator, factor in zip(node.operators, node.factors[1:], strict=True):
            right = self.expression(factor)
            value = _divided(value, right) if operator == "/" else e.times(value, right)
        return value if sign > 0 else e.Terms(((-1, value),))

    def _call(self, node: s.Call) -> e.Expr:
        arguments = tuple(map(self.expression, node.arguments))
        name = node.function.id
        if name == "abs":
            return e.Modulus(arguments[0])
        if name == "sqrt":
            return e.SquareRoot(arguments[0])
        head = self.naming.name(name) if name in self.abbreviations else e.Ident(name)
        return e.Apply(head, arguments, tuple(map(self.expression, node.parameters)))


def _divided(value: e.Expr, bottom: e.Expr) -> e.Expr:
    if isinstance(value, e.Numeral) and isinstance(bottom, e.Numeral) and bottom.value:
        return e.Numeral(value.value / bottom.value)
    if isinstance(value, e.Product) and isinstance(value.factors[-1], e.Apply | e.Angles | e.Total | e.Norm):
        return e.times(e.Quotient(e.Numeral(Fraction(1)), bottom), value)
    return e.Quotient(value, bottom)
