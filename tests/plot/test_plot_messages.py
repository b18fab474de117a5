"""Every refusal of a picture has its exact text on the page of its code."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest
from drawn_problems import censored, curve, data_for, points, solved

from kdsl import plot
from kdsl.cli.main import main
from kdsl.language.diagnostics import Diagnostic, KdslError
from kdsl.pipeline import parse_spec
from kdsl.solving.api import solve

WEIGHTED_TUBE = """model weighted_tube
index  i in 1..l
data   x[i] : input, y[i] : real, width[i] : real >= 0, s[i] : real >= 0
kernel k = linear
var    w : H(k), b : real
let    f(t) = <w, phi(t)> + b
minimize 1/2 ||w||^2 + sum[i] s[i] * eps_insensitive(y[i] - f(x[i]); width[i])
predict value(t) = f(t)
"""
BETWEEN = """model between "a response known only to lie between two numbers"
index  i in 1..l
data   x[i] : input, low[i] : real, high[i] : real
kernel k = linear
var    w : H(k), b : real, xi[i] : real >= 0
minimize 1/2 ||w||^2 + sum[i] xi[i]
subject to
  inside[i]: 2 * (<w, phi(x[i])> + b) <= low[i] + high[i] + xi[i]
predict value(t) = <w, phi(t)> + b
"""
LEVELS = """model levels
index  i in 1..l, h in 1..m
data   x[i] : input, y[i] : real, tau[h] : in (0, 1)
kernel k = linear
var    w[h] : H(k)
minimize 1/2 * sum[h] ||w[h]||^2 + sum[i, h] pinball(y[i] - <w[h], phi(x[i])>; tau[h])
predict value(t, h) = <w[h], phi(t)>
"""
UNSET = """model unset
index  i in 1..l
data   x[i] : input, y[i] : real
param  tau : in (0, 1)
kernel k = linear
var    w : H(k)
minimize 1/2 ||w||^2 + sum[i] pinball(y[i] - <w, phi(x[i])>; tau)
predict value(t) = <w, phi(t)>
"""


def refusal(action: Callable[[], object]) -> tuple[Diagnostic, ...]:
    with pytest.raises(KdslError) as error:
        action()
    return error.value.diagnostics


def no_matplotlib() -> tuple[Diagnostic, ...]:
    with pytest.MonkeyPatch.context() as patch:
        for name in [n for n in sys.modules if n.partition(".")[0] == "matplotlib"]:
            patch.delitem(sys.modules, name)
        patch.setattr(sys, "meta_path", [Missing(), *sys.meta_path])
        return refusal(lambda: plot.decision(solved("svm_1norm")))


class Missing:
    """A finder for which there is no matplotlib."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.partition(".")[0] == "matplotlib":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def other_kind() -> tuple[Diagnostic, ...]:
    x = points()
    classes = solve("multiclass_delta", {"x": x, "y": np.arange(40) % 3, "delta": 1.0 - np.eye(3)})
    many = solve("multiclass_delta", {"x": x[:14], "y": np.arange(14) % 7, "delta": 1.0 - np.eye(7)})
    return (
        *refusal(lambda: plot.tube(solved("svm_1norm"))),
        *refusal(lambda: plot.decision(curve())),
        *refusal(lambda: plot.novelty(curve())),
        *refusal(lambda: plot.tube(classes)),
        *refusal(lambda: plot.decision(many)),
    )


def features() -> tuple[Diagnostic, ...]:
    x = np.column_stack([points(), points()[:, :1] ** 2])
    three = solve("svm_1norm", {"x": x, "y": data_for("svm_1norm")["y"]})
    one = solve("svm_1norm", {"x": x[:, :1], "y": data_for("svm_1norm")["y"]})
    return (
        *refusal(lambda: plot.decision(three)),
        *refusal(lambda: plot.decision(three, ("x1", "y1"))),
        *refusal(lambda: plot.decision(three, ("x1", "x1"))),
        *refusal(lambda: plot.decision(one)),
        *refusal(lambda: plot.tube(solved("ridge"))),
        *refusal(lambda: plot.margins(three, columns=3)),
    )


def no_margin() -> tuple[Diagnostic, ...]:
    x = points()
    data = {"x": x, "low": x[:, 0] - 1, "high": x[:, 0] + 1}
    tubes = {"x": x, "y": np.sin(x[:, 0]), "width": 0.1 + 0.1 * np.abs(x[:, 1]), "s": np.ones(40)}
    classes = solve("multiclass_delta", {"x": x, "y": np.arange(40) % 3, "delta": 1.0 - np.eye(3)})
    return (
        *refusal(lambda: plot.margins(classes)),
        *refusal(lambda: plot.margins(solve(parse_spec(BETWEEN), data))),
        *refusal(lambda: plot.margins(censored())),
        *refusal(lambda: plot.margins(solve(parse_spec(WEIGHTED_TUBE), tubes))),
        *refusal(lambda: plot.margins(solve(parse_spec(LEVELS), {"x": x, "y": x[:, 0], "tau": [0.1, 0.9]}))),
    )


