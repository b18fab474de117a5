"""Points and the maps that lead to them: columns chosen and ordered, text expanded, features scaled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import scipy.sparse as sp

from kdsl.binding.delimited import is_number
from kdsl.binding.distances import to_dense
from kdsl.binding.faults import cite, count, fault, listing, nearest
from kdsl.binding.numbered import called_as, never_seen, unseen
from kdsl.binding.precomputed import test_points
from kdsl.binding.table import Table, Texts, as_double, headless, place
from kdsl.binding.truths import is_truth, with_numbers
from kdsl.numerics.arrays import Floats, Ints, Matrix

EXPAND = "expand text to 0/1 columns with `--onehot`, choose other columns with `--features`, or correct the cell"
LARGEST = 1e150  # beyond this a square, and so a distance, is no float64
EXACT = 2.0**53  # from here on float64 rounds whole numbers
LEAVE_OUT = "leave such rows out with `--drop-missing`, or fill them in beforehand"
FILL = "take such rows out of the table, or fill them in beforehand"  # every row of new points gets an answer
DENSE_SHARE = 0.25  # a sparse file with more entries than this becomes a dense matrix


@dataclass(frozen=True, eq=False)
class Points:
    """The values of an input: one point on each row, float64, with the names of the features."""

    features: Matrix
    names: tuple[str, ...]
    source: str
    lines: Ints | None = None

    @property
    def size(self) -> int:
        return int(self.features.shape[0])

    @property
    def dimension(self) -> int:
        return int(self.features.shape[1])


@dataclass(frozen=True, eq=False)
class Scaling:
    """x -> (x - offset) * factor, feature by feature; kind "standard", "minmax" or "none"."""

    kind: str
    offset: Floats
    factor: Floats

    def apply(self, features: Matrix) -> Matrix:
        """In the precision of the features, computed in float64."""
        if self.kind == "none":
            return features if sp.issparse(features) else np.ascontiguousarray(features)
        if sp.issparse(features) and not self.offset.any():
            return sp.csr_array(features @ sp.diags_array(self.factor)).astype(features.dtype, copy=False)
        if sp.issparse(features):
            features = to_dense(features)
        return np.ascontiguousarray((features - self.offset) * self.factor, dtype=features.dtype)


def fit_scaling(kind: str, features: Matrix) -> Scaling:
    """standard: mean 0 and standard deviation 1; minmax: [0, 1]. A constant feature is moved, not stretched.

    A sparse matrix keeps its zeros: it is stretched, not moved.
    """
    if kind not in ("standard", "minmax", "none"):
        raise fault("K547", f"there is no scaling `{kind}`", help="choose standard, minmax or none")
    d = features.shape[1]
    if kind == "none":
        return Scaling(kind, np.zeros(d), np.ones(d))
    low, high = column_ranges(features)
    if kind == "minmax":
        offset, spread = low, high - low
        if sp.issparse(features):
            spread = np.maximum(np.abs(low), np.abs(high))
    else:
        offset, spread = column_moments(features)
    factor = np.divide(1.0, spread, out=np.ones(d), where=(spread > 0) & (high > low))
    return Scaling(kind, np.zeros(d) if sp.issparse(features) else offset, factor)


def column_ranges(features: Matrix) -> tuple[Floats, Floats]:
    if sp.issparse(features):
        columns = sp.csc_array(features)
        return columns.min(axis=0).toarray().ravel(), columns.max(axis=0).toarray().ravel()
    return features.min(axis=0), features.max(axis=0)


def column_moments(features: Matrix) -> tuple[Floats, Floats]:
    """Mean and standard deviation (divided by the number of rows) of every column."""
    if not sp.issparse(features):
        return features.mean(axis=0), features.std(axis=0)
    rows = features.shape[0]
    mean = np.asarray(features.sum(axis=0), dtype=np.float64).ravel() / rows
    columns = sp.csc_array(features)
    stored = np.diff(columns.indptr)
    centred = (columns.data - np.repeat(mean, stored)) ** 2
    sums = np.bincount(np.repeat(np.arange(len(mean)), stored), weights=centred, minlength=len(mean))
    return mean, np.sqrt((sums + (rows - stored) * mean**2) / rows)


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """How the columns of a table become the points of an input; kept with the model, so that new data follow it.

    `columns` are names in the table (without the prefix `lo.`), `categories` the values of those columns
    that are expanded one-hot, `names` the features that result, `scaling` what is applied at the end. Where
    the kernel is precomputed the columns are kernel values with the training points, and the column `self` of
    a new table, if it has one, is the self-kernel diagonal. `chosen`: the user said which columns, so that others
    are left out.
    """

    columns: tuple[str, ...]
    names: tuple[str, ...]
    scaling: Scaling
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    precomputed: bool = False
    chosen: bool = False

    @property
    def origins(self) -> tuple[str, ...]:
        """The column that each feature comes from."""
        return tuple(name for name in self.columns for _ in self.categories.get(name, ("",)))

    def apply(self, table: Table, prefix: str = "") -> Points:
        """The points of a new table, with its columns found by name; missing values are an error.

        Features that training never saw come last, where the table has numbers for names: they were 0 in training.
        """
        if table.absent_is_zero:
            table = called_as(self.columns, table, self.chosen)
        features = self.raw(table, prefix)
        check_finite(features, self.origins, table.source, table.lines, FILL)
        if self.precomputed:
            if table.absent_is_zero and (extra := len(unseen(self.columns, table))):
                raise never_seen(table, extra, "a precomputed kernel has no values with them")
            own = np.asarray(table.column("self"), dtype=np.float64) if "self" in table.names else None
            cross = test_points(to_dense(features), len(self.names), own, cite(table.source))
            return Points(cross, (*self.names, "self", "place"), table.source, table.lines)
        points = Points(self.scaling.apply(features), self.names, table.source, table.lines)
        return self.with_unseen(points, table) if table.absent_is_zero and not self.chosen else points

    def with_unseen(self, points: Points, table: Table) -> Points:
        """As if they had been columns of 0 in training, which no scaling moves or stretches."""
        places = unseen(self.columns, table)
        if len(places) == 0:
            return points
        names = [table.names[p] for p in places]
        more = sp.csr_array(table.values[:, places])
        check_finite(more, names, table.source, table.lines, FILL)
        together = sp.csr_array(sp.hstack([sp.csr_array(points.features), more]))
        features = together if sp.issparse(points.features) else to_dense(together)
        return replace(points, features=features, names=(*points.names, *names))

    def apply_array(self, array: Matrix, source: str, diagonal: Floats | None = None) -> Points:
        """The points of an array whose columns are those of training, in the same order.

        `diagonal` is the self-kernel of the new points, for a precomputed kernel.
        """
        if array.shape[1] != len(self.names):
            raise fault(
                "K527",
                f"{count(array.shape[1], 'column')} in {source}, where the model was fitted on {len(self.names)}",
                help=f"give the features {listing(self.names)}, in this order",
            )
        check_finite(array, self.names, source, None, FILL)
        if self.precomputed:
            cross = test_points(to_dense(array), len(self.names), diagonal, source)
            return Points(cross, (*self.names, "self", "place"), source)
        return Points(self.scaling.apply(array), self.names, source)

    def raw(self, table: Table, prefix: str = "") -> Matrix:
        """The features before scaling; NaN where a value is missing."""
        wanted = [prefix + name for name in self.columns]
        spelt = {prefix + name for name, words in self.categories.items() if any(map(is_truth, words))}
        table = with_numbers(table, [name for name in wanted if name not in spelt])
        positions = {name: p for p, name in enumerate(table.names)}
        if not self.categories and all(name in positions for name in wanted):
            chosen = table.values[:, [positions[name] for name in wanted]]
            return sp.csr_array(chosen) if sp.issparse(chosen) else np.ascontiguousarray(chosen)
        if table.absent_is_zero and not self.categories:
            there = [(positions[name], p) for p, name in enumerate(wanted) if name in positions]
            places = np.array(there, dtype=np.int64).reshape(-1, 2).T
            selection = sp.csr_array((np.ones(len(there)), (places[0], places[1])), (len(table.names), len(wanted)))
            return sp.csr_array(table.values @ selection)
        parts = [self.part(table, name, column) for name, column in zip(wanted, self.columns, strict=True)]
        return np.column_stack(parts) if parts else np.empty((table.rows, 0))

    def part(self, table: Table, name: str, column: str) -> Floats:
        if name not in table.order:
            raise fault(
                "K520",
                f"{cite(table.source)} has no column `{name}`, which the model uses as a feature",
                headless(table),
                nearest(name, table.order),
            )
        values = table.column(name)
        if column in self.categories:
            return expand(values, self.categories[column], name, table)
        if values.dtype == np.object_:
            raise text_feature(table, [name], "correct the cell: in training this column held numbers")
        return np.asarray(values, dtype=np.float64)


def category_words(values: Floats | Texts) -> Texts:
    """A column's values as words; None where missing."""
    if values.dtype == np.object_:
        return np.asarray(values, dtype=np.object_)
    distinct, place = np.unique(values, return_inverse=True)
    words = np.array([None if v != v else label_word(float(v)) for v in distinct], dtype=object)
    return np.asarray(words[place.reshape(np.shape(values))], dtype=np.object_)


