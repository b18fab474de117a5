"""What goes into a model file comes back through JSON as it was."""

from __future__ import annotations

import json

import numpy as np
import pytest
from binding_models import BINARY, MULTICLASS

from kdsl.binding.binder import bind, tables_from_data
from kdsl.binding.composed import Constant, Normalized, OnColumns, Product, Scaled, Sum
from kdsl.binding.kernels import Gaussian, Laplacian, Linear, Polynomial, Sigmoid
from kdsl.binding.precomputed import Precomputed
from kdsl.binding.python_kernel import PythonKernel, calls_python
from kdsl.binding.reading import read_table
from kdsl.binding.records import (
    record_features,
    record_kernel,
    record_labels,
    restore_features,
    restore_kernel,
    restore_labels,
)


def through_json(record):
    return json.loads(json.dumps(record))


@pytest.mark.parametrize(
    "kernel",
    [
        Linear(),
        Polynomial(3, 0.1, 0.7, " [gamma = g]"),
        Gaussian(1 / 3),
        Laplacian(0.1),
        Sigmoid(0.1, -1.0),
        Precomputed(),
        Sum((Scaled(0.7, Gaussian(0.5), "0.7"), Constant(2.0))),
        Product((Linear(), OnColumns(Normalized(Polynomial(2)), (3, 1), ("a", "b")))),
    ],
    ids=lambda kernel: kernel.description,
)
def test_kernels(kernel):
    assert restore_kernel(through_json(record_kernel(kernel))) == kernel


def test_a_python_kernel_is_given_again():
    def mine(a, b):
        return a @ b.T

    kernel = Sum((Linear(), PythonKernel(mine, "mine")))
    assert restore_kernel(through_json(record_kernel(kernel)), {"mine": mine}) == kernel
    without = restore_kernel(through_json(record_kernel(kernel)))
    assert without.description == kernel.description and calls_python(without)
    assert not calls_python(Sum((Linear(), OnColumns(Gaussian(0.5), (0,), ("a",)))))


def test_features_and_labels():
    table = {"age": [1.0, 2.5, 3.0], "kind": ["b", "a", "b"], "y": [2, 4, 4]}
    bound = bind(BINARY, tables_from_data(BINARY, table), onehot=True, scale="standard")
    feature_map = restore_features(through_json(record_features(bound.feature_maps["x"])))
    np.testing.assert_array_equal(feature_map.apply(read_table(table)).features, bound.points["x"].features)
    assert restore_labels(through_json(record_labels(bound.label_maps["y"]))) == bound.label_maps["y"]
    several = bind(MULTICLASS, tables_from_data(MULTICLASS, {"x": np.eye(3), "y": ["u", "v", "w"]}))
    assert restore_labels(through_json(record_labels(several.label_sets["classes"]))) == several.label_sets["classes"]
