"""What is convex derives, what is not is refused with its code, also where products hide it."""

from __future__ import annotations

import pytest
from short_specs import HINGE, MARGIN, NUMBERS, SVM, codes, derived, spec

from kdsl.language.diagnostics import KdslError

TWO = "w : H(k), b : real, c : real, xi[i] : real >= 0"
TASKS = "w0 : H(k), w[g] : H(k), xi[i] : real >= 0"
TASK_DATA = "x[i] : input, y[i] : {-1, 1}, g0[i] : groups"
OUTLIERS = "side[i]: y[i] * (R - ||phi(x[i]) - c||^2) >= -xi[i]"
SPHERE = "c : H(k), R : real, xi[i] : real >= 0"

CONVEX = {
    "svm": spec(HINGE, MARGIN),
    "square of a sum": spec(f"{HINGE} + (b + c)^2", MARGIN, var=TWO),
    "square of a sum and more": spec(f"{HINGE} + (b + c)^2 + c^2", MARGIN, var=TWO),
    "square of a difference, expanded": spec(f"{HINGE} + b^2 - 2 * b * c + c^2", MARGIN, var=TWO),
    "cross term that is small enough": spec(f"{HINGE} + b^2 + b * c + c^2", MARGIN, var=TWO),
    "distance from a centre": spec(
        "minimize sum[g] ||w[g] - w0||^2 + 1/2 ||w0||^2 + C * sum[i] xi[i]",
        "margin[i]: y[i] * <w[g0[i]], phi(x[i])> >= 1 - xi[i]",
        var=TASKS,
        data=TASK_DATA,
        index="i in 1..l, g in groups",
    ),
    "labelled outliers by a shift": spec("minimize R + C * sum[i] xi[i]", OUTLIERS, var=SPHERE),
    "sphere": spec(
        "minimize R + C * sum[i] xi[i]", "inside[i]: ||phi(x[i]) - c||^2 <= R + xi[i]", var=SPHERE, data="x[i] : input"
    ),
    "ball": spec("minimize C * sum[i] xi[i]", MARGIN, "ball: ||w||^2 <= 1"),
    "ball as an equation": spec("minimize C * sum[i] xi[i]", MARGIN, "ball: ||w||^2 = 1"),
    "ellipsoid": spec("minimize C * sum[i] xi[i]", MARGIN, "ball: ||w||^2 + b^2 <= 1"),
    "maximised concave": spec("maximize -1/2 ||w||^2 - C * sum[i] xi[i]", MARGIN),
    "sign of a product": spec(
        f"{HINGE} + (C - tau * C) * b^2", MARGIN, param="C : in (0, inf) = 1, tau : in [0, 1) = 0"
    ),
    "square of a score": spec(
        f"{HINGE} + (<w, phi(x0)> + b)^2", MARGIN, data="x[i] : input, x0 : input, y[i] : {-1, 1}"
    ),
}
REFUSED = {
    "minus a square": (spec(f"{HINGE} - b^2", MARGIN), {"K402"}),
    "product of unknowns": (spec(f"{HINGE} + b * c", MARGIN, "held: c <= 1", var=TWO), {"K402"}),
    "cross term that is too large": (spec(f"{HINGE} + b^2 + 3 * b * c + c^2", MARGIN, var=TWO), {"K402"}),
    "hidden in a square": (spec(f"{HINGE} + (b + c)^2 - 2 * c^2", MARGIN, var=TWO), {"K402"}),
    "product of vectors": (
        spec(
            "minimize 1/2 ||w0||^2 + sum[g] ||w[g]||^2 + 4 * sum[g] <w[g], w0> + C * sum[i] xi[i]",
            "margin[i]: y[i] * <w[g0[i]], phi(x[i])> >= 1 - xi[i]",
            var=TASKS,
            data=TASK_DATA,
            index="i in 1..l, g in groups",
        ),
        {"K402"},
    ),
    "outliers with a sign on R": (
        spec("minimize R + C * sum[i] xi[i]", OUTLIERS, var=SPHERE.replace("R : real", "R : real >= 0")),
        {"K401"},
    ),
    "outside of a sphere": (
        spec("minimize ||c||^2 + R^2", "out[i]: ||phi(x[i]) - c||^2 >= R + C", var=SPHERE, data="x[i] : input"),
        {"K401"},
    ),
    "a price that may be negative": (
        spec(f"{HINGE} + D * b^2", MARGIN, param="C : in (0, inf) = 1, D : real = 1"),
        {"K402"},
    ),
    "a price that is negative almost nowhere": (
        spec("minimize D * ||w||^2 + sum[i] xi[i]^2", MARGIN, param="D : in (-0.001, inf) = 1"),
        {"K402"},
    ),
    "a price that is negative on few data": (
        spec(
            "minimize 1/2 ||w||^2 + sum[i] s[i] * xi[i]^2",
            MARGIN,
            data="x[i] : input, y[i] : {-1, 1}, s[i] : in (-0.01, 1)",
            param="",
        ),
        {"K402"},
    ),
    "equation on a square": (spec(HINGE, MARGIN, "e: b^2 = 1"), {"K403"}),
    "a loss that is subtracted": (
        spec("minimize 1/2 ||w||^2 - C * sum[i] absolute(y[i] - <w, phi(x[i])>)", var="w : H(k)", data=NUMBERS),
        {"K402"},
    ),
    "nothing holds w": (spec("minimize C * sum[i] xi[i]", MARGIN), {"K404"}),
    "nothing holds b from below": (
        spec(f"{HINGE} + b", "m[i]: y[i] * <w, phi(x[i])> >= 1 - xi[i]", "u: b <= 1"),
        {"K404"},
    ),
    "a signed unknown that is paid for": (
        spec(f"{HINGE} - c", MARGIN, var=TWO.replace("c : real", "c : real >= 0")),
        {"K404"},
    ),
    "squares for some members only": (
        spec("minimize 1/2 ||w||^2 + C * sum[i where y[i] = 1] xi[i]^2 + C * sum[i] xi[i]", MARGIN),
        {"K407"},
    ),
    "members coupled by their sum": (
        spec(f"{HINGE} + sum[i] xi[i]^2 - 1/2 * (sum[i] xi[i])^2", MARGIN),
        {"K402", "K407"},
    ),
}


