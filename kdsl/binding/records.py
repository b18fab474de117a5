"""What binding and kernels leave in a model file: plain values for JSON, and the way back from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from kdsl.binding.bound import LabelMap, LabelSet
from kdsl.binding.composed import Constant, Normalized, OnColumns, Product, Scaled, Sum
from kdsl.binding.kernels import Gaussian, Kernel, Laplacian, Linear, Polynomial, Sigmoid
from kdsl.binding.points import FeatureMap, Scaling
from kdsl.binding.precomputed import Precomputed
from kdsl.binding.python_kernel import Function, PythonKernel

KINDS: dict[str, type[Any]] = {
    kind.__name__.lower(): kind
    for kind in (
        Linear,
        Polynomial,
        Gaussian,
        Laplacian,
        Sigmoid,
        Precomputed,
        Sum,
        Product,
        Scaled,
        Constant,
        Normalized,
        OnColumns,
    )
}


def record_kernel(kernel: Kernel) -> dict[str, Any]:
    """The kernel with its numbers; of a Python function the name only."""
    if isinstance(kernel, PythonKernel):
        return {"kind": "python", "name": kernel.name}
    return {"kind": type(kernel).__name__.lower()} | {
        f.name: record_value(getattr(kernel, f.name))
        for f in fields(kernel)  # type: ignore[arg-type]
    }


def record_value(value: Any) -> Any:
    if isinstance(value, Kernel):
        return record_kernel(value)
    return [record_value(v) for v in value] if isinstance(value, tuple) else value


def restore_kernel(record: Mapping[str, Any], functions: Mapping[str, Function] | None = None) -> Kernel:
    """The kernel of a record; the user gives the Python functions that it names, or can evaluate nothing."""
    given = dict(record)
    kind = given.pop("kind")
    if kind == "python":
        name = str(given["name"])
        return PythonKernel((functions or {}).get(name), name)
    restored: Kernel = KINDS[kind](**{name: restore_value(value, functions) for name, value in given.items()})
    return restored


def functions_of(record: Any) -> Iterator[str]:
    """The names of the Python functions in the record of a kernel."""
    if isinstance(record, Mapping):
        if record.get("kind") == "python":
            yield str(record["name"])
        record = list(record.values())
    if isinstance(record, list):
        for part in record:
            yield from functions_of(part)


def restore_value(value: Any, functions: Mapping[str, Function] | None) -> Any:
    if isinstance(value, Mapping):
        return restore_kernel(value, functions)
    return tuple(restore_value(v, functions) for v in value) if isinstance(value, list) else value


def record_features(feature_map: FeatureMap) -> dict[str, Any]:
    return {
        "columns": list(feature_map.columns),
        "names": list(feature_map.names),
        "categories": {name: list(words) for name, words in feature_map.categories.items()},
        "precomputed": feature_map.precomputed,
        "scaling": feature_map.scaling.kind,
        "offset": feature_map.scaling.offset.tolist(),
        "factor": feature_map.scaling.factor.tolist(),
    }


def restore_features(record: Mapping[str, Any], chosen: bool = False) -> FeatureMap:
    scaling = Scaling(record["scaling"], np.array(record["offset"], float), np.array(record["factor"], float))
    categories = {name: tuple(words) for name, words in record["categories"].items()}
    columns, names = tuple(record["columns"]), tuple(record["names"])
    return FeatureMap(columns, names, scaling, categories, record["precomputed"], chosen)


def record_labels(labels: LabelMap | LabelSet) -> dict[str, Any]:
    values = {f.name: getattr(labels, f.name) for f in fields(labels)}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def restore_labels(record: Mapping[str, Any]) -> LabelMap | LabelSet:
    if "names" in record:
        return LabelSet(tuple(record["names"]), record["numeric"])
    return LabelMap(**record)
