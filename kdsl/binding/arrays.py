"""Tables from what is in memory or in a NumPy file: arrays, scipy sparse matrices, npy, npz and mappings of arrays."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
import scipy.sparse as sp

from kdsl.binding.faults import fault
from kdsl.binding.table import Array, Table, Texts, empty_values, is_single, numbered
from kdsl.numerics.arrays import Matrix


def table_from_array(value: Any, source: str) -> Table:
    """A matrix with one example on each row; a vector is one column. Columns are called `x1`, `x2`, ..."""
    if isinstance(value, np.ndarray) and value.dtype == np.object_ and value.ndim == 2:
        return table_from_columns({f"x{p + 1}": value[:, p] for p in range(value.shape[1])}, source)
    if isinstance(value, np.ndarray) and value.dtype.names:
        return table_from_columns({name: value[name] for name in value.dtype.names}, source)
    array = clean_array(value, source)
    if array.ndim == 1:
        array = array.reshape(-1, 1)
    names = numbered("x", array.shape[1])
    if array.dtype == np.object_:
        return Table(source, (), empty_values(len(array)), {n: array[:, p] for p, n in enumerate(names)}, names)
    return Table(source, names, to_matrix(array), order=names)


def table_from_columns(columns: Mapping[str, Any], source: str) -> Table:
    """One column for each entry, all of one length."""
    cleaned = {name: clean_array(column, f"{source}, column `{name}`") for name, column in columns.items()}
    numeric = {name: column for name, column in cleaned.items() if column.dtype != np.object_}
    text: dict[str, Texts] = {name: column for name, column in cleaned.items() if column.dtype == np.object_}
    rows = len(next(iter(cleaned.values()))) if cleaned else 0
    values = np.column_stack([to_matrix(c) for c in numeric.values()]) if numeric else empty_values(rows)
    return Table(source, tuple(numeric), values, text, tuple(cleaned))


def table_from_mapping(arrays: Mapping[str, Any], source: str) -> Table:
    """Named arrays of any shape, bound to the data of the same name."""
    cleaned = {name: clean_array(value, f"the array `{name}`") for name, value in arrays.items()}
    return Table(source, (), empty_values(0), arrays=cleaned)


def is_columns(data: Mapping[str, Any]) -> bool:
    """Vectors of one length: what a table is made of."""
    if any(sp.issparse(v) or as_array(v, f"the array `{name}`").ndim != 1 for name, v in data.items()):
        return False
    return len({len(v) for v in data.values()}) == 1


def read_npy(content: bytes, source: str) -> Table:
    return table_from_array(load(content, source), source)


def read_npz(content: bytes, source: str) -> Table:
    """Arrays of one dimension and one length are columns; otherwise each array is bound by its name."""
    arrays = load(content, source)
    if not isinstance(arrays, dict):
        return table_from_array(arrays, source)
    if not arrays:
        raise fault("K506", f"`{source}` is empty", "there is no array in it", "check how it was written")
    return table_from_columns(arrays, source) if is_columns(arrays) else table_from_mapping(arrays, source)


def load(content: bytes, source: str) -> Any:
    """The array of an npy file, the arrays of an npz by name, or the matrix that scipy put into one.

    A damaged file raises whatever the zip, zlib, header and array readers below happen to raise.
    """
    try:
        with catch_warnings():
            simplefilter("error")
            found = np.load(io.BytesIO(content), allow_pickle=False)
            if isinstance(found, np.ndarray):
                return found
            if {"indices", "indptr", "data", "shape"} <= set(found.files):
                return sp.load_npz(io.BytesIO(content))
            return {name: found[name] for name in found.files}
    except Exception as error:
        raise unreadable(source, error) from None


def unreadable(source: str, error: Exception) -> Exception:
    if "allow_pickle" in str(error) or "Object arrays" in str(error):
        return fault(
            "K514",
            f"`{source}` holds Python objects",
            "reading them would run code from the file",
            "save plain numeric or text arrays (`array.astype(float)`)",
        )
    return fault("K514", f"`{source}` is not a whole NumPy file", str(error), "save it again with `numpy.savez`")


def clean_array(value: Any, source: str) -> Any:
    """A float64 or text (object) array of at most two dimensions, or a csr_array of float64."""
    if sp.issparse(value):
        matrix = checked_matrix(value, source)
        if matrix.dtype.kind not in "fiub":
            raise wrong_type(source, matrix.dtype)
        matrix = matrix.astype(np.float64)
        matrix.sum_duplicates()
        return matrix
    array = as_array(value, source)
    if array.dtype.kind in "fiub":
        return array.astype(np.float64)
    if array.dtype.kind == "O":
        return from_objects(array, source)
    if array.dtype.kind in "UST":
        words = array.astype(str).astype(object)
        words[words == ""] = None
        return words
    raise wrong_type(source, array.dtype)


def as_array(value: Any, source: str) -> Array:
    """Of at most two dimensions, with what a mask hides as missing."""
    try:
        array = unmasked(value) if isinstance(value, np.ma.MaskedArray) else np.asarray(value)
    except ValueError as error:
        raise fault("K515", f"{source}: no array", str(error), "give every row the same number of values") from None
    if array.ndim > 2:
        raise fault(
            "K515",
            f"{source}: an array of {array.ndim} dimensions",
            "a table has rows and columns",
            "give one row for each point: `X.reshape(len(X), -1)`, or for points of two indices "
            "`X.reshape(-1, X.shape[-1])`",
        )
    return array


def unmasked(value: Any) -> Array:
    """A masked array of numbers with NaN, or of anything else with None, where it is masked."""
    if value.dtype.kind in "iub":
        value = value.astype(np.float64)
    return np.asarray(value.filled(np.nan) if value.dtype.kind in "fc" else value.astype(object).filled(None))


def point_array(value: Any, source: str) -> Matrix:
    """New points, a row each: float32 where they came so and float64 otherwise; copied only where that changes them."""
    array: Any = checked_matrix(value, source) if sp.issparse(value) else np.atleast_2d(as_array(value, source))
    if array.dtype.kind == "O":
        array = from_objects(array, source)
    if array.dtype.kind in "OUST":
        raise fault("K515", f"{source} hold text", "a feature is a number", "expand text to columns of 0 and 1")
    if array.dtype.kind not in "fiub":
        raise wrong_type(source, array.dtype)
    return array if is_single(array) else array.astype(np.float64, copy=False)


def checked_matrix(value: Any, source: str) -> sp.csr_array:
    """As CSR, with every index inside the matrix: compiled code would read beyond it."""
    try:
        matrix = sp.csr_array(value)
        matrix.check_format(full_check=True)
    except ValueError as error:
        raise fault("K515", f"{source}: not a valid sparse matrix", str(error), "build it again with scipy") from None
    return matrix


def from_objects(array: Array, source: str) -> Array:
    """An array of Python objects is taken when it holds numbers only, or words (and None or NaN)."""
    flat = [None if is_missing(v) else v for v in array.ravel()]
    if not any(isinstance(v, str) for v in flat):
        if all(v is None or isinstance(v, (int, float, np.number, np.bool_)) for v in flat):
            numbers = [np.nan if v is None else float(v) for v in flat]
            return np.array(numbers, dtype=np.float64).reshape(array.shape)
        raise wrong_type(source, array.dtype)
    words = [None if v is None or v == "" else str(v) for v in flat]
    return np.array(words, dtype=object).reshape(array.shape)


def is_missing(value: Any) -> bool:
    """None, NaN, and the marks of pandas for a missing value."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def wrong_type(source: str, dtype: Any) -> Exception:
    return fault(
        "K515",
        f"{source}: values of type {dtype}",
        "numbers (float, integer, boolean) and text are understood",
        "convert it first (`.astype(float)`; a date to a number of days; a complex number to its parts)",
    )


def to_matrix(array: Any) -> Matrix:
    matrix: Matrix = array if sp.issparse(array) else np.ascontiguousarray(array, dtype=np.float64)
    return matrix
