"""What is refused is refused in the form that was asked for, and what has no solution is not called an error."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest
from cli_runs import write_table
from command_runs import kdsl

from kdsl import resources
from kdsl.cli.places import check_places
from kdsl.language.diagnostics import KdslError
from kdsl.models.verification import array_findings, close

ONE_CLASS = {"u": np.arange(12.0), "y": np.ones(12)}
SCHEMA = {"schema", "status", "diagnostics"}


def test_json_speaks_of_a_spec_and_of_a_kernel_too(tmp_path: Path) -> None:
    table = write_table(tmp_path / "t.csv", {"u": np.arange(6.0), "y": [1, -1, 1, -1, 1, -1]})
    (tmp_path / "bad.kspec").write_text("model bad\nindex i in 1..l\nminimize 3\n")
    in_spec = kdsl("solve", tmp_path / "bad.kspec", "--data", table, "--json")
    in_kernel = kdsl("solve", "svm_1norm", "--data", table, "--json", "--kernel", "k = rbf(")
    for outcome in (in_spec, in_kernel):
        assert outcome.code == 1
        assert set(outcome.json) == SCHEMA and outcome.json["status"] == "error"
        assert outcome.json["diagnostics"][0]["code"].startswith("K")
        assert f"[{outcome.json['diagnostics'][0]['code']}]" in outcome.err


@pytest.mark.parametrize(
    ("command", "code", "exit_code"),
    [
        ("solve nope --data t.csv --json", "K501", 4),
        ("solve svm_1norm --data nope.csv --json", "K501", 4),
        ("solve svm_1norm --data t.csv -o none/m.kdsl --json", "K658", 4),
        ("verify m.kdsl --data nope.csv --json", "K501", 4),
        ("verify t.csv --data t.csv --json", "K652", 3),
        ("show nope.kdsl --json", "K501", 4),
        ("qp nope.npz --json", "K501", 4),
        ("qp p.npz --backend nope --json", "K602", 2),
        ("derive bad.kspec --format json", "K1", 1),
        ("derive nope --format json", "K501", 4),
    ],
)
def test_every_verb_that_speaks_json_says_in_it_what_is_wrong(
    command: str, code: str, exit_code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    table = write_table(tmp_path / "t.csv", {"u": np.arange(6.0), "y": [1, -1, 1, -1, 1, -1]})
    np.savez("p.npz", P=np.eye(2), q=np.ones(2))
    Path("bad.kspec").write_text("model bad\nindex i in\n")
    assert kdsl("solve", "svm_1norm", "--data", table, "-o", "m.kdsl").code == 0
    outcome = kdsl(*command.split())
    assert outcome.code == exit_code
    assert set(outcome.json) == SCHEMA and outcome.json["status"] == "error"
    assert all(entry["code"].startswith(code) for entry in outcome.json["diagnostics"])
    assert f"error[{outcome.json['diagnostics'][0]['code']}]" in outcome.err


@pytest.mark.parametrize(
    "command",
    [
        "solve svm_1norm --data t.csv --tol x --js",
        "verify m.kdsl --json",
        "derive svm_1norm --format json --bogus",
        "derive svm_1norm --form=json --bogus",
        "bench --quick --only zzzz --json",
        "bench --only zzzz --write --json",
        "slove svm_1norm --json",
    ],
)
def test_a_command_line_that_means_nothing_has_its_object(command: str) -> None:
    outcome = kdsl(*command.split())
    assert outcome.code == 2 and set(outcome.json) == SCHEMA and outcome.json["status"] == "error"
    (entry,) = outcome.json["diagnostics"]
    assert entry["code"] == "" and f": error: {entry['message']}\n" in outcome.err and entry["help"] in outcome.err
    plain = [word for word in command.split() if not word.startswith("--j") and "json" not in word]
    assert kdsl(*plain).out == ""


def test_an_interrupt_is_an_object_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("kdsl.cli.verbs.specs.run", interrupted)
    outcome = kdsl("specs", "--json")
    assert (outcome.code, outcome.err) == (130, "")
    assert outcome.json["diagnostics"][0]["message"] == "interrupted"


def test_a_bug_of_ours_is_an_object_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("kdsl.cli.verbs.backends._entry", lambda backend: 1 // 0)
    outcome = kdsl("backends", "--json")
    assert outcome.code == 70 and "ZeroDivisionError" in outcome.json["diagnostics"][0]["message"]


def test_an_answer_that_cannot_be_saved_stays_the_only_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = write_table(tmp_path / "t.csv", {"u": np.arange(6.0), "y": [1, -1, 1, -1, 1, -1]})

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    outcome = kdsl("solve", "svm_1norm", "--data", table, "-o", tmp_path / "m.kdsl", "--json")
    assert (outcome.code, outcome.json["status"]) == (4, "optimal")
    assert "error[K658]" in outcome.err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_an_answer_that_cannot_be_saved_is_still_told_to_a_pipe(tmp_path: Path) -> None:
    np.savez(tmp_path / "p.npz", P=np.eye(2), q=np.ones(2))
    command = [sys.executable, "-m", "kdsl", "qp", "p.npz", "-o", "/dev/full"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 4 and "error[K658]" in done.stderr
    assert "optimal" in done.stdout


def test_every_spec_that_is_checked_has_its_object(tmp_path: Path) -> None:
    outcome = kdsl("check", "svm_1norm", "nope", "ridge", "--json")
    decoder, text, found = json.JSONDecoder(), outcome.out, []
    while text.strip():
        entry, end = decoder.raw_decode(text)
        found.append(entry)
        text = text[end:].lstrip()
    assert outcome.code == 4
    assert [[d["code"] for d in entry["diagnostics"]] for entry in found] == [[], ["K501"], []]


@pytest.mark.parametrize("spec", ["svm_hard_unit", "svm_1norm_unit", "svm_2norm_unit", "svm_nu", "svm_nu_sum"])
def test_a_margin_without_a_second_class_is_unbounded(spec: str, tmp_path: Path) -> None:
    outcome = kdsl("solve", spec, "--data", write_table(tmp_path / "t.csv", ONE_CLASS), "--json")
    assert outcome.code == 1
    assert outcome.json["status"] == "unbounded"
    assert "error[K620]" in outcome.err and "one class" in outcome.err


def test_a_program_that_is_not_there_has_a_code(tmp_path: Path) -> None:
    outcome = kdsl("qp", tmp_path / "program.npz")
    assert outcome.code == 4 and "error[K501]" in outcome.err


def test_a_result_of_qp_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez(tmp_path / "p.npz", P=np.eye(2), q=np.ones(2))
    place = tmp_path / "x.npz"
    place.write_text("old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        outcome = kdsl("qp", tmp_path / "p.npz", "-o", place)
    assert outcome.code == 4 and "No space left" in outcome.err
    assert "optimal" in outcome.out
    assert place.read_text() == "old" and sorted(os.listdir(tmp_path)) == ["p.npz", "x.npz"]
    assert kdsl("qp", tmp_path / "p.npz", "-o", place).code == 0
    assert np.load(place)["x"] == pytest.approx([-1, -1]) and stat.S_ISREG(place.stat().st_mode)
    assert kdsl("qp", tmp_path / "p.npz", "-o", tmp_path / "none" / "x.npz").out == ""


def test_what_came_out_as_no_number_comes_out_so_again() -> None:
    """A solver that failed leaves a file that verifies as what it is."""
    assert close(float("nan"), float("nan"), 1.0) and not close(float("nan"), 1.0, 1.0)
    gap = np.array([1.0, np.nan])
    assert array_findings("x", gap, gap.copy()) == []
    assert len(array_findings("x", gap, np.array([1.0, 2.0]))) == 1


def test_a_table_for_an_index_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "t.csv", {"u": np.arange(6.0), "y": [1, -1, 1, -1, 1, -1]})
    outcome = kdsl("solve", "svm_1norm", "--data", "t.csv", "--data", "q:t.csv")
    assert outcome.code == 1 and "error[K523]: `q:t.csv` is bound to `q`, which is no index" in outcome.err


@pytest.mark.parametrize(
    "command",
    [
        "solve my.kspec --data t.csv -o my.kspec",
        "solve my.kspec --data i:t.csv -o ./t.csv",
        "solve svm_1norm --data t.csv -o link.csv",
        "solve svm_1norm --data t.csv -o hard.csv",
        "solve svm_1norm --data t.csv --report t.csv",
        "solve svm_1norm --data t.csv --kernel k=k.py:f --allow-python -o k.py",
        "solve svm_1norm --data t.csv -o new --report new",
        "solve svm_1norm --data t.csv -o -",
        "derive my.kspec -o my.kspec",
        "predict m.kdsl t.csv -o m.kdsl",
        "predict m.kdsl t.csv -o t.csv",
        "report m.kdsl --data t.csv -o m.kdsl",
        "report page.html --data t.csv",
        "plot loss my.kspec -o my.kspec",
        "qp t.csv -o t.csv",
        "export-libsvm m.kdsl -o m.kdsl",
        "import-libsvm my.kspec -o my.kspec",
        "libsvm t.csv t.csv",
        "libsvm predict my.kspec t.csv -o t.csv",
    ],
)
def test_no_command_writes_over_what_it_reads(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("my.kspec", "t.csv", "m.kdsl", "k.py", "page.html"):
        Path(name).write_text(name)
    Path("link.csv").symlink_to("t.csv")
    os.link("t.csv", "hard.csv")
    outcome = kdsl(*command.split())
    assert (outcome.code, outcome.out) == (2, "")
    assert "error[K659]" in outcome.err
    assert all(path.read_text() in (path.name, "t.csv") for path in tmp_path.iterdir())


@pytest.mark.parametrize(
    "arguments",
    [
        Namespace(spec="svm_1norm", output="svm_1norm"),
        Namespace(spec="svm_1norm", data=["i:t.csv"], output="i:t.csv"),
        Namespace(model="m.kdsl", data="dir:t.csv", output="t.csv"),
    ],
)
def test_what_is_no_file_is_not_lost(arguments: Namespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("m.kdsl", "t.csv", "dir:t.csv"):
        Path(name).write_text(name)
    check_places(arguments)


def test_data_that_a_spec_has_are_asked_for() -> None:
    outcome = kdsl("solve", "svm_1norm")
    assert (outcome.code, outcome.out) == (1, "")
    assert "error[K521]: nothing is bound: no data are given\n  = why: `svm_1norm` needs `x` and `y`\n" in outcome.err


def test_a_spec_and_its_data_do_not_both_come_from_standard_input(root: Path) -> None:
    spec = (root / "specs" / "svm_1norm.kspec").read_text(encoding="utf-8")
    command = [sys.executable, "-m", "kdsl", "solve", "-", "--data", "-"]
    done = subprocess.run(command, input=spec, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "error[K506]: `-` is empty\n  = why: standard input is read once" in done.stderr


def test_a_shipped_spec_is_read_too() -> None:
    with pytest.raises(KdslError, match="K659"):
        check_places(Namespace(spec="svm_1norm", output=resources.spec_path("svm_1norm")))


def test_a_device_is_written_to_and_read_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    table = write_table(tmp_path / "t.csv", {"u": np.arange(6.0), "y": [1, -1, 1, -1, 1, -1]})
    assert kdsl("solve", "svm_1norm", "--data", table, "-o", os.devnull, "--report", os.devnull).code == 0


def test_what_cannot_be_written_is_said_under_a_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "t.csv", {"u": np.arange(6.0), "y": [1, -1, 1, -1, 1, -1]})
    solve = ("solve", "svm_1norm", "--data", "t.csv", "-o")
    for place, words in (("none/m.kdsl", "make the folder first"), (".", "Is a directory")):
        outcome = kdsl(*solve, place)
        assert (outcome.code, outcome.out) == (4, "")
        assert f"error[K658]: `{place}` cannot be written: " in outcome.err and words in outcome.err

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        outcome = kdsl(*solve, "model.kdsl")
    assert outcome.code == 4 and "status      optimal" in outcome.out
    page = Path(__file__).resolve().parents[2] / "docs" / "diagnostics" / "K658.md"
    assert outcome.err.strip() in page.read_text(encoding="utf-8")
    assert sorted(os.listdir(tmp_path)) == ["t.csv"]


def test_instructions_that_the_processor_lacks_are_no_bug_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KDSL_ISA", "mmx")
    outcome = kdsl("solve", "svm_1norm", "--data", "t.csv", "--json")
    assert outcome.code == 4 and outcome.err.startswith("kdsl: KDSL_ISA=mmx is not one of portable, ")
    assert outcome.json["status"] == "error"
