"""The house style: what the formatter changes, and all that it leaves alone."""

from __future__ import annotations

import pytest

from kdsl.language.diagnostics import KdslError
from kdsl.language.formatter import format_source
from kdsl.language.parser import parse_spec_text
from kdsl.language.printer import print_spec

UNTIDY = """\
# A comment at the top.


model   svm   "title"   # the name
index i in 1 .. l,g in groups
data x[ i ]:input,y[i]:{-1,+1}
param C:in(0,inf)=1
kernel k=0.7*rbf(gamma=.5)on age,income,q=linear
""".replace("=.5", "=0.5")

LONG = """\

minimize 1/2||w||^2+C*sum[i]xi[i]+1/( nu*l )*a
subject to
# about the margin
margin[i] where i!=j:y[i]*(<w,phi(x[i])>+b)>=1-xi[i]#trailing
unit:||w||^2=1
   # before the third

long[i]:
a*b
# inside
+c
>=- d
predict label(t)=sign(<w,phi(t)>+b)
# the end
"""

TIDY = """\
# A comment at the top.

model svm "title"  # the name
index  i in 1..l, g in groups
data   x[i] : input, y[i] : {-1, +1}
param  C : in (0, inf) = 1
kernel k = 0.7 * rbf(gamma = 0.5) on age, income, q = linear

minimize 1/2 ||w||^2 + C * sum[i] xi[i] + 1/(nu*l) * a
subject to
  # about the margin
  margin[i] where i != j: y[i] * (<w, phi(x[i])> + b) >= 1 - xi[i]  #trailing
  unit:                   ||w||^2 = 1
  # before the third

  long[i]:
      a * b
      # inside
      + c
      >= -d
predict label(t) = sign(<w, phi(t)> + b)
# the end
"""


def test_the_house_style() -> None:
    assert format_source(UNTIDY + LONG) == TIDY


def test_the_style_is_a_fixed_point() -> None:
    assert format_source(TIDY) == TIDY


def test_shipped_specs_are_in_the_style(shipped: dict[str, str]) -> None:
    for text in shipped.values():
        assert format_source(text) == text


def test_printed_examples_of_the_design_are_in_the_style(printed: dict[str, str]) -> None:
    for text in printed.values():
        assert format_source(text) == text


def test_every_spelling_keeps_the_tree(shipped: dict[str, str]) -> None:
    for text in shipped.values():
        tree = parse_spec_text(text)
        for unicode in (None, True, False):
            formatted = format_source(text, unicode)
            assert parse_spec_text(formatted) == tree
            assert format_source(formatted, unicode) == formatted
        assert format_source(format_source(text, True), False) == format_source(text, False)
        assert parse_spec_text(print_spec(tree)) == tree


def test_unicode_and_ascii() -> None:
    ascii = "param  nu : in (0, inf) = 1\nlet    f(t) = 1/2 ||w||^2 * <w, phi(t)> - sum[i] xi'[i]\n"
    unicode = "param  ν : ∈ (0, ∞) = 1\nlet    f(t) = 1/2 ‖w‖² · ⟨w, φ(t)⟩ − Σ[i] ξ'[i]\n"
    assert format_source(ascii, True) == unicode
    assert format_source(unicode, False) == ascii
    assert format_source(unicode) == unicode


def test_titles_and_comments_keep_their_letters() -> None:
    text = 'model alpha "xi and ξ"  # nu and ν\n'
    assert format_source(text, False) == text
    assert "xi and ξ" in format_source(text, True)
    assert "# nu and ν" in format_source(text, True)


@pytest.mark.parametrize("text", ["let a = 1 / 2\n", "let a = b/1 / 2\n", "let a = 1/2\n"])
def test_a_quotient_of_numbers_does_not_become_a_fraction(text: str) -> None:
    formatted = "let    " + text.removeprefix("let ")
    assert format_source(text) == formatted


def test_windows_newlines_and_marks_are_normalised() -> None:
    assert format_source("\ufeffminimize a\r\n\r\n\r\n# c\rvar b:real") == "minimize a\n\n# c\nvar    b : real\n"


def test_empty_texts() -> None:
    assert format_source("") == ""
    assert format_source("\n\n") == ""
    assert format_source("#c") == "#c\n"


def test_what_does_not_parse_is_not_formatted() -> None:
    with pytest.raises(KdslError):
        format_source("minimize (")


def test_a_constraint_beside_subject_to_gets_its_line() -> None:
    assert format_source("subject to m:a>=b # c\n") == "subject to\n  m: a >= b  # c\n"


def test_lines_of_declarations_are_kept_apart() -> None:
    text = "kernel k = rbf(gamma = 0.5) on age,\n           income,\n   q = linear\n"
    assert format_source(text) == "kernel k = rbf(gamma = 0.5) on age,\n       income,\n       q = linear\n"
