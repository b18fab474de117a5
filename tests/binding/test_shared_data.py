"""The real tables of the shared folder load with the rows, columns and labels that its index states."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from kdsl.binding.points import category_words
from kdsl.binding.reading import read_table

SHARED = Path(os.environ.get("KDSL_SHARED", Path(__file__).resolve().parents[2].parent / "shared"))
INDEX = SHARED / "data" / "INDEX.md"
ENTRY = re.compile(r"\| (\S+) \| (\d+) \| (\d+) \| (\w+) \| (.*?) \| (.*?) \|$")
ENTRIES = [m.groups() for m in map(ENTRY.match, INDEX.read_text().splitlines()) if m] if INDEX.exists() else []

pytestmark = pytest.mark.skipif(not ENTRIES, reason=f"the shared data folder is absent ({SHARED}; set KDSL_SHARED)")


def test_the_index_lists_every_table():
    files = {p.name for p in (SHARED / "data").iterdir()} - {"INDEX.md"}
    assert {entry[0] for entry in ENTRIES} == files


def label_column(table, note):
    named = re.search(r"y=(\w+)", note)
    if named:
        return named.group(1)
    return table.label or ("class" if "class" in table.order else table.order[-1])


@pytest.mark.parametrize("entry", ENTRIES, ids=[entry[0] for entry in ENTRIES])
def test_rows_columns_and_labels(entry):
    name, n, d, task, labels, note = entry
    table = read_table(SHARED / "data" / name)
    others = 2 if "cols sim,class" in note else 1
    assert (table.rows, len(table.order) - others) == (int(n), int(d))
    if task == "bin" and "{" in labels:
        counts = Counter(category_words(table.column(label_column(table, note))))
        stated = dict(re.findall(r"'([^']+)': (\d+)", labels))
        assert {word_of(word): times for word, times in counts.items()} == {
            word_of(w): int(t) for w, t in stated.items()
        }
    numbers = table.values if isinstance(table.values, np.ndarray) else table.values.data
    assert np.isfinite(numbers).all()


def word_of(word):
    try:
        return float(word)
    except ValueError:
        return word
