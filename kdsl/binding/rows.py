"""Sizes of index sets from the rows of their data, and the rows that go because something in them is missing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from kdsl.binding.faults import count, fault, warning
from kdsl.binding.raw import Raw, cite_array
from kdsl.binding.sources import FromArray, FromColumn, FromFeatures, FromSquare, Source, index_sizes, is_matrix
from kdsl.binding.table import Array
from kdsl.language.diagnostics import Diagnostic, KdslError
from kdsl.language.model import Datum, Model


def find_sizes(model: Model, raws: Sequence[Raw]) -> dict[str, int]:
    """How many rows each index set has; two data of one set with different numbers of rows are an error."""
    sizes = {size: int(size) for size in index_sizes(model).values() if size.isdigit()}
    givers: dict[str, Raw] = {}
    for raw in raws:
        for axis, index_set in enumerate(raw.datum.sets):
            if index_set.labelled or is_product(raw.datum):
                continue
            rows = int(raw.values.shape[axis])
            known = sizes.setdefault(index_set.size, rows)
            giver = givers.setdefault(index_set.size, raw)
            if known != rows:
                raise different_rows(raw, giver, rows, known, index_set.size)
    return sizes


def is_product(datum: Datum) -> bool:
    """An input whose rows are not those of one index set: it has several, or none."""
    return datum.kind == "input" and len(datum.sets) != 1


def check_product(raw: Raw, sizes: Mapping[str, int]) -> None:
    """The rows of an input with several indices go through the last index first; without an index it has one row."""
    names = [s.size for s in raw.datum.sets]
    expected = math.prod(sizes[name] for name in names)
    if is_product(raw.datum) and not names and raw.values.shape[0] != 1:
        raise fault(
            "K522",
            f"`{raw.datum.name}` has {count(raw.values.shape[0], 'row')} ({cite_array(raw)}), and it is one point",
            "it is declared without an index",
            "give one row, or declare it with an index",
        )
    if is_product(raw.datum) and raw.values.shape[0] != expected:
        raise fault(
            "K522",
            f"`{raw.datum.name}` has {count(raw.values.shape[0], 'row')} ({cite_array(raw)}) where "
            f"{' x '.join(f'{sizes[name]:,}' for name in names)} are expected",
            f"it has one point for each member of {' x '.join(f'1..{name}' for name in names)}",
            "give the points of the first member of the first set, then those of the second, and so on",
        )


def different_rows(raw: Raw, giver: Raw, rows: int, known: int, size: str) -> KdslError:
    if giver is raw:
        return fault(
            "K522",
            f"`{raw.datum.name}` has {count(rows, 'row')} ({cite_array(raw)}), and the spec says {size}",
            help="give as many rows as the spec says",
        )
    return fault(
        "K522",
        f"`{raw.datum.name}` has {count(rows, 'row')} ({cite_array(raw)}) where `{giver.datum.name}` "
        f"has {known:,} ({cite_array(giver)})",
        f"both run over 1..{size}",
        "give one row for each example in both, or bind the second table to an index set of its own",
    )


def missing_rows(values: Any) -> Array:
    """Which rows hold something missing."""
    if sp.issparse(values):
        rows = np.zeros(values.shape[0], dtype=bool)
        entries = sp.coo_array(values)
        rows[entries.row[np.isnan(entries.data)]] = True
        return rows
    if values.dtype == np.object_:
        return np.array([v is None for v in values])
    return np.asarray(np.isnan(values).reshape(len(values), -1).any(axis=1))


def drop_rows(
    sources: Mapping[str, Source], raws: Sequence[Raw], sizes: Mapping[str, int]
) -> tuple[dict[str, Source], dict[str, int]]:
    """The sources without the rows in which any datum of the same index set is missing, and how many went."""
    keep = {size: np.ones(rows, dtype=bool) for size, rows in sizes.items()}
    for raw in raws:
        if raw.datum.sets and not raw.datum.sets[0].labelled and not is_product(raw.datum):
            keep[raw.datum.sets[0].size] &= ~missing_rows(raw.values)
    kept = {name: without_rows(source, keep) for name, source in sources.items()}
    return kept, {size: int(np.sum(~flags)) for size, flags in keep.items()}


def without_rows(source: Source, keep: Mapping[str, Array]) -> Source:
    if is_product(source.datum):
        return source
    flags = [None if s.labelled else keep.get(s.size) for s in source.datum.sets]
    if isinstance(source, FromColumn | FromFeatures) and flags[0] is not None:
        return source._replace(table=source.table.take(np.flatnonzero(flags[0])))
    if isinstance(source, FromSquare) and is_matrix(source.datum):
        rows, columns = flags
        table = source.table if rows is None else source.table.take(np.flatnonzero(rows))
        order = table.order if columns is None else [table.order[p] for p in np.flatnonzero(columns)]
        return source._replace(table=table.only(order))
    if isinstance(source, FromArray):
        array = source.array
        for axis, flag in enumerate(flags):
            if flag is not None and not flag.all():
                array = array[flag] if axis == 0 else array[:, flag]
        return source._replace(array=array)
    return source


def dropped_note(size: str, number: int, left: int) -> Diagnostic:
    return warning(
        "K543",
        f"{count(number, 'row')} with missing values left out of {number + left:,}",
        f"{size} = {left:,} rows remain",
    )
