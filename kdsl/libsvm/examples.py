"""Reads the examples of LIBSVM's programs: svmlight text, whose features have numbers and no names."""

from __future__ import annotations

import numpy as np

from kdsl.binding.faults import fault
from kdsl.binding.reading import read_table
from kdsl.binding.table import Floats, Matrix, Table


def read_examples(path: str) -> tuple[Matrix, Floats, Table]:
    """(points with feature 1 in the first column, labels, the table that they are from)."""
    table = read_table(path, base=1)
    if table.label is None:
        raise fault(
            "K671",
            f"`{path}` is not svmlight text",
            "a LIBSVM model numbers its features, and a table names its columns",
            "write each example as `label index:value ...`",
        )
    features = [place for place, name in enumerate(table.names) if name not in (table.label, "qid")]
    return table.values[:, features], np.asarray(table.column(table.label), dtype=np.float64), table
