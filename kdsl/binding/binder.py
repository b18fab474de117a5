"""bind: a checked model and tables become sizes, arrays and points, with every value checked against its domain."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kdsl.binding.arrays import is_columns
from kdsl.binding.bound import Bound, LabelMap, LabelSet, hash_data
from kdsl.binding.distances import to_dense
from kdsl.binding.faults import cite, count, fault, join, nearest, warning
from kdsl.binding.feature_checks import feature_warnings
from kdsl.binding.frames import is_frame, table_from_data
from kdsl.binding.points import FeatureMap, Points, Scaling, check_finite, fit_scaling
from kdsl.binding.precomputed import training_points
from kdsl.binding.raw import Raw, cite_array, in_label_order, no_scaling, raw_values
from kdsl.binding.reading import read_table
from kdsl.binding.rows import check_product, drop_rows, dropped_note, find_sizes
from kdsl.binding.sources import (
    FromArray,
    FromColumn,
    FromDefault,
    FromFeatures,
    FromSquare,
    Request,
    Source,
    first_size,
    index_sizes,
    own_tables,
    resolve,
)
from kdsl.binding.table import Array, Table
from kdsl.binding.twice import bound_twice, check_target
from kdsl.binding.values import check_real, code_finite, encode, label_set, label_words
from kdsl.binding.weights import refuse_no_weight, weight_warnings, weights_of
from kdsl.language.diagnostics import Diagnostic, KdslError
from kdsl.language.model import Datum, Model
from kdsl.language.syntax import KernelCall, KernelExpr, KernelOn, KernelProduct, KernelSum

INNER_PRODUCTS = ("linear", "poly", "sigmoid")


def bind(
    model: Model,
    tables: Mapping[str, Any],
    *,
    target: str | None = None,
    features: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    bindings: Mapping[str, str] | None = None,
    positive: str | None = None,
    onehot: bool | Sequence[str] = False,
    drop_missing: bool = False,
    scale: str = "none",
) -> Bound:
    """Solves: which column is which datum, and are the values what the spec says? -> Bound.

    tables: by index name, "" for the first index set; each a Table or anything that `read_table` takes.
    target: the column of labels or responses. features: the columns of the inputs (or by input).
    bindings: datum -> column. positive: the label that becomes the larger of two values.
    onehot: expand text columns (all, or those named). drop_missing: leave out rows with missing values.
    scale: "standard", "minmax" or "none", fitted on the first input and applied to all with the same features.
    """
    request = Request(
        target,
        named_features(features),
        dict(bindings or {}),
        tuple(onehot) if not isinstance(onehot, bool) else onehot,
    )
    for name, columns in request.features.items():
        if not columns:
            raise no_columns(name)
    read = {key: as_table(model, value) for key, value in tables.items()}
    check_target(model, request)
    sources = resolve(model, read, request)
    notes: list[Diagnostic] = [note for table in read.values() for note in table.notes]
    notes += bound_twice(model, sources)
    raws = all_raws(sources)
    sizes = find_sizes(model, raws)
    dropped: dict[str, int] = {}
    if drop_missing:
        sources, dropped = drop_rows(sources, raws, sizes)
        raws = all_raws(sources)
        sizes = find_sizes(model, raws)
        notes += [dropped_note(name, number, sizes[name]) for name, number in dropped.items() if number]
    check_sizes(model, sizes)
    return assemble(model, sources, raws, sizes, dropped, positive, scale, notes)


def all_raws(sources: Mapping[str, Source]) -> list[Raw]:
    return [raw_values(source, sources) for source in sources.values() if not isinstance(source, FromDefault)]


def named_features(features: Sequence[str] | Mapping[str, Sequence[str]] | None) -> dict[str, tuple[str, ...]]:
    if features is None:
        return {}
    if isinstance(features, Mapping):
        return {name: tuple(columns) for name, columns in features.items()}
    return {"": tuple(features)}


def no_columns(name: str) -> KdslError:
    return fault(
        "K525",
        f"no column is named as a feature{f' of `{name}`' if name else ''}",
        help="name at least one with `--features`, or leave it out to take all that are left",
    )


def as_table(model: Model, value: Any) -> Table:
    """A mapping whose keys are data of the model is arrays by name, even where it could be columns."""
    if isinstance(value, Mapping):
        names = {d.name.casefold() for d in model.data}
        if all(key.casefold() in names for key in value):
            for datum in model.data:
                refuse_deep(datum, next((value[key] for key in value if key.casefold() == datum.name.casefold()), None))
            return table_from_data(value)
        if not is_columns(value):
            stranger = next(key for key in value if key.casefold() not in names)
            message = f"the model `{model.name}` has no datum `{stranger}` to bind"
            raise fault("K524", message, help=nearest(stranger, [d.name for d in model.data]))
    return read_table(value)


def refuse_deep(datum: Datum, value: Any) -> None:
    """K515 for an input of several indices with an axis for each: its points stand one below the other."""
    if datum.kind != "input" or len(datum.sets) < 2 or not isinstance(value, np.ndarray) or value.ndim < 3:
        return
    sets = " x ".join(s.size if s.labelled else f"1..{s.size}" for s in datum.sets)
    raise fault(
        "K515",
        f"the array `{datum.name}`: an array of {value.ndim} dimensions",
        f"it has one point on each row, for each member of {sets}",
        "give the points of the first member of the first set, then those of the second, and so on: "
        f"`{datum.name}.reshape(-1, {value.shape[-1]})`",
    )


def tables_from_data(model: Model, data: Any) -> dict[str, Any]:
    """The `data=` of the Python interface: a table, arrays by datum, or tables by index; or a mixture of these two."""
    if not isinstance(data, Mapping):
        return {"": data}
    indices = {*index_sizes(model), *index_sizes(model).values(), ""}
    names = {d.name.casefold() for d in model.data}
    alone = own_tables(model)
    files = {key for key, value in data.items() if key in alone and isinstance(value, (str, os.PathLike))}
    by_index = {
        key: value for key, value in data.items() if key in files or (key in indices and key.casefold() not in names)
    }
    by_name = {key: value for key, value in data.items() if key not in by_index}
    by_size = frames_of_other_sets(model, by_name)
    if not by_index and not by_size:
        return {"": data}
    by_index |= by_size
    by_name = {key: value for key, value in by_name.items() if not any(key in frames for frames in by_size.values())}
    if by_name and "" in by_index:
        raise fault("K523", "the data are given both as a table and as arrays", help="give one of the two")
    return {**by_index, "": by_name} if by_name else by_index


def frames_of_other_sets(model: Model, data: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Frames by datum that are no columns of the first table, by the size of the set that their rows run over."""
    found: dict[str, dict[str, Any]] = {}
    for datum in model.data:
        if datum.kind == "input" and datum.sets and datum.sets[0].size != first_size(model):
            value = data.get(datum.name)
            if value is not None and is_frame(value):
                found.setdefault(datum.sets[0].size, {})[datum.name] = value
    return found


