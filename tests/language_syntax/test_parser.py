"""The tree that each form of the language becomes."""

from __future__ import annotations

import re

import pytest

from kdsl.language import _tables
from kdsl.language.diagnostics import KdslError
from kdsl.language.expectations import expected_words
from kdsl.language.parser import parse_expression, parse_kernel, parse_spec_text
from kdsl.language.syntax import (
    Add,
    Argmax,
    Call,
    Comparison,
    ConstraintDecl,
    DataLine,
    Domain,
    Expr,
    IndexDecl,
    IndexLine,
    Inner,
    Item,
    KernelCall,
    KernelDecl,
    KernelLine,
    KernelNumber,
    KernelOn,
    KernelProduct,
    KernelSum,
    LetDecl,
    LossDecl,
    Mul,
    Name,
    Neg,
    Norm,
    Number,
    Objective,
    ParamLine,
    Pow,
    Predict,
    Range,
    Spec,
    SubjectTo,
    Sum,
    SymbolDecl,
    VarLine,
)

a, b, c, i, j, k, w, x, y = (Name(letter) for letter in "abcijkwxy")
one, two = Number("1"), Number("2")
half = Number("1/2")


def at(name: str, *subscripts: Expr) -> Item:
    return Item(Name(name), subscripts)


def codes(text: str) -> list[str]:
    with pytest.raises(KdslError) as caught:
        parse_spec_text(text)
    return [diagnostic.code for diagnostic in caught.value.diagnostics]


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("1/2 ||w||^2", Mul((half, Pow(Norm(w), 2)), ("",))),
        ("1/2 sum[k] ||w[k]||^2", Mul((half, Sum((k,), (), Pow(Norm(at("w", k)), 2))), ("",))),
        ("2 (a + b)", Mul((two, Add((a, b), ("+",))), ("",))),
        ("2 x^2", Mul((two, Pow(x, 2)), ("",))),
        ("1/a * b", Mul((one, a, b), ("/", "*"))),
        ("a/1/2", Mul((a, one, two), ("/", "/"))),
        ("a / (1/2)", Mul((a, half), ("/",))),
        ("1/2/a", Mul((half, a), ("/",))),
        ("1 / 2", Mul((one, two), ("/",))),
        ("1/2^2", Mul((one, Pow(two, 2)), ("/",))),
        ("x^2/2", Mul((Pow(x, 2), two), ("/",))),
        ("-x^2", Neg(Pow(x, 2))),
        ("-a * b", Neg(Mul((a, b), ("*",)))),
        ("a * -b", Mul((a, Neg(b)), ("*",))),
        ("a - -b", Add((a, Neg(b)), ("-",))),
        ("--a", Neg(Neg(a))),
        ("a - b + c", Add((a, b, c), ("-", "+"))),
        ("a - (b + c)", Add((a, Add((b, c), ("+",))), ("-",))),
        ("((a))", a),
        ("sum[i] a * b + c", Add((Sum((i,), (), Mul((a, b), ("*",))), c), ("+",))),
        ("c * sum[i] a * sum[j] b", Mul((c, Sum((i,), (), Mul((a, Sum((j,), (), b)), ("*",)))), ("*",))),
        (
            "sum[i, j where i != j, a > 1] b",
            Sum((i, j), (Comparison(i, "!=", j), Comparison(a, ">", one)), b),
        ),
        ("argmax[k] <w[k], x>", Argmax(k, Inner(at("w", k), x))),
        ("<w, x> * <-a, b>", Mul((Inner(w, x), Inner(Neg(a), b)), ("*",))),
        ("||a - ||b||*c||", Norm(Add((a, Mul((Norm(b), c), ("*",))), ("-",)))),
        ("w[y[i]]", at("w", at("y", i))),
        ("pinball(a; 0.1)", Call(Name("pinball"), (a,), (Number("0.1"),))),
        ("max(a, b; 1, 2)", Call(Name("max"), (a, b), (one, two))),
        ("xi'[i]", at("xi'", i)),
        ("2.5e-3 x", Mul((Number("2.5e-3"), x), ("",))),
        ("inf", Number("inf")),
        ("<a, sum[i where a < b] c>", Inner(a, Sum((i,), (Comparison(a, "<", b),), c))),
    ],
)
def test_expressions(text: str, tree: Expr) -> None:
    assert parse_expression(text) == tree


