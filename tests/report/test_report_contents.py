"""What a report says is what was solved: figures, residuals, data, support, bounds, and why something is missing."""

from __future__ import annotations

import html
import math
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from command_runs import kdsl
from hypothesis import given
from hypothesis import strategies as st
from reported import CRESCENTS, ROOT, folder, page

import kdsl as package
from kdsl.language.diagnostics import Diagnostic
from kdsl.models.solution import Solution
from kdsl.report import drawings
from kdsl.report.account import account_of
from kdsl.report.certificate_part import from_one, verdict
from kdsl.report.drawings import pictures_for, svg_element, telling
from kdsl.report.page import report_page
from kdsl.report.parts import Html, figure, prose, safe, tabulated, together


def test_a_spec_without_data_needs_none_and_shows_none(tmp_path: Path) -> None:
    spec, written = tmp_path / "bare.kspec", tmp_path / "page.html"
    spec.write_text("model bare\nvar b : real\nminimize b^2\nsubject to\n  one: b >= 1\n", encoding="utf-8")
    outcome = kdsl("solve", spec, "--report", written)
    assert outcome.code == 0 and "m - M     0\n" in outcome.out
    text = written.read_text(encoding="utf-8")
    assert "</code> without data" in text and " on 0 examples" not in text
    assert not any(len(rows) < 2 for rows in Tables(text).tables.values())


