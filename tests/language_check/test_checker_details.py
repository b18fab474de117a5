"""Single rules of the checker: each row is a change to a correct spec and the codes that it must give."""

from __future__ import annotations

import pytest

from kdsl.language.checker import check_spec
from kdsl.language.diagnostics import Diagnostic
from kdsl.language.parser import parse_spec_text

SVM = """\
index  i in 1..l, k in classes
data   x[i] : input, y[i] : {-1, 1}, g[i] : classes
param  C : in (0, inf) = 1
kernel q = rbf(gamma = 0.5)
var    w : H(q), b[k] : real, xi[i] : real >= 0
let    f(t) = <w, phi(t)>
minimize 1/2 ||w||^2 + C * sum[i] xi[i]
subject to
  margin[i]: y[i] * (f(x[i]) + b[g[i]]) >= 1 - xi[i]
predict label(t, k) = sign(f(t) + b[k])
"""


def diagnose(text: str) -> tuple[Diagnostic, ...]:
    return check_spec(parse_spec_text(text), text, "m")[1]


def changed(*pairs: tuple[str, str]) -> list[Diagnostic]:
    text = SVM
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new, 1)
    return [found for found in diagnose(text) if found.code != "K236"]


def test_the_spec_is_correct() -> None:
    assert diagnose(SVM) == ()


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        # names
        ("f(x[i])", "f[x[i]]", "K209"),
        ("f(x[i])", "q[i, i]", "K209"),
        ("1 - xi[i]", "1 - zeta[i]", "K211"),
        ("f(x[i])", "classes", "K210"),
        ("f(x[i])", "hinge", "K210"),
        ("margin[i]", "margin[i] where k != g[i]", "K203"),
        # calls
        ("f(x[i])", "f(x[i], x[i])", "K312"),
        ("f(x[i])", "q(x[i])", "K312"),
        ("f(x[i])", "abs(f(x[i]), 1)", "K312"),
        ("f(x[i])", "<w, phi(2)>", "K311"),
        ("f(x[i])", "f(i)", "K311"),
        ("sum[i] xi[i]", "sum[i] square(xi[i]^2)", "K314"),
        ("sum[i] xi[i]", "sum[i] pinball(xi[i]; 0)", "K330"),
        ("sum[i] xi[i]", "sum[i] pinball(xi[i]; xi[i])", "K329"),
        ("sum[i] xi[i]", "sum[i] multinomial(b[k]; k, y[i])", "K316"),
        ("sum[i] xi[i]", "sum[i] multinomial(b[k]; k, f)", "K210"),
        # types
        ("f(x[i])", "<w, x[i]>", "K310"),
        ("1/2 ||w||^2", "1/2 ||x[1]||^2", "K208"),
        ("f(x[i])", "||x[i]||^2", "K310"),
        ("f(x[i])", "-x[i]", "K310"),
        ("f(x[i])", "x[i]^2", "K310"),
        ("f(x[i])", "w / 2", "K324"),
        ("f(x[i])", "f(x[i]) / w", "K305"),
        ("1 - xi[i]", "g[i]", "K328"),
        ("margin[i]", "margin[i] where w = 1", "K305"),
        ("margin[i]", "margin[i] where g[i] != x[i]", "K310"),
        ("margin[i]", "margin[i] where 1 != g[i]", "K316"),
        ("f(t) + b[k]", "sign(f(t))", "K313"),
        # domains
        ("{-1, 1}", "{-1, C}", "K332"),
        ("{-1, 1}", "{1, 1}", "K317"),
        ("in (0, inf)", "in (inf, 0)", "K317"),
        ("in (0, inf)", "in (0, -inf)", "K317"),
        ("in (0, inf)", "in (l, inf)", "K332"),
        ("in (0, inf)", "real <= 0", "K333"),
        ("in (0, inf)", "real > 1", "K333"),
        ("g[i] : classes", "g[i] : H(q)", "K318"),
        ("in (0, inf) = 1", "input", "K318"),
        ("xi[i] : real >= 0", "xi[i] : input", "K318"),
        ("i in 1..l", "i in 1..2.5", "K317"),
        ("k in classes", "k in classes, m in 1..classes", "K221"),
        # kernels
        ("rbf(gamma = 0.5)", "C(gamma = 0.5) * linear", "K225"),
        ("rbf(gamma = 0.5)", "normalized(of = 2)", "K224"),
        ("rbf(gamma = 0.5)", "normalized(of = C)", "K224"),
        ("rbf(gamma = 0.5)", "rbf(gamma = C * y)", "K229"),
        ("rbf(gamma = 0.5)", "rbf(gamma = abs(C))", "K229"),
        ("rbf(gamma = 0.5)", "rbf(gamma = inf)", "K230"),
        ("rbf(gamma = 0.5)", "poly(degree = C)", "K230"),
        ("rbf(gamma = 0.5)", "poly(degree = 0)", "K230"),
        ("rbf(gamma = 0.5)", "2 * 3", "K224"),
        ("rbf(gamma = 0.5)", "w * linear", "K224"),
        ("rbf(gamma = 0.5)", "normalized(of = linear) on age", "K231"),
        # statements
        ("1/2 ||w||^2", "-1 * ||w||^2", "K321"),
        ("1/2 ||w||^2", "-C/l * ||w||^2", "K321"),
        ("1/2 ||w||^2", "1/2 ||w||^2 - ||w||", "K321"),
        ("let    f(t)", "loss   h(r, r) = r\nlet    f(t)", "K205"),
        ("let    f(t)", "loss   h(r) = xi\nlet    f(t)", "K209"),
        ("predict label(t, k) = sign(f(t) + b[k])", "predict value(t) = sign(f(t))", "K338"),
        ("predict label(t, k) = sign(f(t) + b[k])", "predict label(t) = w", "K338"),
    ],
)
def test_a_change_gives_one_message(old: str, new: str, code: str) -> None:
    found = changed((old, new))
    assert {diagnostic.code for diagnostic in found} == {code}, found
    assert len(found) == 1, found


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("xi[i] : real >= 0", "xi[i] : in [0, 5]"),
        ("in (0, inf) = 1", "real <= 0 = -1"),
        ("1/2 ||w||^2", "1/2 * <w, w>"),
        ("||w||^2", "||w + w||^2"),
        ("1/2 ||w||^2", "1/2 ||w||^2 - sum[i] ||phi(x[i])||^2"),
        ("1/2 ||w||^2", "1/2 ||w||^2 + sum[i] ||phi(x[i])||"),
        ("<w, phi(t)>", "<-w, -phi(t)>"),
        ("1 - xi[i]", "q(x[i], x[i]) - xi[i]"),
        ("margin[i]", "margin[i] where g[i] != g[i]"),
        ("margin[i]", "margin[i] where i >= 2, i < l"),
        ("sum[i] xi[i]", "sum[i where y[i] > 0] xi[i]"),
        ("1 - xi[i]", "i - xi[i]"),
        ("subject to", "subject to\n  cap[i]: abs(xi[i]) <= C\n  top[i]: max(xi[i], 1) <= 2\n  ball: ||w|| <= 3"),
        ("sum[i] xi[i]", "sum[i] (xi[i] + abs(b[g[i]]) + square(pos(xi[i] - 1)))"),
        ("rbf(gamma = 0.5)", "linear + 1"),
        ("rbf(gamma = 0.5)", "C * (linear + C)"),
    ],
)
def test_a_correct_change_gives_none(old: str, new: str) -> None:
    assert changed((old, new)) == []


