"""Values of polynomials on small exact instances, by loops over every bound index: slow and independent."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import product
from typing import Any

from kdsl.algebra.poly import Factors, Poly
from kdsl.algebra.terms import At, Bracket, Index, Inner, Sym, Vec

RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: bool(a == b),
    "!=": lambda a, b: bool(a != b),
    "<": lambda a, b: bool(a < b),
    "<=": lambda a, b: bool(a <= b),
}
Key = tuple[str, str, tuple[int, ...]]  # (role, name, places)


class World:
    """Sizes of sets, labels found in the data, and values of symbols, drawn when they are first asked for.

    `values` overrides what is drawn, by (role, name, places); `ranges` confines it, by (role, name).
    A family is 0 outside its support.
    """

    dimension = 2

    def __init__(
        self,
        seed: int,
        sizes: Mapping[str, int],
        ranges: Mapping[tuple[str, str], tuple[Fraction, Fraction]] | None = None,
        label_sizes: Mapping[str, int] | None = None,
    ) -> None:
        self.sizes = dict(sizes)
        self.values: dict[Key, Any] = {}
        self._seed = seed
        self._ranges = dict(ranges or {})
        self._label_sizes = dict(label_sizes or {})

    def _generator(self, *key: object) -> random.Random:
        return random.Random(repr((self._seed, key)))

    def place(self, term: Index, env: Mapping[int | str, int]) -> int:
        if isinstance(term, At):
            places = tuple(self.place(a, env) for a in term.args)
            size = self._label_sizes.get(term.name, 2)
            return self.values.get(
                ("label", term.name, places), self._generator("label", term.name, places).randrange(size)
            )
        return env[term]

    def scalar(self, symbol: Sym, env: Mapping[int | str, int]) -> Fraction:
        if symbol.whole is not None:
            return self.of(symbol.whole)
        places = tuple(self.place(a, env) for a in symbol.args)
        for guard in symbol.support:
            if not self._holds(guard, dict(enumerate(places))):
                return Fraction(0)
        return self.number(symbol.role, symbol.name, places)

    def number(self, role: str, name: str, places: tuple[int, ...] = ()) -> Fraction:
        key = (role, name, places)
        if key not in self.values:
            self.values[key] = self._drawn(role, name, places)
        return Fraction(self.values[key])

    def _drawn(self, role: str, name: str, places: tuple[int, ...]) -> Fraction:
        if role == "size":
            return Fraction(self.sizes[name])
        if role == "abs":
            return abs(self.number("mult", name, places))
        if role == "number":
            return Fraction(name)  # on one side of a filter
        generator = self._generator(role, name, places)
        if role == "sign":
            return Fraction(generator.choice((-1, 1)))
        low, high = self._ranges.get((role, name), (Fraction(-2), Fraction(2)))
        share = Fraction(generator.randint(1, 23), 24)
        return (low + share * (high - low)) or Fraction(1)

    def vector(self, vec: Vec, env: Mapping[int | str, int]) -> tuple[Fraction, ...]:
        places = tuple(self.place(a, env) for a in vec.args)
        role = "point" if vec.feature else "vector"
        key = (role, f"{vec.space}/{vec.name}", places)
        if key not in self.values:
            generator = self._generator(key)
            self.values[key] = tuple(Fraction(generator.randint(-6, 6), 2) for _ in range(self.dimension))
        return tuple(self.values[key])

    def _side(self, side: Index | Sym, env: Mapping[int | str, int]) -> Fraction:
        return self.scalar(side, env) if isinstance(side, Sym) else Fraction(self.place(side, env))

    def _holds(self, bracket: Bracket, env: Mapping[int | str, int]) -> bool:
        return RELATIONS[bracket.relation](self._side(bracket.left, env), self._side(bracket.right, env))

    def product(self, factors: Factors, env: Mapping[int | str, int]) -> tuple[Fraction, tuple[Fraction, ...] | None]:
        """(the scalar part, the vector part) of a product of factors."""
        scale, vector = Fraction(1), None
        for factor, power in factors:
            match factor:
                case Sym():
                    value = self.scalar(factor, env)
                case Bracket():
                    value = Fraction(self._holds(factor, env))
                case Inner():
                    pairs = zip(self.vector(factor.left, env), self.vector(factor.right, env), strict=True)
                    value = sum((a * b for a, b in pairs), Fraction(0))
                case Vec():
                    vector, value = self.vector(factor, env), Fraction(1)
            if not value:
                return Fraction(0), None
            scale *= value**power
        return scale, vector

    def of(self, poly: Poly, env: Mapping[int | str, int] | None = None) -> Fraction:
        """The value of a scalar polynomial at an assignment of its free indices."""
        total = Fraction(0)
        for scale, _ in self._terms(poly, env or {}):
            total += scale
        return total

    def vector_of(self, poly: Poly, env: Mapping[int | str, int] | None = None) -> tuple[Fraction, ...]:
        """The value of a vector-valued polynomial."""
        total = (Fraction(0),) * self.dimension
        for scale, vector in self._terms(poly, env or {}):
            if scale:
                assert vector is not None
                total = tuple(t + scale * v for t, v in zip(total, vector, strict=True))
        return total

    def _terms(self, poly: Poly, env: Mapping[int | str, int]) -> list[tuple[Fraction, tuple[Fraction, ...] | None]]:
        found = []
        for monomial, coefficient in poly.terms.items():
            for binding in product(*(range(self.sizes[size]) for size in monomial.binders)):
                scale, vector = self.product(monomial.factors, {**env, **dict(enumerate(binding))})
                found.append((coefficient * scale, vector))
        return found