class Tables(HTMLParser):
    """Every table of a page by its caption, as rows of text; and the text of every section by its key."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: dict[str, list[list[str]]] = {}
        self.sections: dict[str, str] = {}
        self._caption: str | None = None
        self._open: list[str] = []
        self._keys: list[str] = []
        self._words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "section":
            self._keys.append(dict(attrs)["id"] or "")
        if tag == "tr" and self._caption is not None:
            self.tables[self._caption].append([])
        if tag in ("caption", "td", "th"):
            self._words = ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "section":
            self._keys.pop()
        if tag == "caption":
            self._caption = self._words
            self.tables[self._words] = []
        if tag in ("td", "th") and self._caption is not None:
            self.tables[self._caption][-1].append(self._words)
        if tag == "table":
            self._caption = None

    def handle_data(self, data: str) -> None:
        self._words += data
        for key in self._keys:
            self.sections[key] = self.sections.get(key, "") + data


def read(name: str) -> Tables:
    return Tables(page(name).read_text(encoding="utf-8"))


def number(text: str) -> float:
    """A figure of the page, its tags gone, as a number; a power of ten that stands alone is a small one."""
    plain = text.replace("−", "-").replace("\u00a0×\u00a010", "e")
    return float(re.sub(r"^10(?=-\d)", "1e", plain))


@pytest.fixture(scope="module")
def solution() -> Solution:
    return package.solve("svm_1norm", CRESCENTS, {"C": 2.0}, positive="upper")


def test_figures_are_those_of_the_certificate(solution: Solution) -> None:
    seen = {row[0]: row[1] for row in read("svm_1norm").tables["The figures"][1:]}
    certificate = solution.certificate
    assert number(seen["value"]) == pytest.approx(certificate.value, rel=1e-8)
    assert number(seen["dual"]) == pytest.approx(certificate.dual, rel=1e-8)
    for name, value in (
        ("gap", certificate.gap),
        ("relative gap", certificate.rel_gap),
        ("gap by (7.3)", certificate.sv_gap),
        ("m − M", certificate.kkt_gap),
        ("primal residual", certificate.primal_residual),
        ("dual residual", certificate.dual_residual),
    ):
        assert number(seen[name]) == pytest.approx(value, rel=0.06, abs=1e-300), name


def test_every_residual_has_its_row(solution: Solution) -> None:
    rows = read("svm_1norm").tables["The conditions of Karush, Kuhn and Tucker, each at its worst member"][1:]
    assert [row[0] for row in rows] == [r.condition for r in solution.certificate.residuals]
    for row, residual in zip(rows, solution.certificate.residuals, strict=True):
        assert number(row[1]) == pytest.approx(residual.value, rel=0.06, abs=1e-300)
        places = ", ".join(str(n + 1) for n in residual.index)
        assert row[2] == (f"[{places}]" if residual.value and places else "")


def test_the_data_are_described_as_they_are() -> None:
    seen = read("svm_1norm")
    rows = {row[0]: row for row in seen.tables["What each datum of the spec is bound to"]}
    assert rows["x"][2] == "200 points of 2 features"
    assert rows["y"][2] == "lower → −1 (100 examples), upper → 1 (100 examples)"
    values = np.loadtxt(CRESCENTS, delimiter=",", skiprows=1, usecols=(0, 1))
    features = {row[0]: row for row in seen.tables["The features of x, in the units of the data"]}
    for k, name in enumerate(("x1", "x2")):
        measured = [values[:, k].min(), values[:, k].max(), values[:, k].mean(), values[:, k].std()]
        assert [number(cell) for cell in features[name][1:5]] == pytest.approx(measured, rel=1e-4)


def test_ranges_of_scaled_features_are_in_the_units_of_the_data() -> None:
    for name, least, greatest in (("svr", 0.0, 5.9), ("ridge", 0.0, 5.9)):
        captions = [caption for caption in read(name).tables if caption.startswith("The features of x")]
        (row,) = read(name).tables[captions[0]][1:]
        assert row[0] == "time"
        assert [number(cell) for cell in row[1:3]] == pytest.approx([least, greatest], abs=1e-12)
        scaled = [(number(cell) - number(row[5])) * number(row[6]) for cell in row[1:3]]
        wanted = [0.0, 1.0] if name == "ridge" else [-1.7034, 1.7034]
        assert scaled == pytest.approx(wanted, abs=1e-3)


def test_support_and_unknowns_are_counted(solution: Solution) -> None:
    seen = read("svm_1norm")
    support = solution.support
    words = f"Of the solver’s multipliers {support.total:,} are not 0: {support.free:,} free and {support.bound:,} at"
    assert words in seen.sections["solution"]
    scalars = {row[0]: row[1] for row in seen.tables["Scalars, norms and totals"]}
    assert number(scalars["b"]) == pytest.approx(solution.scalars["b"], rel=1e-8)
    xi = solution.slacks["xi"]
    row = seen.tables["The families of unknowns"][1]
    assert row[1] == f"{int((xi > 1e-9 * xi.max()).sum())} of 200"
    assert row[2] == f"{xi.max():.6g} at [{int(xi.argmax()) + 1}]"


def test_only_pairs_that_there_are_count() -> None:
    rows = {row[0]: row[1] for row in read("rank").tables["The multipliers of each condition"]}
    table_of = np.loadtxt(Path(folder().name, "ranked.csv"), delimiter=",", skiprows=1)
    query, rating = table_of[:, 0], table_of[:, 3]
    pairs = int(((query[:, None] == query) & (rating[:, None] > rating)).sum())
    assert [text.partition(" of ")[2] for text in (rows["margin"], rows["xi >= 0"])] == [f"{pairs:,}"] * 2


def test_bounds_stand_there_when_asked_for() -> None:
    assert "KM\u00a07.30" in read("svm_1norm").sections["bounds"]
    assert "None of the theorems" in read("loss").sections["bounds"]
    assert "bounds" not in read("svr").sections


def test_pictures_fit_the_problem() -> None:
    drawn = {
        name: re.findall(r'<figure id="picture-(\w+)">', page(name).read_text(encoding="utf-8"))
        for name in ("svm_1norm", "svr", "one_class", "loss", "rank", "hard")
    }
    assert drawn["svm_1norm"][:2] == ["decision", "margins"]
    assert drawn["svr"][:2] == ["tube", "margins"]
    assert drawn["one_class"][:2] == ["novelty", "margins"]
    assert drawn["loss"][:3] == ["tube", "margins", "loss"]
    assert drawn["rank"][:1] == ["tube"]
    assert drawn["hard"] == []
    assert "Not drawn, margins: rank_pairs has no margin" in read("rank").sections["pictures"]


def test_every_group_and_every_loss_has_its_picture() -> None:
    made = np.random.default_rng(6)
    x = made.normal(size=(30, 2))
    group = np.where(x[:, 1] > 0, "a", "b")
    lo = made.normal(size=(5, 2))
    data = {"x": x, "y": np.where(x[:, 0] > 0, 1, -1), "group": group, "lo": lo, "hi": lo + 0.1}
    solved = package.solve("monotone_groups", data, kernels={"k": "linear"})
    assert [picture.name for picture in pictures_for(account_of(solved))] == ["decision", "decision-2", "margins"]
    assert "where g is b, and the examples" in pictures_for(account_of(solved))[1].told
    lasso = account_of(package.solve("lasso", {"x": x, "y": x[:, 0]}))
    assert [picture.name for picture in pictures_for(lasso)] == ["loss", "loss-2"]
    assert pictures_for(lasso)[1].told.startswith("The loss abs and its conjugate")
    for picture in pictures_for(lasso):
        assert picture.figure().axes


def test_a_problem_without_a_solution_says_why() -> None:
    for name, code, word in (("hard", "K621", "Infeasible"), ("unbounded", "K620", "Unbounded")):
        text = page(name).read_text(encoding="utf-8")
        seen = Tables(text)
        assert f'<div class="verdict bad"><p>{word}' in text
        assert code in seen.sections["certificate"]
        assert len(seen.tables["The witness: weights that prove it, checked outside the solver"]) > 1
        assert "solution" not in seen.sections and "dual" in seen.sections
    weights = read("hard").tables["The witness: weights that prove it, checked outside the solver"][1:]
    outcome = kdsl("solve", "svm_hard", "--data", CRESCENTS, "--positive", "upper", "-q")
    named = re.search(r"\((margin\[\d+\]) ", outcome.err)
    assert named is not None and named[1] == weights[0][0]  # both count from 1
    assert sum(number(row[1]) for row in weights) == pytest.approx(1.0, rel=1e-3)


def test_the_spec_and_the_derivation_are_there() -> None:
    seen = read("svm_1norm")
    assert (ROOT / "specs" / "svm_1norm.kspec").read_text(encoding="utf-8") in seen.sections["spec"]
    assert "The dual problem" in seen.sections["derivation"]


def test_several_tables_are_described_one_by_one() -> None:
    seen = read("two_tables")
    rows = {row[0]: row for row in seen.tables["What each datum of the spec is bound to"]}
    assert rows["hi"][2] == "20 points of 2 features" and rows["x"][2] == "48 points of 2 features"
    assert "responses.csv" in rows["y"][1]


# ------------------------------------------------------------------ from Python


def test_python_writes_the_same_page(solution: Solution, tmp_path: Path) -> None:
    solution.report(tmp_path / "a.html", {"delta": 0.05})
    solution.report(str(tmp_path / "b.html"), {"delta": 0.05})
    written = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert written == (tmp_path / "b.html").read_text(encoding="utf-8")
    commanded = page("svm_1norm").read_text(encoding="utf-8")
    timed = re.compile(r"<div><dt>time</dt>.*?</div>")
    upto = [timed.sub("", text.partition("<main>")[2].partition('id="pictures"')[0]) for text in (written, commanded)]
    assert upto[0] == upto[1] and "SHA-256" in upto[0]


def test_without_matplotlib_the_page_says_how_to_get_it(solution: Solution, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    seen = Tables(report_page(account_of(solution)))
    assert "matplotlib, which is not installed (pip install 'kdsl[plot]')" in seen.sections["pictures"]
    assert "certificate" in seen.sections


def test_a_picture_that_would_be_large_is_a_png(solution: Solution, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawings, "SVG_BYTES", 1000)
    text = report_page(account_of(solution))
    assert "<svg" not in text
    assert re.search(r'<img src="data:image/png;base64,iVBOR[^"]+" alt="The decision', text)


def test_warnings_have_their_codes(solution: Solution) -> None:
    from dataclasses import replace

    warning = Diagnostic("K999", "`x` is <odd>", (), "it is so", "mend it", "warning")
    seen = Tables(report_page(replace(account_of(solution), warnings=(warning,))))
    assert "K999 x is <odd>. It is so. What helps: mend it." in seen.sections["warnings"].replace("\n", "")
    assert "kdsl explain K999" in seen.sections["warnings"]


def test_nothing_is_said_to_be_proven_where_the_kernel_may_be_indefinite(tmp_path: Path) -> None:
    path = tmp_path / "sigmoid.html"
    kernel = "k = sigmoid(gamma = 2, coef0 = -1)"
    outcome = kdsl(
        "solve", "svm_1norm", "--data", CRESCENTS, "--positive", "upper", "--kernel", kernel, "--psd", "accept", "-q",
        "--max-iterations", "200", "--report", path,
    )  # fmt: skip
    assert outcome.code == 3
    seen = Tables(path.read_text(encoding="utf-8"))
    assert "no gap proves anything" in seen.sections["certificate"].replace("\n", " ")
    assert "proven that no point" not in path.read_text(encoding="utf-8")


def test_a_point_that_is_not_quite_feasible_is_called_so() -> None:
    made = np.random.default_rng(5)
    x = made.normal(size=(30, 2))
    table_of = {"x": x, "y": np.where(x[:, 0] > 0, 1, -1), "group": np.where(x[:, 1] > 0, "a", "b")}
    lo = made.normal(size=(5, 2))
    solved = package.solve(
        "monotone_groups", {**table_of, "lo": lo, "hi": -lo}, kernels={"k": "rbf(gamma = 0.5)"}, tol=1e-4
    )
    account = account_of(solved)
    assert account.certificate is not None and account.certificate.primal_residual > 1e-9
    seen = Tables(report_page(account))
    assert ", at a point whose constraints hold up to " in verdict(account)
    assert "The two are" in seen.sections["certificate"] and "at most" not in seen.sections["certificate"]


def test_a_maximum_is_bounded_from_above() -> None:
    solved = package.solve("svm_hard_unit", {"x": [[-1.0], [-2.0], [1.0], [3.0]], "y": [-1, -1, 1, 1]})
    seen = Tables(report_page(account_of(solved)))
    assert "no feasible point has a value above 1" in seen.sections["certificate"]
    assert "from the largest there is" in seen.sections["certificate"]


# ---------------------------------------------------------------- the command


def test_a_place_that_cannot_be_written_is_found_before_the_work(tmp_path: Path) -> None:
    outcome = kdsl("solve", "svm_1norm", "--data", CRESCENTS, "--report", tmp_path / "no" / "such.html", "-q")
    assert outcome.code == 4 and outcome.out == ""


def test_data_that_cannot_be_bound_leave_no_page(tmp_path: Path) -> None:
    outcome = kdsl("solve", "svm_1norm", "--data", CRESCENTS, "--target", "z", "--report", tmp_path / "p.html", "-q")
    assert outcome.code == 1
    assert not (tmp_path / "p.html").exists()


def test_solving_imports_no_picture_without_a_report() -> None:
    import subprocess

    code = (
        "import sys; from kdsl.cli.main import main;"
        f"main(['solve', 'svm_1norm', '--data', {CRESCENTS!r}, '--positive', 'upper', '-q']);"
        "print([m for m in sys.modules if m.startswith(('kdsl.report', 'kdsl.plot', 'matplotlib'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


# ------------------------------------------------------------------ the pieces


@pytest.mark.parametrize(
    ("value", "digits", "shown"),
    [
        (57.98432171, 9, "57.9843217"),
        (-0.5, 9, "−0.5"),
        (-0.0, 9, "0"),
        (3.1e-05, 2, "3.1&#160;×&#160;10<sup>−5</sup>"),
        (-1e-6, 2, "−10<sup>−6</sup>"),
        (1e20, 3, "10<sup>20</sup>"),
        (math.inf, 9, "∞"),
        (-math.inf, 9, "−∞"),
        (math.nan, 9, "undefined"),
    ],
)
def test_figures_are_typeset(value: float, digits: int, shown: str) -> None:
    assert figure(value, digits) == shown


def test_text_is_escaped_once_and_html_never() -> None:
    assert safe('<a href="x">&') == "&lt;a href=&quot;x&quot;&gt;&amp;"
    assert safe(safe("<")) == "&lt;"
    assert safe("a\u202eb\x00c\ud800") == "a\ufffdb\ufffdc\ufffd"
    assert together("<", Html("<b>")) == "&lt;<b>"
    assert prose("`a<b` is not `c`, says ` one") == "`a&lt;b` is not `c`, says ` one"
    assert prose("`a<b` is") == "<code>a&lt;b</code> is"


@given(st.text())
def test_any_text_is_safe(text: str) -> None:
    found = safe(text)
    assert not set(found) & set('<>"')
    assert html.unescape(found) == "".join(c if c.isprintable() else "\ufffd" for c in text)
    found.encode("utf-8")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_any_figure_reads_back(value: float) -> None:
    shown = figure(value, 17).replace("−", "-").replace("&#160;×&#160;10<sup>", "e").replace("10<sup>", "1e")
    assert float(shown.replace("</sup>", "")) == value


def test_a_last_column_without_words_is_left_out() -> None:
    assert "remark" not in tabulated("t", ("a", "remark"), [("1", ""), ("2", "")])
    assert "remark" in tabulated("t", ("a", "remark"), [("1", ""), ("2", "x")])


@pytest.mark.parametrize(
    ("name", "shown"), [("margin[0]", "margin[1]"), ("m[0, 9]", "m[1, 10]"), ("energy", "energy"), ("b", "b")]
)
def test_members_are_counted_from_one(name: str, shown: str) -> None:
    assert from_one(name) == shown


def test_a_status_below_optimal_tells_what_was_reported(solution: Solution) -> None:
    from dataclasses import replace

    account = replace(account_of(solution), status="user_limit", message="out of <time>")
    assert "Stopped at a limit" in verdict(account) and "Reported: out of &lt;time&gt;." in verdict(account)
    assert "Reported" not in verdict(account_of(solution))


def test_an_svg_keeps_only_the_names_that_it_uses() -> None:
    text = (
        '<?xml version="1.0"?>\n<!DOCTYPE svg>\n<svg width="2" viewBox="0 0 1 1" version="1.1"><metadata>m</metadata>'
        '<defs><style type="text/css">*{}</style></defs><g id="free SV"><path id="a"/></g><g id="free SV"/>'
        '<use xlink:href="#a"/><g clip-path="url(#b)"/><clipPath id="b"/></svg>\n'
    )
    found = svg_element(text, "p-", 'a "<b>"')
    assert found.startswith('<svg role="img" aria-label="a &quot;&lt;b&gt;&quot;" viewBox="0 0 1 1"')
    assert found.endswith(
        '<g><path id="p-a"/></g><g/><use href="#p-a"/><g clip-path="url(#p-b)"/><clipPath id="p-b"/></svg>'
    )
    assert "metadata" not in found and "style type" not in found


def test_the_features_shown_are_those_that_matter() -> None:
    random = np.random.default_rng(3)
    x = random.normal(size=(60, 4))
    x[:, 3] = np.sign(x[:, 3])  # matters as much, and has two values
    y = np.where(4 * x[:, 1] - 6 * x[:, 2] + 5 * x[:, 3] > 0, 1.0, -1.0)
    solved = package.solve("svm_1norm", {"x": x, "y": y}, kernels={"k": "linear"})
    from kdsl.plot.fits import fit_of

    names = fit_of(solved).features
    assert telling(fit_of(solved), {}, 2) == (names[1], names[2])
    assert telling(fit_of(solved), {}, 1) == (names[2],)


@pytest.mark.parametrize(("place", "name"), [("surfaces.decision", "decision"), ("telling", "decision")])
def test_a_picture_that_fails_leaves_the_page_and_says_why(
    place: str, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fails(*arguments: object) -> None:
        raise ZeroDivisionError("a <b> by 0")

    monkeypatch.setattr(f"kdsl.report.drawings.{place}", fails)
    page_at = tmp_path / "page.html"
    ran = kdsl("solve", "svm_1norm", "--data", CRESCENTS, "--positive", "upper", "-q", "--report", page_at)
    text = page_at.read_text(encoding="utf-8")
    assert ran.code == 0, ran.err
    assert f"Not drawn, <code>{name}</code>: ZeroDivisionError: a &lt;b&gt; by 0." in text
    assert 'id="picture-margins"' in text and 'id="picture-decision"' not in text
