"""Values of printed formulas on small exact instances: reads them as a mathematician would, knowing the letters only.

The letters are looked up in a table that is made from the symbols of the polynomial, so a letter that stands for two
things, a sum over the wrong set or a sign that is lost shows as a difference from the value of the polynomial.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product

from evaluate_poly import RELATIONS, World

from kdsl.algebra.poly import Poly
from kdsl.algebra.terms import At, Bracket, Factor, Inner, Sym, Vec, leaves_of
from kdsl.render import expr as e
from kdsl.render.naming import Naming

Env = Mapping[str, int]
Vector = tuple[Fraction, ...]
Value = Fraction | Vector


def _bare(node: e.Expr) -> e.Expr:
    """A letter without its indices."""
    if isinstance(node, e.Ident):
        return node._replace(subs=())
    if isinstance(node, e.Power | e.Norm | e.Modulus):
        return node._replace(**{node._fields[0]: _bare(node[0])})  # type: ignore[arg-type]
    if isinstance(node, e.Apply):
        return node._replace(arguments=tuple(map(_bare, node.arguments)))
    return node


class Reader:
    def __init__(self, poly: Poly, naming: Naming, world: World) -> None:
        self.world, self.naming = world, naming
        self.letters: dict[e.Expr, Sym | Vec] = {}
        self.labels: dict[e.Expr, str] = {}
        for factor in poly.factors():
            for symbol in self._symbols(factor):
                self._learn(symbol)
            for term in self._ats(factor):
                self.labels[_bare(naming.index_expr(At(term.name, ())))] = term.name

    def _symbols(self, factor: Factor) -> Iterator[Sym | Vec]:
        """The symbols that a factor mentions, in its brackets and in the support of its family too."""
        brackets = [factor] if isinstance(factor, Bracket) else list(factor.support) if isinstance(factor, Sym) else []
        sides = [side for bracket in brackets for side in (bracket.left, bracket.right)]
        yield from (side for side in sides if isinstance(side, Sym) and side.role != "number")
        if isinstance(factor, Inner):
            yield from (factor.left, factor.right)
        elif isinstance(factor, Sym) and factor.whole is not None:
            yield from (symbol for part in factor.whole.factors() for symbol in self._symbols(part))
        elif not isinstance(factor, Bracket):
            yield factor

    def _ats(self, factor: object) -> list[At]:
        found = [factor] if isinstance(factor, At) else []
        if isinstance(factor, tuple):
            found += [at for part in factor for at in self._ats(part)]
        return found

    def _learn(self, symbol: Sym | Vec) -> None:
        stripped = symbol._replace(args=())
        shown = self.naming.vector(stripped) if isinstance(stripped, Vec) else self.naming.symbol(stripped)
        if isinstance(stripped, Sym) and stripped.role == "abs":
            stripped, shown = stripped._replace(role="mult"), _inside(shown)
        known = self.letters.setdefault(_bare(shown), stripped)
        assert known == stripped, f"{shown} stands for {known} and for {stripped}"

    # ------------------------------------------------------------------ values

    def value(self, node: e.Expr, env: Env) -> Value:
        if _bare(node) in self.letters and not isinstance(node, e.Numeral):
            return self._symbol(node, env)
        if isinstance(node, e.Numeral):
            return node.value
        if isinstance(node, e.Terms):
            return _added([_scaled(Fraction(sign), self.value(term, env)) for sign, term in node.terms])
        if isinstance(node, e.Product):
            result: Value = Fraction(1)
            for factor in node.factors:
                result = _multiplied(result, self.value(factor, env))
            return result
        if isinstance(node, e.Quotient):
            return _scaled(1 / self.scalar(node.bottom, env), self.value(node.top, env))
        if isinstance(node, e.Total):
            return self._total(node, env)
        if isinstance(node, e.Power):
            if isinstance(node.base, e.Norm):
                vector = self.vector(node.base.body, env)
                return _dot(vector, vector) ** (node.exponent // 2)
            return self.scalar(node.base, env) ** node.exponent
        if isinstance(node, e.Angles):
            return _dot(self.vector(node.left, env), self.vector(node.right, env))
        if isinstance(node, e.Modulus):
            return abs(self.scalar(node.body, env))
        if isinstance(node, e.Iverson):
            return Fraction(self.holds(node.body, env))
        if isinstance(node, e.Ident) and node.name == "delta":
            first, second = (self.place(sub, env) for sub in node.subs)
            return Fraction(first == second)
        assert isinstance(node, e.Apply), node
        spaces = {
            v.space for v in self.letters.values() if isinstance(v, Vec) and self.naming.kernel(v.space) == node.head
        }
        assert len(spaces) == 1, node
        maps = [e.Apply(self.naming.feature_map(spaces.copy().pop()), (point,)) for point in node.arguments]
        return _dot(self.vector(maps[0], env), self.vector(maps[1], env))

    def scalar(self, node: e.Expr, env: Env) -> Fraction:
        value = self.value(node, env)
        assert isinstance(value, Fraction), node
        return value

    def vector(self, node: e.Expr, env: Env) -> Vector:
        value = self.value(node, env)
        assert isinstance(value, tuple), node
        return value

    def _symbol(self, node: e.Expr, env: Env) -> Value:
        symbol = self.letters[_bare(node)]
        places = tuple(self.place(sub, env) for sub in _subs(node))
        if isinstance(symbol, Vec):
            return self.world.vector(symbol._replace(args=tuple(range(len(places)))), dict(enumerate(places)))
        return self.world.scalar(symbol._replace(args=tuple(range(len(places)))), dict(enumerate(places)))

    def _total(self, node: e.Total, env: Env) -> Value:
        values: list[Value] = []
        for places in product(*(range(self.world.sizes[b.size]) for b in node.binders)):
            inside = {**env, **dict(zip((b.letter for b in node.binders), places, strict=True))}
            assert len(inside) == len(env) + len(node.binders), "an index is bound twice"
            if all(self.holds(condition, inside) for condition in node.where):
                values.append(self.value(node.body, inside))
        return _added(values) if values else Fraction(0)

    def place(self, node: e.Expr, env: Env) -> int:
        assert isinstance(node, e.Ident)
        if not node.subs and node.name in env:
            return env[node.name]
        places = [self.place(sub, env) for sub in node.subs]
        return self.world.place(At(self.labels[_bare(node)], tuple(range(len(places)))), dict(enumerate(places)))

    def holds(self, node: e.Expr, env: Env) -> bool:
        assert isinstance(node, e.Chain)
        left, right = (self._side(side, env) for side in node.sides)
        relation = node.relations[0]
        if relation in (">", ">="):
            relation, left, right = "<" + relation[1:], right, left
        return RELATIONS[relation](left, right)

    def _side(self, node: e.Expr, env: Env) -> Fraction:
        if _bare(node) in self.letters:
            return self.scalar(node, env)
        return Fraction(self.place(node, env)) if isinstance(node, e.Ident) else self.scalar(node, env)


def free_letters(poly: Poly) -> set[str]:
    return {leaf for m in poly.terms for f, _ in m.factors for leaf in leaves_of(f) if isinstance(leaf, str)}


def _inside(node: e.Expr) -> e.Expr:
    assert isinstance(node, e.Modulus)
    return node.body


def _subs(node: e.Expr) -> tuple[e.Expr, ...]:
    if isinstance(node, e.Ident):
        return node.subs
    if isinstance(node, e.Power | e.Norm | e.Modulus):
        return _subs(node[0])
    assert isinstance(node, e.Apply)
    return _subs(node.arguments[0])


def _added(values: list[Value]) -> Value:
    vectors = [v for v in values if isinstance(v, tuple)]
    if not vectors:
        return sum((v for v in values if isinstance(v, Fraction)), Fraction(0))
    assert all(isinstance(v, tuple) or v == 0 for v in values), "a number is added to a vector"
    return tuple(sum(parts, Fraction(0)) for parts in zip(*vectors, strict=True))


def _scaled(factor: Fraction, value: Value) -> Value:
    return tuple(factor * x for x in value) if isinstance(value, tuple) else factor * value


def _multiplied(left: Value, right: Value) -> Value:
    if isinstance(left, tuple):
        assert isinstance(right, Fraction), "two vectors are multiplied"
        return _scaled(right, left)
    return _scaled(left, right)


def _dot(left: Vector, right: Vector) -> Fraction:
    return sum((a * b for a, b in zip(left, right, strict=True)), Fraction(0))
