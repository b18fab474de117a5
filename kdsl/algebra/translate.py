"""Reads checked expressions as polynomials: names become symbols, sums bind, squared norms become inner products."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import NamedTuple

from kdsl.algebra.composites import inverse_of
from kdsl.algebra.formula import Formula, polynomials_in
from kdsl.algebra.poly import Poly, collect, dot, lift_support
from kdsl.algebra.signs import Domains, Range
from kdsl.algebra.terms import At, Bracket, Index, Sym, Vec, bracket, leaves
from kdsl.language import model as m
from kdsl.language import syntax as s
from kdsl.language.diagnostics import Diagnostic, KdslError, Label


class Point(NamedTuple):
    """An input, such as x[i] or the formal t of a predict clause."""

    name: str
    args: tuple[Index, ...]


Value = Formula | Point | At | str  # a scalar or a vector, a point, a label, an index
Scope = Mapping[str, Value]


OUTSIDE = "the derivation needs polynomials of degree two in the unknowns, and convex losses of affine ones"


class Untranslatable(Exception):
    """An expression that is no polynomial: `node` says where, `reason` what it is, `why` and `help` the rest."""

    def __init__(self, node: s.Expr, reason: str, why: str = OUTSIDE, help: str = "") -> None:
        self.node, self.reason, self.why, self.help = node, reason, why, help
        super().__init__(reason)


class Translator:
    """Translates the expressions of one model; holds its symbol tables and nothing that changes."""

    def __init__(self, model: m.Model, known: Mapping[str, Fraction] | None = None) -> None:
        """`known` are values of parameters that decide what their domains leave open."""
        self.model = model
        self.known = dict(known or {})
        self.variables = {v.name: v for v in model.variables}
        self.data = {d.name: d for d in model.data}
        self.parameters = {p.name: p for p in model.parameters}
        self.abbreviations = {a.name: a for a in model.abbreviations}
        self.losses = {loss.name: loss for loss in model.losses}
        self.kernels = {k.name: k for k in model.kernels}
        self.letters = {
            name: index_set for index in model.indices for name, index_set in zip(index.names, index.sets, strict=True)
        }
        self.couplings = {index.names: index.where for index in model.indices if index.where}
        self.sizes = {index_set.size for index_set in self.letters.values()}
        self.names = {
            *self.variables,
            *self.data,
            *self.parameters,
            *self.abbreviations,
            *self.kernels,
            *self.letters,
            *self.sizes,
        }

    # ---------------------------------------------------------------- symbols

    def domains(self) -> Domains:
        """What the declarations say about the size of each scalar symbol."""
        ranges = {}
        for p in self.model.parameters:
            value = self.known.get(p.name)
            ranges["param", p.name] = Range(*p.interval) if value is None else Range(value, value)
        for d in self.model.data:
            if d.kind == "real":
                ranges["data", d.name] = Range(*d.interval)
            elif d.kind == "finite":
                ranges["data", d.name] = Range(min(d.values), max(d.values))
        for v in self.model.variables:
            ranges["var", v.name] = Range(*v.interval)
        return Domains(ranges)

    def support(self, indices: tuple[str, ...], where: tuple[s.Comparison, ...]) -> tuple[Bracket, ...]:
        """A filter over the index letters `indices`, kept over their positions."""
        scope: dict[str, Value] = {name: name for name in indices}
        return lift_support((self._bracket(c, scope) for c in where), indices)

    def symbol(self, name: str, args: tuple[Index, ...]) -> Poly:
        """A declared variable, datum or parameter at the given indices."""
        if name in self.variables:
            v = self.variables[name]
            if v.kernel is not None:
                return Poly.of(Vec(v.kernel, name, args))
            return Poly.of(Sym(name, args, "var", self.support(v.indices, v.where)))
        if name in self.data:
            signs = self.data[name].kind == "finite" and set(self.data[name].values) <= {Fraction(-1), Fraction(1)}
            return Poly.of(Sym(name, args, "sign" if signs else "data"))
        if name in self.parameters:
            return Poly.of(Sym(name, args, "param"))
        return Poly.of(Sym(name, (), "size"))

    # ------------------------------------------------------------ expressions

    def scalar(self, node: s.Expr, scope: Scope) -> Poly:
        value = self.value(node, scope)
        if not isinstance(value, Poly):
            raise Untranslatable(node, "a number is expected here")
        return value

    def value(self, node: s.Expr, scope: Scope) -> Value:
        """The polynomial (or the point, the label, the index) that `node` stands for."""
        match node:
            case s.Number():
                return Poly.number(Fraction(node.text))
            case s.Name():
                return self._name(node, scope)
            case s.Item():
                return self._item(node, scope)
            case s.Call():
                return self._call(node, scope)
            case s.Neg():
                return -self.scalar(node.operand, scope)
            case s.Add():
                return self._sum_of_terms(node, scope)
            case s.Mul():
                return self._product(node, scope)
            case s.Pow():
                if isinstance(node.base, s.Norm) and node.exponent % 2 == 0:
                    vector = self.scalar(node.base.argument, scope)
                    return self.inner(vector, vector, node) ** (node.exponent // 2)
                return self.scalar(node.base, scope) ** node.exponent
            case s.Inner():
                return self.inner(self.scalar(node.left, scope), self.scalar(node.right, scope), node)
            case s.Sum():
                return self.total(node, scope, self.scalar)
            case s.Norm():
                raise Untranslatable(node, "a norm that is not squared")
            case _:
                raise Untranslatable(node, "only a predict clause may say this")

    def inner(self, left: Poly, right: Poly, node: s.Expr) -> Poly:
        """<left, right>; features take their space from the vectors they meet, else from the only kernel."""
        spaces = {v.space for p in (left, right) for v in p.factors() if isinstance(v, Vec) and v.space}
        if not spaces and len(self.kernels) == 1:
            spaces = set(self.kernels)
        if len(spaces) != 1:
            raise Untranslatable(node, "the space of this inner product is not clear")
        (space,) = spaces
        return dot(_in_space(left, space), _in_space(right, space))

    def total(self, node: s.Sum, scope: Scope, body: Callable[[s.Expr, Scope], Poly]) -> Poly:
        """A sum: its letters become fresh free indices while `body` reads the summand, then they are bound."""
        inner, names, sets, support = self.opened(node, scope)
        return body(node.body, inner).sum(names, sets, support)

    def opened(
        self, node: s.Sum, scope: Scope
    ) -> tuple[dict[str, Value], tuple[str, ...], tuple[str, ...], tuple[Bracket, ...]]:
        """(the scope inside the sum, its fresh index names, their sets, the filter as brackets over those names)."""
        letters = tuple(name.id for name in node.indices)
        taken = {leaf for value in scope.values() for leaf in _free_indices(value)}
        names = tuple(_fresh(letter, taken) for letter in letters)
        inner = {**scope, **dict(zip(letters, names, strict=True))}
        where = node.where + self.couplings.get(letters, ())
        support = tuple(self._bracket(c, inner) for c in where)
        return inner, names, tuple(self.letters[letter].size for letter in letters), support

    def _name(self, node: s.Name, scope: Scope) -> Value:
        if node.id in scope:
            return scope[node.id]
        if node.id in self.letters:
            return node.id
        if node.id in self.abbreviations:
            return self.value(self.abbreviations[node.id].body, {})
        datum = self.data.get(node.id)
        if datum is not None and datum.kind == "input":
            return Point(node.id, ())
        if datum is not None and datum.kind == "set":
            return At(node.id, ())
        return self.symbol(node.id, ())

    def _item(self, node: s.Item, scope: Scope) -> Value:
        args = tuple(self.index(sub, scope) for sub in node.subscripts)
        point = scope.get(node.base.id)
        if isinstance(point, Point):  # a coordinate of the formal of a predict clause
            return Poly.of(Sym(point.name, point.args + args, "data"))
        datum = self.data.get(node.base.id)
        if datum is not None and datum.kind == "input":
            return Point(node.base.id, args)
        if datum is not None and datum.kind == "set":
            return At(node.base.id, args)
        return self.symbol(node.base.id, args)

    def index(self, node: s.Expr, scope: Scope) -> Index:
        value = self.value(node, scope)
        if isinstance(value, (At, str)):
            return value
        raise Untranslatable(node, "an index is expected here")

    def _call(self, node: s.Call, scope: Scope) -> Value:
        name = node.function.id
        if name in self.abbreviations:
            abbreviation = self.abbreviations[name]
            values = [self.value(argument, scope) for argument in node.arguments]
            return self.value(abbreviation.body, dict(zip(abbreviation.formals, values, strict=True)))
        if name == "phi":
            (argument,) = node.arguments
            return self._feature(self.value(argument, scope), argument)
        if name in self.kernels:
            first, second = (self.value(argument, scope) for argument in node.arguments)
            return dot(self._feature(first, node, name), self._feature(second, node, name))
        if name == "square":
            return self.scalar(node.arguments[0], scope) ** 2
        raise Untranslatable(node, f"`{name}` is not a polynomial")

    def _feature(self, point: Value, node: s.Expr, kernel: str = "") -> Poly:
        if not isinstance(point, Point):
            raise Untranslatable(node, "an input is expected here")
        return Poly.of(Vec(kernel, point.name, point.args, feature=True))

    def _sum_of_terms(self, node: s.Add, scope: Scope) -> Poly:
        total = self.scalar(node.terms[0], scope)
        for operator, term in zip(node.operators, node.terms[1:], strict=True):
            value = self.scalar(term, scope)
            total = total + value if operator == "+" else total - value
        return total

    def _product(self, node: s.Mul, scope: Scope) -> Poly:
        result = self.scalar(node.factors[0], scope)
        for operator, factor in zip(node.operators, node.factors[1:], strict=True):
            value = self.scalar(factor, scope)
            result = result * (self.reciprocal(value, factor) if operator == "/" else value)
        return result

    def reciprocal(self, value: Poly, node: s.Expr) -> Poly:
        """1/value, of a sum where its sign is known; that it is not 0 is looked at when there are data."""
        named = "give it a name, that of a parameter or, where it has an index, of a datum: `c : in (0, inf)`"
        try:
            inverse = inverse_of(value)
        except ValueError:
            reason = "a sum with indices is divided by"
            raise Untranslatable(node, reason, "as a divisor it has to stand as one factor", named) from None
        domains = self.domains()
        if len(value.terms) > 1 and not (domains.non_negative(value) or domains.non_negative(-value)):
            why = "the declared domains leave open whether it is positive or negative"
            raise Untranslatable(node, "this is divided by, and its sign is not known", why, named)
        return inverse

    # ---------------------------------------------------------------- filters

    def _bracket(self, comparison: s.Comparison, scope: Scope) -> Bracket:
        return bracket(comparison.relation, self._side(comparison.left, scope), self._side(comparison.right, scope))

    def _side(self, node: s.Expr, scope: Scope) -> Index | Sym:
        value = self.value(node, scope)
        if isinstance(value, (At, str)):
            return value
        if isinstance(value, Poly):
            number = value.as_number()
            if number is not None:
                return Sym(str(number), (), "number")
            factors = [factor for monomial in value.terms for factor, _ in monomial.factors]
            if len(factors) == 1 and isinstance(factors[0], Sym) and value == Poly.of(factors[0]):
                return factors[0]
        raise KdslError(
            [
                Diagnostic(
                    "K410",
                    "a filter compares indices, labels and data",
                    (Label(node.span),),
                    "a multiplier is there or not by a comparison of two names or numbers, without arithmetic",
                    "give what is computed here a name as `data`, and compare that",
                )
            ]
        )


def _in_space(vector: Poly, space: str) -> Poly:
    return collect(
        (
            monomial.binders,
            tuple((f._replace(space=space) if isinstance(f, Vec) else f, p) for f, p in monomial.factors),
            coefficient,
        )
        for monomial, coefficient in vector.terms.items()
    )


def _free_indices(value: Value) -> set[str]:
    if isinstance(value, Formula):
        return {leaf for polynomial in polynomials_in(value) for leaf in polynomial.free_indices()}
    if isinstance(value, Point):
        return {leaf for arg in value.args for leaf in leaves(arg) if isinstance(leaf, str)}
    return {leaf for leaf in leaves(value) if isinstance(leaf, str)}


def _fresh(letter: str, taken: set[str]) -> str:
    """A free index name that nothing in scope uses; it is bound again before anybody sees it."""
    number = 1
    while f"{letter}\x01{number}" in taken:
        number += 1
    return f"{letter}\x01{number}"
