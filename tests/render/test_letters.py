"""Names and numbers as they are printed: letters for multipliers, numbers in filters."""

from __future__ import annotations

import pytest
from derivations import ROOT

from kdsl import pipeline
from kdsl.render import html, latex, text

INTERVAL = """
index  i in 1..l
data   x[i] : input, y[i] : real
kernel k = rbf(gamma = 0.5)
var    w : H(k), b : in [0.3, 0.4]
minimize 1/2 ||w||^2 + sum[i] absolute(y[i] - <w, phi(x[i])> - b)
predict value(t) = <w, phi(t)> + b
"""

COSTS = """
index  i in 1..l
data   x[i] : input, y[i] : real
param  C : in (0, inf) = 1
kernel k = rbf(gamma = 0.5)
var    w : H(k), b : real
minimize 1/2 ||w||^2 + C * sum[i where y[i] {relation}] hinge(<w, phi(x[i])> + b)
predict value(t) = <w, phi(t)> + b
"""


def test_the_two_ends_of_an_interval_make_one_multiplier_with_a_letter() -> None:
    derivation = pipeline.derive(pipeline.parse_spec(INTERVAL))
    assert "maximise    Σᵢ βᵢyᵢ − (7/20)β_b − (1/20)|β_b|" in text.render(derivation)
    assert r"\beta_{b}" in latex.render(derivation) and r"\beta_{\mathrm" not in latex.render(derivation)


def test_two_ranges_share_the_letters_that_are_left() -> None:
    """Residuals are called r, and an input u: the second letter over n is s, not a number."""
    universum = ROOT / "tests" / "algebra" / "models" / "evidence" / "universum.kspec"
    printed = text.render(pipeline.derive(pipeline.read_spec(str(universum))))
    assert "− ½ Σⱼₛ βⱼβₛκ(uⱼ, uₛ)" in printed and "− ½ Σᵢₚ αᵢαₚyᵢyₚκ(xᵢ, xₚ)" in printed


def test_the_square_of_a_number_is_one() -> None:
    spec = COSTS.replace("1/2 ||w||^2", "||w||").replace(" where y[i] {relation}", "")
    assert "κ(xᵢ, xⱼ) ≤ 1\n" in text.render(pipeline.derive(pipeline.parse_spec(spec)))


@pytest.mark.parametrize(
    "relation, plain, tex, page",
    [
        ("= -1", "yᵢ = −1", "y_{i} = -1", '<mo form="prefix">−</mo><mn>1</mn>'),
        ("> 0.5", "yᵢ > ½", r"y_{i} > \tfrac{1}{2}", "<mfrac>"),
        ("<= -1.5", "yᵢ ≤ −3/2", r"y_{i} \le -\tfrac{3}{2}", "<mfrac>"),
    ],
)
def test_the_number_of_a_filter_is_printed_as_one(relation: str, plain: str, tex: str, page: str) -> None:
    derivation = pipeline.derive(pipeline.parse_spec(COSTS.replace("{relation}", relation)))
    assert f"for all i with {plain}" in text.render(derivation)
    assert tex in latex.render(derivation)
    assert page in html.render(derivation).partition("dual")[2]
