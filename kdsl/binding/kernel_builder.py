"""build_kernel: from the kernel expression of a spec, parameter values and the training points to a Kernel object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from kdsl.binding.composed import Constant, Normalized, OnColumns, Product, Scaled, Sum
from kdsl.binding.distances import squared_distances
from kdsl.binding.faults import fault, listing, nearest
from kdsl.binding.kernels import Gaussian, Kernel, Laplacian, Linear, Polynomial, Sigmoid, number
from kdsl.binding.precomputed import Precomputed
from kdsl.binding.python_kernel import Function, PythonKernel
from kdsl.language.diagnostics import KdslError
from kdsl.language.kernel_catalog import FAMILIES_BY_NAME, KERNEL_FAMILIES, OTHER_NAMES, KernelFamily, KernelParameter
from kdsl.language.syntax import (
    Add,
    Expr,
    KernelCall,
    KernelExpr,
    KernelNumber,
    KernelOn,
    KernelProduct,
    KernelSum,
    Mul,
    Name,
    Neg,
    Number,
    Pow,
)
from kdsl.numerics.arrays import Matrix

LARGEST_DEGREE = 1_000_000
MEDIAN_POINTS = 1000  # the median distance is that of all pairs of this many points, evenly spaced in the table

# gamma = 1 / (scale * value^power), as the handbook (2 sigma^2) and the papers (width^2) write it
GAUSSIAN_WIDTHS = (
    ("sigma", "1/(2 sigma^2)", 2.0, 2),
    ("sigma2", "1/(2 sigma2)", 2.0, 1),
    ("width", "1/width^2", 1.0, 2),
)


class Surroundings(NamedTuple):
    """What a kernel expression may refer to."""

    parameters: Mapping[str, float]
    points: Matrix
    names: tuple[str, ...]
    declared: Mapping[str, KernelExpr]
    functions: Mapping[str, Function]
    open: tuple[str, ...] = ()


def build_kernel(
    expr: KernelExpr,
    parameters: Mapping[str, float],
    points: Matrix,
    feature_names: Sequence[str],
    declared: Mapping[str, KernelExpr] | None = None,
    functions: Mapping[str, Function] | None = None,
    allow_python: bool = True,
) -> Kernel:
    """The kernel with every parameter a number; `scale` and `median` are computed from `points`.

    `declared` are the other kernels of the model, by name; `functions` are the user's Python functions, by the
    name that the expression calls them, and refused unless `allow_python`.
    """
    if functions and not allow_python:
        raise fault(
            "K563",
            f"the kernel calls the Python function `{next(iter(functions))}`",
            "it would be run with your rights, and spec files are passed around",
            "say `--allow-python` if you trust it",
        )
    return build(expr, Surroundings(parameters, points, tuple(feature_names), declared or {}, functions or {}))


def build(expr: KernelExpr, around: Surroundings) -> Kernel:
    if isinstance(expr, KernelSum):
        return Sum(tuple(build(term, around) for term in expr.terms))
    if isinstance(expr, KernelProduct):
        return build_product(expr, around)
    if isinstance(expr, KernelOn):
        return build_on(expr, around)
    if isinstance(expr, KernelNumber):
        return Constant(factor_of(literal(expr.value.text), expr.value.text))
    return build_call(expr, around)


def build_product(expr: KernelProduct, around: Surroundings) -> Kernel:
    """Numbers and parameters among the factors multiply the rest."""
    scale, words = 1.0, []
    kernels: list[Kernel] = []
    for part in expr.factors:
        if isinstance(part, KernelNumber):
            scale *= factor_of(literal(part.value.text), part.value.text)
            words.append(part.value.text)
        elif isinstance(part, KernelCall) and part.name.id in around.parameters:
            value = factor_of(around.parameters[part.name.id], part.name.id)
            scale *= value
            words.append(f"({part.name.id} = {number(value)})")
        else:
            kernels.append(build(part, around))
    if not kernels:
        return Constant(scale)
    kernel = kernels[0] if len(kernels) == 1 else Product(tuple(kernels))
    return Scaled(scale, kernel, " ".join(words)) if words else kernel


def build_on(expr: KernelOn, around: Surroundings) -> Kernel:
    """`on color` takes the column `color`, or all the columns `color=...` that it was expanded to."""
    columns: list[int] = []
    for word in expr.columns:
        found = [p for p, n in enumerate(around.names) if n == word.id or n.startswith(f"{word.id}=")]
        if not found:
            raise fault(
                "K565",
                f"the kernel is declared on `{word.id}`, which is not a feature",
                help=nearest(word.id, around.names),
            )
        columns += [p for p in found if p not in columns]
    chosen: Matrix = around.points[:, columns]
    names = tuple(around.names[p] for p in columns)
    inner = build(expr.kernel, around._replace(points=chosen, names=names))
    return OnColumns(inner, tuple(columns), tuple(word.id for word in expr.columns))


def build_call(call: KernelCall, around: Surroundings) -> Kernel:
    name = call.name.id
    if name in around.functions:
        return PythonKernel(around.functions[name], name)
    if name in around.declared:
        return build_declared(name, around)
    if name in around.parameters:
        return Constant(factor_of(around.parameters[name], name))
    family = FAMILIES_BY_NAME.get(name)
    if family is None:
        known = [*(f.name for f in KERNEL_FAMILIES), *around.declared]
        raise fault("K560", f"there is no kernel `{name}`", help=nearest(OTHER_NAMES.get(name.lower(), name), known))
    if name == "normalized":
        return build_normalized(call, around)
    return build_family(family, read_arguments(call, family, around))


def build_declared(name: str, around: Surroundings) -> Kernel:
    if name in around.open:
        raise fault(
            "K560",
            f"the kernel `{name}` is defined by itself",
            f"the definitions go round: {' → '.join((*around.open, name))}",
            "write one of them with a built-in kernel",
        )
    return build(around.declared[name], around._replace(open=(*around.open, name)))


def build_normalized(call: KernelCall, around: Surroundings) -> Kernel:
    given = {word.id: value for word, value in call.arguments}
    of = given.get("of")
    if not isinstance(of, Name) or len(given) != 1:
        raise fault(
            "K561",
            "`normalized` takes one argument, the name of a kernel",
            help="name the kernel and declare it beside: `normalized(of = q), q = poly(degree = 3)`",
        )
    return Normalized(build_call(KernelCall(of, ()), around))


class Argument(NamedTuple):
    """A parameter's value, and the words it came from (" [gamma = scale = ...]") or ""."""

    value: float
    words: str = ""


