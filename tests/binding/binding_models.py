"""Checked models written by hand, so that the tests of binding do not depend on the parser."""

from __future__ import annotations

from fractions import Fraction

from kdsl.language.diagnostics import Diagnostic, KdslError
from kdsl.language.model import Datum, Index, IndexSet, Interval, Kernel, Model, Parameter
from kdsl.language.syntax import NOWHERE, Item, KernelCall, Mul, Name, Number, Sum

L = IndexSet("l", False)
M = IndexSet("m", False)
CLASSES = IndexSet("classes", True)
GROUPS = IndexSet("groups", True)
REAL = Interval(None, None)
NON_NEGATIVE = Interval(Fraction(0), None)


def datum(name, kind="real", sets=(L,), interval=REAL, values=(), labels=None, default=None):
    value = None if default is None else Fraction(default)
    return Datum(name, tuple(sets), kind, interval, tuple(map(Fraction, values)), labels, value, NOWHERE)


def index(name, index_set):
    return Index((name,), (index_set,), (), NOWHERE)


X = datum("x", "input")
SIGNS = datum("y", "finite", values=(-1, 1))
RESPONSE = datum("y")
WEIGHT = datum("s", interval=NON_NEGATIVE, default=1)
GAUSSIAN = KernelCall(Name("rbf"), ((Name("gamma"), Number("0.5")),))


def model(data, indices=None, kernels=(("k", GAUSSIAN),), parameters=()):
    return Model(
        name="example",
        title="",
        indices=tuple(indices or (index("i", L),)),
        data=tuple(data),
        parameters=tuple(parameters),
        kernels=tuple(Kernel(name, expression, NOWHERE) for name, expression in kernels),
        variables=(),
        abbreviations=(),
        losses=(),
        sense="minimize",
        objective=Number("0"),
        constraints=(),
        predictions=(),
        source="",
    )


BINARY = model([X, SIGNS])
REGRESSION = model([X, RESPONSE])
WEIGHTED = model([X, SIGNS, WEIGHT])._replace(
    objective=Sum((Name("i"),), (), Mul((Item(Name("s"), (Name("i"),)), Item(Name("xi"), (Name("i"),))), ("*",)))
)
NOVELTY = model([X])
MULTICLASS = model([X, datum("y", "set", labels=CLASSES)], [index("i", L), index("k", CLASSES)])
COSTS = model(
    [X, datum("y", "set", labels=CLASSES), datum("delta", sets=(CLASSES, CLASSES), interval=NON_NEGATIVE)],
    [index("i", L), index("k", CLASSES)],
)
PAIRS = model(
    [X, SIGNS, datum("group", "set", labels=GROUPS), datum("lo", "input", sets=(M,)), datum("hi", "input", sets=(M,))],
    [index("i", L), index("j", M), index("g", GROUPS)],
)
LASSO = model(
    [datum("x", sets=(L, IndexSet("d", False))), RESPONSE], [index("i", L), index("j", IndexSet("d", False))], ()
)


def parameter(name, interval, default=None):
    return Parameter(name, (), interval, None if default is None else Fraction(default), NOWHERE)


def written(diagnostic: Diagnostic) -> str:
    """A diagnostic without source, as the command line prints it."""
    lines = [f"{diagnostic.severity}[{diagnostic.code}]: {diagnostic.message}"]
    lines += [f"  = why: {diagnostic.why}"] if diagnostic.why else []
    lines += [f"  = help: {diagnostic.help}"] if diagnostic.help else []
    return "\n".join(lines)


def said(error: KdslError) -> str:
    return "\n".join(written(diagnostic) for diagnostic in error.diagnostics)
