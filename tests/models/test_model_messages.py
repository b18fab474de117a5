"""Every message about model files has its exact text on the page of its code."""

from __future__ import annotations

import os
import re
from argparse import Namespace
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest
from saved_models import rewrite, small_solution, two_classes

from kdsl.binding.reading import read_table
from kdsl.binding.table import Table
from kdsl.cli.places import check_own, check_places
from kdsl.language.diagnostics import Diagnostic, KdslError
from kdsl.models.model_file import load_model
from kdsl.models.verification import verify_model
from kdsl.pipeline import parse_spec
from kdsl.solving.api import solve
from kdsl.whole_file import KEPT, Unwritable

SILENT = """model silent
index  i in 1..l
data   x[i] : input, y[i] : {-1, 1}
kernel k = linear
var    w : H(k), xi[i] : real >= 0
minimize 1/2 ||w||^2 + sum[i] xi[i]
subject to
  margin[i]: y[i] * <w, phi(x[i])> >= 1 - xi[i]
"""
QUANTILES = """model quantiles
index  i in 1..l, h in 1..m
data   x[i] : input, y[i] : real, tau[h] : in (0, 1)
kernel k = linear
var    w[h] : H(k), b[h] : real
minimize 1/2 * sum[h] ||w[h]||^2 + sum[i, h] pinball(y[i] - <w[h], phi(x[i])> - b[h]; tau[h])
predict value(t, h) = <w[h], phi(t)> + b[h]
"""


def refusal(action: Callable[[], object]) -> tuple[Diagnostic, ...]:
    with pytest.raises(KdslError) as error:
        action()
    return error.value.diagnostics


def no_clause() -> tuple[Diagnostic, ...]:
    solution = solve(parse_spec(SILENT), two_classes())
    clauses = "predict label(t) = sign(<w, phi(t)>)\npredict value(t) = <w, phi(t)>\n"
    telling = solve(parse_spec(SILENT + clauses), two_classes())
    bare = solve(parse_spec("model bare\nvar b : real\nminimize b^2 - 2*b\npredict value(t) = b\n"), {})
    return (
        *refusal(lambda: solution.predict(np.zeros((1, 2)))),
        *refusal(lambda: telling.predict(np.zeros((1, 2)), clause="probability")),
        *refusal(lambda: bare.predict(np.zeros((1, 2)))),
    )


def groups() -> tuple[Diagnostic, ...]:
    x = np.array([[0.0, 1.0], [1.0, 0.5], [2.0, 0.0], [3.0, 2.0]])
    data = {
        "x": x,
        "y": [-1.0, -1.0, 1.0, 1.0],
        "group": ["north", "south", "north", "south"],
        "lo": x[:1],
        "hi": x[1:2],
    }
    solution = solve("monotone_groups", data, kernels={"k": "linear"})
    table = Table("new.csv", ("x1", "x2"), x, {}, ("x1", "x2"))
    quantiles = solve(parse_spec(QUANTILES), {"x": x, "y": x[:, 0], "tau": [0.1, 0.5, 0.9]})
    return (
        *refusal(lambda: solution.predict(x)),
        *refusal(lambda: solution.predict(x, {"g": ["north", "north", "nord", "south"]})),
        *refusal(lambda: solution.fitted.from_table(table)),
        *refusal(lambda: solution.fitted.from_table(read_npz(x=x))),
        *refusal(lambda: solution.fitted.from_table(read_npz(x=x, group=np.array(["north"])))),
        *refusal(lambda: solution.predict(x, {"g": ["north"]})),
        *refusal(lambda: solution.predict(x, {"g": "north"})),
        *refusal(lambda: quantiles.predict(x)),
        *refusal(lambda: quantiles.predict(x, {"h": [1, 2, 4, 3]})),
    )


def read_npz(**arrays: np.ndarray) -> Table:
    np.savez("new.npz", **arrays)
    return read_table("new.npz")


def lost_places() -> tuple[Diagnostic, ...]:
    for name in ("mine.kspec", "train.csv"):
        Path(name).touch()
    Path("link.csv").symlink_to("train.csv")
    given = (
        Namespace(spec="mine.kspec", data=["train.csv"], output="mine.kspec"),
        Namespace(spec="mine.kspec", data=["i:train.csv"], output="link.csv"),
        Namespace(spec="mine.kspec", data=["train.csv"], output="model.kdsl", report="./model.kdsl"),
        Namespace(model="m.kdsl", output="-"),
    )
    places = [refusal(lambda told=arguments: check_places(told)) for arguments in given]
    return tuple(found for each in (*places, refusal(lambda: check_own("svm_1norm"))) for found in each)


