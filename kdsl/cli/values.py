"""The values that options take, each a conversion that argparse turns into a usage error when it fails."""

from __future__ import annotations

from argparse import ArgumentTypeError


def seconds(text: str) -> float:
    """A positive number of seconds; `inf` is no limit."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not value > 0:
        raise ArgumentTypeError(f"`{text}` is not a positive number of seconds")
    return value


def seed(text: str) -> int:
    """A non-negative whole number."""
    if not (text.isascii() and text.isdigit()):
        raise ArgumentTypeError(f"`{text}` is not a non-negative whole number")
    return int(text)
