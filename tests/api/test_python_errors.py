"""Mistakes in a problem written in Python: the compiler's findings, under the Python they speak of."""

from __future__ import annotations

import inspect
import linecache
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl.api import (
    Problem,
    ProblemError,
    argmax,
    inner,
    linear,
    maximum,
    norm,
    normalized,
    phi,
    pinball,
    poly,
    rbf,
    sigmoid,
    sign,
    square,
    sum_over,
)
from kdsl.api.remedies import in_python


class Names:
    """The declarations of a soft margin."""

    def __init__(self) -> None:
        self.p = p = Problem("svm")
        self.i = i = p.index("i", 1, "l")
        self.x, self.y = p.data("x", i, kind="input"), p.data("y", i, values=(-1, 1))
        self.C = p.param("C", lower=0, open=True, default=1)
        self.k = p.kernel("k", rbf(gamma=0.5))
        self.w, self.b, self.xi = p.hilbert("w", self.k), p.real("b"), p.real("xi", i, lower=0)

    def finish(self) -> Problem:
        self.p.minimize(norm(self.w) ** 2 / 2 + self.C * sum_over(self.i)(self.xi[self.i]))
        self.p.predict("label", lambda t: sign(inner(self.w, phi(t)) + self.b))
        return self.p


def unbound_index(n: Names) -> None:
    j = n.p.index("j", 1, "m")
    z = n.p.data("z", j)
    n.p.subject_to("margin", n.i, n.y[n.i] * inner(n.w, phi(n.x[n.i])) + z[j] >= 1 - n.xi[n.i])
    assert n.finish().model


def over_several_lines(n: Names) -> None:
    n.p.subject_to(
        "margin",
        n.i,
        n.y[n.i] * (inner(n.w, phi(n.x[n.i])) + n.b)
        >= 1 - n.xi,
    )  # fmt: skip
    assert n.finish().model


def strict(n: Names) -> None:
    n.p.subject_to("margin", n.i, n.y[n.i] * inner(n.w, phi(n.x[n.i])) > 1 - n.xi[n.i])
    assert n.finish().model


def point_for_vector(n: Names) -> None:
    n.p.subject_to("margin", n.i, n.y[n.i] * inner(n.w, n.x[n.i]) >= 1 - n.xi[n.i])
    assert n.finish().model


def position(n: Names) -> None:
    n.p.subject_to("first", n.y[1] * n.b >= 0)
    assert n.finish().model


def declared_twice(n: Names) -> None:
    n.p.real("b")
    assert n.finish().model


def kernel_parameter(n: Names) -> None:
    n.p.kernel("q", linear() + 0.5 * (sigmoid() * poly(degree=2.5).on("age")))
    assert n.finish().model


def default_outside(n: Names) -> None:
    n.p.param("D", lower=0, upper=1, default=3)
    assert n.finish().model


def range_from_two(n: Names) -> None:
    n.p.index("j", 2, "m")
    assert n.finish().model


def no_objective(n: Names) -> None:
    assert n.p.model


def not_convex(n: Names) -> None:
    n.p.subject_to("ball", norm(n.w) ** 2 >= 1)
    n.finish().derive()


def chained(n: Names) -> None:
    n.p.subject_to("ball", 0 <= n.b <= 1)


def root(n: Names) -> None:
    n.p.minimize(norm(n.w) ** 0.5)


def bad_name(n: Names) -> None:
    n.p.real("my name")


def statement_word(n: Names) -> None:
    n.p.subject_to("minimize", n.b >= 0)


def title_with_quotes(n: Names) -> None:
    Problem("a", 'the "best"')


def huge_exponent(n: Names) -> None:
    n.p.minimize(n.b**5000)


def many_digits(n: Names) -> None:
    n.p.minimize(n.b * 10**500)


def column_with_a_blank(n: Names) -> None:
    n.p.kernel("q", linear().on("net income"))


def not_a_number(n: Names) -> None:
    n.p.minimize(n.b * float("nan"))


def after_umlauts(n: Names) -> None:
    assert "äöü"; n.p.real("b"); assert n.finish().model  # noqa: E702 # fmt: skip


