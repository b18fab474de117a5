"""Raw: the values of each datum as its source has them, before anything is checked; NaN and None are missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from kdsl.binding.bound import LabelSet
from kdsl.binding.distances import to_dense
from kdsl.binding.faults import cite, fault, listing
from kdsl.binding.points import DENSE_SHARE, FeatureMap, Scaling, category_words, refuse_rounded, text_feature
from kdsl.binding.sources import FromArray, FromColumn, FromFeatures, FromSquare, Source, is_matrix
from kdsl.binding.table import Table, numbered
from kdsl.binding.truths import with_numbers
from kdsl.binding.values import check_real, sort_labels
from kdsl.language.model import Datum
from kdsl.numerics.arrays import Floats, Ints


class Raw(NamedTuple):
    """The values of one datum as found: NaN and None stand for missing; `map` only for features, before scaling."""

    datum: Datum
    values: Any
    column: str
    source: str
    lines: Ints | None
    map: FeatureMap | None = None


def raw_values(source: Source, sources: Mapping[str, Source]) -> Raw:
    """The values of one datum, still with what is missing in them."""
    if isinstance(source, FromColumn):
        table = source.table
        return Raw(source.datum, table.column(source.column), source.column, table.source, table.lines)
    if isinstance(source, FromSquare):
        return Raw(source.datum, square_values(source), source.datum.name, source.table.source, None)
    if isinstance(source, FromFeatures):
        return raw_features(source, sources)
    assert isinstance(source, FromArray)
    return raw_array(source)


def raw_array(source: FromArray) -> Raw:
    datum, array = source.datum, source.array
    if not source.features:
        array = to_dense(array) if sp.issparse(array) else array
        if len(datum.sets) == 1 and array.ndim == 2 and array.shape[1] == 1:
            array = array.ravel()
        if not datum.sets and array.size == 1:
            array = array.reshape(())
        if array.ndim != len(datum.sets):
            raise fault(
                "K515",
                f"{source.source} has dimension {array.ndim} where `{datum.name}` has {len(datum.sets)}",
                help=f"give an array of shape [{', '.join(s.size for s in datum.sets)}]",
            )
        return Raw(datum, array, datum.name, source.source, None)
    if array.ndim not in (1, 2):
        message = f"{source.source} has dimension {array.ndim}, and the input `{datum.name}` has rows and columns"
        raise fault("K515", message, help="give a matrix with a row for each point")
    if array.ndim == 1:
        array = array.reshape(-1, 1) if datum.sets else array.reshape(1, -1)
    if not sp.issparse(array) and array.dtype == np.object_:
        raise fault(
            "K515",
            f"{source.source} holds text, and `{datum.name}` is an input",
            "a feature is a number",
            "expand text to columns of 0 and 1, or give a table and `onehot`",
        )
    if array.shape[1] == 0:
        message = f"{source.source}, bound to the input `{datum.name}`, has no columns"
        raise fault("K525", message, help="give at least one feature")
    names = numbered("x", array.shape[1])
    return Raw(datum, array, datum.name, source.source, None, FeatureMap(names, names, no_scaling(len(names))))


def no_scaling(d: int) -> Scaling:
    return Scaling("none", np.zeros(d), np.ones(d))


def raw_features(source: FromFeatures, sources: Mapping[str, Source]) -> Raw:
    """The columns of an input, in the order of the first input that has the same features."""
    table, prefix = numbered_truths(source), source.prefix
    words = [prefix + name for name in source.names if prefix + name in table.text and name not in source.onehot]
    if words:
        raise text_feature(table, words)
    order = source.names
    for other in sources.values():
        if isinstance(other, FromFeatures) and set(other.names) == set(order):
            order = other.names
            break
    categories = {name: categories_of(name, sources) for name in source.onehot}
    names: list[str] = []
    for name in order:
        names += [f"{name}={word}" for word in categories[name]] if name in categories else [name]
    feature_map = FeatureMap(order, tuple(names), no_scaling(len(names)), categories, chosen=source.chosen)
    values = feature_map.raw(table, prefix)
    if sp.issparse(values) and sp.csr_array(values).nnz >= DENSE_SHARE * values.shape[0] * values.shape[1]:
        values = to_dense(values)
    return Raw(source.datum, values, source.datum.name, table.source, table.lines, feature_map)


def numbered_truths(source: FromFeatures) -> Table:
    """The table of the features, those of true and false as numbers."""
    return with_numbers(source.table, [source.prefix + name for name in source.names])


def categories_of(name: str, sources: Mapping[str, Source]) -> tuple[str, ...]:
    """The words that occur in a column, in any of the inputs that have it."""
    found: set[str] = set()
    for source in sources.values():
        if isinstance(source, FromFeatures) and name in source.names:
            table = numbered_truths(source)
            column = table.column(source.prefix + name)
            if column.dtype != np.object_:
                refuse_rounded(np.asarray(column, dtype=np.float64), source.prefix + name, table.source, table.lines)
            words = category_words(column)
            found |= {word for word in words if word is not None}
    return sort_labels(list(found))


def square_values(source: FromSquare) -> Floats:
    """A table of numbers; rows and columns for pairs of labels are put in the order of these by their names."""
    table = source.table
    values = to_dense(table.values)
    if is_matrix(source.datum):
        for name, words in table.text.items():
            check_real(words, source.datum, name, table.source, table.lines)
        return values
    if len(table.text) == 1:
        rows = [str(word) for word in next(iter(table.text.values()))]
        order = sort_labels(rows)
        if set(order) == set(table.names):
            return values[np.ix_([rows.index(w) for w in order], [table.names.index(w) for w in order])]
    return values


def in_label_order(source: FromSquare, values: Floats, labels: LabelSet) -> Floats:
    """The table's numbers in the order of the labels; an error where it names other labels than the data have."""
    table = source.table
    rows = tuple(str(word) for word in next(iter(table.text.values()))) if len(table.text) == 1 else ()
    columns = table.names
    if rows and set(rows) == set(columns) == set(labels.names):
        return values  # `square_values` has sorted both
    if not rows and set(columns) == set(labels.names):
        place = [columns.index(name) for name in labels.names]
        return values[np.ix_(place, place)]
    if rows or set(columns) & set(labels.names):
        stranger = next((name for name in (*rows, *columns) if name not in labels.names), "")
        lacking = next((n for n in labels.names if n not in columns or (rows and n not in rows)), "")
        what = f"names `{stranger}`, which no example has" if stranger else f"does not name `{lacking}`"
        raise fault(
            "K522",
            f"{cite(table.source)}, bound to `{source.datum.name}`, {what}",
            f"the labels of the data are {listing(labels.names)}",
            "name the rows and the columns after these labels",
        )
    return values


def cite_array(raw: Raw) -> str:
    """What a message calls the source: a file in quotes, an array by the name it has."""
    return raw.source if raw.source.startswith("the array") else cite(raw.source)
