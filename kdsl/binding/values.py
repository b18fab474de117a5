"""Checks and codes the values of a datum: domains of numbers, two labels to two values, labels to codes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from kdsl.binding.bound import LabelMap, LabelSet
from kdsl.binding.delimited import is_number
from kdsl.binding.faults import cite, count, fault, nearest
from kdsl.binding.points import are_plain_numbers, category_words, label_word, not_finite, refuse_rounded
from kdsl.binding.table import Array, Texts, place
from kdsl.binding.truths import are_truths, as_numbers
from kdsl.language.model import Datum, Interval
from kdsl.numerics.arrays import Floats, Ints

POSITIVE_WORDS = ("+", "+1", "yes", "true", "positive", "pos", "active")


def interval_words(interval: Interval) -> str:
    """`real >= 0`, `in (0, 1]`, `real`, as a spec writes them."""
    low, high = interval.lower, interval.upper
    if low is None and high is None:
        return "real"
    if high is None and not interval.lower_open:
        return f"real >= {low}"
    if low is None and not interval.upper_open:
        return f"real <= {high}"
    left = f"{'(' if interval.lower_open or low is None else '['}{'-inf' if low is None else low}"
    right = f"{'inf' if high is None else high}{')' if interval.upper_open or high is None else ']'}"
    return f"in {left}, {right}"


def inside(values: Floats, interval: Interval) -> Array:
    """Which values are in the interval."""
    ok = np.isfinite(values)
    if interval.lower is not None:
        low = float(interval.lower)
        ok &= values > low if interval.lower_open else values >= low
    if interval.upper is not None:
        high = float(interval.upper)
        ok &= values < high if interval.upper_open else values <= high
    return ok


def check_real(values: Floats | Texts, datum: Datum, column: str, source: str, lines: Ints | None) -> Floats:
    """Numbers, finite, in the domain that the spec declares; text that is a number or true or false counts as one."""
    if values.dtype == np.object_ and are_truths(values):
        values = as_numbers(values)
    if values.dtype == np.object_:
        refuse_words(values, datum, column, source, lines)
    flat = np.asarray(values, dtype=np.float64)
    per_row = flat.reshape(len(flat) if flat.ndim else 1, -1)
    refuse_not_finite(per_row, column, source, lines)
    wrong = np.flatnonzero(~inside(per_row, datum.interval).all(axis=1))
    if len(wrong):
        row = int(wrong[0])
        value = per_row[row][~inside(per_row[row], datum.interval)][0]
        more = f" ({count(len(wrong), 'row')} in all)" if len(wrong) > 1 else ""
        raise fault(
            "K532",
            f"{cite(source)}, {place(lines, row)}: `{column}` is {value:.6g}{more}",
            f"the spec declares {datum.name} : {interval_words(datum.interval)}",
            "correct the value, bind another column, or declare another domain",
        )
    return flat


def refuse_words(values: Floats | Texts, datum: Datum, column: str, source: str, lines: Ints | None) -> None:
    for cell, word in enumerate(values.reshape(-1).tolist()):
        if word is not None and not is_number(word):
            raise fault(
                "K528",
                f"{cite(source)}, {place(lines, cell // row_length(values))}: `{word}` in column `{column}` is not a "
                f"number, and `{datum.name}` is declared {interval_words(datum.interval)}",
                help="correct the cell, or bind another column",
            )


def refuse_not_finite(values: Floats, column: str, source: str, lines: Ints | None) -> None:
    places = np.argwhere(~np.isfinite(values))
    if len(places):
        row = int(places[0][0])
        raise not_finite(float(values[tuple(places[0])]), source, place(lines, row), column, len(places))


def label_words(values: Floats | Texts, column: str, source: str, lines: Ints | None) -> Texts:
    """Labels as words, none missing; those of a matrix row after row."""
    words = category_words(values.reshape(-1))
    missing = [cell for cell, word in enumerate(words.tolist()) if word is None]
    if missing:
        raise not_finite(np.nan, source, place(lines, missing[0] // row_length(values)), column, len(missing))
    if values.dtype != np.object_:
        flat = np.asarray(values, dtype=np.float64).reshape(-1, row_length(values))
        refuse_not_finite(flat, column, source, lines)
        refuse_rounded(flat, column, source, lines)
    return words


def row_length(values: Array) -> int:
    """How many values a row has."""
    return int(values.shape[1]) if values.ndim == 2 else 1


def sort_labels(words: Sequence[str]) -> tuple[str, ...]:
    """By value when all of them are numbers, by letter otherwise."""
    distinct = set(words)
    if all(is_number(word) for word in distinct):
        return tuple(sorted(distinct, key=lambda word: (float(word), word)))
    return tuple(sorted(distinct))


def code_finite(
    values: Floats | Texts, datum: Datum, column: str, source: str, lines: Ints | None, positive: str | None
) -> tuple[Floats, LabelMap | None]:
    """Values of a finite domain; where it has two, any two labels are mapped to them, the larger to the larger."""
    words = label_words(values, column, source, lines)
    allowed = sorted(float(v) for v in datum.values)
    found = sort_labels(words.tolist())
    numeric = all(is_number(word) for word in found)
    if numeric and {float(w) for w in found} <= set(allowed) and (positive is None or len(allowed) != 2):
        coded = np.array([float(w) for w in words]) if values.dtype == np.object_ else values + 0.0
        return coded.reshape(values.shape), natural_map(allowed) if len(allowed) == 2 else None
    if len(allowed) != 2:
        raise outside_finite(words.reshape(-1, row_length(values)), datum, allowed, column, source, lines)
    if len(found) != 2:
        raise wrong_number_of_labels(words, datum, found, allowed, column, source)
    chosen = choose_positive(found, positive)
    other = found[0] if chosen == found[1] else found[1]
    label_map = LabelMap(other, chosen, allowed[0], allowed[1], are_plain_numbers(found))
    return np.where(words == chosen, allowed[1], allowed[0]).reshape(values.shape), label_map


def natural_map(allowed: Sequence[float]) -> LabelMap:
    return LabelMap(label_word(allowed[0]), label_word(allowed[1]), allowed[0], allowed[1])


def choose_positive(found: tuple[str, ...], positive: str | None) -> str:
    """The label that the user names; else one that says so itself (`+`, `yes`); else the last in order."""
    if positive is not None:
        wanted = label_word(float(positive)) if is_number(positive) else positive
        if wanted not in found:
            raise fault("K535", f"no example has the label `{positive}`", help=nearest(positive, found))
        return wanted
    telling = [word for word in found if word.casefold() in POSITIVE_WORDS]
    return telling[0] if len(telling) == 1 else found[-1]


def outside_finite(
    words: Texts, datum: Datum, allowed: Sequence[float], column: str, source: str, lines: Ints | None
) -> Exception:
    strangers = ((r, w) for r, row in enumerate(words) for w in row if not is_number(w) or float(w) not in allowed)
    row, word = next(strangers)
    return fault(
        "K532",
        f"{cite(source)}, {place(lines, row)}: `{column}` is {word}",
        f"the spec declares {datum.name} : {{{', '.join(label_word(v) for v in allowed)}}}",
        "correct the value, bind another column, or declare another domain",
    )


def wrong_number_of_labels(
    words: Texts, datum: Datum, found: Sequence[str], allowed: Sequence[float], column: str, source: str
) -> Exception:
    domain = f"{{{', '.join(label_word(v) for v in allowed)}}}"
    if len(found) == 1:
        return fault(
            "K534",
            f"{cite(source)}: every label in column `{column}` is `{found[0]}`",
            f"the spec declares {datum.name} : {domain}, and one label does not say which of the two it is",
            "give examples of both labels, or another target",
        )
    counts = Counter(words)
    shown = ", ".join(f"`{word}` ({counts[word]:,})" for word in found[:5]) + (", ..." if len(found) > 5 else "")
    return fault(
        "K533",
        f"{cite(source)}: column `{column}` has {len(found):,} labels, {shown}",
        f"the spec declares {datum.name} : {domain}, which has two values",
        "keep two of the labels, bind another column with `--target`, or use a spec for several classes "
        "(`multiclass_delta`)",
    )


def label_set(words_by_datum: Sequence[Texts], set_name: str, source: str) -> LabelSet:
    """The labels that occur in the data of one named set, in order."""
    names = sort_labels([str(w) for words in words_by_datum for w in words.reshape(-1)])
    if len(names) < 2:
        raise fault(
            "K534",
            f"{cite(source)}: the labels of `{set_name}` are all `{names[0]}`",
            "a set of labels with one member tells nothing apart",
            "give examples of at least two labels, or leave the index out of the spec",
        )
    return LabelSet(names, are_plain_numbers(names))


def encode(words: Texts, labels: LabelSet) -> Ints:
    codes = {name: code for code, name in enumerate(labels.names)}
    return np.array([codes[word] for word in words.reshape(-1)], dtype=np.int64).reshape(words.shape)
