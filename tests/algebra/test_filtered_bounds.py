"""A price of a slack bounds the multiplier of a condition on some members only, wherever that is certain."""

from __future__ import annotations

from kdsl.algebra.derivation import derive
from kdsl.algebra.dual import Dual
from kdsl.pipeline import parse_spec

CENSORED = """model m
index  i in 1..l
data   x[i] : input, lo[i] : real, hi[i] : real, ends[i] : {{0, 1}}, s[i] : real{weights}
kernel k = linear
var    w : H(k), b : real, xi[i] : real >= 0, eta[i] : real >= 0
minimize 1/2 ||w||^2 + sum[i] (s[i] * xi[i] + eta[i])
subject to
  above[i] where ends[i] = 1: <w, phi(x[i])> + b - hi[i] <= xi[i]
  below[i]: lo[i] - <w, phi(x[i])> - b <= eta[i]
"""


def dual_of(weights: str) -> Dual:
    return derive(parse_spec(CENSORED.format(weights=weights), "m")).dual


def test_a_price_that_is_not_negative_is_a_bound_where_the_multiplier_lives() -> None:
    dual = dual_of(" >= 0")
    assert [row.origin for row in dual.rows] == ["b"]
    above = dual.variable("above")
    assert above.support and above.lower is not None and above.upper is not None


def test_a_price_that_may_be_negative_stays_a_row() -> None:
    dual = dual_of("")  # where nothing is above, s < 0 means that xi falls without end
    assert [row.origin for row in dual.rows] == ["b", "xi"]
    assert dual.variable("above").upper is None
