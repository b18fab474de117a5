"""Evaluates a model's text directly, term by term, without the algebra: what evidence compares the algebra with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple, Protocol

import numpy as np

from kdsl.algebra.builtin_losses import LOSSES_BY_NAME
from kdsl.algebra.instance import Instance
from kdsl.language import model as m
from kdsl.language import syntax as s
from kdsl.language.walk import walk

Places = tuple[int, ...]


class Arithmetic(Protocol):
    """The operations that floats and CVXPY expressions do not share."""

    def dot(self, a: Any, b: Any) -> Any: ...
    def squared_norm(self, a: Any) -> Any: ...
    def norm(self, a: Any) -> Any: ...
    def square(self, a: Any) -> Any: ...
    def absolute(self, a: Any) -> Any: ...
    def maximum(self, values: list[Any]) -> Any: ...
    def logistic(self, a: Any) -> Any: ...
    def log_sum_exp(self, values: list[Any]) -> Any: ...


class FloatArithmetic:
    def dot(self, a: Any, b: Any) -> Any:
        return float(np.dot(a, b))

    def squared_norm(self, a: Any) -> Any:
        return float(np.dot(a, a))

    def norm(self, a: Any) -> Any:
        return float(np.linalg.norm(a))

    def square(self, a: Any) -> Any:
        return a * a

    def absolute(self, a: Any) -> Any:
        return abs(a)

    def maximum(self, values: list[Any]) -> Any:
        return max(values)

    def logistic(self, a: Any) -> Any:
        return float(np.logaddexp(0.0, a))

    def log_sum_exp(self, values: list[Any]) -> Any:
        return float(np.logaddexp.reduce(values))


class KnownBySquare:
    """A scalar of which only the square is an unknown, times a number."""

    def __init__(self, squared: Any, factor: float = 1.0) -> None:
        self.squared = squared
        self.factor = factor

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, KnownBySquare):
            return self.factor * other.factor * self.squared
        return KnownBySquare(self.squared, self.factor * other)

    __rmul__ = __mul__


class CvxpyArithmetic:
    """Disciplined convex expressions."""

    def __init__(self) -> None:
        import cvxpy

        self._cp = cvxpy

    def dot(self, a: Any, b: Any) -> Any:
        return a @ b

    def squared_norm(self, a: Any) -> Any:
        return self._cp.sum_squares(a)

    def norm(self, a: Any) -> Any:
        return self._cp.norm(a)

    def square(self, a: Any) -> Any:
        return a * a if isinstance(a, KnownBySquare) else self._cp.square(a)

    def absolute(self, a: Any) -> Any:
        return self._cp.abs(a)

    def maximum(self, values: list[Any]) -> Any:
        return self._cp.maximum(*values) if len(values) > 1 else values[0]

    def logistic(self, a: Any) -> Any:
        return self._cp.logistic(a)

    def log_sum_exp(self, values: list[Any]) -> Any:
        return self._cp.log_sum_exp(self._cp.hstack(values))


class _Point(NamedTuple):
    name: str
    places: Places


class _Vector(NamedTuple):
    """A vector whose space may only be known once it meets another."""

    space: str | None
    realise: Callable[[str], Any]


class LossCall(NamedTuple):
    """A loss met during evaluation: which call, the sums it stands in (letter, place), argument and definition."""

    key: tuple[int, ...]
    opened: tuple[tuple[str, int], ...]
    argument: Any
    definition: Callable[[Any], Any]


LossHook = Callable[[LossCall], Any]
Scope = Mapping[str, Any]


class Interpreter:
    """One model on one instance, with values (floats or CVXPY expressions) for its unknowns."""

    def __init__(
        self,
        model: m.Model,
        instance: Instance,
        unknowns: Mapping[str, Callable[[Places], Any]],
        arithmetic: Arithmetic,
        on_loss: LossHook | None = None,
    ) -> None:
        self._model, self._instance, self._unknowns, self._math = model, instance, unknowns, arithmetic
        self._on_loss = on_loss
        self._variables = {v.name: v for v in model.variables}
        self._abbreviations = {a.name: a for a in model.abbreviations}
        self._losses = {loss.name: loss for loss in model.losses}
        self._inputs = {d.name for d in model.data if d.kind == "input"}
        self._kernels = [k.name for k in model.kernels]
        self._letters = {n: z for index in model.indices for n, z in zip(index.names, index.sets, strict=True)}
        self._couplings = {index.names: index.where for index in model.indices if index.where}
        # the choices that pass a filter, by its owner, which is kept so that no other has its id
        self._passing: dict[tuple[int, tuple[str, ...]], tuple[object, list[Places]]] = {}
        self._calls: tuple[int, ...] = ()
        self._open: tuple[tuple[str, int], ...] = ()

    # ------------------------------------------------------------ whole parts

    def objective(self) -> Any:
        """In the sense of minimisation."""
        value = self.value(self._model.objective, {})
        return value if self._model.sense == "minimize" else -value

    def gaps(self, constraint: m.Constraint) -> Iterator[tuple[Places, str, Any]]:
        """(places, relation, left - right) for every member, turned so that an inequality reads <= 0."""
        for places, scope in self.members(constraint.indices, constraint.where):
            c = constraint.comparison
            if c.relation == "=":
                yield places, "=", self.value(c.left, scope) - self.value(c.right, scope)
                continue
            small, large = (c.left, c.right) if c.relation in ("<=", "<") else (c.right, c.left)
            for left, right in _branches(small, large):
                yield places, "<=", self.value(left, scope) - self.value(right, scope)

    def members(self, letters: tuple[str, ...], where: tuple[s.Comparison, ...]) -> Iterator[tuple[Places, Scope]]:
        """Every choice of the letters that passes the filter."""
        for places in self._choices(where, letters, where, {}):
            yield places, dict(zip(letters, places, strict=True))

    def _choices(
        self, owner: object, letters: tuple[str, ...], where: tuple[s.Comparison, ...], scope: Scope
    ) -> Iterable[Places]:
        """The choices that pass the filter of `owner`, found once where it looks at nothing but these letters."""
        everything = product(*(range(self._count(self._letters[letter])) for letter in letters))
        if not where:
            return everything
        known = self._passing.get((id(owner), letters))
        if known is not None:
            return known[1]
        passing = [
            places
            for places in everything
            if all(self._holds(c, {**scope, **dict(zip(letters, places, strict=True))}) for c in where)
        ]
        sides = [side for c in where for side in (c.left, c.right)]
        names = {part.id for side in sides for part in walk(side) if isinstance(part, s.Name)}
        if not (names - set(letters)) & set(scope):
            self._passing[id(owner), letters] = (owner, passing)
        return passing

    def _count(self, index_set: m.IndexSet) -> int:
        return int(index_set.size) if index_set.size.isdigit() else self._instance.sizes[index_set.size]

    # ------------------------------------------------------------ expressions

    def value(self, node: s.Expr, scope: Scope) -> Any:
        match node:
            case s.Number():
                return float(Fraction(node.text))
            case s.Name():
                return self._name(node.id, scope)
            case s.Item():
                return self._symbol(node.base.id, tuple(self.value(sub, scope) for sub in node.subscripts))
            case s.Neg():
                return self._scaled(self.value(node.operand, scope), -1.0)
            case s.Add():
                total = self.value(node.terms[0], scope)
                for operator, term in zip(node.operators, node.terms[1:], strict=True):
                    total = self._added(total, self._scaled(self.value(term, scope), 1.0 if operator == "+" else -1.0))
                return total
            case s.Mul():
                product_value = self.value(node.factors[0], scope)
                for operator, factor in zip(node.operators, node.factors[1:], strict=True):
                    other = self.value(factor, scope)
                    product_value = product_value / other if operator == "/" else self._times(product_value, other)
                return product_value
            case s.Pow():
                return self._power(node, scope)
            case s.Inner():
                left, right = self._both(self.value(node.left, scope), self.value(node.right, scope))
                return self._math.dot(left, right)
            case s.Norm():
                vector = self.value(node.argument, scope)
                return self._math.norm(vector.realise(self._space(vector)))
            case s.Sum():
                letters = tuple(name.id for name in node.indices)
                where = node.where + self._couplings.get(letters, ())
                total = 0.0
                for places in self._choices(node, letters, where, scope):
                    inner = {**scope, **dict(zip(letters, places, strict=True))}
                    outer, self._open = self._open, (*self._open, *zip(letters, places, strict=True))
                    total = self._added(total, self.value(node.body, inner))
                    self._open = outer
                return total
            case s.Call():
                return self._call(node, scope)
            case _:
                raise TypeError(f"no value: {node}")

    def _name(self, name: str, scope: Scope) -> Any:
        if name in scope:
            return scope[name]
        if name in self._abbreviations:
            return self.value(self._abbreviations[name].body, {})
        return self._symbol(name, ())

    def _symbol(self, name: str, places: Places) -> Any:
        if name in self._variables:
            value = self._unknowns[name](places)
            kernel = self._variables[name].kernel
            return value if kernel is None else _Vector(kernel, lambda _: value)
        if name in self._inputs:
            return _Point(name, places)
        if name in self._instance.labels:
            return int(self._instance.labels[name][places])
        if name in self._instance.arrays:
            return float(self._instance.arrays[name][places])
        return float(self._instance.sizes[name])

    def _power(self, node: s.Pow, scope: Scope) -> Any:
        if isinstance(node.base, s.Norm):
            vector = self.value(node.base.argument, scope)
            return self._math.squared_norm(vector.realise(self._space(vector)))
        base = self.value(node.base, scope)
        return self._math.square(base) if node.exponent == 2 else base**node.exponent

    def _call(self, node: s.Call, scope: Scope) -> Any:
        name = node.function.id
        if name in self._abbreviations:
            abbreviation = self._abbreviations[name]
            values = [self.value(argument, scope) for argument in node.arguments]
            outer, self._calls = self._calls, (*self._calls, id(node))
            result = self.value(abbreviation.body, dict(zip(abbreviation.formals, values, strict=True)))
            self._calls = outer
            return result
        if name == "phi":
            point = self.value(node.arguments[0], scope)
            return _Vector(None, lambda space: self._instance.features[space][point.name][point.places])
        if name in self._kernels:
            a, b = (self.value(argument, scope) for argument in node.arguments)
            features = self._instance.features[name]
            return self._math.dot(features[a.name][a.places], features[b.name][b.places])
        if name in self._losses or name in LOSSES_BY_NAME:
            return self._loss(node, scope)
        values = [self.value(argument, scope) for argument in node.arguments]
        return self._elementary(name, values)

    def _elementary(self, name: str, values: list[Any]) -> Any:
        if name == "max":
            return self._math.maximum(values)
        if name == "abs":
            return self._math.absolute(values[0])
        if name == "pos":
            return self._math.maximum([values[0], 0.0])
        if name == "square":
            return self._math.square(values[0])
        raise TypeError(f"no value for {name}")

    def _loss(self, node: s.Call, scope: Scope) -> Any:
        name = node.function.id
        if name == "multinomial" and name not in self._losses:
            return self._multinomial(node, scope)
        argument = self.value(node.arguments[0], scope)
        parameters = [self.value(parameter, scope) for parameter in node.parameters]

        def definition(value: Any) -> Any:
            return self._defined(name, value, parameters)

        if self._on_loss is None:
            return definition(argument)
        return self._on_loss(LossCall((*self._calls, id(node)), self._open, argument, definition))

    def _defined(self, name: str, argument: Any, parameters: list[Any]) -> Any:
        if name in self._losses:
            loss = self._losses[name]
            return self.value(
                loss.body, {loss.formals[0]: argument, **dict(zip(loss.parameters, parameters, strict=True))}
            )
        if name == "logistic":
            return self._math.logistic(-argument)
        if name == "huber":  # as a convex composition: the built-in definition is a difference
            delta = parameters[0] if parameters else 1.345
            inner = self._math.absolute(argument)
            return _huber(self._math, argument, inner, delta)
        if name == "huberized_squared_hinge":
            delta = parameters[0] if parameters else 2.0
            short = self._math.maximum([1.0 - argument, 0.0])
            return _huberized(self._math, short, delta)
        from kdsl.language.parser import parse_expression

        builtin = LOSSES_BY_NAME[name]
        names = [p.name for p in builtin.parameters]
        defaults = [float(p.default) for p in builtin.parameters[len(parameters) :] if p.default is not None]
        scope = {builtin.formals[0]: argument, **dict(zip(names, parameters + defaults, strict=True))}
        return self.value(parse_expression(builtin.definition), scope)

    def _multinomial(self, node: s.Call, scope: Scope) -> Any:
        letter, target = node.parameters
        assert isinstance(letter, s.Name)
        chosen = self.value(target, scope)
        count = self._count(self._letters[letter.id])
        scores = [self.value(node.arguments[0], {**scope, letter.id: k}) for k in range(count)]

        def definition(values: Any) -> Any:
            return self._math.log_sum_exp(list(values)) - values[chosen]

        if self._on_loss is None:
            return definition(scores)
        return self._on_loss(LossCall((*self._calls, id(node)), self._open, scores, definition))

    # ---------------------------------------------------------------- vectors

    def _space(self, *vectors: _Vector) -> str:
        return next((v.space for v in vectors if v.space is not None), self._kernels[0])

    def _both(self, left: _Vector, right: _Vector) -> tuple[Any, Any]:
        space = self._space(left, right)
        return left.realise(space), right.realise(space)

    def _scaled(self, value: Any, factor: float) -> Any:
        return self._times(factor, value) if isinstance(value, _Vector) else factor * value

    def _added(self, left: Any, right: Any) -> Any:
        if isinstance(left, _Vector) and isinstance(right, _Vector):
            a, b = left, right
            return _Vector(a.space or b.space, lambda space: a.realise(space) + b.realise(space))
        if isinstance(right, _Vector):  # the empty sum and a vector
            return right
        return left + right

    def _times(self, left: Any, right: Any) -> Any:
        if isinstance(left, _Vector) or isinstance(right, _Vector):
            scalar, vector = (right, left) if isinstance(left, _Vector) else (left, right)
            return _Vector(vector.space, lambda space: scalar * vector.realise(space))
        return left * right

    def _holds(self, comparison: s.Comparison, scope: Scope) -> bool:
        left, right = self.value(comparison.left, scope), self.value(comparison.right, scope)
        results = {
            "=": left == right,
            "!=": left != right,
            "<": left < right,
            "<=": left <= right,
            ">": left > right,
            ">=": left >= right,
        }
        return bool(results[comparison.relation])


def _huber(math: Arithmetic, argument: Any, size: Any, delta: float) -> Any:
    """min over s of 1/2 s^2 + delta |r - s|, in a form that both arithmetics can evaluate."""
    if isinstance(math, FloatArithmetic):
        return 0.5 * argument**2 if size <= delta else delta * (size - delta / 2)
    import cvxpy

    return 0.5 * cvxpy.huber(argument, delta)


def _huberized(math: Arithmetic, short: Any, delta: float) -> Any:
    """The square of the shortfall up to delta, straight beyond."""
    if isinstance(math, FloatArithmetic):
        return short**2 if short <= delta else delta * (2 * short - delta)
    import cvxpy

    return cvxpy.huber(short, delta)


def _branches(small: s.Expr, large: s.Expr) -> list[tuple[s.Expr, s.Expr]]:
    """max(a, b) <= c is a <= c and b <= c, abs(a) is max(a, -a), pos(a) max(a, 0), and ||v|| <= c is ||v||^2 <= c^2."""
    if isinstance(small, s.Call) and small.function.id == "max":
        return [(argument, large) for argument in small.arguments]
    if isinstance(small, s.Call) and small.function.id == "abs":
        return [(small.arguments[0], large), (s.Neg(small.arguments[0]), large)]
    if isinstance(small, s.Call) and small.function.id == "pos":
        return [(small.arguments[0], large), (s.Number("0"), large)]
    if isinstance(small, s.Norm):
        return [(s.Pow(small, 2), s.Pow(large, 2))]
    return [(small, large)]