def words_as(values: Floats | Texts, known: Sequence[str]) -> Texts:
    """A column's values as words that training could have spelt so: as numbers where all it knew were numbers."""
    words = category_words(values)
    if values.dtype != np.object_ or not are_plain_numbers(known):
        return words
    spelt = [label_word(float(word)) if word is not None and is_number(word) else word for word in words]
    return np.array(spelt, dtype=np.object_)


def are_plain_numbers(words: Sequence[str]) -> bool:
    """Whether they are what numbers are called, which `007` and `1.50` are not."""
    return all(is_number(word) and label_word(float(word)) == word for word in words)


def refuse_rounded(values: Floats, column: str, source: str, lines: Ints | None) -> None:
    """K539 where a label or category is a number that may stand for several: float64 has rounded it."""
    places = np.argwhere(np.abs(values) >= EXACT)
    if len(places):
        raise fault(
            "K539",
            f"{cite(source)}, {place(lines, int(places[0][0]))}: `{column}` is {values[tuple(places[0])]:.0f}, and it "
            "is a label",
            f"numbers are float64, which has no whole number of its own for each one from {EXACT:,.0f} on",
            "give such labels as text: in Python as strings, in a file with a letter in front",
        )


def label_word(value: float) -> str:
    """`1` for 1.0, as it was probably written."""
    return str(int(value)) if abs(value) < 1e15 and value == int(value) else repr(value)