def check_sizes(model: Model, sizes: Mapping[str, int]) -> None:
    for index in model.indices:
        for index_set in index.sets:
            if not index_set.labelled and index_set.size not in sizes:
                raise fault(
                    "K521",
                    f"nothing says how large `{index_set.size}` is",
                    "no datum with rows is bound over that index set",
                    "bind a table or an array to it",
                )
    size = first_size(model)
    if sizes.get(size, 2) < 2:
        rows = sizes[size]
        raise fault(
            "K536",
            "no row is left" if rows == 0 else "there is 1 row",
            "nothing can be learnt from fewer than two examples",
            "give more examples" if rows else "fill in missing values instead of dropping their rows",
        )


def assemble(
    model: Model,
    sources: Mapping[str, Source],
    raws: Sequence[Raw],
    sizes: dict[str, int],
    dropped: Mapping[str, int],
    positive: str | None,
    scale: str,
    notes: list[Diagnostic],
) -> Bound:
    """Checks and codes everything, collecting the errors of all data before raising."""
    errors: list[KdslError] = []
    arrays: dict[str, Array] = {}
    label_maps: dict[str, LabelMap] = {}
    words: dict[str, tuple[str, Any, str]] = {}
    weights = weights_of(model)
    for raw in raws:
        if raw.map is not None:
            continue
        try:
            if raw.datum.kind == "set" and raw.datum.labels is not None:
                coded = label_words(raw.values, raw.column, raw.source, raw.lines)
                words[raw.datum.name] = (raw.datum.labels.size, coded.reshape(raw.values.shape), raw.source)
            elif raw.datum.kind == "finite":
                arrays[raw.datum.name], label_map = code_finite(
                    raw.values, raw.datum, raw.column, raw.source, raw.lines, positive
                )
                if label_map is not None:
                    label_maps[raw.datum.name] = label_map
            else:
                numbers = check_real(raw.values, raw.datum, raw.column, raw.source, raw.lines)
                if raw.datum in weights:
                    refuse_no_weight(numbers, raw.datum, raw.column, raw.source)
                arrays[raw.datum.name] = numbers
        except KdslError as error:
            errors.append(error)
    points, maps = collect(raws, model, scale, errors)
    if errors:
        raise join(errors)
    if positive is not None and not label_maps:
        raise no_two_labels(model, positive)
    notes += unscaled(maps, scale)
    label_sets = collect_labels(model, words, sizes)
    for raw in raws:
        check_product(raw, sizes)
    for name, (set_name, coded, _) in words.items():
        arrays[name] = encode(coded, label_sets[set_name])
    for source in sources.values():
        if isinstance(source, FromDefault):
            arrays[source.datum.name] = default_array(source, sizes)
        elif isinstance(source, FromSquare) and len({s.size for s in source.datum.sets if s.labelled}) == 1:
            labels = label_sets[source.datum.sets[0].size]
            if arrays[source.datum.name].shape == (len(labels.names),) * 2:
                arrays[source.datum.name] = in_label_order(source, arrays[source.datum.name], labels)
    check_label_axes(model, arrays, sizes)
    inner = any(mentions(kernel.expression, INNER_PRODUCTS) for kernel in model.kernels)
    kernels = bool(model.kernels)
    notes += [note for name, p in points.items() for note in feature_warnings(name, p, maps[name], kernels, inner)]
    for raw in raws:
        if raw.map is not None and raw.datum.kind != "input":
            arrays[raw.datum.name] = to_dense(points.pop(raw.datum.name).features)
    notes += value_warnings(model, arrays, label_maps)
    return Bound(
        sizes=sizes,
        arrays={d.name: arrays[d.name] for d in model.data if d.name in arrays},
        points=points,
        label_sets=label_sets,
        label_maps=label_maps,
        feature_maps=maps,
        sources={name: described(source) for name, source in sources.items()},
        dropped=dict(dropped),
        warnings=tuple(notes),
        data_hash=hash_data(arrays, points),
    )