def full_disk() -> tuple[Diagnostic, ...]:
    return Unwritable(28, "model.kdsl", KEPT).diagnostics


def not_a_model() -> tuple[Diagnostic, ...]:
    Path("notes.txt").write_text("y,x\n1,2\n")
    return refusal(lambda: load_model("notes.txt"))


def newer() -> tuple[Diagnostic, ...]:
    small_solution().save("model.kdsl")
    content = Path("model.kdsl").read_bytes()
    Path("model.kdsl").write_bytes(content.replace(b"kdsl-model 1", b"kdsl-model 2", 1))
    return refusal(lambda: load_model("model.kdsl"))


def cut_short() -> tuple[Diagnostic, ...]:
    small_solution().save("model.kdsl")
    content = Path("model.kdsl").read_bytes()
    found: tuple[Diagnostic, ...] = ()
    header = content.index(b"\n{") + 1
    for size in (40, header + 1000):
        Path("model.kdsl").write_bytes(content[:size])
        found += refusal(lambda: load_model("model.kdsl"))
    return found


def damaged() -> tuple[Diagnostic, ...]:
    small_solution().save("model.kdsl")
    content = Path("model.kdsl").read_bytes()
    Path("model.kdsl").write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    found = refusal(lambda: load_model("model.kdsl"))
    Path("model.kdsl").write_bytes(content.replace(b'"arrays"', b'"arays" ', 1))
    found += refusal(lambda: load_model("model.kdsl"))
    Path("model.kdsl").write_bytes(content)
    rewrite(Path("model.kdsl"), lambda header, arrays: header.pop("vectors"))
    return found + refusal(lambda: load_model("model.kdsl"))


def other_data() -> tuple[Diagnostic, ...]:
    small_solution().save("model.kdsl")
    others = verify_model("model.kdsl", two_classes(n=20)).findings
    Path("other.csv").write_text("age,income\n30,1\n40,2\n")
    return (*others, *verify_model("model.kdsl", "other.csv").findings)


def moved_figure() -> tuple[Diagnostic, ...]:
    small_solution().save("model.kdsl")
    rewrite(Path("model.kdsl"), lambda header, arrays: header["scalars"].update(b=0.25))
    return verify_model("model.kdsl", two_classes()).findings


def unfinished() -> tuple[Diagnostic, ...]:
    small_solution(max_iterations=1).save("model.kdsl")
    doubt = load_model("model.kdsl").doubt
    assert doubt is not None
    return (doubt,)


CASES: dict[str, Callable[[], tuple[Diagnostic, ...]]] = {
    "K650": no_clause,
    "K651": groups,
    "K652": not_a_model,
    "K653": newer,
    "K654": cut_short,
    "K655": damaged,
    "K656": other_data,
    "K657": moved_figure,
    "K658": full_disk,
    "K659": lost_places,
    "K679": unfinished,
}


def written(diagnostic: Diagnostic) -> str:
    lines = [f"{diagnostic.severity}[{diagnostic.code}]: {diagnostic.message}"]
    lines += [f"  = {word}: {text}" for word, text in (("why", diagnostic.why), ("help", diagnostic.help)) if text]
    return "\n".join(lines) + "\n"


def rounded(text: str) -> str:
    """Digits that depend on the machine, sizes of files and hashes left out."""
    text = re.sub(r"\b[0-9a-f]{16}\b", "<hash>", text)
    return re.sub(r"-?\d[\d,]*\.?\d*(e-?\d+)?", "#", text)


def blocks(page: str) -> list[str]:
    return re.findall(r"```text\n(.*?)```", page, re.DOTALL)


@pytest.mark.parametrize("code", CASES)
def test_the_page_shows_the_messages(code: str, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = CASES[code]()
    assert {diagnostic.code for diagnostic in found} == {code}
    page = (root / "docs" / "diagnostics" / f"{code}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {code}: ")
    assert "## What to do" in page
    if os.environ.get("KDSL_SHOW"):
        print("".join(map(written, found)))
    assert [rounded(block) for block in blocks(page)] == [rounded(written(d)) for d in distinct(found)]


def distinct(found: Iterable[Diagnostic]) -> list[Diagnostic]:
    return list({rounded(written(d)): d for d in found}.values())


def test_every_code_of_the_models_has_a_case(root: Path) -> None:
    sources = [*(root / "kdsl" / "models").glob("*.py"), *(root / "kdsl" / "cli").rglob("*.py")]
    raised = {code for path in sources for code in re.findall(r'"(K65\d)",\n|"(K65\d)", f?"', path.read_text())}
    assert {a or b for a, b in raised} <= set(CASES)
