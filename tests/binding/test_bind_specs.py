"""Every shipped spec binds: data made for its declarations come back with the sizes and values that went in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kdsl.binding.binder import bind, tables_from_data
from kdsl.binding.kernel_builder import build_kernel
from kdsl.binding.parameters import bind_parameters
from kdsl.language.checker import check_spec
from kdsl.language.parser import parse_spec_text

SPECS = sorted((Path(__file__).resolve().parents[2] / "specs").glob("*.kspec"))
SIZES = {"l": 12, "m": 5, "d": 3, "classes": 3, "groups": 2}
FEATURES = ("age", "income", "height")


def read_model(path):
    text = path.read_text(encoding="utf-8")
    model, diagnostics = check_spec(parse_spec_text(text), text, path.stem)
    assert model is not None, diagnostics
    return model


def invented(datum, random):
    shape = tuple(SIZES[s.size] for s in datum.sets)
    if datum.kind == "input":
        return random.normal(size=(*shape, 3))
    if datum.kind == "finite":
        return np.resize([float(v) for v in datum.values], shape)
    if datum.kind == "set":
        return np.resize([f"label {p}" for p in range(SIZES[datum.labels.size])], shape)
    return random.uniform(0.5, 1.5, size=shape)


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_arrays(path):
    model = read_model(path)
    random = np.random.default_rng(0)
    data = {datum.name: invented(datum, random) for datum in model.data}
    bound = bind(model, tables_from_data(model, data))
    used = {s.size for index in model.indices for s in index.sets}
    assert bound.sizes == {size: SIZES[size] for size in used}
    for datum in model.data:
        if datum.kind == "input":
            np.testing.assert_array_equal(bound.points[datum.name].features, data[datum.name])
        elif datum.kind == "set":
            names = np.array(bound.label_sets[datum.labels.size].names)
            np.testing.assert_array_equal(names[bound.arrays[datum.name]], data[datum.name])
        else:
            np.testing.assert_array_equal(bound.arrays[datum.name], data[datum.name])
    declared = {kernel.name: kernel.expression for kernel in model.kernels}
    for name, expression in declared.items():
        points = next(iter(bound.points.values())).features
        kernel = build_kernel(expression, bind_parameters(model, {}), points, FEATURES, declared)
        gram = kernel.block(points, points)
        assert np.linalg.eigvalsh(gram)[0] >= -1e-10 * np.abs(gram).max(), name


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_tables(path, tmp_path):
    """The same through CSV files, one for each index set."""
    model = read_model(path)
    random = np.random.default_rng(0)
    tables, expected = {}, {}
    for index_name, size in {s.size: (i.names[0], s) for i in model.indices for s in i.sets if not s.labelled}.values():
        members = [d for d in model.data if d.sets and d.sets[0] == size]
        inputs = [d for d in members if d.kind == "input" or len(d.sets) == 2]
        columns = {}
        for datum in members:
            values = invented(datum, random)
            expected[datum.name] = values
            if datum in inputs:
                prefix = f"{datum.name}." if len(inputs) > 1 else ""
                columns |= {f"{prefix}{name}": values[:, p] for p, name in enumerate(FEATURES)}
            else:
                columns[datum.name] = values
        if columns:
            rows = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
            tables[index_name] = tmp_path / f"{index_name}.csv"
            tables[index_name].write_text("\n".join(rows))
    for datum in model.data:
        if datum.name not in expected and datum.default is None:
            expected[datum.name] = invented(datum, random)
            path_of = tables[datum.name] = tmp_path / f"{datum.name}.csv"
            path_of.write_text("\n".join(",".join(map(str, row)) for row in expected[datum.name]))
    bound = bind(model, tables)
    for datum in model.data:
        if datum.kind == "input":
            assert bound.points[datum.name].names == FEATURES
            np.testing.assert_array_equal(bound.points[datum.name].features, expected[datum.name])
        elif datum.kind != "set":
            np.testing.assert_array_equal(bound.arrays[datum.name], expected[datum.name])
