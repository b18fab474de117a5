"""Reads svmlight / LIBSVM text: `label [qid:n] index:value ...  # remark`, one example on each line."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from kdsl.binding.faults import fault
from kdsl.binding.table import Table
from kdsl.numerics.arrays import Floats, Ints

PLAIN_LINE = re.compile(r"\s*[^\s:]+(\s+[0-9]+:[^\s:]+)*\s*")
GROUPED_LINE = re.compile(r"\s*[^\s:]+\s+qid:[0-9]+(\s+[0-9]+:[^\s:]+)*\s*")
MAX_INDEX = 10_000_000
HELP = "each line reads `label index:value index:value ...` with indices in increasing order"


class Entries(NamedTuple):
    """The file as arrays: row r has the entries starts[r]..starts[r + 1]."""

    labels: Floats
    groups: Floats | None
    starts: Ints
    indices: Ints
    values: Floats


def read_svmlight(text: str, source: str, base: int | None = None) -> Table:
    """Column `label`, column `qid` where given, and the features `f1`, `f2`, ... named by the index in the file.

    The format counts from 1. An index 0 in the file proves that this file counts from 0; `base` says it outright.
    """
    kept = [(number, line.split("#", 1)[0]) for number, line in enumerate(text.split("\n"), 1)]
    kept = [(number, line) for number, line in kept if line.strip()]
    if not kept:
        raise fault("K506", f"`{source}` holds remarks only", "there is no row in it", "check how it was written")
    lines = np.array([number for number, _ in kept], dtype=np.int64)
    body = [line for _, line in kept]
    entries = read_entries(body) or explain_entries(body, lines, source)
    check_order(entries, lines, source)
    lowest = int(entries.indices.min(initial=1))
    first = base if base is not None else min(lowest, 1)
    if lowest < first:
        row = int(np.searchsorted(entries.starts, int(np.argmin(entries.indices)), side="right")) - 1
        raise fault(
            "K513",
            f"`{source}`, line {lines[row]}: index {lowest} in a file said to count from {first}",
            "every feature would move by one place",
            f"say that it counts from {lowest}, or leave the base out",
        )
    return assemble(entries, first, lines, source)


def assemble(entries: Entries, first: int, lines: Ints, source: str) -> Table:
    last = int(entries.indices.max(initial=first - 1))
    shape = (len(entries.labels), last - first + 1)
    features = sp.csr_array((entries.values, entries.indices - first, entries.starts), shape=shape)
    extra = {"label": entries.labels} | ({} if entries.groups is None else {"qid": entries.groups})
    names = (*extra, *(f"f{index}" for index in range(first, last + 1)))
    values = sp.csr_array(sp.hstack([sp.csr_array(np.column_stack(list(extra.values()))), features], format="csr"))
    return Table(source, names, values, {}, names, lines, label="label", absent_is_zero=True)


def read_entries(body: Sequence[str]) -> Entries | None:
    """The whole text as one array of numbers; None when anything in it needs a closer look."""
    has_groups = "qid:" in body[0]
    line_of = GROUPED_LINE if has_groups else PLAIN_LINE
    if any(line_of.fullmatch(line) is None for line in body):
        return None
    joined = "\n".join(body)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            numbers = np.fromstring(joined.replace("qid:", "").replace(":", " "), sep=" ")
    except (ValueError, DeprecationWarning):
        return None
    entries = np.array([line.count(":") for line in body], dtype=np.int64) - has_groups
    lengths = 2 * entries + 1 + has_groups
    if len(numbers) != int(lengths.sum()):
        return None
    heads = np.cumsum(lengths) - lengths
    rest = np.ones(len(numbers), dtype=bool)
    rest[heads] = False
    if has_groups:
        rest[heads + 1] = False
    pairs = numbers[rest].reshape(-1, 2)
    places = pairs[:, 0]
    if np.any(places != np.floor(places)) or np.any(places < 0) or np.any(places > MAX_INDEX):
        return None
    groups = numbers[heads + 1] if has_groups else None
    starts = np.concatenate([[0], np.cumsum(entries)]).astype(np.int64)
    return Entries(numbers[heads], groups, starts, places.astype(np.int64), np.ascontiguousarray(pairs[:, 1]))


def explain_entries(body: Sequence[str], lines: Ints, source: str) -> Entries:
    """Token by token: the slow road, which either succeeds or names the line and the token."""
    labels: list[float] = []
    groups: list[float] = []
    starts, indices, values = [0], [], []
    for line, text in zip(lines, body, strict=True):
        label, *tokens = text.split()
        labels.append(to_number(label, f"`{source}`, line {line}: the label `{label}` is not a number"))
        if tokens and tokens[0].startswith("qid:"):
            word = tokens.pop(0)
            groups.append(to_number(word[4:], f"`{source}`, line {line}: `{word}` is not a query number"))
        for token in tokens:
            index, _, value = token.partition(":")
            if not (index.isascii() and index.isdigit()) or not value:
                raise fault("K511", f"`{source}`, line {line}: `{token}` is not index:value", help=HELP)
            if len(index) > 18 or int(index) > MAX_INDEX:
                raise fault(
                    "K516",
                    f"`{source}`, line {line}: the index {index} is beyond {MAX_INDEX:,}",
                    "every index up to the largest is a feature with a name",
                    "number the features that occur from 1 on",
                )
            indices.append(int(index))
            values.append(to_number(value, f"`{source}`, line {line}: `{value}` in `{token}` is not a number"))
        starts.append(len(indices))
    if groups and len(groups) != len(labels):
        raise fault(
            "K511",
            f"`{source}` has `qid:` on {len(groups)} of {len(labels)} lines",
            "a query number belongs to every example or to none",
            "add `qid:` right after the label on every line",
        )
    return Entries(
        np.array(labels),
        np.array(groups) if groups else None,
        np.array(starts, dtype=np.int64),
        np.array(indices, dtype=np.int64),
        np.array(values, dtype=np.float64),
    )


def to_number(word: str, message: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise fault("K511", message, help=HELP) from None


def check_order(entries: Entries, lines: Ints, source: str) -> None:
    """Indices increase within a line; a repeated one has two values."""
    steps = np.diff(entries.indices)
    inside = np.ones(len(steps), dtype=bool)
    inside[entries.starts[(entries.starts > 0) & (entries.starts <= len(steps))] - 1] = False
    wrong = np.flatnonzero(inside & (steps <= 0))
    if len(wrong) == 0:
        return
    at = int(wrong[0])
    row = int(np.searchsorted(entries.starts, at, side="right")) - 1
    before, after = int(entries.indices[at]), int(entries.indices[at + 1])
    what = f"index {after} is given twice" if before == after else f"index {after} comes after {before}"
    raise fault(
        "K512",
        f"`{source}`, line {lines[row]}: {what}",
        "the format asks for increasing indices; a line out of order is often a line cut or glued",
        "sort the entries of the line, and keep one value for each index",
    )