def build_family(family: KernelFamily, given: Mapping[str, Argument]) -> Kernel:
    if family.name == "linear":
        return Linear()
    if family.name == "precomputed":
        return Precomputed()
    if family.name == "rbf":
        return gaussian(given)
    gamma = given["gamma"]
    if family.name == "poly":
        return Polynomial(int(given["degree"].value), gamma.value, given["coef0"].value, gamma.words)
    if family.name == "laplacian":
        return Laplacian(gamma.value, gamma.words)
    return Sigmoid(gamma.value, given["coef0"].value, gamma.words)


def gaussian(given: Mapping[str, Argument]) -> Kernel:
    """gamma, or sigma, sigma2, width of the books: 1/(2 sigma^2), 1/(2 sigma2), 1/width^2."""
    for name, formula, scale, exponent in GAUSSIAN_WIDTHS:
        if name in given:
            value = given[name].value
            denominator = scale * power(value, exponent)
            if not 0 < denominator < float("inf"):
                raise fault(
                    "K562",
                    f"`{name}` of the kernel `rbf` is {number(value)}",
                    f"gamma = {formula} is {'infinite' if denominator == 0 else '0'} in floating point",
                    "choose another value",
                )
            return Gaussian(1.0 / denominator, f" [gamma = {formula}, {name} = {number(value)}]")
    return Gaussian(given["gamma"].value, given["gamma"].words)


def read_arguments(call: KernelCall, family: KernelFamily, around: Surroundings) -> dict[str, Argument]:
    known = {parameter.name: parameter for parameter in family.parameters}
    given: dict[str, Argument] = {}
    for word, expression in call.arguments:
        if word.id not in known:
            what = nearest(word.id, known) if known else "it takes none"
            raise fault("K561", f"the kernel `{family.name}` has no parameter `{word.id}`", help=what)
        given[word.id] = read_argument(family, known[word.id], expression, around)
    for group in family.exclusive:
        chosen = [name for name in group if name in given]
        if len(chosen) > 1:
            raise fault(
                "K561",
                f"the kernel `{family.name}` is given {listing(chosen)}, which say the same thing",
                family.formula,
                "keep one of them",
            )
    excluded = {name for group in family.exclusive if any(n in given for n in group) for name in group}
    for name, parameter in known.items():
        if name not in given and name not in excluded and parameter.default is not None:
            default = parameter.default
            expression = Name(default) if isinstance(default, str) else Number(str(default))
            given[name] = read_argument(family, parameter, expression, around)
    return given


def read_argument(family: KernelFamily, parameter: KernelParameter, expression: Expr, around: Surroundings) -> Argument:
    if isinstance(expression, Name) and expression.id in parameter.words and expression.id not in around.parameters:
        return word_value(expression.id, around.points)
    value = evaluate(expression, around.parameters, f"`{parameter.name}` of `{family.name}`")
    low, high = parameter.lower, parameter.upper
    below = low is not None and (value < float(low) or (parameter.lower_open and value == float(low)))
    above = high is not None and (value > float(high) or (parameter.upper_open and value == float(high)))
    fraction = parameter.kind == "integer" and value != int(value) if np.isfinite(value) else True
    if below or above or fraction:
        raise fault(
            "K562",
            f"`{parameter.name}` of the kernel `{family.name}` is {number(value)}",
            f"{family.formula} is a kernel for {range_words(parameter)}",
            "choose another value",
        )
    if parameter.kind == "integer" and value > LARGEST_DEGREE:
        raise fault(
            "K562",
            f"`{parameter.name}` of the kernel `{family.name}` is {number(value)}",
            f"a power above {LARGEST_DEGREE:,} is 0, 1 or infinite in floating point",
            "choose another value",
        )
    words = f" [{parameter.name} = {expression.id}]" if isinstance(expression, Name) else ""
    return Argument(value, words)


