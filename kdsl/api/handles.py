"""What declarations return: names to write formulas with, which know their values once the problem is solved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kdsl.api.expressions import Expression, Operand, built, operand_at
from kdsl.api.places import Sources
from kdsl.binding.faults import nearest
from kdsl.language.syntax import Call, Name, Span

if TYPE_CHECKING:
    from kdsl.algebra.numeric import Array
    from kdsl.api.problem import Problem


class Index(Expression):
    """An index; `size` is the number of members of what it runs over, for formulas such as 1 / (nu * i.size)."""

    __slots__ = ("_size",)

    def __init__(self, name: Name, sources: Sources, size: Name | None) -> None:
        super().__init__(name, sources)
        self._size = size

    @property
    def size(self) -> Expression:
        if self._size is None:
            raise TypeError(f"`{self!r}` runs over labels or over a fixed number: there is no name for its size")
        return Expression(self._size, self.sources)


class Parameter(Expression):
    """A parameter; `value` is the number that the next `solve` takes, and may be set."""

    __slots__ = ("_problem",)

    def __init__(self, name: Name, problem: Problem) -> None:
        super().__init__(name, problem.sources)
        self._problem = problem

    @property
    def value(self) -> float | None:
        return self._problem.parameter(repr(self))

    @value.setter
    def value(self, number: float) -> None:
        self._problem.set_parameter(repr(self), number)


class Unknown(Expression):
    """A scalar unknown or a family of them; `value` is what was found, None before the problem is solved."""

    __slots__ = ("_problem",)

    def __init__(self, name: Name, problem: Problem) -> None:
        super().__init__(name, problem.sources)
        self._problem = problem

    @property
    def value(self) -> float | Array | None:
        solution = self._problem.solution
        if solution is None:
            return None
        found: dict[str, float | Array] = {**solution.slacks, **solution.scalars}
        name = repr(self)
        if name in found:
            return found[name]
        declared = solution.predictor.scalars[name]  # the problem speaks of its square, or of its difference, only
        return declared if declared.shape else float(declared)


class HilbertUnknown(Expression):
    """A vector of a kernel's space; it has no coordinates, its expansion over the training points is its value."""

    __slots__ = ("_problem",)

    def __init__(self, name: Name, problem: Problem) -> None:
        super().__init__(name, problem.sources)
        self._problem = problem

    @property
    def value(self) -> Array | None:
        """The coefficients of the support points, one row for each member of a family; None before solving."""
        solution = self._problem.solution
        if solution is None:
            return None
        vector = solution.predictor.vectors[repr(self)]
        return vector.coefficients if vector.shape else vector.coefficients[0]


class Constraint:
    """A labelled family of constraints; `dual_value` holds its multipliers, None before the problem is solved."""

    __slots__ = ("_problem", "label")

    def __init__(self, label: str, problem: Problem) -> None:
        self.label, self._problem = label, problem

    def __repr__(self) -> str:
        return f"constraint {self.label}"

    @property
    def dual_value(self) -> Array | float | None:
        solution = self._problem.solution
        if solution is None:
            return None
        multipliers = solution.multipliers[self.label]
        return multipliers if multipliers.shape else float(multipliers)


class Function:
    """An abbreviation or a loss that was declared: `f(x[i])`, `asymmetric(r, tau=tau)`."""

    __slots__ = ("_formals", "_name", "_parameters", "_sources")

    def __init__(self, name: str, formals: Sequence[str], parameters: Sequence[str], sources: Sources) -> None:
        self._name, self._formals, self._parameters = name, tuple(formals), tuple(parameters)
        self._sources = sources

    def __repr__(self) -> str:
        return self._name

    def __call__(self, *arguments: Operand, **named: Operand) -> Expression:
        site = self._sources.here()
        words = (*self._formals, *self._parameters)
        if len(arguments) > len(words):
            raise TypeError(f"{self._name}(...) takes {len(words)} arguments, {len(arguments)} given")
        for word in named:
            if word not in words:
                raise TypeError(f"{self._name}(...) has no argument `{word}`: {nearest(word, words)}")
        given = {**dict(zip(words, arguments, strict=False)), **named}
        nodes = {w: operand_at(given[w], site.argument(n, w), self._sources) for n, w in enumerate(words) if w in given}
        inside = tuple(nodes[word] for word in self._formals if word in nodes)
        set_to = tuple(nodes[word] for word in self._parameters if word in nodes)
        call = Call(Name(self._name, site.callee()), inside, set_to, site.span)
        return built(call, given.values(), site, self._sources)

    def on_its_formals(self, span: Span) -> tuple[tuple[Name, ...], Call]:
        """Its arguments, and what it is of them: `t` and `f(t)`, both written at `span`."""
        formals = tuple(Name(word, span) for word in self._formals)
        return formals, Call(Name(self._name, span), formals, (), span)