CASES: list[tuple[Callable[[Names], None], str, str, str]] = [
    # what is written, code, what the caret stands under, part of the message
    (unbound_index, "K203", "j", "index `j` is not bound in `margin[i]`"),
    (over_several_lines, "K209", "n.xi", "`xi` stands without its index"),
    (strict, "K320", ">", "a strict inequality in `margin`"),
    (point_for_vector, "K310", "n.x[n.i]", "`n.x[n.i]` is a point"),
    (position, "K208", "1", "`1` cannot be a subscript of `y`"),
    (declared_twice, "K205", "b", "`b` is declared twice"),
    (kernel_parameter, "K230", "2.5", "`degree = 2.5` is out of range for the kernel `poly`"),
    (default_outside, "K333", "3", "the default of `D` is outside its domain"),
    (range_from_two, "K317", "2", '`2, "m"` does not begin at 1'),
    (no_objective, "K234", ")", "the model has no objective"),
    (not_convex, "K401", 'n.p.subject_to("ball", norm(n.w) ** 2 >= 1)', "convex"),
    (chained, "K118", "0 <= n.b <= 1", "a constraint has one relation"),
    (root, "K109", "0.5", "an exponent must be a whole number"),
    (bad_name, "K103", "my name", "`my name` is not a name"),
    (statement_word, "K214", "minimize", "begins a statement"),
    (title_with_quotes, "K119", 'the "best"', "a title is one line without quotes"),
    (huge_exponent, "K108", "5000", "the exponent 5000 is larger than 1000"),
    (many_digits, "K108", "10**500", "a number of over 400 digits"),
    (column_with_a_blank, "K103", "net income", "`net income` is not a name"),
    (not_a_number, "K108", 'float("nan")', "`nan` is no number"),
    (after_umlauts, "K205", "b", "`b` is declared twice"),
]


@pytest.mark.parametrize(("write", "code", "under", "message"), CASES, ids=[case[0].__name__ for case in CASES])
def test_a_finding_stands_under_its_python(write: Callable[[Names], None], code: str, under: str, message: str) -> None:
    with pytest.raises(ProblemError) as caught:
        write(Names())
    (report,) = caught.value.reports
    diagnostic = next(d for d in report.diagnostics if d.code == code)
    assert message in diagnostic.message
    assert report.filename == __file__ and report.source == Path(__file__).read_text(encoding="utf-8")
    span = diagnostic.labels[0].span
    assert report.source[span.start : span.end] == under
    home = Names.__init__ if write is no_objective else write
    lines, first = inspect.getsourcelines(home)
    line = report.source.count("\n", 0, span.start) + 1
    assert first <= line < first + len(lines)
    text = str(caught.value)
    assert f"error[{code}]: {diagnostic.message}\n" in text
    assert f"--> {__file__}:{line}:" in text and linecache.getline(__file__, line).rstrip() in text


def test_all_mistakes_are_reported_at_once_and_warnings_by_check() -> None:
    n = Names()
    n.p.real("b")
    n.p.kernel("q", sigmoid())
    n.p.subject_to("margin", n.i, n.y[n.i] * inner(n.w, n.x[n.i]) >= 1)
    with pytest.raises(kdsl.KdslError) as caught:
        n.finish().solve({})
    assert [d.code for d in caught.value.diagnostics] == ["K205", "K227", "K310"]
    assert n.p.check() == str(caught.value).lstrip("\n")


def vectors_by_star(n: Names) -> None:
    n.p.subject_to("margin", n.i, n.y[n.i] * (n.w * phi(n.x[n.i])) >= 1 - n.xi[n.i])


def excluded_value(n: Names) -> None:
    n.p.subject_to("margin", n.i, n.b != 1)


@pytest.mark.parametrize(
    ("write", "remedy"),
    [
        (vectors_by_star, "write inner(n.w, phi(n.x[n.i]))"),
        (excluded_value, "use <=, >= or ==; to leave examples out, give `where=`"),
        (unbound_index, 'write `p.subject_to("margin", i, j, ...)`'),
    ],
)
def test_remedies_are_python(write: Callable[[Names], None], remedy: str) -> None:
    n = Names()
    with pytest.raises(ProblemError) as caught:
        write(n)
        assert n.finish().model
    assert any(remedy in d.help for d in caught.value.diagnostics)


def test_the_remedy_for_a_missing_prediction_is_python() -> None:
    n = Names()
    n.p.minimize(norm(n.w) ** 2 / 2 + n.C * sum_over(n.i)(n.xi[n.i]))
    assert 'add one, such as `p.predict("label", lambda t: sign(inner(w, phi(t)) + b))`' in n.p.check()


IN_SPECS = re.compile(
    r"\|\||\^\d|<\w[^>]*, |\bsum\[|argmax\[|`[^`]* : |\w : real|`=`|before the colon|\ba line\b|"
    r"`(kernel|index|let|loss|minimize|predict) [^`]*=|`(var|param|data)` line"
)


def test_no_remedy_is_written_as_in_a_spec() -> None:
    """Of all the failing specs that document the codes of the checker and of the algebra."""
    for path in sorted((Path(__file__).parents[1] / "diagnostics").glob("K[234]*/*.expected")):
        for remedy in re.findall(r"= help: (.+)", path.read_text(encoding="utf-8")):
            assert not IN_SPECS.search(in_python(remedy)), (path.parent.name, remedy)