def range_words(parameter: KernelParameter) -> str:
    name = f"integer {parameter.name}" if parameter.kind == "integer" else parameter.name
    parts = []
    if parameter.lower is not None:
        parts.append(f"{'>' if parameter.lower_open else '>='} {parameter.lower}")
    if parameter.upper is not None:
        parts.append(f"{'<' if parameter.upper_open else '<='} {parameter.upper}")
    return f"{name} {' and '.join(parts) or '< inf'}"


def evaluate(expression: Expr, parameters: Mapping[str, float], what: str) -> float:
    """The number that an arithmetic expression of literals and parameters comes to."""
    if isinstance(expression, Number):
        return float("inf") if expression.text in ("inf", "infinity", "∞") else literal(expression.text)
    if isinstance(expression, Name):
        if expression.id not in parameters:
            raise fault(
                "K561",
                f"{what} is `{expression.id}`, which is neither a number, nor a parameter, nor a word for this kernel",
                help=nearest(expression.id, [*parameters, "scale", "median"]),
            )
        return float(parameters[expression.id])
    if isinstance(expression, Neg):
        return -evaluate(expression.operand, parameters, what)
    if isinstance(expression, Pow):
        base = evaluate(expression.base, parameters, what)
        if base == 0 and expression.exponent < 0:
            raise divides_by_zero(what)
        return power(base, expression.exponent)
    if isinstance(expression, (Add, Mul)):
        parts = expression.terms if isinstance(expression, Add) else expression.factors
        total = evaluate(parts[0], parameters, what)
        for operator, part in zip(expression.operators, parts[1:], strict=True):
            value = evaluate(part, parameters, what)
            if operator == "/" and value == 0:
                raise divides_by_zero(what)
            total = combine(operator, total, value)
        return total
    raise fault("K561", f"{what} is not arithmetic on numbers and parameters", help="write a number")


def literal(text: str) -> float:
    """A number as it is written; beyond the largest float it is infinite."""
    try:
        return float(Fraction(text))
    except OverflowError:
        return float("inf")


def power(base: float, exponent: int) -> float:
    try:
        return float(base**exponent)
    except OverflowError:
        return float("inf")


def divides_by_zero(what: str) -> KdslError:
    return fault("K562", f"{what} divides by zero", help="check the values of the parameters")


def combine(operator: str, left: float, right: float) -> float:
    if operator == "+":
        return left + right
    if operator == "-":
        return left - right
    return left / right if operator == "/" else left * right


def word_value(word: str, points: Matrix) -> Argument:
    if word == "scale":
        rows, d = points.shape
        if sp.issparse(points):
            stored = np.asarray(sp.csr_array(points).data, dtype=np.float64)
            mean = float(stored.sum()) / (rows * d)
            variance = float(((stored - mean) ** 2).sum() + (rows * d - len(stored)) * mean**2) / (rows * d)
        else:
            variance = float(np.var(points))
        if variance <= 0:
            raise no_spread(word, "the variance of all entries")
        words = f" [gamma = scale = 1/(d var), d = {d}, var = {number(variance)}]"
        return Argument(1.0 / (d * variance), words)
    median = median_distance(points)
    if median <= 0:
        raise no_spread(word, "the median distance between points")
    return Argument(1.0 / median**2, f" [gamma = median = 1/m^2, m = {number(median)}]")


def median_distance(points: Matrix) -> float:
    """Over all pairs of at most MEDIAN_POINTS points, taken at even steps through the table."""
    rows = points.shape[0]
    if rows < 2:
        return 0.0
    chosen = points[np.unique(np.linspace(0, rows - 1, min(rows, MEDIAN_POINTS)).astype(np.int64))]
    distances = squared_distances(chosen)(chosen)
    return float(np.sqrt(np.median(distances[np.triu_indices(chosen.shape[0], 1)])))


def no_spread(word: str, what: str) -> Exception:
    return fault(
        "K568",
        f"`gamma = {word}` has no value here: {what} is 0",
        "the formula divides by it",
        "give gamma as a number, or look at the features",
    )


def factor_of(value: float, word: str) -> float:
    if not 0 <= value < float("inf"):
        raise fault(
            "K562",
            f"the kernel is multiplied by {word if word == number(value) else f'{word} = {number(value)}'}",
            "a negative multiple of a kernel is not a kernel, and an infinite one has no values",
            "choose a finite factor >= 0",
        )
    return value
