"""Losses whose pieces cross: the maximum of quadratics breaks at their roots, which are exact or refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from evaluate_poly import World
from numpy.typing import NDArray

from kdsl.algebra import plq
from kdsl.algebra.derivation import derive
from kdsl.algebra.evidence import verify
from kdsl.algebra.losses import named_shape
from kdsl.algebra.plq import Plq
from kdsl.algebra.poly import Poly
from kdsl.algebra.translate import Translator
from kdsl.language.diagnostics import KdslError
from kdsl.pipeline import parse_spec
from kdsl.solving.api import solve

Floats = NDArray[np.float64]
SPEC = """
model crossing
index  i in 1..l
data   x[i] : input, y[i] : real
param  lambda : in (0, inf) = 1, d : in (0, inf) = 1
kernel k = linear
var    w : H(k), b : real
let    f(t) = <w, phi(t)> + b
loss   L(r; d) = {loss}
minimize lambda/2 * ||w||^2 + sum[i] L(y[i] - f(x[i]); d)
predict value(t) = f(t)
"""
D = Fraction(3, 2)
FAR = np.linspace(-40.0, 40.0, 64_001)
LOSSES: Mapping[str, tuple[tuple[Fraction | int, ...], Callable[[Floats], Floats]]] = {  # break points, formula
    "max(square(r), abs(r))": ((-1, 0, 1), lambda r: np.maximum(r**2, abs(r))),
    "max(square(r), r)": ((0, 1), lambda r: np.maximum(r**2, r)),
    "max(square(pos(r)), square(r) / 2)": ((0,), lambda r: np.where(r > 0, r**2, r**2 / 2)),
    "max(r * r, 2 * abs(r) - 1)": ((), lambda r: r**2),  # they touch
    "max(r^2, r + 2)": ((-1, 2), lambda r: np.maximum(r**2, r + 2)),
    "pos(square(r) - 1)": ((-1, 1), lambda r: np.maximum(r**2 - 1, 0)),
    "abs(square(r)) + pos(-r)": ((0,), lambda r: r**2 + np.maximum(-r, 0)),
    "max(square(r), d * abs(r))": ((-D, 0, D), lambda r: np.maximum(r**2, abs(1.5 * r))),
    "max(square(r), d^2)": ((-D, D), lambda r: np.maximum(r**2, 2.25)),
    "max(2 * square(pos(r)) + 4 * pos(r) + 1, abs(r))": (  # for r > 0 the pieces would cross at irrational r < 0
        (-1, 0),
        lambda r: np.where(r > 0, 2 * r**2 + 4 * r + 1, np.maximum(1, -r)),
    ),
}


def at_d(definition: str) -> Plq:
    """The convex loss, with its number in place of d."""
    translator = Translator(parse_spec(SPEC.format(loss=definition)))
    found = named_shape(translator, "L", [translator.symbol("d", ())], translator.domains())
    assert plq.convexity_fault(found, translator.domains()) is None
    world = World(0, {})
    world.values["param", "d", ()] = D
    return found.mapped(lambda poly: Poly.number(world.of(poly)))


def value(f: Plq, t: float) -> float:
    exact = Fraction(t)
    low, high = (None if end is None else end.as_number() for end in (f.lower, f.upper))
    if (low is not None and exact < low) or (high is not None and exact > high):
        return math.inf
    piece = f.pieces[sum(1 for cut in f.breaks if exact >= (cut.as_number() or 0))]
    return float(piece.at(Poly.number(exact)).as_number() or 0)


@pytest.mark.parametrize("definition", LOSSES)
def test_the_pieces_are_those_of_the_formula(definition: str) -> None:
    breaks, formula = LOSSES[definition]
    found = at_d(definition)
    assert tuple(cut.as_number() for cut in found.breaks) == breaks
    points = np.linspace(-5.0, 5.0, 161)
    np.testing.assert_allclose([value(found, t) for t in points], formula(points), atol=1e-12)


@pytest.mark.parametrize("definition", LOSSES)
def test_the_conjugate_is_the_largest_of_many_differences(definition: str) -> None:
    _, formula = LOSSES[definition]
    conjugate, tried = plq.conjugate(at_d(definition)), formula(FAR)
    for slope in np.linspace(-4.0, 4.0, 33):
        differences = slope * FAR - tried
        largest = int(np.argmax(differences))
        if math.isinf(value(conjugate, slope)):
            assert largest in (0, len(FAR) - 1)
        else:
            assert value(conjugate, slope) == pytest.approx(differences[largest], abs=1e-5)


@pytest.mark.parametrize(
    ("definition", "loss"),
    [
        ("max(square(r), abs(r))", lambda r: cp.maximum(cp.square(r), cp.abs(r))),
        ("max(square(pos(r)), square(r) / 2)", lambda r: cp.maximum(cp.square(cp.pos(r)), cp.square(r) / 2)),
        ("max(r^2, r + 2)", lambda r: cp.maximum(cp.square(r), r + 2)),
        ("max(square(r), d * abs(r))", lambda r: cp.maximum(cp.square(r), float(D) * cp.abs(r))),
        ("max(square(r), d^2)", lambda r: cp.maximum(cp.square(r), float(D) ** 2)),
    ],
)
def test_the_solution_is_that_of_the_primal(definition: str, loss: Callable[[cp.Expression], cp.Expression]) -> None:
    generator = np.random.default_rng(3)
    x = generator.normal(size=(20, 2))
    y = 2 * x[:, 0] + generator.normal(size=20)
    solution = solve(parse_spec(SPEC.format(loss=definition)), {"x": x, "y": y}, {"d": float(D)})
    w, b = cp.Variable(2), cp.Variable()
    primal = cp.Minimize(cp.sum_squares(w) / 2 + cp.sum(loss(y - x @ w - b)))
    optimum = cp.Problem(primal).solve(solver=cp.CLARABEL)
    assert solution.status == "optimal"
    assert solution.value == pytest.approx(optimum, rel=1e-5)


def test_the_evidence_of_such_a_derivation_holds() -> None:
    assert verify(derive(parse_spec(SPEC.format(loss="max(square(r), d * abs(r))"))), instances=3).passed


@pytest.mark.parametrize("definition", ["max(square(r), r + 1)", "max(square(r), d)", "max(square(r), r + d)"])
def test_a_crossing_that_is_no_fraction_is_refused_for_that_reason(definition: str) -> None:
    with pytest.raises(KdslError) as caught:
        derive(parse_spec(SPEC.format(loss=definition)))
    (found,) = caught.value.diagnostics
    assert found.code == "K410"
    assert "cross at a point that is not a fraction" in found.message


@pytest.mark.parametrize("loss", ["max(a * r, 1)", "a * max(r / 4, square(r))"])
def test_a_break_that_goes_to_infinity_is_refused_where_it_does(loss: str) -> None:
    """At a = 0 the first crosses nowhere and the second is straight: another loss, whose dual has other terms."""
    text = f"""model ends
index  i in 1..l
data   x[i] : input, y[i] : real
param  a : in [0, inf) = 1
kernel k = linear
loss   L(r; a) = {loss}
var    w : H(k)
minimize 1/2 ||w||^2 + sum[i] L(y[i] * <w, phi(x[i])>; a)
predict value(t) = <w, phi(t)>
"""
    data = {"x": np.array([[1.0, 2.0], [-1.0, 0.5]]), "y": np.array([1.0, -1.0])}
    assert solve(parse_spec(text), data, {"a": 0.5}).status == "optimal"
    with pytest.raises(KdslError, match="K409"):
        solve(parse_spec(text), data, {"a": 0})
