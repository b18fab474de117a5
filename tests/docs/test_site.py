"""The site builds without a warning, has a place for every page, and fetches nothing from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("material", reason="the site is built by the extra `docs`")
pytest.importorskip("latex2mathml", reason="the site is built by the extra `docs`")


@pytest.fixture(scope="module")
def site(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=root, env=quiet, capture_output=True, text=True, timeout=120)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


def test_every_page_has_a_place(site: Path, root: Path) -> None:
    from runpy import run_path

    navigation = run_path(str(root / ".ci" / "site_hooks.py"))["navigation"](root / "docs")
    pages = sorted(path.relative_to(root / "docs").as_posix() for path in (root / "docs").rglob("*.md"))
    assert sorted(_leaves(navigation)) == pages
    folders = [page.removesuffix(".md").removesuffix("README").removesuffix("index") for page in pages]
    assert [folder for folder in folders if not (site / folder / "index.html").is_file()] == []


def _leaves(entries: list[object]) -> list[str]:
    """The pages of a navigation."""
    found: list[str] = []
    for entry in entries:
        if isinstance(entry, dict):
            found += [
                page for below in entry.values() for page in _leaves([below] if isinstance(below, str) else below)
            ]
        else:
            found.append(str(entry))
    return found


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    fetched = re.compile(
        r'<(?:script|img|iframe)[^>]*\bsrc="https?:|<link[^>]*rel="(?!canonical)[^"]*"[^>]*href="https?:'
    )
    assert [path for path in site.rglob("*.html") if fetched.search(path.read_text(encoding="utf-8"))] == []


def test_a_bar_in_a_table_has_no_backslash(site: Path) -> None:
    page = (site / "commands" / "index.html").read_text(encoding="utf-8")
    assert "standard|minmax|none" in page
    assert r"\|" not in page


def test_formulas_are_mathml(site: Path) -> None:
    page = (site / "errata" / "index.html").read_text(encoding="utf-8")
    assert page.count("<math") > 100
    assert "arithmatex" not in page
