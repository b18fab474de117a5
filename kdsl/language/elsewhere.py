"""How the functions of other languages are written here: inner products, norms, roots."""

from __future__ import annotations

from collections.abc import Sequence

_INNER = ("dot", "inner", "vdot")


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
