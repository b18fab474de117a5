"""Table: what every reader returns, whatever the file was: numeric columns, text columns, and where each row stood."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kdsl.binding.faults import listing
from kdsl.language.diagnostics import Diagnostic
from kdsl.numerics.arrays import Floats, Ints, Matrix

Texts: TypeAlias = NDArray[np.object_]
Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Table:
    """One row for each example. NaN in `values` and None in `text` stand for a missing value.

    `values[:, p]` is the numeric column `names[p]`; `order` lists all columns, numeric and text, as in
    the source. `label` is the column that the format itself marks as the label (svmlight).
    `absent_is_zero`: a column that this table does not have is zero, not unknown (svmlight).
    `arrays` holds what is not a column: the named arrays of an npz file or of a mapping. `named` is
    False where a delimited text has no header, so that its columns are called `V1`, `V2`, ...
    """

    source: str
    names: tuple[str, ...]
    values: Matrix
    text: Mapping[str, Texts] = field(default_factory=dict)
    order: tuple[str, ...] = ()
    lines: Ints | None = None
    label: str | None = None
    absent_is_zero: bool = False
    arrays: Mapping[str, Array | sp.csr_array] = field(default_factory=dict)
    notes: tuple[Diagnostic, ...] = ()
    named: bool = True

    @property
    def rows(self) -> int:
        return int(self.values.shape[0])

    def where(self, row: int) -> str:
        """How a message names a row: its line in a text file, its number from 1 elsewhere."""
        return place(self.lines, row)

    def take(self, rows: Ints) -> Table:
        """The rows at these places, in this order."""
        return replace(
            self,
            values=self.values[rows],
            text={name: column[rows] for name, column in self.text.items()},
            lines=None if self.lines is None else self.lines[rows],
        )

    def only(self, columns: Sequence[str]) -> Table:
        """The columns named, in this order, without anything else."""
        numeric = [name for name in columns if name in self.names]
        return replace(
            self,
            names=tuple(numeric),
            values=self.values[:, [self.names.index(name) for name in numeric]],
            text={name: self.text[name] for name in columns if name in self.text},
            order=tuple(columns),
            arrays={},
        )

    def column(self, name: str) -> Floats | Texts:
        """One column, numeric or text, as a dense array."""
        if name in self.text:
            return self.text[name]
        return dense_column(self.values, self.names.index(name))


def headless(table: Table | None) -> str:
    """Why the columns of a table may be called otherwise than thought."""
    return "" if table is None or table.named else "no header was found in it"


def columns_of(table: Table) -> str:
    """Which columns a table has, as a message says it."""
    reason = headless(table)
    return (
        f"{reason}; its columns are called {listing(table.order)}"
        if reason
        else f"its columns are {listing(table.order)}"
    )


def place(lines: Ints | None, row: int) -> str:
    return f"row {row + 1}" if lines is None else f"line {int(lines[row])}"


def dense_column(values: Matrix, position: int) -> Floats:
    if isinstance(values, np.ndarray):
        return np.ascontiguousarray(values[:, position])
    picked = values[:, [position]].toarray()
    return np.asarray(picked, dtype=np.float64).ravel()


def empty_values(rows: int) -> Floats:
    return np.empty((rows, 0), dtype=np.float64)


def numbered(prefix: str, columns: int) -> tuple[str, ...]:
    """Names for columns that have none: `V1`, `V2`, ... (a table without header), `x1`, `x2`, ... (an array)."""
    return tuple(f"{prefix}{p + 1}" for p in range(columns))


def is_single(points: Matrix) -> bool:
    """Whether points came in float32, which asks for their values in single precision."""
    return bool(points.dtype.char == "f")


def as_double(points: Matrix) -> Matrix:
    if not is_single(points):
        return points
    doubled: Matrix = points.astype(np.float64)
    return doubled
