"""What a notebook shows of a problem written in Python, and what importing the builder costs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from python_specs import PROBLEMS

from kdsl.pipeline import derive, read_spec
from kdsl.render import html, latex, text


@pytest.mark.parametrize("name", ["svm_1norm", "svr_nu", "multiclass_delta", "sphere_nu", "loss_logistic"])
def test_a_derivation_shows_itself(name: str) -> None:
    derived = PROBLEMS[name]().derive()
    fragment, mathematics = derived._repr_html_(), derived._repr_latex_()
    inside = ElementTree.fromstring(fragment.replace("<style>", "<style><![CDATA[").replace("</style>", "]]></style>"))
    assert inside.tag == "div" and inside.get("class") == "kdsl"
    assert "<html" not in fragment and "<body>" not in fragment and "<math" in fragment
    titles = [h.text for h in inside.iter("h2")]
    assert "The Lagrangian" in titles
    assert "$\\textbf{The Lagrangian}$" in mathematics
    assert mathematics.count("$$") % 2 == 0 and mathematics.count("\\begin{aligned}") == mathematics.count("$$") // 2
    assert mathematics.count("{") == mathematics.count("}")
    assert "@{" not in mathematics and "\\begin{document}" not in mathematics


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_the_mathematics_is_valid(tmp_path: Path) -> None:
    names = ("svm_1norm", "svr_nu", "multiclass_delta", "loss_huber", "sphere_nu")
    body = "\n\n".join(PROBLEMS[name]().derive()._repr_latex_() for name in names)
    page = f"\\documentclass{{article}}\\usepackage{{amsmath}}\\begin{{document}}\n{body}\n\\end{{document}}\n"
    (tmp_path / "page.tex").write_text(page, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, errors="replace")
    assert run.returncode == 0, run.stdout[-2000:]


def test_a_section_is_found_by_its_key() -> None:
    derived = PROBLEMS["svm_1norm"]().derive()
    assert derived.section("dual").startswith("    maximise    Σᵢ αᵢ") and derived.section("dual") in str(derived)
    with pytest.raises(KeyError, match="it has notation, primal"):
        derived.section("duel")


def test_it_is_verified_on_random_instances() -> None:
    derived = PROBLEMS["svm_1norm"]().derive()
    assert repr(derived) == "Derived('svm_1norm')"
    assert all(check.passed for check in derived.verify(seed=1, time_limit=10.0).checks if check.times)


def test_renderings_are_those_of_the_command_line() -> None:
    derived = PROBLEMS["svr_nu"]().derive()
    derivation = derive(read_spec("specs/svr_nu.kspec"))
    assert str(derived) == derived.text() != derived.text(ascii=True)
    assert derived.latex().startswith("% Derived by kdsl from the specification svr_nu.")
    assert derived.html().startswith("<!DOCTYPE html>")
    assert derived.text(ascii=True).isascii()
    assert derived.derivation.dual == derivation.dual and derived.derivation.kkt == derivation.kkt
    assert derived.latex() == latex.render(derived.derivation)
    assert derived.html() == html.render(derived.derivation)
    assert str(derived) == text.render(derived.derivation)


def test_a_problem_shows_its_primal() -> None:
    shown = PROBLEMS["svm_1norm"]()._repr_html_()
    assert "The primal problem" in shown and "The Lagrangian" not in shown and "<math" in shown


def test_a_problem_with_mistakes_shows_them() -> None:
    problem = PROBLEMS["svm_1norm"]()
    problem.real("b")
    shown = problem._repr_html_()
    assert shown.startswith("<pre>error[K205]: `b` is declared twice") and "--&gt; " in shown


def test_the_builder_imports_no_numerics() -> None:
    code = (
        "import sys; import kdsl; kdsl.Problem('a'); "
        "print(*sorted({'numpy', 'scipy', 'cvxpy', 'lark', 'rich'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout == "\n"
