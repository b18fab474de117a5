"""Intervals of real numbers: whether one lies in another, and how one reads in words."""

from __future__ import annotations

from fractions import Fraction

from kdsl.language.model import Interval


def inside(inner: Interval, outer: Interval) -> bool:
    """Whether every number of `inner` lies in `outer`."""
    return _reaches(inner.lower, inner.lower_open, outer.lower, outer.lower_open, 1) and _reaches(
        inner.upper, inner.upper_open, outer.upper, outer.upper_open, -1
    )


def _reaches(end: Fraction | None, end_open: bool, limit: Fraction | None, limit_open: bool, sign: int) -> bool:
    """Whether a lower end (sign 1) is not below its limit; with sign -1 an upper end, not above it."""
    if limit is None:
        return True
    if end is None or sign * end < sign * limit:
        return False
    return end != limit or end_open or not limit_open


def contains(interval: Interval, value: Fraction) -> bool:
    """Whether `value` lies in `interval`."""
    return inside(Interval(value, value), interval)


def in_words(name: str, interval: Interval) -> str:
    """`tau > 0 and tau < 1`."""
    ends = []
    if interval.lower is not None:
        ends.append(f"{name} {'>' if interval.lower_open else '>='} {interval.lower}")
    if interval.upper is not None:
        ends.append(f"{name} {'<' if interval.upper_open else '<='} {interval.upper}")
    return " and ".join(ends) or "a number"


def as_domain(interval: Interval) -> str:
    """`in (0, 1]`, as it would be declared."""
    left = "(" if interval.lower_open or interval.lower is None else "["
    right = ")" if interval.upper_open or interval.upper is None else "]"
    lower = "-inf" if interval.lower is None else interval.lower
    upper = "inf" if interval.upper is None else interval.upper
    return f"in {left}{lower}, {upper}{right}"
