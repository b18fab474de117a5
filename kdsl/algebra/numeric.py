"""Evaluates polynomials on data: one monomial is one contraction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kdsl.algebra.dual import Definition
from kdsl.algebra.poly import Factors, Monomial, Poly, derivative
from kdsl.algebra.terms import At, Bracket, Factor, Index, Inner, Sym, Vec, leaves_of

Array = NDArray[np.float64]
Leaf = int | str
Gram = Callable[[Vec, Vec], Array]


@dataclass(frozen=True)
class Values:
    """Numbers for every symbol.

    arrays holds data, parameters and primal scalars, labels the integer codes of label data, multipliers the
    dual variables by label (zero outside their support). gram(a, b) holds the inner products of all members of
    the families of a and b, with one axis for each index of a, then of b; diagonal(a), those of each with itself.
    """

    sizes: Mapping[str, int]
    arrays: Mapping[str, Array]
    labels: Mapping[str, NDArray[np.int64]]
    multipliers: Mapping[str, Array]
    gram: Gram
    diagonal: Callable[[Vec], Array]
    definitions: Mapping[str, Array] = field(default_factory=dict)

    def size(self, name: str) -> int:
        """The size called `name`, which may be a literal."""
        return int(name) if name.isdigit() else self.sizes[name]

    def with_multipliers(self, multipliers: Mapping[str, Array]) -> Values:
        return Values(self.sizes, self.arrays, self.labels, multipliers, self.gram, self.diagonal, self.definitions)

    def with_definitions(self, definitions: tuple[Definition, ...]) -> Values:
        """The values of new letters, computed from what they stand for."""
        if not definitions:
            return self
        known: dict[str, Array] = dict(self.definitions)
        for definition in definitions:
            names = tuple(a for a in definition.symbol.args if isinstance(a, str))
            sets = {name: self.sizes[size] for name, size in zip(names, definition.sets, strict=True)}
            known[definition.symbol.name] = evaluate(definition.value, self, sets)
        return Values(self.sizes, self.arrays, self.labels, self.multipliers, self.gram, self.diagonal, known)

    def of(self, symbol: Sym) -> Array:
        """The array behind a symbol, before it is indexed."""
        if symbol.role == "size":
            return np.asarray(
                float(symbol.name) if symbol.name.isdigit() else self.sizes[symbol.name], dtype=np.float64
            )
        if symbol.name in self.definitions:
            return self.definitions[symbol.name]
        if symbol.role == "mult":
            return self.multipliers[symbol.name]
        if symbol.role == "abs":
            return np.abs(self.multipliers[symbol.name])
        if symbol.whole is not None:
            return evaluate(symbol.whole, self)
        if symbol.role == "number":
            return np.asarray(float(Fraction(symbol.name)), dtype=np.float64)
        return np.asarray(self.arrays[symbol.name], dtype=np.float64)


def evaluate(poly: Poly, values: Values, free: Mapping[str, int] | None = None) -> Array:
    """poly as an array with one axis for each free index, in the order of `free` (name -> length)."""
    free = free or {}
    total = np.zeros(tuple(free.values()))
    for monomial, coefficient in poly.terms.items():
        total = total + float(coefficient) * _monomial(monomial, values, free)
    return total


def _monomial(monomial: Monomial, values: Values, free: Mapping[str, int]) -> Array:
    """A monomial as an array over the free indices, of length 1 along those that it does not have."""
    lengths: dict[Leaf, int] = {n: values.size(size) for n, size in enumerate(monomial.binders)}
    lengths.update(free)
    if not monomial.binders:
        return product_over(monomial.factors, tuple(free), lengths, values)
    if _hides_divisors(monomial.factors):
        order = (*free, *range(len(monomial.binders)))
        whole = product_over(monomial.factors, order, lengths, values)
        sums = tuple(range(len(free), len(order)))
        missing = prod(lengths[order[axis]] for axis in sums if whole.shape[axis] == 1)
        return np.asarray(whole.sum(axis=sums) * missing)
    scalar = 1.0
    operands: list[Array] = []
    axes: list[tuple[Leaf, ...]] = []
    for factor, power in monomial.factors:
        array, leaves_used = _factor(factor, values, lengths)
        array = array**power if power != 1 else array
        if leaves_used:
            operands.append(array)
            axes.append(leaves_used)
        else:
            scalar *= float(array)
    letter = {leaf: chr(97 + n) for n, leaf in enumerate(lengths)}
    present = {leaf for used in axes for leaf in used}
    inputs = ",".join("".join(letter[leaf] for leaf in used) for used in axes)
    output = "".join(letter[name] for name in free if name in present)
    scalar *= prod(length for leaf, length in lengths.items() if isinstance(leaf, int) and leaf not in present)
    contracted: Array = np.ones(())
    if operands:
        contracted = np.einsum(f"{inputs}->{output}", *operands, optimize=len(operands) > 2)
    return scalar * contracted.reshape(tuple(length if name in present else 1 for name, length in free.items()))


def product_over(factors: Factors, order: tuple[Leaf, ...], lengths: Mapping[Leaf, int], values: Values) -> Array:
    """The product of factors whose leaves are among `order`, of length 1 along those that none of them has."""
    if not _hides_divisors(factors):
        return _product(factors, order, lengths, values)
    inside = _product(tuple((f, p) for f, p in factors if isinstance(f, Bracket)), order, lengths, values) != 0
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(inside, _product(factors, order, lengths, values), 0.0)


def _product(factors: Factors, order: tuple[Leaf, ...], lengths: Mapping[Leaf, int], values: Values) -> Array:
    result: Array | None = None
    for factor, power in factors:
        array, used = _factor(factor, values, lengths)
        array = _along(array if power == 1 else array**power, used, order)
        result = array if result is None else result * array
    return np.ones((1,) * len(order)) if result is None else result


def _hides_divisors(factors: Factors) -> bool:
    """Whether brackets may keep out members that are divided by 0."""
    return any(power < 0 for _, power in factors) and any(isinstance(factor, Bracket) for factor, _ in factors)


def _along(array: Array, used: tuple[Leaf, ...], order: tuple[Leaf, ...]) -> Array:
    """An array over the leaves `used`, with an axis for each of `order`."""
    if used == order:
        return array
    ranked = sorted(range(len(used)), key=lambda n: order.index(used[n]))
    shape = tuple(array.shape[used.index(leaf)] if leaf in used else 1 for leaf in order)
    return np.asarray(array.transpose(ranked).reshape(shape))


def _factor(factor: Factor, values: Values, lengths: Mapping[Leaf, int]) -> tuple[Array, tuple[Leaf, ...]]:
    """(the factor as an array over its distinct leaves, those leaves)."""
    if isinstance(factor, Sym):
        return _member_values(values.of(factor), factor.args, factor, values, lengths)
    if isinstance(factor, Inner):
        left, right = factor.left, factor.right
        if left == right:
            return _member_values(values.diagonal(left), left.args, factor, values, lengths)
        return _member_values(values.gram(left, right), left.args + right.args, factor, values, lengths)
    if isinstance(factor, Bracket):
        used = tuple(dict.fromkeys(leaves_of(factor)))
        grid = grid_of(used, lengths)
        sides = (_side(side, grid, values) for side in (factor.left, factor.right))
        compare: Mapping[str, Any] = {"=": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal}
        array = compare[factor.relation](*sides).astype(np.float64)
        return np.broadcast_to(array, tuple(lengths[leaf] for leaf in used)), used
    raise TypeError(f"a Hilbert vector has no value: {factor}")


def _member_values(
    array: Array, args: tuple[Index, ...], factor: Factor, values: Values, lengths: Mapping[Leaf, int]
) -> tuple[Array, tuple[Leaf, ...]]:
    """array[args] over the leaves of `args`: the array itself where these are all its axes, in order."""
    if not args:
        return np.asarray(array), ()
    used = tuple(dict.fromkeys(leaves_of(factor)))
    shape = tuple(lengths[leaf] for leaf in used)
    if used == args and np.shape(array) == shape:
        return np.asarray(array, dtype=np.float64), used
    return np.broadcast_to(_indexed(array, args, grid_of(used, lengths), values), shape), used


def grid_of(order: tuple[Leaf, ...], lengths: Mapping[Leaf, int]) -> dict[Leaf, NDArray[np.int64]]:
    """The values of every index of `order`, along its own axis."""
    return {leaf: _axis(n, lengths[leaf], len(order)) for n, leaf in enumerate(order)}


def _axis(place: int, length: int, count: int) -> NDArray[np.int64]:
    return np.arange(length).reshape((1,) * place + (length,) + (1,) * (count - 1 - place))


def _indexed(array: Array, args: tuple[Index, ...], grid: Mapping[Leaf, NDArray[np.int64]], values: Values) -> Array:
    if not args:
        return array
    return np.asarray(array[tuple(indexed_places(arg, grid, values) for arg in args)], dtype=np.float64)


def indexed_places(term: Index, grid: Mapping[Leaf, NDArray[np.int64]], values: Values) -> NDArray[np.int64]:
    """The values of an index term on a grid of its leaves."""
    if isinstance(term, At):
        table = values.labels[term.name]
        return table[tuple(indexed_places(arg, grid, values) for arg in term.args)] if term.args else table
    return grid[term]


def _side(side: Index | Sym, grid: Mapping[Leaf, NDArray[np.int64]], values: Values) -> NDArray[Any]:
    if isinstance(side, Sym):
        return _indexed(values.of(side), side.args, grid, values)
    return indexed_places(side, grid, values)


def support_mask(
    support: tuple[Bracket, ...], indices: tuple[str, ...], sets: tuple[str, ...], values: Values
) -> NDArray[np.bool_]:
    """Where a family lives, as an array over its indices."""
    from kdsl.algebra.poly import place_support

    lengths = {name: values.size(size) for name, size in zip(indices, sets, strict=True)}
    product = Poly.number(1)
    for bracket in place_support(support, indices):
        product = product * Poly.of(bracket)
    return evaluate(product, values, lengths) > 0


def label_values(term: Index, free: Mapping[str, int], values: Values) -> NDArray[np.int64]:
    """The labels that an index term takes, as an array over the free indices."""
    grid = grid_of(tuple(free), dict(free.items()))
    return np.broadcast_to(indexed_places(term, grid, values), tuple(free.values()))


def shape_of(sets: tuple[str, ...], values: Values) -> tuple[int, ...]:
    return tuple(values.size(size) for size in sets)


def linear_coefficients(
    body: Poly, row: Mapping[str, int], symbol: Sym, sets: tuple[str, ...], values: Values, role: str = "mult"
) -> Array:
    """d body / d symbol as an array over (row indices, then the symbol's own indices)."""
    fresh = tuple(f"{name}\x02" for name in symbol.args if isinstance(name, str))
    target = symbol._replace(args=fresh, role=role)
    lengths = {**row, **{name: values.size(size) for name, size in zip(fresh, sets, strict=True)}}
    return evaluate(derivative(body, target), values, lengths)


def quadratic_coefficients(
    body: Poly,
    first: tuple[Sym, tuple[str, ...]],
    second: tuple[Sym, tuple[str, ...]],
    values: Values,
    row: Mapping[str, int] | None = None,
) -> Array:
    """d^2 body / d first d second (each a symbol with its sets) over (row indices, first's, second's)."""
    a = first[0]._replace(args=tuple(f"{name}\x02" for name in first[0].args if isinstance(name, str)))
    b = second[0]._replace(args=tuple(f"{name}\x03" for name in second[0].args if isinstance(name, str)))
    lengths = dict(row or {})
    for symbol, sets in ((a, first[1]), (b, second[1])):
        lengths.update({str(name): values.size(size) for name, size in zip(symbol.args, sets, strict=True)})
    return evaluate(derivative(derivative(body, a), b), values, lengths)
