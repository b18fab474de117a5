"""New points in svmlight text, whose features have numbers: they are those of the model, or it is said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command_runs import kdsl

RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=(24, 3))
Y = np.where(X[:, 0] + 0.3 * X[:, 1] > 0, 1, -1)


def svmlight(path: Path, points: np.ndarray, first: int = 1) -> Path:
    rows = (" ".join(f"{c}:{v!r}" for c, v in enumerate(row.tolist(), first) if v) for row in points)
    path.write_text("".join(f"{y} {row}\n" for y, row in zip(Y, rows, strict=False)), encoding="ascii")
    return path


def csv(path: Path, points: np.ndarray, names: str) -> Path:
    rows = (",".join(map(repr, row.tolist())) for row in points)
    path.write_text(
        "\n".join([f"{names},y", *(f"{row},{y}" for row, y in zip(rows, Y, strict=False))]), encoding="ascii"
    )
    return path


def solved(data: Path, *options: object) -> Path:
    model = data.with_suffix(".kdsl")
    assert kdsl("solve", "svm_1norm", "--data", data, *options, "-q", "-o", model).code == 0
    return model


def decisions(model: Path, data: Path, *options: str) -> np.ndarray:
    outcome = kdsl("predict", model, data, "--decision", *options)
    assert outcome.code == 0, outcome.err
    return np.array([float(line.split(",")[1]) for line in outcome.out.splitlines()[1:]])


def test_numbers_are_places_where_the_model_has_names(tmp_path: Path) -> None:
    table = csv(tmp_path / "t.csv", X, "a,b,c")
    model = solved(table)
    assert np.array_equal(decisions(model, svmlight(tmp_path / "t.svm", X)), decisions(model, table))
    lone = svmlight(tmp_path / "lone.svm", X * [1, 0, 0], 0)
    assert np.allclose(decisions(model, lone), decisions(model, csv(tmp_path / "z.csv", X * [1, 0, 0], "a,b,c")))


def test_more_numbers_than_names_are_refused(tmp_path: Path) -> None:
    model = solved(csv(tmp_path / "t.csv", X[:, :2], "a,b"))
    outcome = kdsl("predict", model, svmlight(tmp_path / "new.svm", X))
    assert (outcome.code, outcome.out) == (1, "")
    assert "error[K527]: 3 features in" in outcome.err and "the model was fitted on 2" in outcome.err


@pytest.mark.parametrize("first", [0, 1])
def test_another_base_is_refused(first: int, tmp_path: Path) -> None:
    model = solved(svmlight(tmp_path / "t.svm", X, first))
    outcome = kdsl("predict", model, svmlight(tmp_path / "new.svm", X, 1 - first))
    assert (outcome.code, outcome.out) == (1, "") and "error[K513]" in outcome.err


def test_the_base_may_be_said(tmp_path: Path) -> None:
    model = solved(svmlight(tmp_path / "t.svm", X, 0))
    new = svmlight(tmp_path / "new.svm", X * [0, 1, 1], 0)
    assert kdsl("predict", model, new).code == 1
    dense = decisions(model, svmlight(tmp_path / "both.svm", np.vstack([X[:1], X[1:] * [0, 1, 1]]), 0))
    assert np.allclose(decisions(model, new, "--index-base", "0")[1:], dense[1:])


KERNELS = ["rbf(gamma = 0.5)", "laplacian(gamma = 0.5)", "poly(degree = 2, gamma = 1, coef0 = 1)", "linear"]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("scale", ["none", "standard"])
def test_a_feature_that_training_never_saw_counts_as_0_in_training(kernel: str, scale: str, tmp_path: Path) -> None:
    """As if training had had it with the value 0 everywhere."""
    options = ("--kernel", f"k = {kernel}", "--scale", scale)
    wide = csv(tmp_path / "wide.csv", np.column_stack([X, 0 * X[:, 0]]), "f1,f2,f3,f4")
    new = svmlight(tmp_path / "new.svm", np.column_stack([X, X[:, 0]]))
    expected = decisions(solved(wide, *options), new)
    assert np.allclose(decisions(solved(svmlight(tmp_path / "t.svm", X), *options), new), expected, atol=1e-6)


def test_a_vote_counts_it_too(tmp_path: Path) -> None:
    data, new = svmlight(tmp_path / "t.svm", X), svmlight(tmp_path / "new.svm", np.column_stack([X, 5 * X[:, 0]]))
    rows = [line.partition(" ")[2] for line in data.read_text().splitlines()]
    data.write_text("".join(f"{n % 3} {row}\n" for n, row in enumerate(rows)))
    assert kdsl("libsvm", "-g", "0.1", data, tmp_path / "m").code == 0
    assert kdsl("import-libsvm", tmp_path / "m", "-o", tmp_path / "m.kdsl").code == 0
    expected = kdsl("libsvm", "predict", tmp_path / "m", new).out.split()
    assert kdsl("predict", tmp_path / "m.kdsl", new).out.split()[1:] == expected


def test_features_that_were_not_chosen_are_left_out(tmp_path: Path) -> None:
    data = svmlight(tmp_path / "t.svm", X, 0)
    model = solved(data, "--features", "f1,f2")
    assert np.allclose(decisions(model, data), decisions(model, csv(tmp_path / "t.csv", X, "f0,f1,f2")))


def test_a_model_of_columns_has_no_coefficient_for_it(tmp_path: Path) -> None:
    data = svmlight(tmp_path / "t.svm", X[:, :2])
    model = tmp_path / "m.kdsl"
    assert kdsl("solve", "lasso", "--data", data, "-q", "-o", model).code == 0
    outcome = kdsl("predict", model, svmlight(tmp_path / "new.svm", X))
    assert outcome.code == 1 and "1 feature that training never saw" in outcome.err


@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_points_are_scaled_as_those_of_training_were(scale: str, tmp_path: Path) -> None:
    """Text that is nearly full trains as a dense matrix, whose scaling moves the points."""
    data = svmlight(tmp_path / "t.svm", X + 3)
    model = solved(data, "--scale", scale)
    assert np.allclose(decisions(model, data), decisions(model, csv(tmp_path / "t.csv", X + 3, "f1,f2,f3")))
