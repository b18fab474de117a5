"""Features that have numbers and no names, such as those of svmlight text, among the features of a model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from kdsl.binding.faults import cite, count, fault, listing
from kdsl.binding.table import Table
from kdsl.numerics.arrays import Ints, Matrix

NUMBERED = re.compile(r"f\d+")
FIRST = "f0"  # of a file that counts from 0
PLACE = re.compile(r"(x|V|f|column_|)\d+")  # what arrays, text without header, pandas and polars call their columns


def nameless(columns: Sequence[str]) -> bool:
    """Whether the columns are called by their places alone, because they were given no names."""
    return all(PLACE.fullmatch(name) for name in columns)


def called_as(columns: Sequence[str], table: Table, chosen: bool) -> Table:
    """The table with its features called as the model's: by their numbers, in its order where it has names instead.

    A model of `chosen` columns may count from 0 without having the first.
    """
    if not all(NUMBERED.fullmatch(name) for name in columns):
        return _renamed(columns, table)
    own = _features(table)
    if FIRST in columns and own and FIRST not in own:
        raise _other_base(table, 1, "say `--index-base 0` if the file counts from 0 too, or number its features so")
    if FIRST in own and FIRST not in columns and not chosen:
        raise _other_base(table, 0, "number the features of the file from 1")
    return table


def unseen(columns: Sequence[str], table: Table) -> Ints:
    """The places of features that training never saw and that are not 0 in every row."""
    known = set(columns)
    places = [p for p, name in enumerate(table.names) if name not in (table.label, "qid", *known)]
    stored = np.diff(sp.csc_array(table.values[:, places]).indptr)
    return np.array([p for p, values in zip(places, stored, strict=True) if values], dtype=np.int64)


def never_seen(table: Table, extra: int, why: str) -> Exception:
    """The error where they cannot be counted."""
    return fault(
        "K527",
        f"{cite(table.source)} has {count(extra, 'feature')} that training never saw",
        why,
        "leave them out of the file, or train with examples that have them",
    )


def widened(points: Matrix, extra: int) -> Matrix:
    """The points with so many features more, which are 0 in them."""
    zeros = sp.csr_array((points.shape[0], extra), dtype=points.dtype)
    return sp.csr_array(sp.hstack([points, zeros])) if sp.issparse(points) else np.hstack([points, zeros.toarray()])


def _features(table: Table) -> list[str]:
    return [name for name in table.names if name not in (table.label, "qid")]


def _other_base(table: Table, first: int, help: str) -> Exception:
    return fault(
        "K513",
        f"{cite(table.source)} counts its features from {first}, and the model from {1 - first}",
        "every feature would move by one place",
        help,
    )


def _renamed(columns: Sequence[str], table: Table) -> Table:
    own = _features(table)
    if len(own) > len(columns):
        raise fault(
            "K527",
            f"{count(len(own), 'feature')} in {cite(table.source)}, where the model was fitted on {len(columns)}",
            "the features of svmlight text have numbers, and are those of the model in its order",
            f"give the features {listing(columns)}, in this order",
        )
    known = dict(zip(own, columns, strict=False))
    names = tuple(known.get(name, name) for name in table.names)
    return replace(table, names=names, order=names)
