"""Kernel expressions in Python: `0.7 * rbf(gamma=0.5) + linear() * poly(degree=2).on("age", "income")`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from numbers import Real
from typing import TypeAlias

from kdsl.api.expressions import Expression, Operator, call, number_node, operand_at
from kdsl.api.naming import name_at
from kdsl.api.places import Sources, spot
from kdsl.api.signatures import suggesting
from kdsl.language.syntax import (
    Expr,
    KernelCall,
    KernelExpr,
    KernelNumber,
    KernelOn,
    KernelProduct,
    KernelSum,
    Name,
    Number,
    Span,
)

Value: TypeAlias = Expression | float | Fraction | str
Factor: TypeAlias = "KernelExpression | Expression | float | Fraction"


class KernelExpression(Operator):
    """A kernel made of others by sums, products and factors.

    It belongs to no problem until it is declared; `make` then builds its tree with places in the problem's sources.
    """

    __slots__ = ("make",)
    __array_ufunc__ = None

    def __init__(self, make: Callable[[Sources], KernelExpr]) -> None:
        self.make = make

    def __repr__(self) -> str:
        from kdsl.language.printer import print_kernel

        return print_kernel(self.make(Sources()))

    def __add__(self, other: Factor) -> KernelExpression:
        return _joined(self, other, KernelSum)

    def __radd__(self, other: Factor) -> KernelExpression:
        return _joined(other, self, KernelSum)

    def __mul__(self, other: Factor) -> KernelExpression:
        return _joined(self, other, KernelProduct)

    def __rmul__(self, other: Factor) -> KernelExpression:
        return _joined(other, self, KernelProduct)

    def on(self, *columns: str) -> KernelExpression:
        """The kernel that sees only these columns."""
        at = spot()

        def make(sources: Sources) -> KernelExpr:
            site = sources.site(at)
            names = tuple(name_at(column, site.argument(n), sources) for n, column in enumerate(columns))
            return KernelOn(self.make(sources), names, site.span)

        return KernelExpression(make)


def _joined(left: Factor, right: Factor, chain: type[KernelSum] | type[KernelProduct]) -> KernelExpression:
    """A flat sum or product; what stands on the right of an operator keeps its brackets."""
    at = spot()
    for side in (left, right):
        _check_factor(side)

    def make(sources: Sources) -> KernelExpr:
        site = sources.site(at)
        places = site.operands()
        first, second = kernel_node(left, places[0], sources), kernel_node(right, places[1], sources)
        parts = first[0] if isinstance(first, chain) else (first,)
        return chain((*parts, second), site.span)

    return KernelExpression(make)


def _check_factor(value: object) -> None:
    if isinstance(value, KernelExpression) or (isinstance(value, Expression) and isinstance(value.node, Name)):
        return
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{value!r} is neither a kernel nor a number or parameter that multiplies one")
    if not float(value) >= 0:
        raise ValueError(f"a kernel cannot be multiplied by {value}: the product would not be a kernel")


def kernel_node(value: object, span: Span, sources: Sources) -> KernelExpr:
    """A kernel, or the parameter or number that multiplies one, at its place."""
    if isinstance(value, Declared):
        return KernelCall(Name(value.name, span), (), span)
    if isinstance(value, KernelExpression):
        return value.make(sources)
    if isinstance(value, Expression) and isinstance(value.node, Name):
        return KernelCall(Name(value.node.id, span), (), span)
    _check_factor(value)
    number = number_node(value, span, sources)
    assert isinstance(number, Number)
    return KernelNumber(number, span)


def _family(name: str, arguments: Mapping[str, Value | KernelExpression | None]) -> KernelExpression:
    at = spot()
    given = {word: value for word, value in arguments.items() if value is not None}
    for value in given.values():
        if isinstance(value, KernelExpression) and not isinstance(value, Declared):
            raise TypeError("a kernel inside another must be declared first: q = p.kernel('q', ...)")

    def make(sources: Sources) -> KernelExpr:
        site = sources.site(at)
        order = list(arguments)
        pairs = [
            (Name(word, site.keywords(word)), _argument(value, site.argument(order.index(word), word), sources))
            for word, value in given.items()
        ]
        return KernelCall(Name(name, site.callee()), tuple(pairs), site.span)

    return KernelExpression(make)


class Declared(KernelExpression):
    """A kernel with a name of its own: what H(k) names, and a part of other kernels."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        super().__init__(lambda sources: KernelCall(Name(name), ()))
        self.name = name

    def __call__(self, first: Expression, second: Expression) -> Expression:
        """The number k(x, z), for problems that are written in kernel values."""
        return call(self.name, (first, second))


def _argument(value: Value | KernelExpression, span: Span, sources: Sources) -> Expr:
    if isinstance(value, Declared):
        return Name(value.name, span)
    if isinstance(value, str):
        return name_at(value, span, sources)
    return operand_at(value, span, sources)


def linear() -> KernelExpression:
    """<x, z>."""
    return _family("linear", {})


@suggesting
def poly(degree: Value | None = None, gamma: Value | None = None, coef0: Value | None = None) -> KernelExpression:
    """(gamma <x, z> + coef0)^degree."""
    return _family("poly", {"degree": degree, "gamma": gamma, "coef0": coef0})


@suggesting
def rbf(
    gamma: Value | None = None, *, sigma: Value | None = None, sigma2: Value | None = None, width: Value | None = None
) -> KernelExpression:
    """exp(-gamma ||x - z||^2); gamma may be "scale" or "median", computed from the data."""
    return _family("rbf", {"gamma": gamma, "sigma": sigma, "sigma2": sigma2, "width": width})


@suggesting
def laplacian(gamma: Value | None = None) -> KernelExpression:
    """exp(-gamma ||x - z||_1)."""
    return _family("laplacian", {"gamma": gamma})


@suggesting
def sigmoid(gamma: Value | None = None, coef0: Value | None = None) -> KernelExpression:
    """tanh(gamma <x, z> + coef0), which is not positive semidefinite for every choice."""
    return _family("sigmoid", {"gamma": gamma, "coef0": coef0})


def precomputed() -> KernelExpression:
    """The matrix given with the data."""
    return _family("precomputed", {})


@suggesting
def normalized(of: Declared) -> KernelExpression:
    """q(x, z) / sqrt(q(x, x) q(z, z)) for a declared kernel q."""
    return _family("normalized", {"of": of})