@pytest.mark.parametrize("letter", ["n", "N", "m"])
def test_the_usual_letters_for_the_number_of_examples_point_to_the_size(letter: str) -> None:
    (found,) = changed(("C * sum", f"C/{letter} * sum"))
    assert found.code == "K201"
    assert "`l`" in found.help


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("phi(t)>", "phi(w)>", "write w without phi"),
        ("||w||^2", "w^2", "||w||^2"),
        ("||w||^2", "w * w", "||w||^2"),
        ("||w||^2", "||w||", "||w||^2"),
        ("rbf", "gaussian", "`rbf`"),
        ("H(q)", "H(rbf)", "H(q)"),
        ("1 - xi[i]", "1 - xi(i)", "xi[i]"),
        (">= 1", "> 1", ">="),
        ("y[i] : {-1, 1}", "y[i] : real", "{-1, 1}"),
        ("sign(f(t) + b[k])", "f(t) + b[k]", "sign(f(t) + b[k])"),
    ],
)
def test_the_remedy_is_named(old: str, new: str, words: str) -> None:
    (found,) = changed((old, new))
    assert words in found.help


def test_an_unsquared_norm_is_noted_beside_other_mistakes() -> None:
    found = changed(("||w||^2", "||w||"), ("C * sum[i] xi[i]", "C * sum[i] zeta[i]"))
    assert [diagnostic.code for diagnostic in found] == ["K322", "K211"]


def test_the_sign_of_a_factor_must_be_certain() -> None:
    text = SVM.replace("C : in (0, inf) = 1", "C : in (0, inf) = 1, c : real = 1, d : real <= 0 = -1")
    for factor, expected in (("c", []), ("d", ["K321"]), ("-d", []), ("1/C", []), ("-1/C", ["K321"]), ("l", [])):
        spec = text.replace("1/2 ||w||^2", f"{factor} * ||w||^2")
        assert [found.code for found in diagnose(spec) if found.code != "K236"] == expected


def test_long_expressions_are_quoted_in_part() -> None:
    long = " + ".join(["xi[i]"] * 60)
    (found,) = changed(("sum[i] xi[i]", f"sum[i] ({long})^3"))
    assert found.code == "K306"
    assert len(found.message) < 160
    assert " ... " in found.message


def test_literals_out_of_all_measure() -> None:
    assert [found.code for found in changed(("= 1\n", "= 1e300\n"))] == []
    assert [found.code for found in changed(("gamma = 0.5", "gamma = 1/2 - 1/2"))] == ["K230"]
