"""Tables from pandas, polars and Arrow frames and from Parquet and Arrow files, by narwhals and pyarrow (an extra)."""

from __future__ import annotations

import importlib
import io
from typing import Any

import numpy as np

from kdsl.binding.arrays import wrong_type
from kdsl.binding.delimited import refuse_duplicates
from kdsl.binding.faults import fault
from kdsl.binding.table import Floats, Table, Texts, empty_values


def table_from_frame(frame: Any, source: str) -> Table:
    """Numbers and booleans become numeric columns, strings and categories text columns, nulls missing."""
    try:
        import narwhals as nw
    except ImportError:
        raise missing_extra("narwhals", source) from None
    native = nw.from_native(frame, eager_only=True)
    refuse_duplicates([str(name) for name in native.columns], source)
    numeric: dict[str, Floats] = {}
    text: dict[str, Texts] = {}
    for name in native.columns:
        column = native[name]
        if column.dtype.is_numeric() or column.dtype == nw.Boolean:
            numeric[str(name)] = np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)
        elif column.dtype in (nw.String, nw.Categorical, nw.Enum, nw.Object):
            words = [None if v is None or v != v else str(v) for v in column.to_list()]
            text[str(name)] = np.array(words, dtype=object)
        else:
            raise wrong_type(f"{source}, column `{name}`", column.dtype)
    rows = len(native)
    values = np.column_stack(list(numeric.values())) if numeric else empty_values(rows)
    return Table(source, tuple(numeric), values, text, tuple(str(name) for name in native.columns))


def read_parquet(content: bytes, source: str) -> Table:
    try:
        pa = importlib.import_module("pyarrow")
        pq = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise missing_extra("pyarrow", source) from None
    try:
        frame = pq.read_table(io.BytesIO(content))
    except pa.ArrowInvalid as error:
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
    except pa.ArrowInvalid as error:
        raise damaged(source, "Arrow", error) from None
    return rows_or_fault(table_from_frame(frame, f"`{source}`"), source)


def rows_or_fault(table: Table, source: str) -> Table:
    if table.rows == 0:
        raise fault("K506", f"`{source}` has columns and no rows", help="check how it was written")
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
