"""Operators build the tree that the parser makes of what they print, whatever is combined."""

from __future__ import annotations

import operator as op
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdsl.api import (
    Problem,
    argmax,
    inner,
    laplacian,
    linear,
    maximum,
    norm,
    normalized,
    phi,
    poly,
    pos,
    precomputed,
    rbf,
    square,
    sum_over,
)
from kdsl.api.places import Sources
from kdsl.language.parser import parse_expression, parse_kernel, parse_spec_text
from kdsl.language.printer import print_expression, print_kernel
from kdsl.language.syntax import KernelExpr

P = Problem("any")
I, J = P.index("i", 1, "l"), P.index("j", "classes")
X, Y, C = P.data("x", I, kind="input"), P.data("y", I, labels="classes"), P.param("C")
K = P.kernel("k", rbf(0.5))
W, B, XI = P.hilbert("w", K, J), P.real("b"), P.real("xi'", I)
DIFFERENT = J != Y[I]  # noqa: SIM300
F = P.let("f", lambda t: inner(W[J], phi(t)))

numbers = st.one_of(
    st.integers(-20, 20),
    st.fractions(Fraction(-3), Fraction(3), max_denominator=9),
    st.floats(-1e6, 1e6, allow_nan=False),
    st.sampled_from([np.float64(0.25), np.int64(7), 1e-30, 1e22]),
)
leaves = st.sampled_from([B, C, XI[I], Y[I], I.size, F(X[I]), inner(W[Y[I]] - W[J], phi(X[I])), norm(W[J])])


def combined(parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    either = st.one_of(parts, numbers)
    return st.one_of(
        st.builds(lambda a, b: a + b, parts, either),
        st.builds(lambda a, b: a - b, parts, either),
        st.builds(lambda a, b: b - a, parts, either),
        st.builds(lambda a, b: a * b, parts, either),
        st.builds(lambda a, b: b * a, parts, either),
        st.builds(lambda a, b: a / b, parts, either),
        st.builds(lambda a, b: b / a, parts, either),
        st.builds(lambda a, n: a**n, parts, st.integers(0, 4)),
        st.builds(lambda a: -a, parts),
        st.builds(abs, parts),
        st.builds(pos, parts),
        st.builds(square, parts),
        st.builds(maximum, parts, either),
        st.builds(lambda a: sum_over(I)(a), parts),
        st.builds(lambda a, b: sum_over(I, J, where=(DIFFERENT, a < 3))(b), parts, parts),
        st.builds(lambda a: argmax(J)(a), parts),
    )


@settings(max_examples=400, deadline=None)
@given(st.recursive(leaves, combined, max_leaves=12))
def test_an_expression_reads_back_from_its_print(expression: Any) -> None:
    assert parse_expression(print_expression(expression.node)) == expression.node


OPERATORS = (*(op.add, op.sub, op.mul, op.truediv), *(op.le, op.ge, op.lt, op.gt, op.eq, op.ne))


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("number", [np.float64(2.5), np.float32(2.5), np.int64(2)])
def test_numbers_of_numpy_are_numbers(operator: Any, number: Any) -> None:
    assert operator(number, B).node == operator(number.item(), B).node
    assert operator(B, number).node == operator(B, number.item()).node


@settings(max_examples=150, deadline=None)
@given(st.recursive(leaves, combined, max_leaves=8), st.recursive(leaves, combined, max_leaves=8))
def test_a_formatted_problem_reads_back(objective: Any, side: Any) -> None:
    p = Problem("any", "a title")
    p.sources = P.sources
    p.index("i", 1, "l")
    p.minimize(objective)
    p.subject_to("c", I, J, side >= objective, where=(DIFFERENT, B <= 2))
    p.predict("value", lambda t: objective)
    assert parse_spec_text(str(p)) == p.spec


kernels = st.recursive(
    st.sampled_from(
        [
            *(rbf(), rbf(0.5), rbf("scale"), rbf(sigma=2), linear(), poly(2, coef0=0), laplacian(C), precomputed()),
            *(K, normalized(K), poly(degree=3).on("age"), (rbf(1) + linear()).on("a", "b"), (rbf() * K).on("a")),
        ]
    ),
    lambda parts: st.one_of(
        st.builds(lambda a, b: a + b, parts, parts),
        st.builds(lambda a, b: a * b, parts, parts),
        st.builds(lambda a, n: a * n, parts, st.sampled_from([0, 0.3, Fraction(1, 3), C])),
        st.builds(lambda a, n: n * a, parts, st.sampled_from([0, 0.3, Fraction(1, 3), C])),
        st.builds(lambda a, n: n + a, parts, st.sampled_from([1, C])),
    ),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(kernels)
def test_a_kernel_reads_back_from_its_print(kernel: Any) -> None:
    from kdsl.api.kernels import kernel_node
    from kdsl.language.syntax import NOWHERE

    node: KernelExpr = kernel_node(kernel, NOWHERE, Sources())
    (declared,) = parse_kernel(f"q = {print_kernel(node)}")
    assert declared.kernel == node


def test_python_operators_mean_what_the_blackboard_means() -> None:
    cases = {
        "1 - xi'[i]": 1 - XI[I],
        "C / 2 * b": C / 2 * B,
        "1 / (C * l)": 1 / (C * I.size),
        "(-b) * C": -B * C,
        "-(b * C)": -(B * C),
        "-b^2": -(B**2),
        "b - (C - 1)": B - (C - 1),
        "b - C - 1": B - C - 1,
        "(b + 1) * (b - 1)": (B + 1) * (B - 1),
        "sum[i] xi'[i] * C": sum_over(I)(XI[I] * C),
        "(sum[i] xi'[i]) * C": sum_over(I)(XI[I]) * C,
        "max(b, 0, C)": maximum(B, 0, C),
        "abs(b)": abs(B),
        "1/3 * b": Fraction(1, 3) * B,
        "b + C": sum([B, C]),
        "2.5 * b": np.float64(2.5) * B,
    }
    for text, expression in cases.items():
        assert parse_expression(text) == expression.node, text
    assert repr(1 <= B) == "b >= 1"  # noqa: SIM300
    assert repr(B == 1) == "b = 1" and repr(DIFFERENT) == "j != y[i]"


def test_arguments_go_by_place_or_by_name() -> None:
    p = Problem("named")
    b = p.real("b")
    skew = p.loss("skew", lambda r, *, low, high: maximum(low * r, high * r))
    forms = [skew(b, low=1, high=2), skew(b, 1, 2), skew(b, high=2, low=1), skew(r=b, low=1, high=2)]
    assert {repr(form) for form in forms} == {"skew(b; 1, 2)"}
    assert repr(p.let("half", b / 2) + 1) == "half + 1" and repr(skew) == "skew"


def test_greek_names_are_those_of_the_language() -> None:
    p = Problem("greek")
    assert [repr(p.real(name)) for name in ("ξ'", "λ", "b0")] == ["xi'", "lambda", "b0"]


def test_no_text_is_read_to_build_it(monkeypatch: Any) -> None:
    from kdsl.language import parser

    monkeypatch.setattr(parser, "_parse", None)
    p = Problem("plain")
    b = p.real("b")
    p.minimize(b**2)
    p.subject_to("above", b >= 1)
    assert p.derive().derivation.primal == p.primal
