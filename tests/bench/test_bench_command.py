"""`kdsl bench`: its quick look runs kdsl and every peer that is installed, and judges every answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kdsl.bench.peers import contenders, version
from kdsl.bench.problems import Task
from kdsl.cli.main import main


def bench(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[dict[str, Any]], str]:
    code = main(["bench", *arguments, "--quick", "--json", "--budget", "120", "--repeat", "1"])
    said = capsys.readouterr()
    return code, json.loads(said.out), said.err


def test_a_quick_look_at_the_engine(capsys: pytest.CaptureFixture[str]) -> None:
    code, (group,), told = bench(capsys, "engine", "--only", "C=1,")
    assert code == 0 and group["group"] == "engine" and group["machine"]["gflops"] > 0
    (row,) = group["rows"]
    assert row["name"] == "C-SVC C=1, two Gaussians d=10, l=400" and row["name"] in told
    own, *peers = row["entries"]
    assert own["name"] == "kdsl" and own["outcome"] == "passed" and own["gap"] <= 1.01e-3
    assert own["facts"]["entries"] > 0 and {"read", "lower", "solve", "certify"} <= set(own["facts"])
    expected = [c for c in contenders()[1:] if c.accepts(Task("c-svc", "two Gaussians", 400, 10), 1e-3)]
    assert [entry["name"] for entry in peers] == [contender.name for contender in expected]
    for entry, contender in zip(peers, expected, strict=True):
        assert (entry["outcome"] == "not installed") == (version(contender) is None)
        assert entry["outcome"] != "passed" or entry["gap"] <= 1.01e-3
    sklearn = next(entry for entry in peers if entry["name"] == "scikit-learn")
    assert sklearn["outcome"] == "passed" and abs(sklearn["facts"]["support"] - own["facts"]["support"]) <= 5
    assert {ratio["against"] for ratio in row["ratios"]} == {"scikit-learn", "best peer"}
    assert all(ratio["target"] is None and ratio["ratio"] > 0 for ratio in row["ratios"])


@pytest.mark.parametrize(("group", "measure"), [("path", "kkt_gap"), ("predict", "error"), ("linear", "rel_gap")])
def test_a_quick_look_at_the_other_groups(capsys: pytest.CaptureFixture[str], group: str, measure: str) -> None:
    code, (listing,), _ = bench(capsys, group)
    assert code == 0
    for row in listing["rows"]:
        own, *peers = row["entries"]
        assert row["measure"] == measure and own["outcome"] == "passed" and own["gap"] <= 1.01 * row["tolerance"]
        assert "passed" in [entry["outcome"] for entry in peers]


def test_a_quick_look_at_quadratic_programs(capsys: pytest.CaptureFixture[str]) -> None:
    code, (listing,), _ = bench(capsys, "qp", "--only", "random")
    assert code == 0 and [row["name"] for row in listing["rows"]] == ["random, dense", "random, sparse"]
    gaps = [entry["gap"] for row in listing["rows"] for entry in row["entries"] if entry["outcome"] == "passed"]
    assert len(gaps) >= 4 and max(gaps) <= 1.01e-6


def test_results_are_written_where_they_belong_or_not_at_all(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["bench", "engine", "--write", "--quick"]) == 2
    assert "without --quick" in capsys.readouterr().err
    assert main(["bench", "engine", "--write", "--budget", "0.001"]) == 4
    (tmp_path / "benchmarks").mkdir()
    assert main(["bench", "engine", "--write", "--budget", "0.001"]) == 0
    written = (tmp_path / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    assert written.startswith("# Results") and "## engine" in written and "it does not fit in the budget" in written
    assert main(["bench", "--only", "no such row"]) == 2
