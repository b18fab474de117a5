"""Columns of true and false, which are 1 and 0 wherever a number is wanted, whatever the source has them as.

Parquet, frames and arrays have booleans, which are numbers there; CSV has the words `True` and `False`, which would be
categories. A model of the one predicts the other only if both are features of one kind, and numbers need no `onehot`.
Labels are not numbers: they stay words where they are words, so that a prediction is spelt as the data are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from kdsl.binding.distances import to_dense
from kdsl.binding.table import Array, Table
from kdsl.numerics.arrays import Floats

TRUTHS = {"true": 1.0, "false": 0.0}


def is_truth(word: str) -> bool:
    return word.casefold() in TRUTHS


def are_truths(words: Array) -> bool:
    """Whether there are words, and each is true or false."""
    present = [word for word in words.reshape(-1).tolist() if word is not None]
    return bool(present) and all(map(is_truth, present))


def as_numbers(words: Array) -> Floats:
    """The words as 1 and 0, NaN where one is missing."""
    numbers = [np.nan if word is None else TRUTHS[word.casefold()] for word in words.reshape(-1).tolist()]
    return np.array(numbers, dtype=np.float64).reshape(words.shape)


def with_numbers(table: Table, columns: Iterable[str]) -> Table:
    """The table with those of the columns as numbers that are words and truths."""
    found = {
        name: as_numbers(table.text[name]) for name in columns if name in table.text and are_truths(table.text[name])
    }
    if not found:
        return table
    return replace(
        table,
        names=(*table.names, *found),
        values=np.column_stack([to_dense(table.values), *found.values()]),
        text={name: words for name, words in table.text.items() if name not in found},
    )
