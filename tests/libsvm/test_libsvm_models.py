"""LIBSVM's model files: tiny ones worked by hand, those that LIBSVM 3.37 wrote with its predictions, and wrong ones."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from kdsl.binding.reading import read_table
from kdsl.cli.main import main
from kdsl.language.diagnostics import KdslError
from kdsl.libsvm import LibsvmModel, parse_model, read_model
from kdsl.libsvm.writing import model_text

BINARY = """svm_type c_svc
kernel_type linear
nr_class 2
total_sv 2
rho 0.5
label 7 -3
nr_sv 1 1
SV
0.25 1:1 3:1
-0.25 1:-1 3:-1
"""
THREE = """svm_type nu_svc
kernel_type linear
nr_class 3
total_sv 3
rho 0.125 0.25 0.5
label 4 5 6
nr_sv 1 1 1
SV
1 2 1:1
3 4 2:1
5 6 3:1
"""
ONE_CLASS = """svm_type one_class
kernel_type rbf
gamma 0.5
nr_class 2
total_sv 1
rho 1
SV
1 1:2
"""
CUBE = """svm_type epsilon_svr
kernel_type polynomial
degree 3
gamma 0.5
coef0 1
nr_class 2
total_sv 1
rho -2
probA 0.1
SV
2 2:4
"""
SIGMOID = "svm_type nu_svr\nkernel_type sigmoid\ngamma 0.5\ncoef0 -1\nnr_class 2\ntotal_sv 1\nrho 0\nSV\n1 1:1 \n"
TINY = (BINARY, THREE, ONE_CLASS, CUBE, SIGMOID)


def points(*rows: tuple[float, ...]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.array(rows, dtype=np.float64)


def test_two_classes_by_hand() -> None:
    model = parse_model(BINARY, "m")
    at = points((1, 9, 0), (2, 9, 0), (0, 0, 0))
    assert model.decision(at)[:, 0].tolist() == [0.0, 0.5, -0.5]  # (x1 + x3) / 2 - rho
    assert model.predict(at).tolist() == [-3, 7, -3]  # 0 is not > 0: the second label


def test_three_classes_vote_and_the_first_wins_a_tie() -> None:
    model = parse_model(THREE, "m")
    x = points((0.3, 0.5, 0.7))
    by_pair = [1 * 0.3 + 3 * 0.5 - 0.125, 2 * 0.3 + 5 * 0.7 - 0.25, 4 * 0.5 + 6 * 0.7 - 0.5]
    assert model.decision(x)[0] == pytest.approx(by_pair, abs=1e-15)
    assert model.predict(x).tolist() == [4]
    votes = {(1, 1, 1): 4, (1, -1, 1): 4, (-1, 1, 1): 5, (-1, -1, -1): 6, (0, 0, 0): 6, (-1, 1, -1): 4}
    for signs, label in votes.items():
        assert model.answer(points(signs)).tolist() == [label], signs


def test_one_class_is_an_inlier_only_above_zero() -> None:
    model = parse_model(ONE_CLASS, "m")
    assert model.decision(points((2,), (0,)))[:, 0] == pytest.approx([0, math.exp(-2) - 1])
    assert model.predict(points((2,))).tolist() == [-1]
    assert model.answer(points((1e-300,))).tolist() == [1]


def test_values_by_hand() -> None:
    assert parse_model(CUBE, "m").predict(points((5, 1))).tolist() == [2 * (0.5 * 4 + 1) ** 3 + 2]
    assert parse_model(SIGMOID, "m").predict(points((4,)))[0] == pytest.approx(math.tanh(1))


def test_features_that_one_side_lacks_are_zero() -> None:
    model = parse_model(ONE_CLASS, "m")
    assert model.decision(points((2, 3)))[0, 0] == pytest.approx(math.exp(-4.5) - 1)
    assert parse_model(CUBE, "m").predict(points((5,))).tolist() == [4]


def test_one_label_alone_is_always_predicted() -> None:
    text = "svm_type c_svc\nkernel_type linear\nnr_class 1\ntotal_sv 0\nrho\nlabel 9\nnr_sv 0\nSV\n"
    assert parse_model(text, "m").predict(points((1, 2), (3, 4))).tolist() == [9, 9]


def test_probabilities_are_ignored_with_a_note() -> None:
    assert parse_model(BINARY, "m").notes == ()
    assert parse_model(CUBE, "m").notes == (
        "the probability estimates are not computed: kdsl predicts labels and values",
    )


@pytest.mark.parametrize("text", TINY)
def test_what_is_written_reads_back_as_the_same(text: str) -> None:
    first = parse_model(text, "m")
    again = parse_model(model_text(first), "m")
    same_model(first, again)
    if not first.notes:
        assert model_text(again).replace(" \n", "\n") == text.replace(" \n", "\n")


def same_model(first: LibsvmModel, second: LibsvmModel) -> None:
    for name in ("svm_type", "kernel", "nr_class"):
        assert getattr(first, name) == getattr(second, name)
    for name in ("rho", "label", "nr_sv", "sv_coef"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    assert first.support.shape == second.support.shape
    assert (first.support != second.support).nnz == 0


WRONG = {
    "": "line 1: the file ends before `SV`",
    "kdsl-model 1\n": "line 1: a LIBSVM model begins with `svm_type`",
    BINARY.replace("rho 0.5\n", ""): "line 7: there is no `rho` before `SV`",
    BINARY.replace("rho 0.5", "rho 0.5 1"): "line 5: `rho` has 2 numbers where 1 belong",
    BINARY.replace("rho 0.5", "rho nan"): "line 5: `nan` is not a finite number",
    BINARY.replace("rho 0.5", "rho 1_0"): "line 5: `1_0` is not a finite number",
    BINARY.replace("c_svc", "d_svc"): "line 1: `svm_type d_svc` is not known",
    BINARY.replace("linear", "precomputed"): "line 2: the kernel is precomputed",
    BINARY.replace("linear", "rbf"): "line 8: there is no `gamma` before `SV`",
    BINARY.replace("label 7", "label 7.5"): "line 6: `label` is not 2 whole numbers",
    BINARY.replace("label 7", "label -3"): "line 6: a label stands twice in `label`",
    BINARY.replace("nr_sv 1 1", "nr_sv 1 2"): "line 7: `nr_sv` adds up to 3 and `total_sv` is 2",
    BINARY.replace("total_sv", "total_vs"): "line 4: `total_vs` is no member of a LIBSVM model",
    BINARY.replace("rho 0.5", "rho 0.5\nrho 0.5"): "line 6: `rho` stands here and in line 5",
    BINARY.replace("-0.25 1:-1 3:-1\n", ""): "1 of 2 support vectors are there: the file is cut short",
    BINARY + "1 1:1\n": "3 of 2 support vectors are there: something follows the last support vector",
    BINARY.replace("0.25 1:1 3:1", "0.25 3:1 1:1"): "line 9: `1:1` is not index:value",
    BINARY.replace("0.25 1:1 3:1", "0.25 0:1 3:1"): "line 9: `0:1` is not index:value",
    BINARY.replace("\n0.25 1:1", "\n1:1"): "line 9: a support vector begins with 1 coefficients",
    BINARY.replace("3:-1", "3:x"): "line 10: `x` is not a finite number",
    ONE_CLASS.replace("nr_class 2", "nr_class 3"): "line 4: `nr_class 3` does not fit `svm_type one_class`",
    CUBE.replace("degree 3", "degree -3"): "line 3: `degree` is -3",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_file_is_refused_at_its_line(text: str) -> None:
    with pytest.raises(KdslError) as error:
        parse_model(text, "m")
    (diagnostic,) = error.value.diagnostics
    assert diagnostic.code == "K670"
    assert WRONG[text] in diagnostic.message


def test_every_cut_of_a_file_is_refused() -> None:
    for end in range(len(BINARY)):
        with pytest.raises(KdslError):
            parse_model(BINARY[:end], "m")


def reference_models() -> list[str]:
    types, kernels = ("s0", "s1", "s2", "s3", "s4"), ("t0", "t1", "t2", "t3")
    names = [
        f"{data}/{s}_{t}" for data in ("heart_scale", "iris.scale", "housing_scale") for s in types for t in kernels
    ]
    return [name for name in names if not name.startswith("housing_scale/s1")]


@pytest.mark.parametrize("name", reference_models())
def test_predictions_of_libsvm(name: str, shared: Path) -> None:
    peer = shared / "peers" / "libsvm_v337"
    data = name.partition("/")[0]
    table = read_table(str(shared / "data" / "heart_scale.svm" if data == "heart_scale" else peer / "data" / data))
    columns = [place for place, column in enumerate(table.names) if column != "label"]
    model = read_model(peer / "reference" / name / "model")
    expected = np.loadtxt(peer / "reference" / name / "predictions")
    found = model.predict(table.values[:, columns])
    if model.svm_type in ("epsilon_svr", "nu_svr"):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    else:
        np.testing.assert_array_equal(found, expected)
    same_model(model, parse_model(model_text(model), name))


def test_the_command_prints_predictions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m").write_text(BINARY)
    (tmp_path / "points.svm").write_text("7 1:2\n-3 2:5\n7 1:1 3:1\n")
    assert main(["libsvm", "predict", str(tmp_path / "m"), str(tmp_path / "points.svm")]) == 0
    assert capsys.readouterr().out == "7\n-3\n7\n"
    assert main(["libsvm", "predict", str(tmp_path / "m"), str(tmp_path / "points.svm"), "--decision"]) == 0
    assert capsys.readouterr().out == "7 0.5\n-3 -0.5\n7 0.5\n"
    out = tmp_path / "out"
    assert main(["libsvm", "predict", str(tmp_path / "m"), str(tmp_path / "points.svm"), "-o", str(out)]) == 0
    assert out.read_text() == "7\n-3\n7\n"


def test_the_command_refuses_what_is_no_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "m").write_text("hello\n")
    assert main(["libsvm", "predict", str(tmp_path / "m"), str(tmp_path / "m")]) == 1
    assert "error[K670]" in capsys.readouterr().err
    assert main(["libsvm", "predict", str(tmp_path / "absent"), str(tmp_path / "m")]) == 4
    assert main(["libsvm"]) == 2
    (tmp_path / "m").write_text(BINARY)
    (tmp_path / "points.csv").write_text("a,b\n1,0\n")
    assert main(["libsvm", "predict", str(tmp_path / "m"), str(tmp_path / "points.csv")]) == 1
    assert "error[K671]" in capsys.readouterr().err
