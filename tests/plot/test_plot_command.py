"""`kdsl plot` draws what it is asked for, says where it is, and refuses before it works."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from drawn_problems import data_for, points

from kdsl import resources
from kdsl.cli.main import main

SPECS = Path(str(resources.spec_path("loss_huber"))).parent


@pytest.fixture(autouse=True)
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with `train.csv`, and `many.csv` with more features."""
    monkeypatch.chdir(tmp_path)
    y = data_for("svm_1norm")["y"]
    write("train.csv", "x1,x2,y", np.column_stack([points(), y]))
    write("many.csv", "x1,x2,x3,y", np.column_stack([points(), points()[:, 0] ** 2, y]))
    write("curve.csv", "time,level", np.column_stack([points()[:, 0], np.sin(points()[:, 0])]))
    write("alone.csv", "x1,x2", points())


def write(name: str, header: str, rows: np.ndarray) -> None:
    np.savetxt(name, rows, delimiter=",", header=header, comments="", fmt="%.17g")


@pytest.mark.parametrize(
    "words",
    [
        ["decision", "svm_1norm", "--data", "train.csv"],
        ["decision", "svm_1norm", "--data", "many.csv", "--pair", "x3,x1", "--columns", "2"],
        ["margins", "svm_1norm", "--data", "many.csv", "-D", "C=10", "--kernel", "rbf(gamma = 2)"],
        ["gap", "svm_1norm", "--data", "train.csv", "--backend", "reference", "-D", "C=1000"],
        ["tube", "svr_linear_eps", "--data", "curve.csv", "--target", "level"],
        ["novelty", "sphere_nu", "--data", "alone.csv"],
        ["loss", "loss_pinball", "-D", "tau=0.25"],
    ],
    ids=lambda words: words[0] + str(len(words)),
)
def test_every_kind_is_drawn(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", *words, "-o", "picture.svg", "-q"]) == 0
    out, err = capsys.readouterr()
    assert (out, err) == ("picture.svg\n", "")
    assert Path("picture.svg").read_text(encoding="utf-8").rstrip().endswith("</svg>")


def test_a_picture_is_named_after_the_spec_and_its_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", "loss", "loss_hinge"]) == 0
    assert capsys.readouterr().out == "loss_hinge_loss.png\n"
    Path("my-own.kspec").write_text((SPECS / "loss_huber.kspec").read_text(encoding="utf-8"), encoding="utf-8")
    assert main(["plot", "loss", "my-own.kspec"]) == 0
    assert capsys.readouterr().out == "my-own_loss.png\n"
    assert Path("loss_hinge_loss.png").read_bytes().startswith(b"\x89PNG")


def test_a_model_file_is_drawn_with_its_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "svm_1norm", "--data", "train.csv", "-o", "model.kdsl"]) == 0
    assert main(["plot", "margins", "model.kdsl", "--data", "train.csv", "-o", "saved.svg"]) == 0
    assert main(["plot", "margins", "svm_1norm", "--data", "train.csv", "-o", "fresh.svg"]) == 0
    assert Path("saved.svg").read_bytes() == Path("fresh.svg").read_bytes()
    capsys.readouterr()
    assert main(["plot", "margins", "model.kdsl", "--data", "alone.csv", "-o", "other.svg"]) == 1
    refused = capsys.readouterr().err
    assert "error[K656]" in refused and "--target" not in refused
    assert not Path("other.svg").exists()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["decision", "svm_1norm", "--data", "train.csv", "-o", "a.jpg"], 2, "K667"),
        (["decision", "svm_1norm", "--data", "train.csv", "-o", "no/where.png"], 4, "no/where.png"),
        (["decision", "svm_1norm", "--data", "many.csv"], 2, "K662"),
        (["tube", "svm_1norm", "--data", "train.csv"], 1, "K661"),
        (["decision", "svm_1norm", "--data", "missing.csv"], 4, "K501"),
        (["decision", "svm_2nrom", "--data", "train.csv"], 4, "svm_2norm"),
        (["decision", "svm_1norm", "--data", "train.csv", "--kernel", "rbf(gama=1)"], 1, "gamma"),
    ],
)
def test_refusals(words: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", *words]) == code
    out, err = capsys.readouterr()
    assert out == "" and said in err


@pytest.mark.parametrize("words", [["portrait", "svm_1norm"], ["decision"], ["decision", "svm_1norm", "--pair", "x1,"]])
def test_words_that_mean_nothing(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", *words]) == 2
    assert capsys.readouterr().err.startswith("kdsl plot: error: ")


def test_an_infeasible_problem_has_no_picture(capsys: pytest.CaptureFixture[str]) -> None:
    write("both.csv", "x1,x2,y", np.array([[0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [1.0, 1.0, 1.0]]))
    assert main(["plot", "decision", "svm_hard", "--data", "both.csv", "-o", "hard.png"]) == 1
    assert "infeasible" in capsys.readouterr().err
    assert not Path("hard.png").exists()


def test_an_old_picture_stays_when_a_new_one_is_refused() -> None:
    Path("keep.png").write_bytes(b"old")
    assert main(["plot", "novelty", "svm_1norm", "--data", "train.csv", "-o", "keep.png"]) == 1
    assert Path("keep.png").read_bytes() == b"old"