def collect(
    raws: Sequence[Raw], model: Model, scale: str, errors: list[KdslError]
) -> tuple[dict[str, Points], dict[str, FeatureMap]]:
    """The points of every input; inputs with the same features share the scaling fitted on the first of them."""
    points: dict[str, Points] = {}
    maps: dict[str, FeatureMap] = {}
    fitted: dict[tuple[str, ...], Scaling] = {}
    single = len(model.kernels) <= 1
    precomputed = any(uses_precomputed(kernel.expression) for kernel in model.kernels)
    for raw in sorted(raws, key=lambda raw: not raw.datum.sets):  # what is fitted is fitted on a whole sample
        if raw.map is None:
            continue
        names = raw.map.names
        try:
            check_finite(raw.values, raw.map.origins, raw.source, raw.lines)
            if precomputed and raw.datum.kind == "input":
                gram = training_points(to_dense(raw.values), cite(raw.source))
                maps[raw.datum.name] = FeatureMap(raw.map.columns, names, no_scaling(len(names)), {}, True)
                points[raw.datum.name] = Points(gram, (*names, "self", "place"), raw.source, raw.lines)
                continue
            if single and fitted and names not in fitted:
                raise different_features(raw, names, next(iter(fitted)))
            if names not in fitted:
                fitted[names] = fit_scaling(scale, raw.values)
        except KdslError as error:
            errors.append(error)
            continue
        feature_map = FeatureMap(raw.map.columns, names, fitted[names], raw.map.categories, chosen=raw.map.chosen)
        maps[raw.datum.name] = feature_map
        points[raw.datum.name] = Points(feature_map.scaling.apply(raw.values), names, raw.source, raw.lines)
    return points, maps


def different_features(raw: Raw, names: Sequence[str], first: Sequence[str]) -> KdslError:
    lacking = [name for name in first if name not in names]
    surplus = [name for name in names if name not in first]
    parts = [f"it lacks `{lacking[0]}`"] if lacking else []
    parts += [f"`{surplus[0]}` is only there"] if surplus else []
    return fault(
        "K527",
        f"the input `{raw.datum.name}` ({cite_array(raw)}) has {count(len(names), 'feature')} where the first input "
        f"has {len(first)}: {', '.join(parts)}"
        if parts
        else f"the input `{raw.datum.name}` orders its features anew",
        "one kernel compares points of all inputs, feature by feature",
        "give both the same columns, or choose them with `--features`",
    )


