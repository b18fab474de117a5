"""Fitted: a predictor with the way from a user's table to its points, and from its numbers to the user's labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from kdsl.binding.arrays import point_array
from kdsl.binding.bound import LabelMap, LabelSet
from kdsl.binding.faults import cite, count, fault, listing, nearest
from kdsl.binding.frames import is_frame, table_from_frame
from kdsl.binding.numbered import nameless, never_seen
from kdsl.binding.opening import no_rows
from kdsl.binding.points import FeatureMap, Points, are_plain_numbers, words_as
from kdsl.binding.python_kernel import calls_python
from kdsl.binding.raw import raw_array
from kdsl.binding.sources import FromArray, find_array
from kdsl.binding.table import place
from kdsl.binding.values import encode
from kdsl.models.predictor import Predictor

if TYPE_CHECKING:
    from kdsl.algebra.numeric import Array
    from kdsl.binding.table import Table
    from kdsl.language.model import IndexSet, Model, Prediction
    from kdsl.numerics.arrays import Floats, Ints, Matrix


@dataclass(frozen=True, eq=False)
class Fitted:
    """What prediction needs, whether it comes from a solution or from a file.

    columns: the column of a table that each label datum was bound to, for the further formals of a predict clause.
    kind: that of the predict clause that answers, the first one of the spec where it is empty.
    """

    predictor: Predictor
    feature_maps: Mapping[str, FeatureMap]
    label_maps: Mapping[str, LabelMap]
    label_sets: Mapping[str, LabelSet]
    columns: Mapping[str, str]
    kind: str = field(default="", kw_only=True)

    @property
    def model(self) -> Model:
        return self.predictor.model

    @property
    def clause(self) -> Prediction:
        """The predict clause that answers."""
        clauses = {clause.kind: clause for clause in self.model.predictions}
        if not clauses:
            raise fault("K650", f"the model `{self.model.name}` has no predict clause", help="add one to its spec")
        return clauses[self.kind or next(iter(clauses))]

    def answering(self, kind: str | None) -> Self:
        """The same with the predict clause of this kind; None leaves the one that there is."""
        if kind is None:
            return self
        kinds = [clause.kind for clause in self.model.predictions]
        if kind not in kinds:
            message = f"the model `{self.model.name}` has no clause `predict {kind}`"
            raise fault("K650", message, help=nearest(str(kind), kinds))
        return replace(self, kind=kind)

    @property
    def feature_map(self) -> FeatureMap:
        """New points look like those of the first input."""
        return self.feature_maps[self._input()]

    def _input(self) -> str:
        """The name of the first input; K650 where there is none."""
        if not self.feature_maps:
            what = f"the model `{self.model.name}` has no input"
            raise fault(
                "K650", what, "nothing says what a new point is", "declare an input, such as `data x[i] : input`"
            )
        return next(iter(self.feature_maps))

    @property
    def decision_names(self) -> tuple[str, ...]:
        """The columns of the decision values, where there is more than one: a class each."""
        return next(iter(self.label_sets.values())).names

    def points(self, points: Any, diagonal: Floats | None = None) -> Matrix:
        """Points in the units of the data, through the column order and the scaling of training.

        The columns of a frame go by name; those of an array by their order, and so do those of a frame where it or
        the training had no names. An array in float32 stays so, and everything else becomes float64.
        """
        if is_frame(points):
            table = table_from_frame(points, "the frame of new points")
            if self._goes_by_name(table):
                return self._points(self._input(), table).features
        array = point_array(points, "the new points")
        return self.feature_map.apply_array(array, "the new points", diagonal).features

    def _goes_by_name(self, table: Table) -> bool:
        """Whether its columns have names to go by, and those of training too."""
        columns = self.feature_map.columns
        shared = not set(columns).isdisjoint(table.order)
        return shared or not (nameless(columns) or nameless(table.order))

    def labels(self, extra: Mapping[str, Sequence[Any]] | None, size: int) -> dict[str, Ints]:
        """The codes of the labels that the clause takes beside each of `size` points, such as the group of each."""
        found = {}
        for formal in self.clause.formals[1:]:
            if extra is None or formal not in extra:
                raise self._missing(formal, f"give `extra={{'{formal}': ...}}`")
            given = np.asarray(extra[formal])
            if given.shape != (size,):
                why = f"it was given an array of shape {given.shape} for {count(size, 'point')}"
                raise self._missing(formal, why)
            found[formal] = self._codes(formal, given, "the new points")
        return found

    def from_points(self, points: Any, extra: Mapping[str, Sequence[Any]] | None) -> tuple[Matrix, dict[str, Ints]]:
        """New points as `points` has them, and the labels beside them."""
        features = self.points(points)
        return features, self.labels(extra, int(features.shape[0]))

    def words(self) -> frozenset[str]:
        """The columns of a table that are to be read as they are written: categories and labels that are no numbers."""
        name = next(iter(self.feature_maps), "")
        expanded = self.feature_maps[name].categories if name else {}
        found = {column for column, words in expanded.items() if not are_plain_numbers(words)}
        found |= {f"{name}.{column}" for column in found}
        labels = {self._column(formal): self.members(formal).names for formal in self.clause.formals[1:]}
        return frozenset(found | {column for column, words in labels.items() if not are_plain_numbers(words)})

    def from_table(self, table: Table) -> tuple[Matrix, dict[str, Ints]]:
        """The points of a table and the labels beside them, found by the names of its columns, or of its arrays."""
        if table.arrays:
            return self._from_arrays(table)
        name = self._input()
        points = self._points(name, table)
        self._check_width(points, table)
        found = {}
        for formal in self.clause.formals[1:]:
            column = self._column(formal)
            if column not in table.order:
                raise self._missing(formal, f"{cite(table.source)} has no column `{column}`")
            found[formal] = self._codes(formal, table.column(column), table.source, table.lines)
        return points.features, found

    def _points(self, name: str, table: Table) -> Points:
        """The points of the input `name`: its columns, or all of it in one column that is called as it is."""
        columns = self.feature_map.columns
        if name in table.names and not any(column in table.order for column in columns):
            source = f"the column `{name}` of {cite(table.source)}"
            return self.feature_map.apply_array(np.asarray(table.column(name))[:, np.newaxis], source)
        prefixed = all(f"{name}.{column}" in table.order for column in columns)
        return self.feature_map.apply(table, f"{name}." if prefixed else "")

    def _from_arrays(self, table: Table) -> tuple[Matrix, dict[str, Ints]]:
        """As from a table; the columns of the array of points go by their order."""
        arrays = {name: (value, table) for name, value in table.arrays.items()}
        name = self._input()
        datum = next(d for d in self.model.data if d.name == name)
        array = find_array(name, arrays)
        if array is None:
            what = f"nothing is bound to `{name}`: {cite(table.source)} has no array of that name"
            raise fault("K521", what, f"its arrays are {listing(list(arrays))}", f"call the array of points `{name}`")
        raw = raw_array(FromArray(datum, *array, features=True))
        points = self.feature_map.apply_array(raw.values, raw.source, table.arrays.get("self")).features
        if points.shape[0] == 0:
            raise no_rows(raw.source)
        found = {}
        for formal in self.clause.formals[1:]:
            column = self._column(formal)
            labels = find_array(column, arrays)
            if labels is None:
                raise self._missing(formal, f"{cite(table.source)} has no array `{column}`")
            values, source = labels
            if np.shape(values) != (points.shape[0],):
                raise self._missing(formal, f"{source} is not a vector with one label for each of {raw.source}")
            found[formal] = self._codes(formal, values, source)
        return points, found

    def decode(self, raw: Array) -> Array:
        """Numbers of the predictor as labels, spelt as the data spelt them."""
        if self.clause.kind == "label":
            for label_map in self.label_maps.values():
                return label_map.decode(raw)
        if self.clause.kind == "class":
            for label_set in self.label_sets.values():
                return label_set.decode(raw.astype(np.int64))
        return raw

    def predict_both(self, points: Matrix, labels: Mapping[str, Ints]) -> tuple[Array, Array]:
        """(predictions in the user's labels, decision values), each expansion evaluated once."""
        decision = self.predictor.reaching(self._extra(points)).decision(points, self.clause, labels)
        return self.decode(self.predictor.answer(decision, self.clause)), decision

    def _extra(self, points: Matrix) -> int:
        """How many features of the points training never saw."""
        return 0 if self.feature_map.precomputed else int(points.shape[1]) - len(self.feature_map.names)

    def _check_width(self, points: Points, table: Table) -> None:
        """Only a kernel that is a formula has a value at features that training never saw."""
        extra, kernels = self._extra(points.features), self.predictor.kernels
        if extra and not kernels:
            raise never_seen(table, extra, "the model has no coefficients for them")
        if extra and any(calls_python(kernel) for kernel in kernels.values()):
            raise never_seen(table, extra, "a kernel in Python may be made for the features of training")

    def set_of(self, formal: str) -> IndexSet:
        """What an argument of the clause beside the point, or an index of the spec, is an element of."""
        declared = {n: z for index in self.model.indices for n, z in zip(index.names, index.sets, strict=True)}
        found = {**declared, **dict(zip(self.clause.formals, self.clause.sets, strict=True))}[formal]
        assert found is not None
        return found

    def members(self, formal: str) -> LabelSet:
        """What such an argument may be: a label, or a number of a range, which counts from 1."""
        found = self.set_of(formal)
        if found.labelled:
            return self.label_sets[found.size]
        return LabelSet(tuple(str(number + 1) for number in range(self.predictor.sizes[found.size])), True)

    def _column(self, formal: str) -> str:
        labels = self.set_of(formal)
        datum = next((d.name for d in self.model.data if d.labels == labels), formal)
        return self.columns.get(datum, datum)

    def _codes(self, formal: str, values: Any, source: str, lines: Ints | None = None) -> Ints:
        label_set = self.members(formal)
        given = np.asarray(values)
        if given.dtype.kind in "iu":
            words = given.astype(str).astype(object)
        else:
            words = words_as(given.astype(np.float64 if given.dtype.kind in "fb" else object), label_set.names)
        for row, word in enumerate(words):
            if word not in label_set.names:
                raise self._stranger(formal, str(word), f"{cite(source)}, {place(lines, row)}")
        return encode(words, label_set)

    def _stranger(self, formal: str, word: str, where: str) -> Exception:
        if self.set_of(formal).labelled:
            message = f"{where}: the label `{word}` of `{formal}` was never seen in training"
            return fault("K651", message, help=nearest(word, self.members(formal).names))
        message, last = f"{where}: `{formal}` is {word}", self.members(formal).names[-1]
        return fault("K651", message, f"it runs over 1..{last}", "give one of these numbers")

    def _missing(self, formal: str, why: str) -> Exception:
        what = "label" if self.set_of(formal).labelled else "number"
        return fault(
            "K651",
            f"the prediction needs the {what} `{formal}` of every new point",
            why,
            f"give it beside the features, one of {', '.join(self.members(formal).names[:8])}",
        )