@pytest.mark.parametrize(
    ("unicode", "ascii"),
    [
        ("1/2 ‖w‖² + C · Σ[i] ξ[i]", "1/2 ||w||^2 + C * sum[i] xi[i]"),
        ("⟨w, φ(x[i])⟩ − ρ", "<w, phi(x[i])> - rho"),
        ("ε + ϵ", "eps + eps"),
        ("α·β⋅γ × δ", "alpha * beta * gamma * delta"),
        ("λ/(ν*ℓ)", "lambda/(nu*l)"),
        ("ξ̂[i] + ξ′[i]", "xi'[i] + xi'[i]"),
        ("x¹⁰", "x^10"),
        ("∞", "inf"),
        ("∑[i where y[i] ≠ τ, y[i] ≤ 1, y[i] ≥ 0] σ", "sum[i where y[i] != tau, y[i] <= 1, y[i] >= 0] sigma"),
        ("κ(x, z)", "kappa(x, z)"),
    ],
)
def test_unicode_spellings_are_the_same_tree(unicode: str, ascii: str) -> None:
    assert parse_expression(unicode) == parse_expression(ascii)


def test_unicode_declarations_are_the_same_tree() -> None:
    unicode = "index (i, j) ∈ 1…ℓ × 1..ℓ\nparam ν : ∈ (0, ∞)\nvar b : ℝ ≥ 0"
    ascii = "index (i, j) in 1..l x 1..l\nparam nu : in (0, inf)\nvar b : real >= 0"
    assert parse_spec_text(unicode) == parse_spec_text(ascii)


def test_spans_are_character_offsets() -> None:
    text = "ξ[i] * (a + b)"
    tree = parse_expression(text)
    assert isinstance(tree, Mul)
    cut = [text[slice(*part.span)] for part in (tree, *tree.factors)]
    assert cut == [text, "ξ[i]", "a + b"]
    assert tuple(tree.factors[0].span) == (0, 4)


def test_a_whole_file() -> None:
    text = (
        'model svm "a title"\n'
        "index  i in 1..l, (p, q) in 1..m x groups where y[p] = y[q], y[p] > 0, g in groups\n"
        "data   x[i] : input, y[i] : {-1, +1}, s[i] : real >= 0 = 1, d[g] : groups\n"
        "param  C : in (0, inf) = 1, nu : in [0, 1]\n"
        "kernel k = 0.7 * rbf(gamma = 0.5) + (linear + poly(degree = 2)) on age, income, q = linear\n"
        "var    w : H(k), b[g] : real\n"
        "let    f(t) = <w, phi(t)>\n"
        "let    n = 1/l\n"
        "loss   pinball(r; tau) = max(tau * r, (tau - 1) * r)\n"
        "minimize C\n"
        "subject to\n"
        "  margin[i, k] where k != y[i]: a >= b\n"
        "  unit: c = 1\n"
        "maximize a\n"
        "predict label(t, g) = sign(b[g])\n"
    )
    l, p, q, g, t, r, tau = (Name(n) for n in ("l", "p", "q", "g", "t", "r", "tau"))
    zero = Number("0")
    pair = IndexDecl(
        (p, q),
        (Range(one, Name("m")), Name("groups")),
        (Comparison(at("y", p), "=", at("y", q)), Comparison(at("y", p), ">", zero)),
    )
    groups = Domain("set", name=Name("groups"))
    scaled = KernelProduct((KernelNumber(Number("0.7")), KernelCall(Name("rbf"), ((Name("gamma"), Number("0.5")),))))
    inner = KernelSum((KernelCall(Name("linear"), ()), KernelCall(Name("poly"), ((Name("degree"), two),))))
    first = KernelSum((scaled, KernelOn(inner, (Name("age"), Name("income")))))
    positive = Domain("interval", lower=zero, upper=Number("inf"), lower_open=True, upper_open=True)
    expected = Spec(
        Name("svm"),
        "a title",
        (
            IndexLine((IndexDecl((i,), (Range(one, l),), ()), pair, IndexDecl((g,), (Name("groups"),), ()))),
            DataLine(
                (
                    SymbolDecl(x, (i,), Domain("input"), None),
                    SymbolDecl(y, (i,), Domain("finite", values=(Neg(one), one)), None),
                    SymbolDecl(Name("s"), (i,), Domain("real", relation=">=", bound=zero), one),
                    SymbolDecl(Name("d"), (g,), groups, None),
                )
            ),
            ParamLine(
                (
                    SymbolDecl(Name("C"), (), positive, one),
                    SymbolDecl(Name("nu"), (), Domain("interval", lower=zero, upper=one), None),
                )
            ),
            KernelLine((KernelDecl(k, first), KernelDecl(q, KernelCall(Name("linear"), ())))),
            VarLine(
                (
                    SymbolDecl(w, (), Domain("hilbert", name=k), None),
                    SymbolDecl(b, (g,), Domain("real"), None),
                )
            ),
            LetDecl(Name("f"), (t,), Inner(w, Call(Name("phi"), (t,)))),
            LetDecl(Name("n"), (), Mul((one, l), ("/",))),
            LossDecl(
                Name("pinball"),
                (r,),
                (tau,),
                Call(Name("max"), (Mul((tau, r), ("*",)), Mul((Add((tau, one), ("-",)), r), ("*",)))),
            ),
            Objective("minimize", Name("C")),
            SubjectTo(
                (
                    ConstraintDecl(Name("margin"), (i, k), (Comparison(k, "!=", at("y", i)),), Comparison(a, ">=", b)),
                    ConstraintDecl(Name("unit"), (), (), Comparison(c, "=", one)),
                )
            ),
            Objective("maximize", a),
            Predict(Name("label"), (t, g), Call(Name("sign"), (at("b", g),))),
        ),
    )
    assert parse_spec_text(text) == expected


