"""`kdsl report`: a saved model and its data on a page, and what no longer holds."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from browser import Browser
from command_runs import kdsl
from reported import CRESCENTS

from kdsl.models.container import pack, unpack


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "crescents.kdsl"
    options = ("--positive", "upper", "-D", "C=2", "--scale", "standard", "-q", "-o", path)
    outcome = kdsl("solve", "svm_1norm", "--data", CRESCENTS, *options, "--report", path.with_suffix(".solved.html"))
    assert outcome.code == 0, outcome.err
    return path


def parts(page: Path) -> dict[str, str]:
    """The sections of a page, without what only a fresh solve knows."""
    text = page.read_text(encoding="utf-8")
    pieces = re.split(r'^<section id="(\w+)" aria-labelledby', text.partition("<main>")[2], flags=re.M)
    return dict(zip(pieces[1::2], pieces[2::2], strict=True))


def test_the_page_of_a_model_is_that_of_its_solve(saved: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = kdsl("report", saved, "--data", CRESCENTS, "-q")
    assert (outcome.code, outcome.out, outcome.err) == (0, "crescents.html\n", "")
    now, then = parts(tmp_path / "crescents.html"), parts(saved.with_suffix(".solved.html"))
    for key in ("spec", "data", "derivation"):
        assert now[key] == then[key], key
    again = re.search(r"<p>All (\d+) figures were computed again .*?</p>\n", now["certificate"])
    assert again is not None and int(again[1]) > 10
    assert now["certificate"].replace(again[0], "") == then["certificate"]
    tables = [re.findall(r"<caption>The multipliers.*?</table>", part["solution"], re.S) for part in (now, then)]
    assert tables[0] == tables[1] != []
    assert '<figure id="picture-decision">' in now["pictures"]


def test_a_changed_figure_is_shown_and_the_verdict_says_so(saved: Path, tmp_path: Path, browser: Browser) -> None:
    container = unpack(saved.read_bytes(), "saved")
    header = json.loads(json.dumps(container.header))
    header.pop("arrays")
    header["certificate"]["value"] *= 1.001
    changed = tmp_path / "changed.kdsl"
    changed.write_bytes(pack(header, container.arrays))
    outcome = kdsl("report", changed, "--data", CRESCENTS, "-q", "-o", tmp_path / "page.html")
    assert outcome.code == 3 and "K657" in outcome.err
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '<div class="verdict bad">' in text and "Computed again, not every figure holds." in text
    assert "<code>value</code> is not what the data and the dual point give: stored" in text
    assert browser.visit(tmp_path / "page.html") == ([], [])


def test_other_data_are_refused_and_leave_no_page(saved: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    lines = Path(CRESCENTS).read_text(encoding="utf-8").splitlines()
    other.write_text("\n".join([*lines[:-1], "9,9,upper"]) + "\n", encoding="utf-8")
    outcome = kdsl("report", saved, "--data", other, "-q", "-o", tmp_path / "page.html")
    assert outcome.code == 3 and "K656" in outcome.err
    assert not (tmp_path / "page.html").exists()


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    outcome = kdsl("report", CRESCENTS, "--data", CRESCENTS, "-o", tmp_path / "page.html")
    assert outcome.code == 3 and "K652" in outcome.err
    assert kdsl("report", CRESCENTS, "--data", CRESCENTS, "-o", tmp_path / "no" / "page.html").code == 4
