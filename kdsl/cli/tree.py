"""Draws a tree of named tuples, one node a line, for `kdsl compile --emit`."""

from __future__ import annotations

from kdsl.language.syntax import Span

INDENT = "  "
ENTRY = "-"
HIDDEN = ("source",)  # a model's own text is not part of its tree


def draw(root: object) -> str:
    """The tree as indented lines: a node's plain fields beside its name, its other fields below it."""
    lines: list[str] = []
    pending: list[tuple[int, str, object]] = [(0, "", root)]
    while pending:
        depth, role, node = pending.pop()
        beside, below = _parts(node)
        lines.append(INDENT * depth + " ".join(part for part in (role, *beside) if part))
        pending.extend((depth + 1, child_role, child) for child_role, child in reversed(below))
    return "\n".join(lines) + "\n"


def _parts(node: object) -> tuple[list[str], list[tuple[str, object]]]:
    """What is written on the node's own line, and its children with their roles."""
    fields: tuple[str, ...] | None = getattr(node, "_fields", None)
    if fields is None:
        return ([], [(ENTRY, item) for item in node]) if isinstance(node, tuple) else ([_plain(node)], [])
    beside: list[str] = [type(node).__name__]
    below: list[tuple[str, object]] = []
    for field in fields:
        value: object = getattr(node, field)
        if isinstance(value, Span) or field in HIDDEN or value is None or value is False or value in ("", ()):
            continue
        if isinstance(value, tuple) and not all(isinstance(item, str) for item in value):
            below.append((field + ":", value))
        else:
            beside.append(f"{field}={_plain(value)}")
    return beside, below


def _plain(value: object) -> str:
    if isinstance(value, tuple):
        return repr(list(value))
    return repr(value) if isinstance(value, str) and " " in value else str(value)
