"""Expressions by operator overloading: each carries the syntax node that the parser would make of the same formula."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Any, NoReturn, TypeAlias, cast

from kdsl.api.errors import ProblemError, reports_of
from kdsl.api.places import Site, Sources
from kdsl.language import limits
from kdsl.language.diagnostics import Diagnostic, Label
from kdsl.language.syntax import Add, Call, Comparison, Expr, Item, Mul, Name, Neg, Number, Pow, Span

Operand: TypeAlias = "Expression | float | Fraction"

# How NumPy calls the operators, and the functions that formulas have in the place of its own.
_OPERATORS = {
    "add": ("__add__", "__radd__"),
    "subtract": ("__sub__", "__rsub__"),
    "multiply": ("__mul__", "__rmul__"),
    "divide": ("__truediv__", "__rtruediv__"),
    "less_equal": ("__le__", "__ge__"),
    "greater_equal": ("__ge__", "__le__"),
    "less": ("__lt__", "__gt__"),
    "greater": ("__gt__", "__lt__"),
    "equal": ("__eq__", "__eq__"),
    "not_equal": ("__ne__", "__ne__"),
}
_FUNCTIONS = {
    "absolute": "abs(...)",
    "exp": "exp(...) of kdsl.api",
    "log": "log(...) of kdsl.api",
    "maximum": "maximum(...) of kdsl.api",
    "sign": "sign(...) of kdsl.api",
    "square": "square(...) of kdsl.api",
    "add.reduce": "sum_over(i)(...) of kdsl.api, with the index that it runs over",
    "matmul": "inner(a, b) of kdsl.api",
}


class Operator:
    """What has operators of its own: an expression leaves it to them."""

    __slots__ = ()


class Expression:
    """A formula over the declared names of one problem."""

    __slots__ = ("height", "node", "sources")
    __hash__ = object.__hash__

    def __init__(self, node: Expr, sources: Sources, height: int = 1) -> None:
        self.node, self.sources, self.height = node, sources, height

    def __repr__(self) -> str:
        from kdsl.language.printer import print_expression

        return print_expression(self.node)

    # ------------------------------------------------------------ operators

    def __add__(self, other: Operand) -> Expression:
        return _chained(self, "+", other, Add)

    def __radd__(self, other: Operand) -> Expression:
        if isinstance(other, int) and other == 0:
            return self  # the builtin sum() begins with 0
        return _chained(other, "+", self, Add)

    def __sub__(self, other: Operand) -> Expression:
        return _chained(self, "-", other, Add)

    def __rsub__(self, other: Operand) -> Expression:
        return _chained(other, "-", self, Add)

    def __mul__(self, other: Operand) -> Expression:
        return _chained(self, "*", other, Mul)

    def __rmul__(self, other: Operand) -> Expression:
        return _chained(other, "*", self, Mul)

    def __truediv__(self, other: Operand) -> Expression:
        return _chained(self, "/", other, Mul)

    def __rtruediv__(self, other: Operand) -> Expression:
        return _chained(other, "/", self, Mul)

    def __neg__(self) -> Expression:
        site = self.sources.here()
        return built(Neg(operand_at(self, site.operand(), self.sources), site.span), (self,), site)

    def __pos__(self) -> Expression:
        return self

    def __abs__(self) -> Expression:
        return call("abs", (self,))

    def __pow__(self, exponent: int) -> Expression:
        site = self.sources.here()
        base, place = site.operands()
        if not isinstance(exponent, Integral) or isinstance(exponent, bool) or exponent < 0:
            message = "an exponent must be a whole number such as 2"
            hint = "for a root or a symbolic power, restate the problem with products and squares"
            raise refused(self.sources, Diagnostic("K109", message, (Label(place),), help=hint))
        if exponent > limits.EXPONENT:
            message = f"the exponent {exponent} is larger than {limits.EXPONENT}"
            raise refused(self.sources, Diagnostic("K108", message, (Label(place),)))
        return built(Pow(operand_at(self, base, self.sources), int(exponent), site.span), (self,), site)

    def __getitem__(self, key: Operand | tuple[Operand, ...]) -> Expression:
        if not isinstance(self.node, Name):
            raise TypeError(f"`{self!r}` cannot have subscripts: only a declared name can")
        keys = key if isinstance(key, tuple) else (key,)
        site = self.sources.here()
        base, places = site.subscripts(len(keys))
        subscripts = tuple(operand_at(k, at, self.sources) for k, at in zip(keys, places, strict=True))
        return built(Item(Name(self.node.id, base), subscripts, site.span), keys, site, self.sources)

    def __matmul__(self, other: object) -> NoReturn:
        raise TypeError(f"`@` does not multiply formulas: write inner({self!r}, {other!r})")

    def __rmatmul__(self, other: object) -> NoReturn:
        raise TypeError(f"`@` does not multiply formulas: write inner({other!r}, {self!r})")

    def __iter__(self) -> NoReturn:
        raise TypeError(f"`{self!r}` is a formula and not iterable: a sum over an index i is sum_over(i)(...)")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Numbers and arrays of NumPy leave operators to this class; its functions have no formulas."""
        name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        if name in _OPERATORS:
            plain, reflected = _OPERATORS[name]
            left, right = (one.item() if getattr(one, "shape", None) == () else one for one in inputs)
            return getattr(left, plain)(right) if isinstance(left, Expression) else getattr(right, reflected)(left)
        written = _FUNCTIONS.get(name, "the functions of kdsl.api")
        raise TypeError(f"NumPy's `{name}` computes with numbers, not with formulas: write {written}")

    # ------------------------------------------------------------ relations

    def __le__(self, other: Operand) -> Condition:
        return _compared(self, "<=", other)

    def __ge__(self, other: Operand) -> Condition:
        return _compared(self, ">=", other)

    def __lt__(self, other: Operand) -> Condition:
        return _compared(self, "<", other)

    def __gt__(self, other: Operand) -> Condition:
        return _compared(self, ">", other)

    def __eq__(self, other: Operand) -> Condition:  # type: ignore[override]
        return _compared(self, "=", other)

    def __ne__(self, other: Operand) -> Condition:  # type: ignore[override]
        return _compared(self, "!=", other)

    def __bool__(self) -> bool:
        raise TypeError(f"`{self!r}` is a formula and has no truth value; its value is known once it is solved")


