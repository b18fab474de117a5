"""Tables from pandas, polars and Arrow frames and from Parquet and Arrow files, by narwhals and pyarrow (an extra)."""

from __future__ import annotations

import importlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kdsl.binding.arrays import clean_array, wrong_type
from kdsl.binding.delimited import refuse_duplicates
from kdsl.binding.distances import to_dense
from kdsl.binding.faults import count, fault
from kdsl.binding.opening import no_rows
from kdsl.binding.table import Table, Texts, empty_values
from kdsl.numerics.arrays import Floats


def table_from_frame(frame: Any, source: str) -> Table:
    """Numbers and booleans become numeric columns, strings and categories text columns, nulls missing."""
    try:
        import narwhals as nw
    except ImportError:
        raise missing_extra("narwhals", source) from None
    try:
        native = nw.from_native(frame, eager_only=True)
        order = tuple(str(name) for name in native.columns)
    except ValueError:
        columns = frame.column_names if hasattr(frame, "column_names") else frame.columns
        refuse_duplicates([str(name) for name in columns], source)
        raise
    except TypeError:
        raise fault(
            "K503",
            f"no reader for a Python object of type {type(frame).__name__}",
            "it has columns, and no rows in memory",
            "collect it first (`frame.collect()`), or give arrays",
        ) from None
    refuse_duplicates(order, source)
    numeric: dict[str, Floats] = {}
    text: dict[str, Texts] = {}
    for name, column in zip(order, native.iter_columns(), strict=True):
        if column.dtype.is_numeric() or column.dtype == nw.Boolean:
            numeric[name] = np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)
        elif column.dtype in (nw.String, nw.Categorical, nw.Enum, nw.Object):
            words = [None if v is None or v != v else str(v) for v in column.to_list()]
            text[name] = np.array(words, dtype=object)
        else:
            raise wrong_type(f"{source}, column `{name}`", column.dtype)
    rows = len(native)
    values = np.column_stack(list(numeric.values())) if numeric else empty_values(rows)
    return Table(source, tuple(numeric), values, text, order)


def table_from_data(data: Mapping[str, Any], source: str = "the data") -> Table:
    """Arrays by the datum they are; the columns of a frame are called `x.age` after their datum, so that names stay."""
    arrays: dict[str, Any] = {}
    parts: list[Table] = []
    for key, value in data.items():
        if is_frame(value):
            parts.append(prefixed(table_from_frame(value, f"the frame `{key}`"), f"{key}."))
        else:
            arrays[key] = clean_array(value, f"the array `{key}`")
    return side_by_side(parts, arrays, source)


def side_by_side(parts: Sequence[Table], arrays: Mapping[str, Any], source: str = "the data") -> Table:
    """One table with the columns of all, and with arrays."""
    if not parts:
        return Table(source, (), empty_values(0), arrays=arrays)
    if len(parts) == 1:
        return replace(parts[0], arrays=arrays)
    if len({part.rows for part in parts}) > 1:
        raise fault(
            "K522",
            f"{parts[0].source} has {count(parts[0].rows, 'row')} where {parts[1].source} has {parts[1].rows:,}",
            "frames given together are columns of one table",
            "give frames of different index sets by index: `{'i': ..., 'j': ...}`",
        )
    return Table(
        parts[0].source,
        tuple(name for part in parts for name in part.names),
        np.column_stack([to_dense(part.values) for part in parts]),
        {name: column for part in parts for name, column in part.text.items()},
        tuple(name for part in parts for name in part.order),
        arrays=arrays,
    )


def prefixed(table: Table, prefix: str) -> Table:
    return replace(
        table,
        names=tuple(prefix + name for name in table.names),
        text={prefix + name: column for name, column in table.text.items()},
        order=tuple(prefix + name for name in table.order),
    )


def read_parquet(content: bytes, source: str) -> Table:
    try:
        pa = importlib.import_module("pyarrow")
        pq = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise missing_extra("pyarrow", source) from None
    try:
        frame = pq.read_table(io.BytesIO(content))
        frame.validate(full=True)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise damaged(source, "Parquet", error) from None
    return rows_or_fault(table_from_frame(frame, f"`{source}`"), source)


def read_arrow(content: bytes, source: str) -> Table:
    """An Arrow file (Feather) or an Arrow stream."""
    try:
        pa = importlib.import_module("pyarrow")
    except ImportError:
        raise missing_extra("pyarrow", source) from None
    opener = pa.ipc.open_file if content.startswith(b"ARROW1") else pa.ipc.open_stream
    try:
        frame = opener(pa.py_buffer(content)).read_all()
        frame.validate(full=True)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise damaged(source, "Arrow", error) from None
    return rows_or_fault(table_from_frame(frame, f"`{source}`"), source)


def rows_or_fault(table: Table, source: str) -> Table:
    if table.rows == 0:
        raise no_rows(source)
    return Table(source, table.names, table.values, table.text, table.order)


def damaged(source: str, kind: str, error: Exception) -> Exception:
    first = str(error).splitlines()[0]
    return fault("K504", f"`{source}` is not a whole {kind} file", first, "write or copy it again")


def missing_extra(package: str, source: str) -> Exception:
    return fault(
        "K509",
        f"`{source}` needs the package {package}, which is not installed",
        "it is optional, so that kdsl stays small",
        "pip install 'kdsl[frames]'",
    )


def is_frame(value: Any) -> bool:
    """A pandas or polars frame, an Arrow table, or anything else with named columns."""
    words = ("columns", "column_names", "__dataframe__")
    return any(hasattr(type(value), word) or hasattr(value, word) for word in words)
