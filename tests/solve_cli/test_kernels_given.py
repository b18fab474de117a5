"""Kernels given on the command line: with helpers of their own, in Python, and far out of range."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_runs import solved
from command_runs import kdsl

ROWS = "".join(f"{n % 7},{n % 3},{1 if n % 2 else -1}\n" for n in range(12))
PYTHON = """import numpy as np

def mine(X, Z):
    return np.exp(-0.5 * ((X[:, None] - Z[None]) ** 2).sum(-1))

def fails(X, Z):
    return 1 / 0
"""


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("u,v,y\n" + ROWS)
    Path("k.py").write_text(PYTHON)
    return "t.csv"


def test_a_normalised_kernel_brings_the_kernel_that_it_normalises(table: str) -> None:
    given = "k = normalized(of = q), q = poly(degree = 2)"
    entry = solved("svm_1norm", "--data", table, "--kernel", given, "-o", "m.kdsl")
    assert entry["status"] == "optimal"
    assert "normalized((<x, z> + 1)^2)" in kdsl("show", "m.kdsl").out
    assert kdsl("verify", "m.kdsl", "--data", table).code == 0
    assert kdsl("predict", "m.kdsl", table).code == 0


def test_a_helper_may_not_take_the_name_of_another(table: str) -> None:
    outcome = kdsl("solve", "svm_1norm", "--data", table, "--kernel", "k = linear, k = rbf")
    assert outcome.code == 1 and "error[K560]: there is a kernel `k` already" in outcome.err


@pytest.mark.parametrize(
    ("content", "function", "code", "word"),
    [
        (PYTHON, "fails", 1, "K564]: the Python function `fails` failed: ZeroDivisionError: division by zero"),
        (PYTHON, "fails", 1, "`user.py`, line 7"),
        ("def f(:\n", "f", 1, "K564]: `user.py` cannot be run: SyntaxError"),
        ("x = 1\nimport nowhere_to_be_found\n", "f", 1, "`user.py`, line 2"),
        (PYTHON, "minne", 1, "did you mean `mine`?"),
        (None, "f", 4, "K501]: there is no file `user.py`"),
    ],
)
def test_what_fails_in_a_users_file_is_said_to_be_there(
    content: str | None, function: str, code: int, word: str, table: str
) -> None:
    if content is not None:
        Path("user.py").write_text(content)
    outcome = kdsl("solve", "svm_1norm", "--data", table, "--kernel", f"k = user.py:{function}", "--allow-python")
    assert outcome.code == code and word in outcome.err


def test_a_model_with_a_python_kernel_is_shown_without_its_code(table: str) -> None:
    solved("svm_1norm", "--data", table, "--kernel", "k = k.py:mine", "--allow-python", "-o", "m.kdsl")
    shown = kdsl("show", "m.kdsl")
    assert shown.code == 0 and "a Python function" in shown.out
    assert kdsl("show", "m.kdsl", "--spec").out.startswith("#")
    assert "K569" in kdsl("predict", "m.kdsl", table).err
    assert "K569" in kdsl("verify", "m.kdsl", "--data", table).err


def test_a_part_of_a_kernel_in_python_is_shown_without_its_code(table: str, root: Path) -> None:
    spec = (root / "specs" / "svm_1norm.kspec").read_text(encoding="utf-8")
    Path("part.kspec").write_text(spec.replace("kernel k =", "kernel q = linear, k = 2 * q +"), encoding="utf-8")
    solved("part.kspec", "--data", table, "--kernel", "q = k.py:mine", "--allow-python", "-o", "m.kdsl")
    shown = kdsl("show", "m.kdsl")
    assert shown.code == 0 and "a Python function" in shown.out
    assert "K569" in kdsl("predict", "m.kdsl", table).err


@pytest.mark.parametrize(
    ("kernel", "code"),
    [
        ("1e400 * linear", "K562"),
        ("rbf(gamma = 1e400)", "K562"),
        ("rbf(sigma = 1e-200)", "K562"),
        ("rbf(sigma = 1e200)", "K562"),
        ("poly(degree = 100000000000)", "K562"),
        ("poly(degree = 1000)", "K576"),
        ("poly(coef0 = 1e200)", "K576"),
        ("1e300 * linear", "K576"),
    ],
)
def test_numbers_that_no_float_holds(kernel: str, code: str, table: str) -> None:
    outcome = kdsl("solve", "svm_1norm", "--data", table, "--kernel", f"k = {kernel}")
    assert outcome.code == 1 and f"error[{code}]" in outcome.err