class Condition:
    """Two expressions and a relation between them: a constraint, or a filter in `where`."""

    __slots__ = ("node", "sources")

    def __init__(self, node: Comparison, sources: Sources) -> None:
        self.node, self.sources = node, sources

    def __repr__(self) -> str:
        from kdsl.language.printer import print_comparison

        return print_comparison(self.node)

    def __bool__(self) -> bool:
        site = self.sources.here()
        if site.relations() > 1:
            hint = "split it into two constraints, each with its own label"
            why = "each relation has its own multiplier"
            label = Label(site.span, "a second relation")
            raise refused(self.sources, Diagnostic("K118", "a constraint has one relation", (label,), why, hint))
        raise TypeError(
            f"`{self!r}` is a condition of the problem and has no truth value: give several conditions one after "
            "the other, without `and`, `or`, `not` and `if`, and write a <= b <= c as two"
        )


# ---------------------------------------------------------------- building


def built(
    node: Expr, operands: Iterable[object], site: Site, sources: Sources | None = None, beside: int = 0
) -> Expression:
    """An expression over its operands, which belong to one problem; `beside` says how many stand side by side."""
    height = 1
    for operand in operands:
        if isinstance(operand, (Expression, Condition)):
            own(operand, operand.sources if sources is None else sources)
            sources = operand.sources
        if isinstance(operand, Expression):
            height = max(height, 1 + operand.height)
    if sources is None:
        raise TypeError("a formula needs at least one declared name of a problem")
    if height > limits.HEIGHT:
        message = f"nested over {limits.HEIGHT} expressions deep"
        hint = "name a part of it with `let`"
        raise refused(sources, Diagnostic("K106", message, (Label(site.span),), help=hint))
    if beside > limits.TERMS:
        message = f"a sum, product or list of over {limits.TERMS} entries"
        hint = "use an index and sum_over(i), and put numbers into data"
        raise refused(sources, Diagnostic("K107", message, (Label(site.span),), help=hint))
    return Expression(node, sources, height)


def refused(sources: Sources, diagnostic: Diagnostic) -> ProblemError:
    """The error of one finding, at its Python line."""
    return ProblemError(reports_of([diagnostic], sources))


def operand_at(value: object, span: Span, sources: Sources) -> Expr:
    """The node of an operand; a bare name or a number stands where it is used, not where it was declared."""
    if isinstance(value, Expression):
        return value.node._replace(span=span) if isinstance(value.node, Name) else value.node
    if isinstance(value, Condition):
        raise TypeError(f"`{value!r}` is a condition, not a number")
    return number_node(value, span, sources)


