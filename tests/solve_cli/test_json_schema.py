"""docs/schema/solve-1.json describes what `kdsl solve --json` prints, whatever the end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli_runs import write_table
from command_runs import kdsl

jsonschema = pytest.importorskip("jsonschema")


@pytest.fixture(scope="module")
def schema(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((root / "docs" / "schema" / "solve-1.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(found)
    return found


@pytest.mark.parametrize(
    ("options", "status"),
    [
        (["svm_1norm"], "optimal"),
        (["svm_1norm", "--max-iterations", "1"], "user_limit"),
        (["svm_1norm", "--kernel", "k = sigmoid(gamma = 0.3)"], "error"),
        (["svm_1norm", "--kernel", "k = sigmoid(gamma = 0.3)", "--psd", "shift"], "optimal"),
        (["svm_hard", "--kernel", "k = linear"], "infeasible"),
        (["svm_nu_sum", "-D", "nu=1"], "unbounded"),
        (["ridge", "--target", "u", "--features", "v"], "optimal"),
        (["sphere_soft", "--features", "u,v"], "optimal"),
        (["svm_1norm", "-D", "C=-1"], "error"),
    ],
)
def test_every_end_has_the_shape(options: list[str], status: str, schema: dict[str, Any], tmp_path: Path) -> None:
    """Seven points of one class and five of the other, in each other's way."""
    u = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 0.5, 1.5, 2.5, 3.5, 4.5, 2.2]
    columns = {"u": u, "v": [x * x % 3 for x in u], "y": [1, 1, -1, 1, -1, 1, 1, -1, 1, -1, -1, 1]}
    table = write_table(tmp_path / "t.csv", columns)
    outcome = kdsl("solve", options[0], "--data", table, *options[1:], "--json")
    assert outcome.json["status"] == status, outcome.out
    jsonschema.Draft202012Validator(schema).validate(outcome.json)