def test_the_second_label_is_the_constraint_s_name() -> None:
    with pytest.raises(ProblemError) as caught:
        unbound_index(Names())
    (report,) = caught.value.reports
    binds = next(d for d in report.diagnostics if d.code == "K203").labels[1].span
    assert report.source[binds.start : binds.end] == "margin"


def test_the_error_may_cross_processes() -> None:
    with pytest.raises(ProblemError) as caught:
        declared_twice(Names())
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_constraint_defined_elsewhere_is_shown_there() -> None:
    n = Names()
    condition = n.y[n.i] * inner(n.w, n.x[n.i]) >= 1
    n.p.subject_to("margin", n.i, condition)
    with pytest.raises(ProblemError, match=r"condition = n\.y\[n\.i\]"):
        assert n.finish().model


def test_labels_in_another_file_are_named(tmp_path: Path) -> None:
    path = tmp_path / "part.py"
    path.write_text("def declare(p):\n    p.real('b')\n", encoding="utf-8")
    scope: dict[str, Any] = {"__name__": "part"}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), scope)
    n = Names()
    scope["declare"](n.p)
    with pytest.raises(ProblemError) as caught:
        assert n.finish().model
    (report,) = caught.value.reports
    assert report.filename == str(path)
    assert f"first as an unknown: {__file__}, line" in str(caught.value)
    assert "2 |     p.real('b')" in str(caught.value)


def test_without_source_the_printed_text_is_shown() -> None:
    scope: dict[str, Any] = {"__name__": "prompt", "n": Names()}
    exec("n.p.real('b'); p = n.finish()", scope)
    with pytest.raises(ProblemError) as caught:
        assert scope["p"].model
    assert "--> svm, as print() shows it:6:" in str(caught.value)
    assert "6 | var    w : H(k), b : real, xi[i] : real >= 0, b : real" in str(caught.value)


def test_without_columns_the_line_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "plain.py"
    path.write_text("from kdsl import Problem\np = Problem('a')\np.real('b'); p.real('b')\nprint(p.check())\n")
    environment = {**os.environ, "PYTHONNODEBUGRANGES": "1"}
    run = subprocess.run([sys.executable, path], capture_output=True, text=True, env=environment, timeout=60)
    assert f"--> {path}:3:1\n" in run.stdout and "^^^^ as an unknown" in run.stdout, run.stderr


def test_a_script_ends_with_the_report(tmp_path: Path) -> None:
    path = tmp_path / "wrong.py"
    path.write_text("import kdsl\np = kdsl.Problem('a')\nb = p.real('b')\np.minimize(b[b])\np.derive()\n")
    run = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=60)
    assert run.returncode == 1
    assert "kdsl.api.errors.ProblemError: \n" in run.stderr and "\nerror[K209]: " in run.stderr
    assert f"--> {path}:4:12" in run.stderr


