"""Intervals lie in one another, and read, as on paper."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdsl.language.model import Interval
from kdsl.language.ranges import as_domain, contains, in_words, inside

ENDS = st.one_of(st.none(), st.integers(-2, 2).map(Fraction))
INTERVALS = st.builds(Interval, ENDS, ENDS, st.booleans(), st.booleans())
POINTS = [Fraction(n, 2) for n in range(-7, 8)]


def holds(interval: Interval, value: Fraction) -> bool:
    above = interval.lower is None or (value > interval.lower if interval.lower_open else value >= interval.lower)
    below = interval.upper is None or (value < interval.upper if interval.upper_open else value <= interval.upper)
    return above and below


@given(INTERVALS, st.sampled_from(POINTS))
def test_contains(interval: Interval, value: Fraction) -> None:
    assert contains(interval, value) == holds(interval, value)


@given(INTERVALS, INTERVALS)
def test_inside(inner: Interval, outer: Interval) -> None:
    members = [value for value in POINTS if holds(inner, value)]
    if inside(inner, outer):
        assert all(holds(outer, value) for value in members)
    elif members:
        beyond = [Fraction(sign * 1000) for sign in (-1, 1) if holds(inner, Fraction(sign * 1000))]
        assert not all(holds(outer, value) for value in [*members, *beyond])


@pytest.mark.parametrize(
    ("interval", "words", "domain"),
    [
        (Interval(Fraction(0), Fraction(1), True, False), "t > 0 and t <= 1", "in (0, 1]"),
        (Interval(Fraction(0), None), "t >= 0", "in [0, inf)"),
        (Interval(None, Fraction(1, 2), False, True), "t < 1/2", "in (-inf, 1/2)"),
        (Interval(None, None), "a number", "in (-inf, inf)"),
    ],
)
def test_words(interval: Interval, words: str, domain: str) -> None:
    assert in_words("t", interval) == words
    assert as_domain(interval) == domain
