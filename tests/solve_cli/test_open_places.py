"""Results written with `-o` to what is open already, a pipe or a device: after what is there."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kdsl.models.model_file import load_model
from kdsl.whole_file import Unwritable, check_place, replacing

pytestmark = pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="no /dev/stdout")
TABLE = "u,y\n" + "".join(f"{n},{1 if n > 3 else -1}\n" for n in range(8))


def kdsl(folder: Path, words: str, *, redirect: str = "") -> subprocess.CompletedProcess[bytes]:
    command = f"{sys.executable} -m kdsl {words} {redirect}"
    return subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, timeout=60)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "t.csv").write_text(TABLE)
    assert kdsl(tmp_path, "solve svm_1norm --data t.csv -q -o m.kdsl").returncode == 0
    return tmp_path


@pytest.mark.parametrize("place", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "link", ">(cat)"])
def test_a_pipe_has_what_a_file_has(place: str, folder: Path) -> None:
    (folder / "link").symlink_to("/dev/stdout")
    done = kdsl(folder, f"derive svm_1norm -o {place}", redirect="| cat")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == kdsl(folder, "derive svm_1norm").stdout


def test_standard_error_is_a_place(folder: Path) -> None:
    done = kdsl(folder, "predict m.kdsl t.csv -q -o /dev/stderr")
    assert (done.returncode, done.stdout) == (0, b"") and done.stderr.startswith(b"label\n-1\n")


def test_a_file_that_is_appended_to_keeps_what_it_holds(folder: Path) -> None:
    (folder / "log.txt").write_text("keep\n")
    assert kdsl(folder, "predict m.kdsl t.csv -q -o /dev/stdout", redirect=">> log.txt").returncode == 0
    assert (folder / "log.txt").read_text().startswith("keep\nlabel\n-1\n")


def test_a_model_stands_after_the_report(folder: Path) -> None:
    done = kdsl(folder, "solve svm_1norm --data t.csv -q --json -o /dev/stdout", redirect="> out")
    assert done.returncode == 0
    report, model = (folder / "out").read_bytes().split(b"\n}\n", 1)
    assert json.loads(report + b"}")["status"] == "optimal"
    (folder / "again.kdsl").write_bytes(model)
    assert load_model(folder / "again.kdsl").status == "optimal"


@pytest.mark.parametrize("place", ["/dev/null", "/dev/stdout"])
def test_a_program_has_its_answer_there(place: str, folder: Path) -> None:
    np.savez(folder / "p.npz", P=np.eye(2), q=np.ones(2))
    done = kdsl(folder, f"qp p.npz -o {place}", redirect="| cat")
    assert b"optimal" in done.stdout and done.stderr == b""
    if place == "/dev/stdout":
        assert np.allclose(np.load(io.BytesIO(done.stdout[done.stdout.index(b"PK\x03\x04") :]))["x"], -1)


def test_what_is_not_open_for_writing_is_found_before_the_work(tmp_path: Path) -> None:
    with open(tmp_path / "f", "w+b") as file, open(tmp_path / "f", "rb") as readable:
        check_place(f"/dev/fd/{file.fileno()}")
        with replacing(f"/dev/fd/{file.fileno()}") as same:
            same.write(b"here")
        assert file.tell() == 4
        for number in (readable.fileno(), 987):
            with pytest.raises(Unwritable, match="Bad file descriptor"):
                check_place(f"/dev/fd/{number}")
