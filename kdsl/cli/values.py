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


def threads(text: str) -> int:
    """A whole number of threads, as many as a solve takes."""
    from kdsl.solving.asked_options import MOST_THREADS

    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= MOST_THREADS):
        raise ArgumentTypeError(f"`{text}` is not a whole number from 1 to {MOST_THREADS:,}")
    return int(text)


def bound_options(text: str) -> dict[str, float]:
    """`delta=0.05`, and the width `gamma=2` that some theorems leave open."""
    found: dict[str, float] = {}
    for part in text.split(","):
        name, _, number = part.partition("=")
        try:
            found[name.strip()] = float(number)
        except ValueError:
            raise ArgumentTypeError(f"`{part}` is not of the form delta=0.05") from None
    if not set(found) <= {"delta", "gamma"}:
        raise ArgumentTypeError(f"`{text}` names something else than delta and gamma")
    if not 0.0 < found.get("delta", 0.05) < 1.0:
        raise ArgumentTypeError("delta is a probability between 0 and 1")
    return found
