"""Problems with data for reports: a command line for each, and the page that it writes."""

from __future__ import annotations

import csv
import random
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from command_runs import kdsl

ROOT = Path(__file__).resolve().parent.parent.parent
CRESCENTS = str(ROOT / "examples" / "crescents.csv")
TITLE = "<img src=x onerror=alert(1)> &amp; </title><script>alert(2)</script>"
HOSTILE = ("<script>alert(3)</script>", '"><svg onload=alert(4)>', "`&lt;\u202eb\u0007'$x^2$")
LABELS = ("<b>in</b>", "&amp;out")


SPEC = (ROOT / "specs" / "svm_1norm.kspec").read_text(encoding="utf-8")
TWO_TABLES = """\
model pairs "ranking by a table of pairs"
index  j in 1..m, i in 1..l
data   hi[j] : input, lo[j] : input, x[i] : input, y[i] : real
param  C : in (0, inf) = 1
kernel k = linear + rbf(gamma = 1)
var    w : H(k), xi[j] : real >= 0, r[i] : real
minimize 1/2 ||w||^2 + C * sum[j] xi[j] + sum[i] r[i]^2
subject to
  order[j]: <w, phi(hi[j]) - phi(lo[j])> >= 1 - xi[j]
  fit[i]:   <w, phi(x[i])> - y[i] = r[i]
predict score(t) = <w, phi(t)>
"""
UNBOUNDED = """\
model loose "a margin that pays too well"
index  i in 1..l
data   x[i] : input, y[i] : {-1, 1}
kernel k = linear
var    w : H(k), b : real, rho : real, xi[i] : real >= 0
minimize 1/2 ||w||^2 - 5 * rho + 1/(10 * l) * sum[i] xi[i]
subject to
  margin[i]: y[i] * (<w, phi(x[i])> + b) >= rho - xi[i]
predict label(t) = sign(<w, phi(t)> + b)
"""


def tables(folder: Path) -> None:
    """The data of the problems, and the specs that are not shipped."""
    made = random.Random(0)

    def write(name: str, header: tuple[str, ...], rows: list[list[object]]) -> None:
        with (folder / name).open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header, *rows])

    points = [[round(made.gauss(0, 1), 3) for _ in range(3)] for _ in range(48)]
    write("hostile.csv", (*HOSTILE, "y"), [[*p, LABELS[p[0] + p[1] > 0]] for p in points])
    ranked = [[n % 6, *p[:2], round(p[0] - p[1] / 2 + made.gauss(0, 0.3))] for n, p in enumerate(points)]
    write("ranked.csv", ("query", "age", "price", "rating"), [list(row) for row in ranked])
    curve = [[round(6 * n / 60, 3), round(3 - (n % 11) / 4 + (n / 30) ** 2, 3)] for n in range(60)]
    write("curve.csv", ("time", "level"), [list(row) for row in curve])
    header = ("hi.a", "hi.b", "lo.a", "lo.b")
    write("pairs.csv", header, [[a, b, a - 0.5, b - 0.2] for a, b, _ in points[:20]])
    write("responses.csv", ("a", "b", "y"), [[a, b, round(a + b, 3)] for a, b, _ in points])
    (folder / "hostile.kspec").write_text(SPEC.replace("1-norm soft margin", TITLE.replace('"', "'")), "utf-8")
    (folder / "pairs.kspec").write_text(TWO_TABLES, "utf-8")
    (folder / "loose.kspec").write_text(UNBOUNDED, "utf-8")


COMMANDS: dict[str, tuple[int, tuple[str, ...]]] = {
    "svm_1norm": (0, ("svm_1norm", CRESCENTS, "--positive", "upper", "-D", "C=2", "--bounds", "delta=0.05")),
    "svr": (0, ("svr_linear_eps", "curve.csv", "--target", "level", "--scale", "standard", "-D", "C=10")),
    "one_class": (0, ("one_class", CRESCENTS, "--features", "x1,x2", "-D", "nu=0.2")),
    "ridge": (0, ("ridge", "curve.csv", "--target", "level", "--scale", "minmax", "-D", "lambda=0.1")),
    "loss": (0, ("loss_pinball", "curve.csv", "--target", "level", "-D", "tau=0.9", "--bounds", "delta=0.1")),
    "hard": (1, ("svm_hard", CRESCENTS, "--positive", "upper")),
    "rank": (0, ("rank_pairs", "ranked.csv", "--bind", "y=rating", "--bind", "q=query", "--features", "age,price")),
    "two_tables": (0, ("pairs.kspec", "pairs.csv", "--data", "i:responses.csv")),
    "unbounded": (1, ("loose.kspec", CRESCENTS, "--positive", "upper")),
    "hostile": (0, ("hostile.kspec", "hostile.csv", "--target", "y", "--positive", LABELS[0])),
}


@cache
def folder() -> TemporaryDirectory[str]:
    """A folder that lasts as long as the tests."""
    made = TemporaryDirectory()
    tables(Path(made.name))
    return made


@cache
def page(name: str) -> Path:
    """The report of a problem, which ends with the exit code that it should have."""
    code, (spec, data, *options) = COMMANDS[name]
    path = Path(folder().name, f"{name}.html")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder().name)
        outcome = kdsl("solve", spec, "--data", data, *options, "-q", "--report", path)
    assert outcome.code == code, outcome.err
    return path