def test_kernels_of_one_line_are_parted_before_a_name_and_an_equal_sign() -> None:
    linear = KernelCall(Name("linear"), ())
    first = KernelDecl(k, KernelOn(KernelCall(Name("rbf"), ((Name("gamma"), Number("0.5")),)), (a, b)))
    assert parse_kernel("k = rbf(gamma=0.5) on a, b, c = linear") == (first, KernelDecl(c, linear))


@pytest.mark.parametrize(
    "text",
    [
        "minimize a\n  + b\n  - c",
        "minimize a +\n b -\n\n c",
        "minimize\n  a + b - c",
        "minimize a # one\n  + b # two\n\n\n  - c",
        "minimize a\r\n + b\r - c\r\n",
        "\ufeffminimize a + b - c",
        "minimize a\u00a0+\tb - c",
    ],
)
def test_lines_that_go_on(text: str) -> None:
    assert parse_spec_text(text).statements == (Objective("minimize", Add((a, b, c), ("+", "-"))),)


@pytest.mark.parametrize(
    "text",
    [
        "subject to\n m[i]:\n a\n >= b",
        "subject to\n m[i,\n i]: a >= b\n",
        "subject to m[i]: a >= b",
        "subject   to\n m[i] where a = b,\n b = c: a >= b",
        "subject to\n loss[i]: a >= b",
        "subject to\n data: a >= (\nb\n)",
    ],
)
def test_constraints_over_several_lines(text: str) -> None:
    (block,) = parse_spec_text(text).statements
    assert isinstance(block, SubjectTo)
    assert [one.comparison for one in block.constraints] == [Comparison(a, ">=", b)]


def test_words_are_reserved_only_where_they_are_needed() -> None:
    text = "var data : real, index : H(H), to : real, x : x, loss : real >= model, H : input\n"
    (line,) = parse_spec_text(text).statements
    assert isinstance(line, VarLine)
    assert [entry.name.id for entry in line.entries] == ["data", "index", "to", "x", "loss", "H"]
    index = parse_spec_text("index x in x x x, y in 1..x").statements[0]
    assert isinstance(index, IndexLine)
    assert [len(entry.sets) for entry in index.entries] == [2, 1]


def test_every_printed_example_of_the_design_is_read(printed: dict[str, str]) -> None:
    assert len(printed) == 6
    for name, text in printed.items():
        assert parse_spec_text(text).name == Name(name)


def test_every_shipped_spec_is_read(shipped: dict[str, str]) -> None:
    assert len(shipped) > 20
    for name, text in shipped.items():
        assert parse_spec_text(text).name == Name(name)


