"""Kernel expressions in Python: `0.7 * rbf(gamma=0.5) + linear() * poly(degree=2).on("age", "income")`."""

from __future__ import annotations

from fractions import Fraction
from numbers import Real
from typing import Any, TypeAlias, cast

from kdsl.api.expressions import Expression, number_node
from kdsl.api.places import Sources
from kdsl.language.syntax import (
    NOWHERE,
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


class KernelExpression:
    """A kernel built from others by sums, products and factors; its places are filled in when it is declared."""

    __slots__ = ("node",)
    __array_ufunc__ = None

    def __init__(self, node: KernelExpr) -> None:
        self.node = node

    def __repr__(self) -> str:
        from kdsl.language.printer import print_kernel

        return print_kernel(self.node)

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
        return KernelExpression(KernelOn(self.node, tuple(Name(column) for column in columns)))


def _joined(left: Factor, right: Factor, chain: type[KernelSum] | type[KernelProduct]) -> KernelExpression:
    first, second = kernel_node(left), kernel_node(right)
    if isinstance(first, chain):
        return KernelExpression(chain((*first[0], second)))
    return KernelExpression(chain((first, second)))


def kernel_node(value: object) -> KernelExpr:
    """A kernel, the parameter or the number that multiplies one."""
    if isinstance(value, KernelExpression):
        return value.node
    if isinstance(value, Expression) and isinstance(value.node, Name):
        return KernelCall(Name(value.node.id), ())
    if not isinstance(value, Real):
        raise TypeError(f"{value!r} is neither a kernel nor a factor of one")
    number = number_node(value, NOWHERE, Sources())
    if not isinstance(number, Number):
        raise ValueError(f"a kernel cannot be multiplied by {value}: the product would not be a kernel")
    return KernelNumber(number)


def located(node: KernelExpr, span: Span) -> KernelExpr:
    """The same kernel, every part of it standing where its declaration does."""
    return cast(KernelExpr, _moved(node, span))


def _moved(part: Any, span: Span) -> Any:
    if isinstance(part, Span):
        return span
    if not isinstance(part, tuple):
        return part
    parts = [_moved(one, span) for one in part]
    return type(part)(*parts) if hasattr(part, "_fields") else tuple(parts)


def _family(name: str, arguments: dict[str, Value | None]) -> KernelExpression:
    given = tuple((Name(word), _argument(value)) for word, value in arguments.items() if value is not None)
    return KernelExpression(KernelCall(Name(name), given))


def _argument(value: Value | KernelExpression) -> Expr:
    if isinstance(value, str):
        return Name(value)
    if isinstance(value, Expression):
        return value.node
    if isinstance(value, KernelExpression):
        if isinstance(value.node, KernelCall) and not value.node.arguments:
            return value.node.name
        raise TypeError("a kernel inside another must be declared first: q = p.kernel('q', ...)")
    return number_node(value, NOWHERE, Sources())


def linear() -> KernelExpression:
    """<x, z>."""
    return _family("linear", {})


def poly(degree: Value | None = None, gamma: Value | None = None, coef0: Value | None = None) -> KernelExpression:
    """(gamma <x, z> + coef0)^degree."""
    return _family("poly", {"degree": degree, "gamma": gamma, "coef0": coef0})


def rbf(
    gamma: Value | None = None, *, sigma: Value | None = None, sigma2: Value | None = None, width: Value | None = None
) -> KernelExpression:
    """exp(-gamma ||x - z||^2); gamma may be "scale" or "median", computed from the data."""
    return _family("rbf", {"gamma": gamma, "sigma": sigma, "sigma2": sigma2, "width": width})


def laplacian(gamma: Value | None = None) -> KernelExpression:
    """exp(-gamma ||x - z||_1)."""
    return _family("laplacian", {"gamma": gamma})


def sigmoid(gamma: Value | None = None, coef0: Value | None = None) -> KernelExpression:
    """tanh(gamma <x, z> + coef0), which is not positive semidefinite for every choice."""
    return _family("sigmoid", {"gamma": gamma, "coef0": coef0})


def precomputed() -> KernelExpression:
    """The matrix given with the data."""
    return _family("precomputed", {})


def normalized(of: KernelExpression) -> KernelExpression:
    """q(x, z) / sqrt(q(x, x) q(z, z)) for a declared kernel q."""
    return KernelExpression(KernelCall(Name("normalized"), ((Name("of"), _argument(of)),)))