@pytest.mark.parametrize("name", sorted(CONVEX))
def test_convex(name: str) -> None:
    assert codes(CONVEX[name]) == set()


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_refused(name: str) -> None:
    text, allowed = REFUSED[name]
    found = codes(text)
    assert found and found <= allowed


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_refusals_point_into_the_file(name: str) -> None:
    text = REFUSED[name][0]
    with pytest.raises(KdslError) as raised:
        derived(text)
    for diagnostic in raised.value.diagnostics:
        assert diagnostic.labels and diagnostic.why and diagnostic.help
        span = diagnostic.labels[0].span
        assert 0 < span.start < span.end <= len(text)


def test_shift_is_recorded() -> None:
    derivation = derived(CONVEX["labelled outliers by a shift"])
    assert [r.title for r in derivation.primal.reformulations] == ["shift"]
    assert derivation.dual.rows[0].equality


def test_spheres_are_not_shifted_when_convex() -> None:
    assert [r.title for r in derived(CONVEX["sphere"]).primal.reformulations] == []


def test_the_sum_of_a_sphere_is_not_fixed_where_another_row_holds_it_back() -> None:
    """A slack shared over k bounds the sum over k of the multipliers: C l may be too small for their sum to be 1."""
    text = spec(
        "minimize r^2 + C * sum[i] xi[i]",
        "inside[i, k]: ||phi(x[i]) - c||^2 <= r^2 + xi[i]",
        var="c : H(q), r : real >= 0, xi[i] : real >= 0",
        data="x[i] : input",
        index="i in 1..l, k in classes",
        kernel="q = linear",
    )
    derivation = derived(text)
    assert not derivation.tightness
    assert [row.equality for row in derivation.exact.rows] == [False, False]


def test_a_bound_on_the_multiplier_of_a_norm_is_kept() -> None:
    text = spec(
        "minimize sum[i] r[i]^2 + C * z",
        "residual[i]: y[i] - <w, phi(x[i])> = r[i]",
        "ball: ||w||^2 <= 1 + z",
        var="w : H(k), z : real >= 0, r[i] : real",
        data=NUMBERS,
    )
    derivation = derived(text)
    assert not derivation.folding.norms
    assert derivation.dual.variable("ball").upper is not None


def test_rows_and_multipliers_on_different_indices() -> None:
    """xi is free where y = -1: there margin = C, elsewhere margin <= C."""
    text = spec(HINGE, MARGIN, "half[i] where y[i] = 1: xi[i] >= 0", var=SVM.replace(" >= 0", ""))
    dual = derived(text).dual
    row = next(r for r in dual.rows if r.origin == "xi")
    assert row.equality and row.body.mentions("half", ("mult",))
    assert dual.variable("margin").upper is None


def test_a_multiplier_keeps_its_sign_where_its_price_has_none() -> None:
    """margin = D with D of any sign: the row stays beside margin >= 0, for D < 0 makes the problem unbounded."""
    text = spec("minimize 1/2 ||w||^2 + D * sum[i] xi[i]", MARGIN, var=SVM.replace(" >= 0", ""), param="D : real = 1")
    dual = derived(text).dual
    margin = dual.variable("margin")
    assert margin.lower is not None and not margin.lower and margin.upper is None
    assert {row.origin for row in dual.rows} == {"xi", "b"}
    certain = derived(text.replace("D : real", "D : in (0, inf)")).dual
    assert certain.variable("margin").lower == certain.variable("margin").upper


def test_a_norm_is_folded_only_where_its_bound_has_a_sign() -> None:
    text = spec("minimize C * sum[i] xi[i]", MARGIN, "ball: ||w||^2 <= B", param="C : in (0, inf) = 1, B : real = 1")
    assert not derived(text).folding.norms  # for B < 0 nothing is feasible, and sqrt(B) is no number
    assert derived(text.replace("B : real", "B : in (0, inf)")).folding.norms
