"""`kdsl libsvm` against svm-train: objective, rho, support vectors, predictions, model files and its command line."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from libsvm_peer import peer_predict, peer_save, peer_train, write_svmlight

from kdsl.cli.main import main
from kdsl.libsvm import read_model

RANDOM = np.random.default_rng(11)
X = RANDOM.normal(size=(75, 4))
NEW = RANDOM.normal(size=(50, 4))
NOISE = RANDOM.normal(size=75)
CLASSES = np.where(X[:, 0] + 0.5 * NOISE > 0.4, 3, np.where(X[:, 1] - 0.5 * NOISE > 0, 7, -2))
TWO = np.where(X[:, 0] * X[:, 1] + 0.3 * NOISE > 0, 1, -1)
VALUES = np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * NOISE
KERNELS = ("-t 0", "-t 1 -d 2 -g 0.5 -r 1", "-t 2")
PROBLEMS = [
    *[("two", f"-s 0 -c 2 {kernel}") for kernel in KERNELS],
    *[("classes", f"-s 0 -c 3 {kernel}") for kernel in KERNELS],
    *[("two", f"-s 1 -n 0.4 {kernel}") for kernel in KERNELS[1:]],
    *[("classes", f"-s 1 -n 0.3 {kernel}") for kernel in KERNELS[1:]],
    *[("values", f"-s 2 -n 0.2 {kernel}") for kernel in KERNELS[1:]],
    *[("values", f"-s 3 -c 2 -p 0.2 {kernel}") for kernel in KERNELS],
    *[("values", f"-s 4 -c 0.7 -n 0.3 {kernel}") for kernel in KERNELS],
    ("two", "-s 0 -t 2 -g 0.3 -w1 3 -w-1 0.5"),
    ("classes", "-s 0 -t 0 -w7 4"),
    ("values", "-s 2 -n 0.2 -t 2 -g 0.001"),
]
TARGETS = {"two": TWO, "classes": CLASSES, "values": VALUES}


@pytest.mark.parametrize(("name", "flags"), PROBLEMS, ids=lambda word: word.replace(" ", ""))
def test_the_same_as_svm_train(
    name: str, flags: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both asked for m - M <= 1e-7; LIBSVM's kernel cache is float32."""
    monkeypatch.chdir(tmp_path)
    y, flags = TARGETS[name], f"{flags} -e 1e-7"
    trained, printed = peer_train(X, y, flags)
    theirs = peer_save(trained, tmp_path / "theirs")
    data = write_svmlight(tmp_path / "data.svm", X, y)
    assert main(["libsvm", *flags.split(), str(data), "ours"]) == 0
    text = capsys.readouterr().out
    model, peer = read_model("ours"), read_model(theirs)
    assert (model.svm_type, model.nr_class, model.kernel) == (peer.svm_type, peer.nr_class, peer.kernel)
    assert (model.label.tolist(), model.nr_sv.tolist()) == (peer.label.tolist(), peer.nr_sv.tolist())
    scale = max(1.0, float(np.abs(peer.sv_coef).max()))
    np.testing.assert_allclose(model.rho, peer.rho, rtol=1e-4, atol=1e-4 * scale)
    np.testing.assert_allclose(model.support.toarray(), peer.support.toarray(), rtol=1e-7)  # LIBSVM writes %.8g
    np.testing.assert_allclose(model.sv_coef, peer.sv_coef, rtol=1e-3, atol=1e-3 * scale)
    np.testing.assert_allclose(model.decision(NEW), peer.decision(NEW), rtol=1e-4, atol=1e-4 * scale)
    for objective, rho, support, bounded in printed:
        line = next(line for line in text.splitlines() if close_figures(line, objective, rho, scale))
        words = line.replace(",", " ").split()
        assert (words[-4] if "nSV" in line else words[-2], words[-1]) == (str(support), str(bounded))
    labels, decision = peer_predict(tmp_path / "ours", NEW)
    np.testing.assert_allclose(labels, model.predict(NEW), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(decision.reshape(len(NEW), -1), model.decision(NEW), rtol=1e-9, atol=1e-9)


def close_figures(line: str, objective: float, rho: float, scale: float) -> bool:
    """Whether a line of the report has these two figures, in this order."""
    found = []
    for word in line.replace(",", " ").split():
        try:
            found.append(float(word))
        except ValueError:
            continue
    pairs = pairwise(found)
    return any(abs(a - objective) <= 1e-5 * max(1, abs(objective)) and abs(b - rho) <= 1e-4 * scale for a, b in pairs)


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    code = main(["libsvm", *map(str, words)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_defaults_are_svm_trains(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """C-SVC, rbf, gamma 1/4, C = 1, and the name of the data for the model; a relative gap of 1e-6."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    data = write_svmlight(tmp_path / "in" / "two", X, TWO)
    code, out, err = run(capsys, data)
    assert (code, err) == (0, "")
    assert "exp(-0.25 ||x - z||^2)" in out
    assert "parameters  C = 1\n" in out
    assert "status      optimal\n" in out
    model, peer = read_model("two.model"), read_model(peer_save(peer_train(X, TWO, "-e 1e-7")[0], tmp_path / "theirs"))
    assert model.label.tolist() == peer.label.tolist() == [1, -1]
    np.testing.assert_allclose(model.decision(NEW), peer.decision(NEW), atol=1e-3)
    assert run(capsys, "train", "-q", data, "again") == (0, "", "")
    assert Path("again").read_text() == Path("two.model").read_text()


def test_the_first_label_seen_is_positive(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """But of -1 and 1 the 1 is, whichever comes first."""
    for y, labels in ((np.where(TWO > 0, 5, 6), [5, 6]), (np.where(TWO > 0, 6, 5), [6, 5]), (-TWO, [1, -1])):
        first = [int(y[0]), next(int(value) for value in y if value != y[0])]
        data = write_svmlight(tmp_path / "data.svm", X, y)
        assert run(capsys, data, tmp_path / "m", "-q") == (0, "", "")
        expected = labels if labels == [1, -1] else first
        assert read_model(tmp_path / "m").label.tolist() == expected
        theirs = read_model(peer_save(peer_train(X, y, "")[0], tmp_path / "theirs"))
        assert theirs.label.tolist() == expected


def test_one_class_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = write_svmlight(tmp_path / "data.svm", X, np.full(len(X), 4))
    code, out, _ = run(capsys, data, tmp_path / "m")
    assert code == 0
    assert "one class alone" in out
    assert read_model(tmp_path / "m").predict(NEW).tolist() == [4.0] * len(NEW)


def test_an_indefinite_kernel_is_never_optimal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = write_svmlight(tmp_path / "data.svm", X, TWO)
    code, out, err = run(capsys, "-t", 3, data, tmp_path / "m")
    assert code == 3
    assert "optimal_inaccurate" in out
    assert "K572" in err
    assert read_model(tmp_path / "m").support.shape[0] > 0


def test_a_warning_is_said_once_for_all_pairs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A column that is constant within every class: each pair of three has two of them, and one message is enough."""
    marks = np.array([[value == label for label in (3, 7, -2)] for value in CLASSES], dtype=float)
    data = write_svmlight(tmp_path / "data.svm", np.column_stack([X, marks]), CLASSES)
    code, out, err = run(capsys, data, tmp_path / "m")
    assert (code, out.count("optimal")) == (0, 3)
    assert err.count("warning[K541]") == 1


def test_flags_that_are_not_used_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = write_svmlight(tmp_path / "data.svm", X, TWO)
    code, _, err = run(capsys, "-n", 0.3, "-p", 1, "-d", 2, "-h", 0, "-m", 100, "-b", 0, "-w9", 2, data, tmp_path / "m")
    assert code == 0
    expected = [f"{flag} is not used with -s 0 -t 2" for flag in ("-d", "-n", "-p")]
    assert err.splitlines() == [f"note: {words}" for words in [*expected, "no example has the label 9 of -w9"]]
    code, _, err = run(capsys, "-s", 1, "-w1", 2, data, tmp_path / "m")
    assert (code, err) == (0, "note: -w is not used with -s 1 -t 2\n")


def test_what_is_wrong_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    data = write_svmlight(tmp_path / "data.svm", X, TWO)
    for flags in (["-v", "5"], ["-b", "1"], ["-t", "4"]):
        code, out, err = run(capsys, *flags, data)
        assert (code, out) == (2, "")
        assert "error[K673]" in err
    for flags in (
        ["-s", "5"],
        ["-g", "-1"],
        ["-g", "x"],
        ["-d", "1.5"],
        ["-w1", "x"],
        ["-w1"],
        ["-wx", "1"],
        ["-e", "0"],
    ):
        assert run(capsys, *flags, data)[0] == 2, flags
    assert run(capsys, tmp_path / "absent.svm")[0] == 4
    assert run(capsys, data, tmp_path / "absent" / "m")[0] == 4
    (tmp_path / "table.csv").write_text("a,b\n1,0\n")
    assert "error[K671]" in run(capsys, tmp_path / "table.csv")[2]
    fractions = write_svmlight(tmp_path / "values.svm", X, VALUES)
    code, _, err = run(capsys, fractions)
    assert code == 1
    assert "error[K674]" in err
    code, _, err = run(
        capsys, "-s", 1, "-n", 0.99, write_svmlight(tmp_path / "few.svm", X, np.where(X[:, 0] > 1, 1, 2))
    )
    assert code == 1
    assert "it is bounded for nu <= " in err
    code, _, err = run(capsys, "-s", 1, "-n", 0.4, "-t", 0, data)
    assert code == 1
    assert "error[K675]" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.svm", "few.svm", "table.csv", "values.svm"]


@pytest.mark.parametrize(("value", "code"), [("nan", "K530"), ("inf", "K531")])
def test_examples_that_are_no_numbers_are_named_by_file_and_line(
    value: str, code: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, broken = tmp_path / "own.model", tmp_path / "broken.svm"
    assert run(capsys, "-q", write_svmlight(tmp_path / "data.svm", X, TWO), model)[0] == 0
    broken.write_text(f"1 1:1 2:2\n-1 1:{value} 2:1\n1 2:3\n")
    for words in (("predict", model, broken), ("-q", broken), ("-q", "-s", 3, broken)):
        exit_code, out, err = run(capsys, *words)
        assert (exit_code, out) == (1, "")
        assert err.startswith(f"error[{code}]: `{broken}`, line 2: the value of `f1` is ")
        assert "--" not in err
    broken.write_text(f"1 1:1 2:2\n{value} 1:3 2:1\n1 2:3\n")
    assert run(capsys, "-q", "-s", 3, broken)[2].startswith(f"error[{code}]: `{broken}`, line 2: the value of `label`")
    assert run(capsys, "predict", model, broken)[0] == 0  # labels are not used there


def test_help_of_both_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    assert "svm-train's flags" in run(capsys, "-h")[1]
    assert "nu-SVR" in run(capsys, "train", "--help")[1]