def too_fast() -> tuple[Diagnostic, ...]:
    once = plot.Record()
    once(64, 0.5)
    return (*refusal(lambda: plot.gap(plot.Record())), *refusal(lambda: plot.gap(once)))


def no_points() -> tuple[Diagnostic, ...]:
    x = points()
    gram = x @ x.T
    own = solve("svm_1norm", {"x": gram, "y": data_for("svm_1norm")["y"]}, kernels={"k": "precomputed"})
    groups = {"x": x, "y": data_for("svm_1norm")["y"], "group": np.where(x[:, 1] > 0, "north", "south")}
    pairs = {"lo": x[:2], "hi": x[2:4]}
    grouped = solve("monotone_groups", {**groups, **pairs}, kernels={"k": "linear"})
    return (
        *refusal(lambda: plot.decision(own)),
        *refusal(lambda: plot.decision(grouped)),
        *refusal(lambda: plot.decision(grouped, at={"g": "nord"})),
        *refusal(lambda: plot.decision(solved("svm_1norm"), at={"g": "north"})),
    )


def no_loss() -> tuple[Diagnostic, ...]:
    return (
        *refusal(lambda: plot.loss("svm_1norm")),
        *refusal(lambda: plot.loss("loss_hinge", term="hinges")),
        *refusal(lambda: plot.loss("loss_pinball", {"taw": 0.5})),
        *refusal(lambda: plot.loss(parse_spec(UNSET))),
        *refusal(lambda: plot.loss(parse_spec(WEIGHTED_TUBE))),
    )


def no_format() -> tuple[Diagnostic, ...]:
    figure = plot.loss("loss_hinge")
    return (
        *refusal(lambda: plot.save(figure, "picture.jpg")),
        *refusal(lambda: plot.save(figure, "picture")),
    )


CASES: dict[str, Callable[[], tuple[Diagnostic, ...]]] = {
    "K660": no_matplotlib,
    "K661": other_kind,
    "K662": features,
    "K663": no_margin,
    "K664": too_fast,
    "K665": no_points,
    "K666": no_loss,
    "K667": no_format,
}


def written(diagnostic: Diagnostic) -> str:
    lines = [f"{diagnostic.severity}[{diagnostic.code}]: {diagnostic.message}"]
    lines += [f"  = {word}: {text}" for word, text in (("why", diagnostic.why), ("help", diagnostic.help)) if text]
    return "\n".join(lines) + "\n"


def blocks(page: str) -> str:
    return "".join(re.findall(r"```text\n(.*?)```", page, re.DOTALL))


def distinct(found: Iterable[Diagnostic]) -> str:
    return "\n".join(map(written, found))


@pytest.mark.parametrize("code", CASES)
def test_the_page_shows_the_messages(code: str, root: Path) -> None:
    found = CASES[code]()
    assert {diagnostic.code for diagnostic in found} == {code}
    if os.environ.get("KDSL_SHOW"):
        print(distinct(found))
    page = (root / "docs" / "diagnostics" / f"{code}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {code}: ")
    assert "## What to do" in page
    assert blocks(page) == distinct(found)


def test_a_picture_of_examples_needs_their_data(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """K668: what only the command line can ask for."""
    monkeypatch.chdir(tmp_path)
    solved("svm_1norm").save("model.kdsl")
    shown = ""
    for words in (["decision", "svm_1norm"], ["gap", "model.kdsl"], ["loss", "model.kdsl"]):
        assert main(["plot", *words]) == 2
        shown += ("\n" if shown else "") + capsys.readouterr().err
    if os.environ.get("KDSL_SHOW"):
        print(shown)
    page = (root / "docs" / "diagnostics" / "K668.md").read_text(encoding="utf-8")
    assert page.startswith("# K668: ")
    assert blocks(page) == shown


def test_every_code_of_the_pictures_has_a_case(root: Path) -> None:
    sources = [*(root / "kdsl" / "plot").glob("*.py"), root / "kdsl" / "cli" / "verbs" / "plot.py"]
    raised = {code for path in sources for code in re.findall(r'"(K6[67]\d)"', path.read_text(encoding="utf-8"))}
    assert raised == {*CASES, "K668"}