def expand(values: Floats | Texts, categories: Sequence[str], name: str, table: Table) -> Floats:
    """One column of 0 and 1 for each category; a missing value is NaN in all of them."""
    words = words_as(values, categories)
    codes = {category: p for p, category in enumerate(categories)}
    result = np.zeros((len(words), len(categories)))
    for row, word in enumerate(words):
        if word is None:
            result[row] = np.nan
        elif word in codes:
            result[row, codes[word]] = 1.0
        else:
            raise fault(
                "K538",
                f"{cite(table.source)}, {table.where(row)}: `{word}` in column `{name}` was never seen in training",
                f"the column was expanded to {listing(categories)}",
                "correct the value, or train with examples of it",
            )
    return result


def text_feature(table: Table, names: Sequence[str], remedy: str = EXPAND) -> Exception:
    """The error for words where numbers are needed, with the first word that is not one."""
    name = names[0]
    cells = table.text[name]
    row = next((r for r, cell in enumerate(cells) if cell is not None and not is_number(cell)), 0)
    return fault(
        "K526",
        f"{cite(table.source)}: {'columns' if len(names) > 1 else 'column'} {listing(names)} "
        f"{'hold' if len(names) > 1 else 'holds'} text (`{cells[row]}` in `{name}`, {table.where(row)})",
        "a feature is a number",
        remedy,
    )


def check_finite(
    features: Matrix, names: Sequence[str], source: str, lines: Ints | None, remedy: str = LEAVE_OUT
) -> None:
    """Every value is a number with a finite square; the first that is not is named by row and column.

    `names` are columns of the source: one that is expanded to several features is missing once in a row.
    """
    data = np.asarray(sp.csr_array(features).data if sp.issparse(features) else features)
    if data.size == 0 or (float(data.min()) >= -LARGEST and float(data.max()) <= LARGEST):
        return
    features = as_double(features)
    data = np.asarray(sp.csr_array(features).data if sp.issparse(features) else features)
    if sp.issparse(features):
        entries = sp.coo_array(features)
        bad = np.flatnonzero(~(np.abs(entries.data) <= LARGEST))
        places = np.column_stack([entries.row[bad], entries.col[bad]])
        value = entries.data[bad[0]]
    else:
        places = np.argwhere(~(np.abs(data) <= LARGEST))
        value = data[tuple(places[0])]
    row, column = (int(p) for p in places[0])
    distinct = len(set(names)) == len(names)
    total = len(places) if distinct else len({(int(r), names[c]) for r, c in places})
    raise not_finite(float(value), source, place(lines, row), names[column], total, remedy)


def not_finite(value: float, source: str, where: str, column: str, total: int, remedy: str = LEAVE_OUT) -> Exception:
    named = cite(source)
    more = f" ({total:,} such values in all)" if total > 1 else ""
    if np.isnan(value):
        return fault(
            "K530",
            f"{named}, {where}: the value of `{column}` is missing{more}",
            "no kernel has a value at an unknown point, and filling in a guess changes the problem",
            remedy,
        )
    size = "infinite" if np.isinf(value) else f"{value:.3g}, whose square is infinite"
    return fault(
        "K531",
        f"{named}, {where}: the value of `{column}` is {size}{more}",
        "distances and inner products with it are not numbers",
        "correct it, or mark it as missing",
    )
