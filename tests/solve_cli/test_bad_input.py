"""Bad data, by the command line: a coded message with its fix, the right exit code, and nothing half-written."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cli_runs import write_table
from command_runs import Outcome, kdsl

GOOD = "u,v,y\n" + "".join(f"{n % 7},{n % 3},{1 if n % 2 else -1}\n" for n in range(12))


def with_lines(*lines: str) -> str:
    return GOOD + "".join(line + "\n" for line in lines)


TEXTS: dict[str, tuple[str, str, str]] = {  # name -> content, code, what the message must name
    "NaN": (with_lines("nan,1,1"), "K530", "line 14"),
    "an empty cell": (with_lines(",1,1"), "K530", "`u`"),
    "infinity": (with_lines("1,inf,1"), "K531", "`v`"),
    "a ragged row": (with_lines("1,2"), "K507", "14"),
    "an empty file": ("", "K506", "empty"),
    "only a header": ("u,v,y\n", "K5", ""),
    "one column": ("y\n1\n-1\n1\n", "K525", "y"),
    "text in a feature": (with_lines("1,red,1"), "K526", "red"),
    "three labels": (with_lines("1,1,0"), "K53", "3"),
    "one example": ("u,v,y\n1,2,1\n", "K536", ""),
    "duplicate headers": ("u,u,y\n1,2,1\n2,1,-1\n3,1,1\n", "K5", "u"),
    "a NUL byte": (with_lines("1,\0,1"), "K504", "NUL"),
}


def solve_text(folder: Path, content: str | bytes, *more: str, name: str = "t.csv", spec: str = "svm_1norm") -> Outcome:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return kdsl("solve", spec, "--data", path, *more, "-o", folder / "m.kdsl")


def complains(outcome: Outcome, code: str, word: str, folder: Path, exit_code: int = 1) -> None:
    assert outcome.code == exit_code, outcome
    assert re.search(rf"error\[{code}\d*\]: ", outcome.err), outcome.err
    assert word in outcome.err
    assert "Traceback" not in outcome.err
    assert not (folder / "m.kdsl").exists()


@pytest.mark.parametrize("name", TEXTS)
def test_bad_tables(name: str, tmp_path: Path) -> None:
    content, code, word = TEXTS[name]
    complains(solve_text(tmp_path, content), code, word, tmp_path)


def test_one_label_only_is_a_warning_and_an_answer(tmp_path: Path) -> None:
    outcome = solve_text(tmp_path, "u,v,y\n1,2,1\n2,1,1\n3,1,1\n")
    assert "[K5" in outcome.err
    assert outcome.code in (0, 1)


def test_constant_features_are_a_warning(tmp_path: Path) -> None:
    outcome = solve_text(tmp_path, "u,v,y\n" + "".join(f"{n},5,{1 if n > 3 else -1}\n" for n in range(9)))
    assert outcome.code == 0
    assert "warning[K541]" in outcome.err


def test_negative_weights(tmp_path: Path) -> None:
    table = GOOD.replace("u,v,y", "u,s,y").replace("0,0,", "0,-1,", 1)
    complains(solve_text(tmp_path, table, spec="svm_weighted"), "K53", "-1", tmp_path)


def test_all_weights_zero(tmp_path: Path) -> None:
    content = "u,s,y\n" + "".join(f"{n},0,{1 if n > 3 else -1}\n" for n in range(9))
    complains(solve_text(tmp_path, content, spec="svm_weighted"), "K537", "positive weight", tmp_path)


def test_some_weights_zero(tmp_path: Path) -> None:
    """Such an example is absent from the loss: any label of it gives the same answer."""
    contents = [
        "u,s,y\n" + "".join(f"{n},{n % 3},{first if n == 0 else n % 2}\n" for n in range(12)) for first in (0, 1)
    ]
    outcomes = [solve_text(tmp_path, content, "--json", "--tol", "1e-9", spec="svm_weighted") for content in contents]
    assert [outcome.code for outcome in outcomes] == [0, 0]
    assert all("K544" in [w["code"] for w in outcome.json["warnings"]] for outcome in outcomes)
    values = [outcome.json["value"] for outcome in outcomes]
    assert values[0] == pytest.approx(values[1], rel=1e-8)


def test_a_gz_cut_short(tmp_path: Path) -> None:
    content = gzip.compress((GOOD * 50).encode())
    complains(solve_text(tmp_path, content[: len(content) // 2], name="t.csv.gz"), "K505", "cut short", tmp_path)


def test_svmlight_out_of_order(tmp_path: Path) -> None:
    complains(solve_text(tmp_path, "1 3:1 2:1\n-1 1:1\n", name="t.svm"), "K5", "", tmp_path)


def test_parquet_called_csv(tmp_path: Path) -> None:
    complains(solve_text(tmp_path, b"PAR1" + bytes(40) + b"PAR1"), "K504", "Parquet", tmp_path)


def test_a_pickle_in_an_npz(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", x=np.array([{}], dtype=object))
    outcome = kdsl("solve", "svm_1norm", "--data", tmp_path / "t.npz")
    assert outcome.code == 1
    assert "error[K5" in outcome.err


def test_many_columns(tmp_path: Path) -> None:
    """100,000 columns of a table are slow to look at and no trouble."""
    random = np.random.default_rng(0)
    names = ",".join(f"c{n}" for n in range(100_000))
    rows = [",".join(map(str, random.integers(0, 10, 100_000))) + f",{sign}" for sign in (-1, 1, -1, 1)]
    outcome = solve_text(tmp_path, f"{names},y\n" + "\n".join(rows) + "\n", "--kernel", "k = linear", "--json")
    assert outcome.code == 0
    assert outcome.json["d"] == 100_000


def test_no_permission(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(GOOD)
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read anything")
    complains(kdsl("solve", "svm_1norm", "--data", path), "K502", "t.csv", tmp_path, 4)


def test_a_folder_is_no_table(tmp_path: Path) -> None:
    complains(kdsl("solve", "svm_1norm", "--data", tmp_path), "K501", "directory", tmp_path, 4)


def test_a_full_disk_keeps_the_answer_and_the_old_model(tmp_path: Path) -> None:
    """The report is out before the file is written; the file is written whole or not at all."""
    table = write_table(tmp_path / "t.csv", {"u": np.arange(40.0), "y": np.where(np.arange(40) % 7 < 3, 1, -1)})
    model = tmp_path / "m.kdsl"
    model.write_text("old")
    program = (
        "import resource, sys; from kdsl.cli.main import main;"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000)); sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "solve", "svm_1norm", "--data", str(table), "-o", str(model)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 4
    assert "status" in done.stdout and "optimal" in done.stdout
    assert str(model) in done.stderr
    assert model.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.kdsl", "t.csv"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--data", "a.csv", "--data", "b.csv"], "K523"),
        (["--data", "a.csv", "--features", "w"], "K520"),
        (["--data", "a.csv", "--bind", "z=u"], "K524"),
        (["--data", "a.csv", "--positive", "maybe"], "K5"),
        (["--data", "a.csv", "--kernel", "k = a.py:f"], "K563"),
    ],
)
def test_options_that_do_not_fit(words: list[str], code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.csv", "b.csv"):
        Path(name).write_text(GOOD)
    complains(kdsl("solve", "svm_1norm", *words), code, "", tmp_path)


def test_a_place_that_cannot_be_written_is_said_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(GOOD)
    for place in (tmp_path / "none" / "m.kdsl", tmp_path):
        outcome = kdsl("solve", "svm_1norm", "--data", tmp_path / "t.csv", "-o", place)
        assert (outcome.code, outcome.out) == (4, "")
        assert str(place) in outcome.err


@pytest.mark.parametrize("verb", ["solve", "predict", "verify", "show"])
def test_a_bug_of_ours_is_not_blamed_on_the_data(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What no message foresees is 70, with the traceback in a file."""
    from importlib import import_module

    def fail(*_: object) -> int:
        raise RuntimeError("unforeseen")

    monkeypatch.setattr(import_module(f"kdsl.cli.verbs.{verb}"), "run", fail)
    given: dict[str, list[str]] = {"solve": ["a", "--data", "b"], "predict": ["a", "b"], "verify": ["a", "--data", "b"]}
    outcome = kdsl(verb, *given.get(verb, ["a"]))
    assert outcome.code == 70
    assert "a bug of ours" in outcome.err
