"""The printed derivation of every shipped spec, letter by letter; KDSL_UPDATE_GOLDEN=1 writes them anew."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from derivations import ROOT, SPECS, derivation

from kdsl.algebra.derivation import Derivation
from kdsl.render import html, json_, latex, text

GOLDEN = ROOT / "tests" / "golden" / "derivations"
UPDATE = os.environ.get("KDSL_UPDATE_GOLDEN") == "1"
RENDERERS: dict[str, Callable[[Derivation], str]] = {
    ".txt": text.render,
    ".tex": latex.render,
    ".html": html.render,
    ".json": json_.render,
    ".ascii.txt": lambda d: text.render(d, ascii=True),
}
FILES = [f"{name}{suffix}" for name in SPECS for suffix in (".txt", ".tex")]
FILES += ["svm_1norm.html", "svm_1norm.json", "svm_1norm.ascii.txt", "loss_asymmetric.html", "svr_nu.json"]


@pytest.mark.parametrize("file", FILES)
def test_derivation_is_printed_as_agreed(file: str) -> None:
    name, dot, suffix = file.partition(".")
    printed = RENDERERS[dot + suffix](derivation(name))
    path = GOLDEN / file
    if UPDATE:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(printed, encoding="utf-8")
    assert printed == path.read_text(encoding="utf-8"), f"{file} changed: read it, then KDSL_UPDATE_GOLDEN=1"


def test_no_golden_file_is_left_over() -> None:
    assert sorted(path.name for path in Path(GOLDEN).iterdir()) == sorted(FILES)
