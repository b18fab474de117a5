"""How the functions and domains of other languages are written here: inner products, norms, roots, `binary`."""

from __future__ import annotations

from collections.abc import Sequence

_INNER = ("dot", "inner", "vdot")


# Domains under the names that they have elsewhere, in small letters.
DOMAINS = dict.fromkeys(("binary", "bool", "boolean"), "write `{-1, 1}` for data of two classes")


def written_here(function: str, arguments: Sequence[str]) -> str:
    """What to write in place of a call, its arguments as they are written; "" where nothing takes its place."""
    name = function.lower()
    if name in _INNER and len(arguments) == 2:
        return f"write <{arguments[0]}, {arguments[1]}>"
    if name == "norm" and len(arguments) == 1:
        return f"write ||{arguments[0]}||"
    if name == "sqrt":
        return "the norm ||u|| is the only root; squares are r^2, square(r) and ||u||^2"
    return ""