def uses_precomputed(expression: KernelExpr) -> bool:
    return mentions(expression, ("precomputed",))


def mentions(expression: KernelExpr, names: Sequence[str]) -> bool:
    """Whether one of these built-in kernels is part of the expression."""
    if isinstance(expression, KernelCall):
        return expression.name.id in names
    if isinstance(expression, KernelOn):
        return mentions(expression.kernel, names)
    if isinstance(expression, KernelSum):
        return any(mentions(term, names) for term in expression.terms)
    return isinstance(expression, KernelProduct) and any(mentions(f, names) for f in expression.factors)


def no_two_labels(model: Model, positive: str) -> KdslError:
    return fault(
        "K535",
        f"the model `{model.name}` has no datum of two values whose larger one `{positive}` could be",
        help="leave `--positive` out",
    )


def unscaled(maps: Mapping[str, FeatureMap], scale: str) -> list[Diagnostic]:
    """A scaling that was asked for where there are no features to scale."""
    return [
        warning(
            "K549",
            f"`{name}` holds values of a precomputed kernel, which are not scaled",
            "a kernel value is no feature of a point",
            "leave `--scale` out, or scale the features before the kernel is computed",
        )
        for name, feature_map in maps.items()
        if feature_map.precomputed and scale != "none"
    ]


def collect_labels(
    model: Model, words: Mapping[str, tuple[str, Any, str]], sizes: dict[str, int]
) -> dict[str, LabelSet]:
    """The label sets, coded in order; their sizes join the others."""
    found: dict[str, LabelSet] = {}
    for set_name in dict.fromkeys(s.size for i in model.indices for s in i.sets if s.labelled):
        members = [(coded, source) for name, coded, source in words.values() if name == set_name]
        if not members:
            raise fault(
                "K521",
                f"nothing says what the labels of `{set_name}` are",
                "no datum that takes its values in that set is bound",
                f"declare one in the spec: `data y[i] : {set_name}`",
            )
        found[set_name] = label_set([coded for coded, _ in members], set_name, members[0][1])
        sizes[set_name] = len(found[set_name].names)
    return found


def default_array(source: FromDefault, sizes: Mapping[str, int]) -> Array:
    shape = tuple(sizes[s.size] for s in source.datum.sets)
    return np.full(shape, source.value)


def check_label_axes(model: Model, arrays: Mapping[str, Array], sizes: Mapping[str, int]) -> None:
    """Arrays over labels have as many rows and columns as there are labels."""
    for datum in model.data:
        if datum.name not in arrays or not any(s.labelled for s in datum.sets):
            continue
        expected = tuple(sizes[s.size] for s in datum.sets)
        if arrays[datum.name].shape != expected:
            raise fault(
                "K522",
                f"`{datum.name}` is {shape_words(arrays[datum.name].shape)} where the data have "
                f"{shape_words(expected)} labels",
                "its rows and columns go with the labels in their order",
                "give one row and one column for each label",
            )


def shape_words(shape: tuple[int, ...]) -> str:
    return " x ".join(str(n) for n in shape)


def value_warnings(model: Model, arrays: Mapping[str, Array], label_maps: Mapping[str, LabelMap]) -> list[Diagnostic]:
    """One class only, and weights of zero."""
    notes: list[Diagnostic] = []
    for datum in model.data:
        values = arrays.get(datum.name)
        if values is None or values.ndim != 1 or not len(values):
            continue
        if datum.name in label_maps and len(np.unique(values)) == 1:
            notes.append(
                warning(
                    "K542",
                    f"every value of `{datum.name}` is {values[0]:g}: there is one class only",
                    "a model that separates two classes has nothing to separate",
                    "check the target column",
                )
            )
    return notes + weight_warnings(model, arrays)


def described(source: Source) -> str:
    if isinstance(source, FromColumn):
        return f"column {source.column} of {source.table.source}"
    if isinstance(source, FromFeatures):
        return f"{count(len(source.names), 'column')} of {source.table.source}"
    if isinstance(source, FromSquare):
        return source.table.source
    return source.source if isinstance(source, FromArray) else f"default {source.value:g}"
