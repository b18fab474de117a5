"""What every page must be, whatever it says: width, ASCII, one file, valid JSON, LaTeX that compiles."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from derivations import NAMES, ROOT, SPECS, derivation

from kdsl import pipeline
from kdsl.render import html, json_, latex, text
from kdsl.render.document import document
from kdsl.render.names import ident
from kdsl.render.plain import Plain, broken, laid, width

LATEX_MINUTES = 2


@pytest.mark.parametrize("name", NAMES)
def test_text_keeps_within_the_page(name: str) -> None:
    for ascii in (False, True):
        printed = text.render(derivation(name), ascii=ascii)
        assert [line for line in printed.splitlines() if width(line) > text.WIDTH] == []
        assert printed.endswith("\n") and not any(line != line.rstrip() for line in printed.splitlines())


@pytest.mark.parametrize("name", NAMES)
def test_ascii_is_ascii(name: str) -> None:
    printed = text.render(derivation(name), ascii=True)
    assert printed.isascii()
    assert "\\u" not in printed.split("\n", 1)[1] and "?" not in printed  # a title may hold anything


@pytest.mark.parametrize("name", NAMES)
def test_no_mark_of_the_printer_is_left(name: str) -> None:
    for printed in (text.render(derivation(name)), latex.render(derivation(name)), html.render(derivation(name))):
        assert not re.search("[\ue000-\uf8ff`]", printed.replace("``", "")), name


@pytest.mark.parametrize("name", NAMES)
def test_sections_come_in_their_order(name: str) -> None:
    keys = [section.key for section in document(derivation(name)).sections]
    order = ["notation", "primal", "reformulation", "lagrangian", "stationarity", "steps", "exact", "dual", "recovery"]
    order += ["prediction", "kkt"]
    assert keys == [key for key in order if key in keys]
    assert {"notation", "primal", "lagrangian", "stationarity", "dual", "recovery", "kkt"} <= set(keys)


# -------------------------------------------------------------------------- HTML


class Balanced(HTMLParser):
    """Every tag is closed by its own; nothing comes from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        assert not {name for name, _ in attrs} & {"src", "href", "srcset", "onload", "onclick"}
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", NAMES)
def test_html_is_one_well_formed_page(name: str) -> None:
    page = html.render(derivation(name))
    reader = Balanced()
    reader.feed(page)
    assert reader.open == []
    assert "math" in reader.tags
    assert not reader.tags & {"script", "img", "link", "iframe", "object", "embed"}
    assert "@import" not in page and "url(" not in page
    elsewhere = re.findall(r"https?://[^\"<]+", page)
    assert set(elsewhere) == {"http://www.w3.org/1998/Math/MathML"}  # a name, not an address to fetch
    ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>\n").replace("&#", "").replace("&nbsp;", " "))


# -------------------------------------------------------------------------- JSON


def test_json_follows_its_schema() -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    schema = json.loads((ROOT / "docs" / "schema" / "derivation-1.json").read_text(encoding="utf-8"))
    validator = jsonschema.Draft202012Validator(schema)
    jsonschema.Draft202012Validator.check_schema(schema)
    for name in NAMES:
        errors = list(validator.iter_errors(json.loads(json_.render(derivation(name)))))
        assert errors == [], f"{name}: {errors[:1]}"
    found = json_.render(derivation("svm_1norm"), pipeline.verify(derivation("svm_1norm")))
    assert list(validator.iter_errors(json.loads(found))) == []


def test_json_that_lacks_a_part_is_refused() -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    schema = json.loads((ROOT / "docs" / "schema" / "derivation-1.json").read_text(encoding="utf-8"))
    found = json.loads(json_.render(derivation("svm_1norm")))
    del found["dual"]["rows"]
    assert not jsonschema.Draft202012Validator(schema).is_valid(found)


# ------------------------------------------------------------------------- LaTeX


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="TeX is not installed: no pdflatex")
def test_latex_compiles_within_the_page(tmp_path: Path) -> None:
    for name in NAMES:
        (tmp_path / f"{name}.tex").write_text(latex.render(derivation(name)), encoding="utf-8")
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", f"{name}.tex"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60 * LATEX_MINUTES, check=False)
        log = done.stdout.decode("utf-8", "replace")
        assert done.returncode == 0, f"{name}: {log[-1500:]}"
        overfull = [float(points) for points in re.findall(r"Overfull \\hbox \(([\d.]+)pt", log)]
        assert max(overfull, default=0.0) < 5, f"{name} runs over its margin by {max(overfull)} points"


# ----------------------------------------------------------------- line breaking


def test_a_long_sum_is_broken_at_its_outermost_signs() -> None:
    mark, deeper = "\ue000", "\ue001"
    line = f"first({'a' * 20}{deeper}+ b){mark}+ second({'c' * 20}{deeper}− d){mark}− third"
    assert broken(line, 40) == [f"first({'a' * 20} + b)", f"  + second({'c' * 20} − d)", "  − third"]


def test_a_hat_takes_no_column() -> None:
    assert width("α̂ᵢ") == 2
    assert laid(Plain().formula(ident("xi'", hats=True))) == "ξ̂"
    assert laid(Plain(ascii=True).formula(ident("xi'", hats=True))) == "xi'"


# -------------------------------------------------------------------- cold start


def test_rendering_imports_nothing_heavy() -> None:
    heavy = ("numpy", "scipy", "cvxpy", "dataclasses", "inspect", "json", "typing_extensions")
    code = (
        "import sys; from kdsl import pipeline; from kdsl.render import text;"
        f"d = pipeline.derive(pipeline.read_spec({str(SPECS['svm_1norm'])!r}));"
        f"text.render(d); text.render(d, ascii=True); print([m for m in {heavy!r} if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True, cwd=ROOT
    )
    assert done.stdout.strip() == "[]"


# ----------------------------------------------------------------------- limits


def test_a_sum_that_nobody_would_read_is_abridged_on_the_page_and_whole_in_json() -> None:
    names = [f"p{n}" for n in range(12)]
    spec = SPECS["svm_1norm"].read_text(encoding="utf-8")
    spec = spec.replace("C : in (0, inf) = 1", ", ".join(f"{name} : in (0, inf)" for name in names))
    spec = spec.replace("C * sum[i]", f"({' + '.join(names)})^3 * sum[i]")
    derivation = pipeline.derive(pipeline.parse_spec(spec))
    assert "(344 more terms)" not in text.render(derivation)  # 364 terms are printed
    spec = spec.replace(")^3", ")^4")
    derivation = pipeline.derive(pipeline.parse_spec(spec))
    printed = text.render(derivation)
    assert "(1,345 more terms)" in printed and len(printed) < 100_000
    bound = json_.as_json(derivation)["dual"]["variables"][0]["upper"]
    assert len(bound["terms"]) == 1365
