"""New points are read as those of training are: every sparse form, nothing lost, and every fault said."""

from __future__ import annotations

import importlib
import re

import numpy as np
import pytest
import scipy.sparse as sp

import kdsl
from kdsl.language.diagnostics import KdslError

RNG = np.random.default_rng(5)
X = RNG.normal(size=(24, 2))
Y = np.where(X[:, 0] > 0, 1.0, -1.0)


@pytest.mark.parametrize("form", ["bsr", "coo", "csc", "dia", "dok", "lil"])
def test_sparse_points_of_every_form_are_predicted(form):
    solution = kdsl.solve("svm_1norm", {"x": X, "y": Y})
    expected = solution.decision(X)
    for kind in (sp.csr_array, sp.csr_matrix):
        np.testing.assert_allclose(solution.decision(kind(X).asformat(form)), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (X + 1j, "the new points: values of type complex128"),
        (sp.csr_array(X + 1j), "the new points: values of type complex128"),
        ([["a", "b"]], "the new points hold text"),
        ([[1, 2], [3]], "the new points: no array"),
        (X[None], "the new points: an array of 3 dimensions"),
        (np.ma.array(X[:2], mask=[[0, 0], [0, 1]]), "the new points, row 2: the value of `x2` is missing"),
    ],
)
def test_new_points_are_read_as_those_of_training(points, message):
    solution = kdsl.solve("svm_1norm", {"x": X, "y": Y})
    with pytest.raises(KdslError, match=re.escape(message)):
        solution.predict(points)


def test_what_a_mask_hides_is_missing():
    hidden = np.zeros(X.shape, dtype=bool)
    hidden[3, 1] = True
    for x in (np.ma.array(X, mask=hidden), np.ma.array(np.round(X).astype(int), mask=hidden)):
        with pytest.raises(KdslError, match="row 4: the value of `x2` is missing"):
            kdsl.solve("svm_1norm", {"x": x, "y": Y})
    kept = kdsl.solve("svm_1norm", {"x": np.ma.array(X, mask=hidden), "y": Y}, drop_missing=True)
    assert kept.bound.sizes["l"] == len(X) - 1


def frames(names: dict[str, np.ndarray]):
    """The same columns as a frame of pandas, polars and pyarrow, as far as these are installed."""
    for module, make in (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "table")):
        try:
            yield getattr(importlib.import_module(module), make)(names)
        except ImportError:
            continue


def test_a_frame_goes_by_the_names_of_training():
    pandas = pytest.importorskip("pandas")
    solution = kdsl.solve("svm_1norm", pandas.DataFrame({"age": X[:, 0], "height": X[:, 1], "y": Y}))
    expected = solution.decision(X)
    for frame in frames({"height": X[:, 1], "age": X[:, 0]}):
        np.testing.assert_array_equal(solution.decision(frame), expected)
    for frame in frames({"height": X[:, 1], "Age": X[:, 0]}):
        with pytest.raises(KdslError, match=r"K520: the frame of new points has no column `age`.* did you mean `Age`"):
            solution.predict(frame)
    for frame in frames({"height": X[:, 1]}):
        with pytest.raises(KdslError, match="K520: the frame of new points has no column `age`"):
            solution.predict(frame)
    for frame in frames({"a": X[:, 0], "b": X[:, 1]}):
        with pytest.raises(KdslError, match="K520"):
            solution.predict(frame)


def test_frames_without_names_and_points_of_training_without_names_go_by_order():
    pandas = pytest.importorskip("pandas")
    named = kdsl.solve("svm_1norm", pandas.DataFrame({"age": X[:, 0], "height": X[:, 1], "y": Y}))
    np.testing.assert_array_equal(named.decision(pandas.DataFrame(X)), named.decision(X))
    for training in ({"x": X, "y": Y}, {"x": pandas.DataFrame(X), "y": Y}):
        numbered = kdsl.solve("svm_1norm", training)
        expected = numbered.decision(X)
        for columns in (None, ["age", "height"], ["column_0", "column_1"]):
            np.testing.assert_array_equal(numbered.decision(pandas.DataFrame(X, columns=columns)), expected)
    turned = pandas.DataFrame(X)[[1, 0]]
    np.testing.assert_array_equal(numbered.decision(turned), expected)
