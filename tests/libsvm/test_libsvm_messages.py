"""Every message about LIBSVM's files has its exact text in tests/libsvm/expected and on the page of its code."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from libsvm_peer import write_svmlight

from kdsl.cli.main import main
from kdsl.solving.api import solve

EXPECTED = Path(__file__).parent / "expected"
X = np.array([[0.0, 1.0], [1.0, 0.5], [2.0, 0.0], [3.0, 2.0], [0.5, -1.0], [1.5, 1.5]])
TINY = (
    "svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 2\nrho 0\nlabel 1 2\nnr_sv 1 1\nSV\n0.5 1:1\n-0.5 1:-1\n"
)
CROSSED = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])


def cut_short() -> Sequence[str]:
    Path("heart.model").write_text(
        "svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 2\nrho 0\nlabel 1 2\nnr_sv 1 1\nSV\n1 1:1\n"
    )
    Path("points.svm").write_text("1 1:1\n")
    return ("libsvm", "predict", "heart.model", "points.svm")


def table() -> Sequence[str]:
    Path("points.csv").write_text("a,b\n1,2\n")
    return ("libsvm", "points.csv")


def words_as_labels() -> Sequence[str]:
    solve("svm_1norm", {"x": X, "y": ["no", "yes", "no", "yes", "no", "yes"]}).save("m.kdsl")
    return ("export-libsvm", "m.kdsl")


def validation() -> Sequence[str]:
    return ("libsvm", "-v", "5", "points.svm")


def fractions() -> Sequence[str]:
    write_svmlight(Path("points.svm"), X, [1, 1.5, 2, 1, 2, 2])
    return ("libsvm", "points.svm")


def crossed() -> Sequence[str]:
    write_svmlight(Path("points.svm"), CROSSED, [1, 1, 2, 2])
    return ("libsvm", "-s", "1", "-t", "0", "points.svm")


def uncertified() -> Sequence[str]:
    Path("heart.model").write_text(TINY)
    assert main(["import-libsvm", "heart.model", "-o", "heart.kdsl"]) == 0
    Path("heart.svm").write_text("1 1:1\n2 1:-1\n")
    return ("verify", "heart.kdsl", "--data", "heart.svm")


def alone() -> Sequence[str]:
    Path("one.model").write_text(
        "svm_type c_svc\nkernel_type linear\nnr_class 1\ntotal_sv 0\nrho\nlabel 9\nnr_sv 0\nSV\n"
    )
    return ("import-libsvm", "one.model", "-o", "one.kdsl")


def elsewhere() -> Sequence[str]:
    Path("heart.model").write_text(TINY)
    Path("heart.svm").write_text("1 1:1\n2 1:-2\n")
    return ("import-libsvm", "heart.model", "--data", "heart.svm", "-o", "heart.kdsl")


CASES: dict[str, Callable[[], Sequence[str]]] = {
    "K670": cut_short,
    "K671": table,
    "K672": words_as_labels,
    "K673": validation,
    "K674": fractions,
    "K675": crossed,
    "K676": uncertified,
    "K677": alone,
    "K678": elsewhere,
}


@pytest.mark.parametrize("code", CASES)
def test_the_text_of_a_message(
    code: str, root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """KDSL_UPDATE_GOLDEN writes the expected texts."""
    monkeypatch.chdir(tmp_path)
    command = CASES[code]()
    capsys.readouterr()
    assert main(list(command)) in (1, 2, 3)
    found = capsys.readouterr().err
    path = EXPECTED / f"{code}.txt"
    if os.environ.get("KDSL_UPDATE_GOLDEN"):
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8")
    assert found.startswith(f"error[{code}]: ")
    page = (root / "docs" / "diagnostics" / f"{code}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {code}: ")
    assert "## What to do" in page
    assert re.findall(r"```text\n(.*?)```", page, re.DOTALL) == [found]


def test_every_code_has_a_case(root: Path) -> None:
    sources = [
        root / "kdsl" / "models" / "verification.py",
        *(root / "kdsl" / "libsvm").glob("*.py"),
        *(root / "kdsl" / "cli" / "verbs").glob("*libsvm.py"),
    ]
    assert {code for path in sources for code in re.findall(r"\bK67\d\b", path.read_text())} == set(CASES)
