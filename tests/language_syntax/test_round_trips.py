"""parse ∘ format is the identity on trees, format is idempotent, and no spelling changes the tree."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spec_trees import expressions, kernel_declarations, specs

from kdsl.language.formatter import format_source
from kdsl.language.parser import parse_expression, parse_kernel, parse_spec_text
from kdsl.language.printer import print_expression, print_kernel, print_spec
from kdsl.language.syntax import Expr, KernelDecl, Spec

SPELLINGS = [None, True, False]
BREAKABLE = {"+", "-", "*", "/", "<=", ">=", "!="}  # after these a line goes on, unless a statement word follows


@settings(max_examples=800, deadline=None)
@given(expressions)
def test_printed_expressions_are_read_back(tree: Expr) -> None:
    assert parse_expression(print_expression(tree)) == tree


@settings(max_examples=40, deadline=None)
@given(st.lists(kernel_declarations, min_size=1, max_size=3))
def test_printed_kernels_are_read_back(declarations: list[KernelDecl]) -> None:
    text = ", ".join(f"{declaration.name.id} = {print_kernel(declaration.kernel)}" for declaration in declarations)
    assert parse_kernel(text) == tuple(declarations)


@settings(max_examples=120, deadline=None)
@given(specs())
def test_formatting_keeps_the_tree(tree: Spec) -> None:
    text = print_spec(tree)
    assert parse_spec_text(text) == tree
    for unicode in SPELLINGS:
        formatted = format_source(text, unicode)
        assert parse_spec_text(formatted) == tree
        assert format_source(formatted, unicode) == formatted


@settings(max_examples=120, deadline=None)
@given(specs(), st.randoms(use_true_random=False))
def test_line_breaks_and_comments_survive(tree: Spec, choice: random.Random) -> None:
    """Break lines after commas and operators, and put a comment after every break."""
    pieces = print_spec(tree).split(" ")
    comments = 0
    broken = pieces[0]
    for piece, following in pairwise(pieces):
        joint = " "
        if piece in BREAKABLE and not following.startswith("data") and choice.random() < 0.3:
            comments += 1
            joint = f" # comment {comments}\n\n\n"
        broken += joint + following
    if tree.title:
        return
    for unicode in SPELLINGS:
        formatted = format_source(broken, unicode)
        assert parse_spec_text(formatted) == tree
        assert format_source(formatted, unicode) == formatted
        assert [line.split("# comment ")[1] for line in formatted.splitlines() if "#" in line] == [
            str(number) for number in range(1, comments + 1)
        ]


@pytest.mark.parametrize("text", ["1 / 2", "1/2", "a/1/2", "1/2/3", "a/(1/2)", "2/3^2", "(2/3)^2", "x^2/3", "1 / 2.5"])
def test_fractions_keep_their_meaning(text: str) -> None:
    tree = parse_expression(text)
    assert parse_expression(print_expression(tree)) == tree
    for unicode in SPELLINGS:
        formatted = format_source(f"let a = {text}", unicode)
        assert parse_expression(formatted.removeprefix("let    a = ")) == tree
