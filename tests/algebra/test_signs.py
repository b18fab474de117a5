"""Interval arithmetic is sound: no value inside the declared domains leaves the interval that is claimed."""

from __future__ import annotations

from fractions import Fraction

import pytest
from evaluate_poly import World
from hypothesis import given, settings
from hypothesis import strategies as st

from kdsl.algebra.poly import Poly, collect
from kdsl.algebra.signs import ANYTHING, Domains, Range
from kdsl.algebra.terms import Factor, Inner, Sym, Vec, bracket

ENDS = (None, -2, -1, 0, 1, 2)
NAMES = ("p", "q", "r")


@st.composite
def ranges(draw: st.DrawFn) -> Range:
    low, high = draw(st.sampled_from(ENDS)), draw(st.sampled_from(ENDS))
    if low is not None and high is not None and low > high:
        low, high = high, low
    single = low is not None and low == high
    return Range(
        None if low is None else Fraction(low),
        None if high is None else Fraction(high),
        low is not None and not single and draw(st.booleans()),
        high is not None and not single and draw(st.booleans()),
    )


@st.composite
def inside(draw: st.DrawFn, r: Range) -> Fraction:
    """A value in r, close to its ends more often than not."""
    share = draw(st.sampled_from([Fraction(n, 64) for n in (0, 1, 16, 32, 48, 63, 64)]))
    if r.lower is not None and r.upper is not None:
        value = r.lower + share * (r.upper - r.lower)
    elif r.lower is not None:
        value = r.lower + 8 * share
    elif r.upper is not None:
        value = r.upper - 8 * share
    else:
        value = 16 * share - 8
    if (r.lower_open and value == r.lower) or (r.upper_open and value == r.upper):
        step = Fraction(1, 128)
        value += step if value == r.lower else -step
    return value


@st.composite
def factors(draw: st.DrawFn) -> tuple[Factor, int]:
    kind = draw(st.integers(0, 6))
    match kind:
        case 0:
            return Sym("y", (0,), "sign"), 1
        case 1:
            return bracket("!=", 0, "i"), 1
        case 2:
            return Inner(Vec("k", "x", (0,), True), Vec("k", "x", (0,), True)), 1
        case 3:
            return Sym("l", (), "size"), draw(st.sampled_from((-1, 1)))
        case _:
            return Sym(draw(st.sampled_from(NAMES))), draw(st.sampled_from((-2, -1, 1, 2)))


@st.composite
def polys(draw: st.DrawFn) -> Poly:
    pieces = []
    for _ in range(draw(st.integers(1, 3))):
        found = tuple(draw(st.lists(factors(), max_size=3)))
        uses_sum = any(0 in getattr(f, "args", ()) or not isinstance(f, Sym) for f, _ in found)
        pieces.append((("l",) if uses_sum else (), found, Fraction(draw(st.integers(-2, 2)))))
    return collect(pieces)


@settings(max_examples=200, deadline=None)
@given(polys(), st.tuples(ranges(), ranges(), ranges()), st.data())
def test_no_value_leaves_the_interval(poly: Poly, domains: tuple[Range, Range, Range], data: st.DataObject) -> None:
    claimed = Domains({("param", n): r for n, r in zip(NAMES, domains, strict=True)})
    world = World(data.draw(st.integers(0, 5)), {"l": data.draw(st.integers(1, 3))})
    for name, r in zip(NAMES, domains, strict=True):
        world.values["param", name, ()] = data.draw(inside(r))
    try:
        value = world.of(poly, {"i": 0})
    except ZeroDivisionError:
        return
    if any(p < 0 and isinstance(f, Sym) and not world.scalar(f, {0: 0}) for m in poly.terms for f, p in m.factors):
        return  # 1/0 has no value
    found = claimed.of(poly)
    assert found.lower is None or value > found.lower or (value == found.lower and not found.lower_open)
    assert found.upper is None or value < found.upper or (value == found.upper and not found.upper_open)
    if claimed.positive(poly):
        assert value > 0
    if claimed.non_negative(poly):
        assert value >= 0


C, NU, TAU, L = (Poly.of(Sym(n)) for n in ("C", "nu", "tau", "D"))
SIZE = Poly.of(Sym("l", (), "size"))
ONE = Poly.number(1)
DOMAINS = Domains(
    {
        ("param", "C"): Range(Fraction(0), None, lower_open=True),
        ("param", "nu"): Range(Fraction(0), Fraction(1), lower_open=True),
        ("param", "tau"): Range(Fraction(0), Fraction(1), True, True),
        ("param", "D"): ANYTHING,
    }
)


@pytest.mark.parametrize(
    ("poly", "expected"),
    [
        (C, True),
        (C * C * NU, True),
        ((NU * SIZE).inverse(), True),
        (ONE - TAU, True),
        (ONE - NU, False),  # nu = 1 is allowed
        (TAU * TAU - TAU, False),
        (L * L, False),  # 0 is allowed
        (L * L + ONE, True),
        (C - C * TAU, True),  # a product that was multiplied out
        (C.inverse() + SIZE, True),
        (C - ONE, False),
    ],
)
def test_positive(poly: Poly, expected: bool) -> None:
    assert DOMAINS.positive(poly) is expected


def test_non_negative() -> None:
    assert DOMAINS.non_negative(ONE - NU)
    assert DOMAINS.non_negative(L * L)
    assert not DOMAINS.non_negative(L)
    assert DOMAINS.non_negative(Poly.of(Sym("a", (), "abs")))
    weighted = (C * Poly.of(Sym("s", ("i",), "data"))).sum(("i",), ("l",))
    assert not DOMAINS.non_negative(weighted)
    assert DOMAINS.extended({("data", "s"): Range(Fraction(0), None)}).non_negative(weighted)


def test_a_filtered_sum_may_be_empty() -> None:
    some = (C * Poly.of(bracket("!=", "i", "j"))).sum(("i",), ("l",))
    assert DOMAINS.non_negative(some)
    assert not DOMAINS.positive(some)