MISUSES: list[tuple[Callable[[Names], object], type[Exception], str]] = [
    (lambda n: n.b + Names().b, TypeError, "`b` belongs to another problem"),
    (lambda n: n.p.subject_to("m", Names().b >= 0), TypeError, "belongs to another problem"),
    (lambda n: n.p.minimize(Names().b), TypeError, "belongs to another problem"),
    (lambda n: n.p.predict("value", lambda t: Names().b), TypeError, "belongs to another problem"),
    (lambda n: n.b >= Names().b, TypeError, "belongs to another problem"),
    (lambda n: n.b * np.ones(3), TypeError, "type ndarray cannot stand in a formula"),
    (lambda n: np.ones(3) * n.b, TypeError, "type ndarray cannot stand in a formula"),
    (lambda n: n.b + "a", TypeError, "`a` cannot stand in a formula"),
    (lambda n: n.b * True, TypeError, "type bool cannot stand in a formula"),
    (lambda n: n.b + (n.b >= 1), TypeError, "`b >= 1` is a condition, not a number"),
    (lambda n: n.b >= 1 and n.b <= 2, TypeError, "`b >= 1` is a condition of the problem and has no truth value"),
    (lambda n: 1 if n.b else 2, TypeError, "`b` is a formula and has no truth value"),
    (lambda n: list(n.x), TypeError, "not iterable"),
    (lambda n: sum(n.xi), TypeError, "a sum over an index i is sum_over(i)(...)"),  # type: ignore[arg-type]
    (lambda n: np.sum(n.xi), TypeError, "write sum_over(i)(...) of kdsl.api, with the index that it runs over"),
    (lambda n: np.exp(n.b), TypeError, "NumPy's `exp` computes with numbers, not with formulas: write exp(...) of"),
    (lambda n: np.abs(n.b), TypeError, "write abs(...)"),
    (lambda n: np.maximum(0, n.b), TypeError, "write maximum(...) of kdsl.api"),
    (lambda n: np.cos(n.b), TypeError, "write the functions of kdsl.api"),
    (lambda n: np.ones(3) <= n.b, TypeError, "type ndarray cannot stand in a formula"),
    (lambda n: n.w @ phi(n.x[n.i]), TypeError, "`@` does not multiply formulas: write inner(w, phi(x[i]))"),
    (lambda n: np.ones(3) @ n.w, TypeError, "write inner(a, b) of kdsl.api"),
    (lambda n: [1.0] @ n.w, TypeError, "write inner([1.0], w)"),  # type: ignore[operator]
    (lambda n: rbf(gama=1), TypeError, "rbf(...) has no argument `gama`: did you mean `gamma`?"),  # type: ignore[call-arg]
    (lambda n: pinball(n.b, tua=1), TypeError, "did you mean `tau`?"),  # type: ignore[call-arg]
    (lambda n: (n.b + 1)[n.i], TypeError, "cannot have subscripts"),
    (lambda n: sum_over(3)(n.b), TypeError, "sum_over"),  # type: ignore[arg-type]
    (lambda n: sum_over(n.i, where=n.b)(n.b), TypeError, "`where` takes conditions"),
    (lambda n: argmax(n.b + 1), TypeError, "is no index"),
    (lambda n: square(3), TypeError, "about formulas"),  # type: ignore[arg-type]
    (lambda n: maximum(1, 2), TypeError, "about formulas"),
    (lambda n: n.p.hilbert("v", rbf(1)), TypeError, "not declared yet"),  # type: ignore[arg-type]
    (lambda n: n.p.subject_to("m", n.i), TypeError, "the last argument of subject_to is the constraint"),
    (lambda n: n.p.predict("label", 3), TypeError, "no Python function"),  # type: ignore[arg-type]
    (lambda n: n.p.index("q", "l", 1), TypeError, "an index runs over"),
    (lambda n: n.p.restrict((n.i, n.i), n.b >= 1), ValueError, "not declared together"),
    (lambda n: n.p.data("z", kind="Input"), ValueError, "kind is 'input' or 'real'"),
    (lambda n: n.p.data("z", values=(-1, 1), lower=0), ValueError, "say one of these"),
    (lambda n: n.p.data("z", kind="input", labels="classes"), ValueError, "say one of these"),
    (lambda n: n.p.param("z", lower=0, open="both"), ValueError, "`open` is"),
    (lambda n: -1 * rbf(), ValueError, "would not be a kernel"),
    (lambda n: rbf() * "a", TypeError, "neither a kernel"),  # type: ignore[operator]
    (lambda n: n.p.let("f", lambda t: t)(n.b, u=1), TypeError, "f(...) has no argument `u`: there is `t`"),
    (lambda n: n.p.let("f", lambda t: t)(n.b, n.b), TypeError, "f(...) takes 1 arguments, 2 given"),
    (lambda n: n.p.subject_to("m", Names().i, n.b >= 0), TypeError, "`i` belongs to another problem"),
    (lambda n: n.p.subject_to("m", n.i, n.b >= 0, where=Names().b >= 0), TypeError, "belongs to another problem"),
    (lambda n: sum_over(n.i, where=Names().b >= 0)(n.b), TypeError, "belongs to another problem"),
    (lambda n: n.p.real("a", Names().i), TypeError, "`i` belongs to another problem"),
    (lambda n: n.p.real(3), TypeError, "a name is a text"),  # type: ignore[arg-type]
    (lambda n: n.k(3, 4), TypeError, "about formulas"),  # type: ignore[arg-type]
    (lambda n: norm(rbf()), TypeError, "about formulas"),  # type: ignore[arg-type]
    (lambda n: normalized(rbf()), TypeError, "must be declared first"),  # type: ignore[arg-type]
    (lambda n: n.p.index("c", "classes").size, TypeError, "no name for its size"),
]


@pytest.mark.parametrize(("misuse", "kind", "message"), MISUSES)
def test_what_is_no_formula_is_refused_at_once(
    misuse: Callable[[Names], object], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind) as caught:
        misuse(Names())
    assert message in str(caught.value)


def test_formulas_too_large_for_the_language_are_refused() -> None:
    n = Names()
    nested = abs(n.b)
    with pytest.raises(ProblemError, match="K106"):
        for _ in range(400):
            nested = abs(nested)
    with pytest.raises(ProblemError, match="K107"):
        sum(n.b for _ in range(3000))