def number_node(value: object, span: Span, sources: Sources) -> Expr:
    """A Python number as a literal, exactly as it prints."""
    if isinstance(value, bool) or not isinstance(value, Real):
        what = f"`{value}`" if isinstance(value, str) else f"a value of type {type(value).__name__}"
        raise TypeError(f"{what} cannot stand in a formula: declare it with data(...) or param(...), or give a number")
    if isinstance(value, Rational):
        top, bottom = abs(int(value.numerator)), int(value.denominator)
        negative, text = value < 0, str(top) if bottom == 1 else f"{top}/{bottom}"
    else:
        plain = float(value)
        if math.isnan(plain):
            raise refused(sources, Diagnostic("K108", "`nan` is no number", (Label(span),), help="give a number"))
        negative, text = plain < 0, repr(abs(plain))
    if len(text) > limits.DIGITS:
        raise refused(sources, Diagnostic("K108", f"a number of over {limits.DIGITS} digits", (Label(span),)))
    return Neg(Number(text, span), span) if negative else Number(text, span)


def _chained(left: Operand, operator: str, right: Operand, chain: type[Add] | type[Mul]) -> Expression:
    """A flat sum or product; what stands on the right of an operator keeps its brackets."""
    if isinstance(left, Operator) or isinstance(right, Operator):
        return cast(Expression, NotImplemented)
    sources = next(side.sources for side in (left, right) if isinstance(side, Expression))
    site = sources.here()
    at = site.operands()
    first, second = (operand_at(side, span, sources) for side, span in zip((left, right), at, strict=True))
    if isinstance(left, Expression) and isinstance(first, chain):
        parts, operators = (first[0], first[1])
        joined = chain((*parts, second), (*operators, operator), site.span)
        flat = Expression(joined, sources, left.height - 1)
        return built(joined, (flat, right), site, beside=len(joined[0]))
    return built(chain((first, second), (operator,), site.span), (left, right), site)


def _compared(left: Expression, relation: str, right: Operand) -> Condition:
    if isinstance(right, Operator):
        return cast(Condition, NotImplemented)
    site = left.sources.here()
    first, second = site.operands()
    if not isinstance(right, Expression) and _is_reflected(site, right):
        first, second = second, first
    sides = operand_at(left, first, left.sources), operand_at(right, second, left.sources)
    if isinstance(right, Expression):
        own(right, left.sources)
    return Condition(Comparison(sides[0], relation, sides[1], site.span), left.sources)


def _is_reflected(site: Site, number: object) -> bool:
    """Whether Python turned `1 <= a` around: only the places of its sides tell."""
    first, second = site.operands()
    begin = site.span.start
    return _reads(site.text[first.start - begin : first.end - begin], number) and not _reads(
        site.text[second.start - begin : second.end - begin], number
    )


def _reads(text: str, number: object) -> bool:
    try:
        return bool(float(text) == number)
    except ValueError:
        return False


def call(function: str, arguments: tuple[object, ...], parameters: tuple[object, ...] = ()) -> Expression:
    """`function(arguments; parameters)`, written where the caller calls it."""
    sources = sources_of((*arguments, *parameters), function)
    site = sources.here()
    given = [operand_at(value, site.argument(n), sources) for n, value in enumerate((*arguments, *parameters))]
    split = len(arguments)
    node = Call(Name(function, site.callee()), tuple(given[:split]), tuple(given[split:]), site.span)
    return built(node, (*arguments, *parameters), site)


def sources_of(values: Iterable[object], what: str) -> Sources:
    for value in values:
        if isinstance(value, (Expression, Condition)):
            return value.sources
    raise TypeError(f"{what}(...) is about formulas; for plain numbers use Python's own functions")


def conditions_of(where: object, sources: Sources) -> tuple[Comparison, ...]:
    """What `where=` was given: one condition or several, of this problem."""
    given = where if isinstance(where, (tuple, list)) else (where,)
    for one in given:
        if not isinstance(one, Condition):
            raise TypeError(f"`where` takes conditions such as k != y[i], not {one!r}")
        own(one, sources)
    return tuple(one.node for one in given)


def own(part: Expression | Condition, sources: Sources) -> None:
    """Refuses what was written with the names of another problem."""
    if part.sources is not sources:
        raise TypeError(f"`{part!r}` belongs to another problem")