def test_all_errors_of_a_file_come_at_once() -> None:
    text = "index i 1..l\nmin a b\ns.t.\n m a >= b\n n: (a >= b\n o: a >= b >= c\nlet f = |a|\nvar ξᵢ : real\n"
    assert codes(text) == ["K103", "K117", "K117", "K115", "K104", "K118", "K113", "K124"]


def test_one_line_is_reported_once() -> None:
    assert codes("let a = (b c d") == ["K104"]
    assert codes("let a = b == c d") == ["K111"]


def test_the_file_goes_on_after_an_open_bracket() -> None:
    assert codes("let a = (b\nvar c real\n") == ["K104", "K103"]
    assert codes("subject to\n m: (a >= b\n n: c d >= b\n") == ["K104", "K110"]


def test_more_than_a_hundred_errors_are_cut() -> None:
    with pytest.raises(KdslError) as caught:
        parse_spec_text("let a b\n" * 300)
    assert len(caught.value.diagnostics) == 100
    assert "the rest is not reported" in caught.value.diagnostics[-1].help


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("subject to\n m: a", "expected a relation such as <= after the left-hand side, found the end of the line"),
        ("let f(t = a", "`(` is never closed"),
        ("minimize", "expected an expression, found the end of the line"),
        ("data x[i] : input y", "expected `=`, a comma or the end of the line, found `y`"),
        ("index i in", "expected a set such as 1..l or groups, found the end of the line"),
        ("var b : real 0", "expected a bound such as >= 0, `=`, a comma or the end of the line, found `0`"),
        ("minimize max(a; b; c)", "expected an operator, `)` or a comma, found `;`"),
        ("kernel k = rbf(gamma 1)", "expected `=`, found `1`"),
        ("model", "expected a name, found the end of the line"),
    ],
)
def test_the_expected_thing_is_named_in_words(text: str, words: str) -> None:
    with pytest.raises(KdslError) as caught:
        parse_spec_text(text)
    assert [diagnostic.message for diagnostic in caught.value.diagnostics] == [words]


def test_no_terminal_is_shown_by_its_name() -> None:
    for actions in _tables.ACTIONS:
        for kind in ("INDEX", "KERNEL", "CONSTRAINT", "EXPRESSION"):
            words = expected_words(frozenset(actions), kind)
            assert not re.search("[A-Z]{2}|_", words), words


def test_expressions_and_kernels_report_too() -> None:
    for parse in (parse_expression, parse_kernel):
        with pytest.raises(KdslError):
            parse("a b")
        with pytest.raises(KdslError):
            parse("")


def test_the_empty_file_is_an_empty_spec() -> None:
    assert parse_spec_text("") == Spec(None, "", ())
    assert parse_spec_text("# nothing\n\n") == Spec(None, "", ())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("minimize a\nsubject to\n", ["K122"]),
        ("let f = (a)(b)", ["K110"]),
        ("let f = x[i = 1]", ["K103"]),
        ("min (a + b)", ["K117"]),
        ("min (a + b)\nsubject_to\n m: a >= b", ["K117", "K117"]),
        ("subject to\n max(a, b) <= c", ["K115"]),
        ("max(a, b) <= c", ["K117"]),
        ("let f = a \0\0\0 b", ["K101"]),
        ("data x : R^d", ["K103"]),
        ("subject to\n m: a >= (b\n +\nvar c : real", ["K104"]),
        ("model a\nmodel b", ["K123"]),
        ("xi_i = 1", ["K117"]),
        ("var xi[i] : real, xi_i : real\nlet f = xi_i + xi_j", ["K124"]),
    ],
)
def test_codes(text: str, expected: list[str]) -> None:
    assert codes(text) == expected


def test_an_underscore_is_a_slip_only_where_nothing_has_the_name() -> None:
    text = (
        "model group_bias\nindex i in 1..l\ndata x[i] : input, group[i] : real\nvar margin[i] : real\n"
        "let group_of = 1\nminimize sum[i] margin[i]^2\nsubject to\n  margin_low[i]: margin[i] >= group_of * group[i]\n"
    )
    assert parse_spec_text(text).name == Name("group_bias")
