"""The tables of built-in losses and kernels: each definition is what the textbooks print, and can be used."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from kdsl.algebra.builtin_losses import BUILTIN_LOSSES, LOSSES_BY_NAME, BuiltinLoss
from kdsl.language.checker import check_spec
from kdsl.language.kernel_catalog import KERNEL_FAMILIES, PARAMETER_WORDS, KernelFamily
from kdsl.language.parser import parse_expression, parse_spec_text
from kdsl.language.syntax import Add, Call, Expr, Mul, Name, Neg, Number

FUNCTIONS = {
    "max": max,
    "abs": abs,
    "pos": lambda r: max(r, 0.0),
    "square": lambda r: r * r,
    "exp": math.exp,
    "log": math.log,
}

# (loss, parameters, argument, value): figures worked out by hand from the cited formulas
VALUES = [
    ("hinge", {}, 0.25, 0.75),
    ("hinge", {}, 1.5, 0.0),
    ("squared_hinge", {}, -1.0, 4.0),
    ("squared_hinge", {}, 2.0, 0.0),
    ("huberized_squared_hinge", {"delta": 2.0}, 0.0, 1.0),
    ("huberized_squared_hinge", {"delta": 2.0}, -1.0, 4.0),
    ("huberized_squared_hinge", {"delta": 2.0}, -3.0, 12.0),
    ("squared", {}, -3.0, 9.0),
    ("absolute", {}, -3.0, 3.0),
    ("eps_insensitive", {"eps": 0.5}, -2.0, 1.5),
    ("eps_insensitive", {"eps": 0.5}, 0.4, 0.0),
    ("eps_insensitive_squared", {"eps": 0.5}, 2.0, 2.25),
    ("huber", {"delta": 1.345}, 1.0, 0.5),
    ("huber", {"delta": 1.345}, -3.0, 1.345 * 3.0 - 1.345**2 / 2),
    ("pinball", {"tau": 0.9}, 2.0, 1.8),
    ("pinball", {"tau": 0.9}, -2.0, 0.2),
    ("perceptron", {}, -2.0, 2.0),
    ("perceptron", {}, 2.0, 0.0),
    ("logistic", {}, 0.0, math.log(2.0)),
]


def evaluate(expression: Expr, values: dict[str, float]) -> float:
    if isinstance(expression, Number):
        return float(Fraction(expression.text))
    if isinstance(expression, Name):
        return values[expression.id]
    if isinstance(expression, Neg):
        return -evaluate(expression.operand, values)
    if isinstance(expression, Call):
        return float(FUNCTIONS[expression.function.id](*(evaluate(part, values) for part in expression.arguments)))
    assert isinstance(expression, Add | Mul)
    parts = expression.terms if isinstance(expression, Add) else expression.factors
    total = evaluate(parts[0], values)
    for operator, part in zip(expression.operators, parts[1:], strict=True):
        value = evaluate(part, values)
        total = {"+": total + value, "-": total - value, "*": total * value, "": total * value}[operator]
    return total


@pytest.mark.parametrize(("name", "parameters", "argument", "value"), VALUES)
def test_loss_values(name: str, parameters: dict[str, float], argument: float, value: float) -> None:
    loss = LOSSES_BY_NAME[name]
    got = evaluate(parse_expression(loss.definition), {**parameters, loss.formals[0]: argument})
    assert got == pytest.approx(value, abs=1e-12)


def test_every_loss_but_the_multinomial_has_values_above() -> None:
    assert {row[0] for row in VALUES} == {loss.name for loss in BUILTIN_LOSSES} - {"multinomial"}


def test_defaults_of_the_losses() -> None:
    assert LOSSES_BY_NAME["huber"].parameters[0].default == Fraction(1345, 1000)
    assert {loss.name for loss in BUILTIN_LOSSES if loss.entropy} == {"logistic", "multinomial"}


def call(loss: BuiltinLoss, parameters: int) -> str:
    given = "; " + ", ".join(["1/2"] * parameters) if parameters else ""
    argument = "y[i] * f(x[i])" if loss.kind == "margin" else "y[i] - f(x[i])"
    return f"{loss.name}({argument}{given})"


@pytest.mark.parametrize(
    "loss", [loss for loss in BUILTIN_LOSSES if loss.name != "multinomial"], ids=lambda loss: loss.name
)
def test_every_loss_can_be_called(loss: BuiltinLoss) -> None:
    required = sum(parameter.default is None for parameter in loss.parameters)
    for parameters in range(required, len(loss.parameters) + 1):
        assert spec_codes("k = linear", call(loss, parameters)) == []
    assert spec_codes("k = linear", call(loss, len(loss.parameters) + 1)) == ["K312"]


def spec_codes(kernel: str, loss: str) -> list[str]:
    text = f"""\
index  i in 1..l
data   x[i] : input, y[i] : {{-1, 1}}
kernel {kernel}
var    w : H(k), b : real
let    f(t) = <w, phi(t)> + b
minimize 1/2 ||w||^2 + sum[i] {loss}
predict value(t) = f(t)
"""
    return [diagnostic.code for diagnostic in check_spec(parse_spec_text(text), text, "m")[1]]


@pytest.mark.parametrize("family", KERNEL_FAMILIES, ids=lambda family: family.name)
def test_every_kernel_can_be_written_with_its_defaults(family: KernelFamily) -> None:
    given = [f"{p.name} = {p.default}" for p in family.parameters if p.default is not None]
    given += [f"{p.name} = linear" for p in family.parameters if p.kind == "kernel"]
    expected = [] if family.psd else ["K227"]
    assert spec_codes(f"k = {family.name}({', '.join(given)})", "squared(y[i] - f(x[i]))") == expected


@pytest.mark.parametrize("family", KERNEL_FAMILIES, ids=lambda family: family.name)
def test_the_ends_of_every_range(family: KernelFamily) -> None:
    for parameter in family.parameters:
        if parameter.lower is None:
            continue
        at_end = spec_codes(f"k = {family.name}({parameter.name} = {parameter.lower})", "squared(f(x[i]) - y[i])")
        assert ("K230" in at_end) == parameter.lower_open
        below = spec_codes(f"k = {family.name}({parameter.name} = {parameter.lower} - 1)", "squared(f(x[i]) - y[i])")
        assert "K230" in below


def test_every_word_is_explained() -> None:
    words = {word for family in KERNEL_FAMILIES for parameter in family.parameters for word in parameter.words}
    assert words == set(PARAMETER_WORDS)
