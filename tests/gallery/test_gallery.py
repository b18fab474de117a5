"""The ten formulations of docs/gallery: one problem in a spec, in Python, as an estimator and as CVXPY states it.

tests/docs runs the pages themselves, as a reader would who copies them.
"""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from primal_statements import STATEMENTS

import kdsl
from kdsl.algebra.evidence import verify
from kdsl.cli.main import main
from kdsl.pipeline import derive, read_spec

GALLERY = Path(__file__).resolve().parents[2] / "docs" / "gallery"
NAMES = sorted(path.stem for path in GALLERY.glob("*/*.kspec"))
LARGEST = 60_000  # bytes of a picture


def page(name: str) -> str:
    return (GALLERY / name / f"{name}.md").read_text(encoding="utf-8")


def blocks(name: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page(name), re.MULTILINE | re.DOTALL)


def solve_command(name: str) -> list[str]:
    """The words of the page's `kdsl solve`."""
    (command,) = re.findall(r"^\$ kdsl (solve .*)$", page(name), re.MULTILINE)
    return str(command).split()


@pytest.fixture
def copied(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a formulation, in a copy of whose folder the test is."""
    name = str(request.param)
    monkeypatch.chdir(shutil.copytree(GALLERY / name, tmp_path / name))
    monkeypatch.setenv("MPLBACKEND", "agg")
    return name


each = pytest.mark.parametrize("copied", NAMES, indirect=True)


def test_there_are_ten_and_all_are_on_the_index() -> None:
    index = (GALLERY / "README.md").read_text(encoding="utf-8")
    assert len(NAMES) == 10
    assert sorted(re.findall(r"\((\w+)/\1\.md\)", index)) == NAMES
    assert sorted(STATEMENTS) == NAMES


@each
def test_command_problem_estimator_and_cvxpy_agree(copied: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(solve_command(copied)) == 0
    loaded = kdsl.load_model(f"{copied}.kdsl")
    value = loaded.certificate.value
    assert loaded.header["status"] == "optimal" and loaded.header["backend"] == "engine"
    names: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()):
        for code in blocks(copied, "python"):
            exec(compile(code, f"{copied}.md", "exec"), names)
    problem = next(found for found in names.values() if isinstance(found, kdsl.Problem))
    within = 1e-8 * max(1.0, abs(value))
    assert problem.value == pytest.approx(value, abs=within)
    assert names["machine"].certificate_.value == pytest.approx(value, abs=within)
    assert problem.primal == read_spec(f"{copied}.kspec").primal
    assert value == pytest.approx(STATEMENTS[copied](Path()), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_the_page_prints_the_spec(name: str) -> None:
    text = (GALLERY / name / f"{name}.kspec").read_text(encoding="utf-8")
    assert blocks(name, "kspec") == [re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)]
    assert main(["fmt", "--check", str(GALLERY / name / f"{name}.kspec")]) == 0


@pytest.mark.parametrize("name", NAMES)
def test_the_derivation_stands_up_to_evidence(name: str) -> None:
    evidence = verify(derive(read_spec(GALLERY / name / f"{name}.kspec")), instances=1)
    assert evidence.passed
    assert [check.times for check in evidence.checks] == [1, 1, 1]


@each
def test_the_data_are_what_their_script_writes(copied: str) -> None:
    shipped = {path.name: path.read_bytes() for path in Path().glob("*.csv")}
    for name in shipped:
        Path(name).unlink()
    runpy.run_path("make_data.py", run_name="__main__")
    assert {path.name: path.read_bytes() for path in Path().glob("*.csv")} == shipped


@pytest.mark.parametrize("name", NAMES)
def test_the_picture_is_small_and_as_wide_as_columns_are(name: str) -> None:
    path = GALLERY / name / f"{name}.png"
    assert path.stat().st_size <= LARGEST
    with Image.open(path) as picture:
        assert picture.width in (990, 2070)


def fitted(name: str) -> kdsl.Solution:
    """The solution of a page's command."""
    words = solve_command(name)
    positive = words[words.index("--positive") + 1] if "--positive" in words else None
    first, *others = (word for option, word in pairwise(words) if option == "--data")
    data = {"": first, **dict(word.split(":") for word in others)}
    further = {} if positive is None else {"positive": positive}
    return kdsl.solve(f"{name}.kspec", data, tol=1e-9, **further)


@pytest.mark.parametrize("copied", ["pinball_monotone"], indirect=True)
def test_the_quantile_rises_where_the_free_one_falls(copied: str) -> None:
    ages = np.linspace(0, 6, 31)[:, None]
    held = fitted(copied)
    free = kdsl.solve("loss_pinball", "growth.csv", {"tau": 0.9, "lambda": 1.0})
    assert np.diff(held.predict(ages)).min() > -1e-7
    assert np.diff(free.predict(ages)).min() < -1e-3
    table = pd.read_csv("growth.csv")
    assert np.mean(table["y"] <= held.predict(table[["age"]].to_numpy()) + 1e-7) == pytest.approx(0.9, abs=0.05)


@pytest.mark.parametrize("copied", ["one_class_labelled"], indirect=True)
def test_labelled_outliers_are_kept_out(copied: str) -> None:
    table = pd.read_csv("parts.csv")
    defective = table.loc[table["y"] == -1, ["width", "height"]].to_numpy()
    assert (fitted(copied).predict(defective) > 0).all()
    assert (kdsl.solve("sphere_nu", {"x": table[["width", "height"]].to_numpy()}).predict(defective) < 0).sum() >= 5


@pytest.mark.parametrize("copied", ["rank_ties"], indirect=True)
def test_ties_draw_scores_together(copied: str) -> None:
    table = pd.read_csv("wines.csv")
    points = table[["sugar", "acid"]].to_numpy()
    text = Path("rank_ties.kspec").read_text(encoding="utf-8")
    for part in (
        ", (p, q) in 1..l x 1..l where y[p] = y[q], p != q",
        ", eta[p, q] : real >= 0",
        " + sum[p, q] eta[p, q]^2",
    ):
        text = text.replace(part, "")
    untied = kdsl.solve(kdsl.parse_spec(re.sub(r"^ *tied.*\n", "", text, flags=re.MULTILINE)), "wines.csv")

    def spread(solution: kdsl.Solution) -> float:
        """The variance of the scores within marks as a share of the whole."""
        scores = pd.Series(solution.predict(points))
        return float((scores - scores.groupby(table["y"]).transform("mean")).var() / scores.var())

    assert spread(fitted(copied)) < 0.9 * spread(untied)


@pytest.mark.parametrize("copied", ["fair_classifier"], indirect=True)
def test_the_covariance_is_bounded_where_it_was_not(copied: str) -> None:
    table = pd.read_csv("loans.csv")
    points, attribute = table[["income", "years"]].to_numpy(), table["a"].to_numpy()
    unbounded = kdsl.solve("fair_classifier.kspec", "loans.csv", {"c": 1.0}, positive="repaid")
    assert abs(attribute @ fitted(copied).decision(points)) / len(table) == pytest.approx(0.05, abs=1e-8)
    assert abs(attribute @ unbounded.decision(points)) / len(table) > 0.2
