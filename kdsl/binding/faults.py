"""Coded messages about data: how the binding room words what is wrong, why it matters and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from kdsl.language.diagnostics import Diagnostic, KdslError

SHORTEST = 3  # letters of an abbreviation that is meant by the whole word, such as `tol` by `tolerance`


def fault(code: str, message: str, why: str = "", help: str = "") -> KdslError:
    """The error to raise; data have no source text, so the message itself says file, row and column."""
    return KdslError((Diagnostic(code, message, (), why, help),))


def warning(code: str, message: str, why: str = "", help: str = "") -> Diagnostic:
    return Diagnostic(code, message, (), why, help, "warning")


def nearest(name: str, known: Iterable[str]) -> str:
    """`did you mean ...?`, or the list of what there is when nothing resembles `name`."""
    names = list(dict.fromkeys(known))
    folded = {n.casefold(): n for n in reversed(names)}
    word = name.casefold()
    close = get_close_matches(word, list(folded), n=1, cutoff=0.6)
    close += [known for known in folded if len(known) >= SHORTEST and word.startswith(known)]
    if close:
        return f"did you mean `{folded[close[0]]}`?"
    return f"there is {listing(names)}" if names else "there is none"


def listing(names: Sequence[object], limit: int = 8) -> str:
    """`a`, `b` and `c`; a long list is cut and its length said."""
    quoted = [f"`{n}`" for n in names]
    if not quoted:
        return "nothing"
    if len(quoted) > limit:
        return f"{', '.join(quoted[:limit])} and {len(quoted) - limit} more"
    if len(quoted) == 1:
        return quoted[0]
    return f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def count(number: int, noun: str) -> str:
    """`1 row`, `2 rows`, `1,000 rows`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def cite(source: str) -> str:
    """A file's name in quotes; what is in memory ("the array") as it is."""
    return source if source.startswith("the ") else f"`{source}`"


def join(errors: Iterable[KdslError]) -> KdslError:
    """One error that says everything that was found."""
    return KdslError(list(dict.fromkeys(diagnostic for error in errors for diagnostic in error.diagnostics)))
