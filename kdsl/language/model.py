"""The checked model: every name resolved, every expression well typed, nothing expanded yet."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from kdsl.language.syntax import Comparison, Expr, KernelExpr, Span

if TYPE_CHECKING:
    from kdsl.algebra.primal import Primal


class IndexSet(NamedTuple):
    """What an index runs over: `1..l` has size "l" (or "5" for a literal), `classes` has its own name as size."""

    size: str
    labelled: bool  # True for a named set of labels such as `classes`, False for a range 1..l


class Index(NamedTuple):
    """A declared index, or a tuple of them with the filter that couples them (`(i, j) in ... where ...`)."""

    names: tuple[str, ...]
    sets: tuple[IndexSet, ...]
    where: tuple[Comparison, ...]
    span: Span


class Interval(NamedTuple):
    """A real domain; None is an infinite end."""

    lower: Fraction | None
    upper: Fraction | None
    lower_open: bool = False
    upper_open: bool = False


class Datum(NamedTuple):
    """kind "real" (in `interval`), "finite" (in `values`), "input" (a point), "set" (a label of `labels`)."""

    name: str
    sets: tuple[IndexSet, ...]
    kind: str
    interval: Interval
    values: tuple[Fraction, ...]
    labels: IndexSet | None
    default: Fraction | None
    span: Span


class Parameter(NamedTuple):
    name: str
    sets: tuple[IndexSet, ...]
    interval: Interval
    default: Fraction | None
    span: Span


class Kernel(NamedTuple):
    name: str
    expression: KernelExpr
    span: Span


class Variable(NamedTuple):
    """A primal unknown: real (in `interval`, which is closed) or a vector of the space of `kernel`.

    `indices` are the index names it was declared with, `where` the filter that they carry.
    """

    name: str
    indices: tuple[str, ...]
    sets: tuple[IndexSet, ...]
    where: tuple[Comparison, ...]
    kernel: str | None  # None for a real variable
    interval: Interval
    span: Span


class Abbreviation(NamedTuple):
    name: str
    formals: tuple[str, ...]
    body: Expr
    span: Span


class Loss(NamedTuple):
    name: str
    formals: tuple[str, ...]
    parameters: tuple[str, ...]
    body: Expr
    span: Span


class Constraint(NamedTuple):
    """One labelled family; `where` holds its own filter and the one its index tuple was declared with."""

    label: str
    indices: tuple[str, ...]
    sets: tuple[IndexSet, ...]
    where: tuple[Comparison, ...]
    comparison: Comparison
    span: Span


class Prediction(NamedTuple):
    """A predict clause; `sets` has for each formal what it is an element of, None for the new point."""

    kind: str
    formals: tuple[str, ...]
    body: Expr
    span: Span
    sets: tuple[IndexSet | None, ...] = ()


class Model(NamedTuple):
    """A well-typed model. Tuples keep the order of declaration; look-ups go by name."""

    name: str
    title: str
    indices: tuple[Index, ...]
    data: tuple[Datum, ...]
    parameters: tuple[Parameter, ...]
    kernels: tuple[Kernel, ...]
    variables: tuple[Variable, ...]
    abbreviations: tuple[Abbreviation, ...]
    losses: tuple[Loss, ...]
    sense: str  # "minimize" or "maximize"
    objective: Expr
    constraints: tuple[Constraint, ...]
    predictions: tuple[Prediction, ...]
    source: str  # the text the spans point into

    @property
    def primal(self) -> Primal:
        """The primal problem as an object of the algebra; KdslError where it is not convex."""
        from kdsl.algebra.formulate import formulate

        return formulate(self)
