"""Break points that the domains do not order are ordered by the parameters' values, and by others when they change."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from kdsl.algebra.derivation import derive
from kdsl.algebra.evidence import verify
from kdsl.language.diagnostics import KdslError
from kdsl.pipeline import parse_spec
from kdsl.solving.api import solve

TUBE = """
model tube
index  i in 1..l
data   x[i] : input, y[i] : real
param  lambda : in (0, inf) = 1, lo : real{lo}, hi : real{hi}
kernel k = linear
var    w : H(k), b : real
let    f(t) = <w, phi(t)> + b
loss   tube(r; lo, hi) = max(0, lo - r, r - hi)
minimize lambda/2 * ||w||^2 + sum[i] tube(y[i] - f(x[i]); lo, hi)
predict value(t) = f(t)
"""


def test_defaults_order_the_break_points_and_the_derivation_says_so() -> None:
    derivation = derive(parse_spec(TUBE.format(lo=" = -1", hi=" = 1")))
    assert dict(derivation.primal.known) == {"lambda": 1, "lo": -1, "hi": 1}
    assert [r.title for r in derivation.primal.reformulations] == ["order"]
    assert verify(derivation, instances=2).passed


def test_without_values_the_order_is_an_error() -> None:
    with pytest.raises(KdslError) as caught:
        derive(parse_spec(TUBE.format(lo="", hi="")))
    assert [d.code for d in caught.value.diagnostics] == ["K409"]


@pytest.mark.parametrize(("lo", "hi"), [(-1.0, 1.0), (0.5, -0.5), (1.0, 2.0)])
def test_values_given_at_solving_time_decide(lo: float, hi: float) -> None:
    import cvxpy as cp

    generator = np.random.default_rng(3)
    x = generator.normal(size=(30, 2))
    y = x[:, 0] + 0.3 * generator.normal(size=30)
    solution = solve(parse_spec(TUBE.format(lo=" = -1", hi=" = 1")), {"x": x, "y": y}, {"lo": lo, "hi": hi})
    w, b = cp.Variable(2), cp.Variable()
    r = y - x @ w - b
    loss = cp.sum(cp.maximum(0, lo - r, r - hi))
    optimum = cp.Problem(cp.Minimize(cp.sum_squares(w) / 2 + loss)).solve(solver=cp.CLARABEL)
    assert solution.status == "optimal"
    assert solution.value == pytest.approx(optimum, rel=1e-5)


def test_given_values_are_used_only_where_the_domains_leave_something_open() -> None:
    settled = TUBE.format(lo=" <= 0 = -1", hi=" >= 0 = 1")
    derivation = derive(parse_spec(settled), {"lo": Fraction(-2), "hi": Fraction(3), "lambda": Fraction(1)})
    assert derivation.primal.known == ()
