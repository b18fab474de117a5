"""Reads the examples of LIBSVM's programs: svmlight text, whose features have numbers and no names."""

from __future__ import annotations

import numpy as np

from kdsl.binding.faults import fault
from kdsl.binding.points import FILL, check_finite, not_finite
from kdsl.binding.reading import read_table
from kdsl.binding.table import Table, place
from kdsl.numerics.arrays import Floats, Matrix


def read_examples(path: str, labelled: bool = True) -> tuple[Matrix, Floats, Table]:
    """(points with feature 1 in the first column, labels, the table that they are from), all of them finite.

    Where examples are not `labelled`, what stands in the place of labels may be anything.
    """
    table = read_table(path, base=1)
    if table.label is None:
        raise fault(
            "K671",
            f"`{path}` is not svmlight text",
            "a LIBSVM model numbers its features, and a table names its columns",
            "write each example as `label index:value ...`",
        )
    features = [p for p, name in enumerate(table.names) if name not in (table.label, "qid")]
    points, target = table.values[:, features], np.asarray(table.column(table.label), dtype=np.float64)
    check_finite(points, [table.names[p] for p in features], path, table.lines, FILL)
    wrong = np.flatnonzero(~np.isfinite(target))
    if labelled and len(wrong):
        raise not_finite(target[wrong[0]], path, place(table.lines, wrong[0]), table.label, len(wrong), FILL)
    return points, target, table
