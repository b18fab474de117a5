"""Every shipped spec goes the whole way from CSV files: solve, save, verify, predict, show."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from cli_runs import write_table
from command_runs import Outcome, kdsl

from kdsl import resources
from kdsl.language.model import Datum, Model
from kdsl.solving.api import read_model

EXAMPLES, PAIRS = 30, 5


def tables_for(model: Model, folder: Path) -> list[str]:
    """`--data` options for tables with everything that the model asks for."""
    random = np.random.default_rng(7)
    x = random.normal(size=(EXAMPLES, 2))
    response = x[:, 0] + 0.7 * np.sin(2 * x[:, 1]) + 0.2 * random.normal(size=EXAMPLES)
    examples: dict[str, object] = {"u": x[:, 0], "v": x[:, 1]}
    pairs: dict[str, object] = {}
    options = []
    for datum in model.data:
        if datum.kind == "input" and datum.sets[0].size != "l":
            pairs[f"{datum.name}.u"], pairs[f"{datum.name}.v"] = random.normal(size=(2, PAIRS))
        elif len(datum.sets) == 2 and datum.sets[0].labelled:
            costs = write_table(
                folder / "costs.csv", {"of": ["a", "b", "c"], "a": [0, 1, 2], "b": [1, 0, 1], "c": [2, 1, 0]}
            )
            options += ["--data", f"{datum.name}:{costs}"]
        elif datum.kind != "input" and len(datum.sets) == 1:
            examples[datum.name] = column_for(datum, response, random)
    options += ["--data", str(write_table(folder / "train.csv", examples))]  # type: ignore[arg-type]
    if pairs:
        options += ["--data", f"j:{write_table(folder / 'pairs.csv', pairs)}"]  # type: ignore[arg-type]
    return options


def column_for(datum: Datum, response: np.ndarray, random: np.random.Generator) -> object:
    if datum.kind == "finite":
        return list(np.where(response > 0, "yes", "no"))
    if datum.kind == "set" and datum.labels is not None and datum.labels.size == "classes":
        return list(np.array(["a", "b", "c"])[np.digitize(response, [-0.5, 0.5])])
    if datum.kind == "set":
        return list(np.array(["north", "south"])[random.integers(0, 2, EXAMPLES)])
    if datum.name == "q":
        return list(np.arange(EXAMPLES) % 6)
    return response if datum.name == "y" else random.uniform(0.5, 2.0, EXAMPLES)


@pytest.mark.parametrize("name", resources.spec_names())
def test_the_whole_way(name: str, tmp_path: Path) -> None:
    model = read_model(name)
    data = tables_for(model, tmp_path)
    kernels = [word for kernel in model.kernels for word in ("--kernel", f"{kernel.name} = rbf(gamma = 0.5)")]
    saved = tmp_path / "model.kdsl"
    outcome = kdsl("solve", name, *data, *kernels, "-o", saved, "--json")
    assert outcome.code == 0, outcome.out + outcome.err
    entry = outcome.json
    assert entry["status"] == "optimal"
    assert entry["rel_gap"] <= 1e-6
    verified = kdsl("verify", saved, *data)
    assert verified.code == 0, verified.out + verified.err
    shown = kdsl("show", saved)
    assert f"model       {name}" in shown.out or f" {name}" in shown.out.splitlines()[0]
    assert kdsl("show", saved, "--spec").out == Path(resources.spec_path(name) or "").read_text(encoding="utf-8")
    if model.predictions:
        check_predictions(model, kdsl("predict", saved, tmp_path / "train.csv", "--decision"))


def check_predictions(model: Model, outcome: Outcome) -> None:
    assert outcome.code == 0, outcome.err
    header, *rows = csv.reader(io.StringIO(outcome.out))
    assert header[0] == model.predictions[0].kind
    assert len(rows) == EXAMPLES
    words = {"label": {"yes", "no"}, "class": {"a", "b", "c"}}.get(header[0])
    decisions = np.array([[float(cell) for cell in row[1:]] for row in rows])
    assert np.isfinite(decisions).all()
    if words is not None:
        assert {row[0] for row in rows} <= words
    if header[0] == "label":
        assert [row[0] for row in rows] == list(np.where(decisions[:, 0] >= 0, "yes", "no"))
    if header[0] == "class":
        assert [row[0] for row in rows] == [header[1 + best].split(".")[1] for best in decisions.argmax(axis=1)]
