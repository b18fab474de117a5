"""The data of a spec beside an estimator's X and y, and how they join X as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kdsl.binding.frames import is_frame, prefixed, side_by_side, table_from_frame
from kdsl.binding.sources import first_size
from kdsl.binding.table import Table
from kdsl.language.model import Model


def with_names(model: Model, data: Mapping[str, Any], names: Sequence[str] | None) -> dict[str, Any]:
    """Inputs whose columns have names as tables, everything else as it was given.

    An array of points that the one kernel compares with those of X has the columns of X, in their order.
    """
    found = dict(data)
    for datum in model.data:
        value = data.get(datum.name)
        if datum.kind != "input" or value is None:
            continue
        if is_frame(value):
            table = table_from_frame(value, f"the frame `{datum.name}`")
        elif names is not None and len(model.kernels) == 1 and np.ndim(value) == 2 and len(value[0]) == len(names):
            columns = tuple(names)
            table = Table(f"the array `{datum.name}`", columns, np.asarray(value, dtype=np.float64), order=columns)
        else:
            continue
        found[datum.name] = prefixed(table, f"{datum.name}.")
    return found


def joined(model: Model, own: Sequence[Table], data: Mapping[str, Any]) -> dict[str, Table]:
    """The tables of all index sets: those of `own` belong to the first, where arrays are too."""
    parts: dict[str, list[Table]] = {first_size(model): [*own]}
    for datum in model.data:
        value = data.get(datum.name)
        if isinstance(value, Table):
            parts.setdefault(datum.sets[0].size if datum.sets else datum.name, []).append(value)
    arrays = {name: value for name, value in data.items() if not isinstance(value, Table)}
    tables = {size: side_by_side(part, {}) for size, part in parts.items() if size != first_size(model)}
    return {"": side_by_side(parts[first_size(model)], arrays), **tables}
