"""Hooks of mkdocs.yml: the navigation, in which every page has a place, TeX turned into MathML, and bars in tables."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert

Entry = str | dict[str, Any]

START = ("tutorial.md", "custom-formulation.md", "certificate.md", "python.md", "coming-from-libsvm.md")
REFERENCE = ("language.md", "commands.md", "model-file.md", "backends.md")
FAMILIES = {
    "K1": "syntax",
    "K2": "names",
    "K3": "types and degree",
    "K4": "convexity and duality",
    "K5": "data",
    "K6": "solver and certificate",
}
TEX = re.compile(r'<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<tex>.*?)\\[)\]]</(?P=tag)>', re.DOTALL)
CELL = re.compile(r"<td>.*?</td>", re.DOTALL)


def on_config(config: Any) -> Any:
    config["nav"] = navigation(Path(config["docs_dir"]))
    return config


def on_page_content(content: str, **_: Any) -> str:
    """Formulas as MathML, which browsers draw without a script; a bar in a table's code without its backslash."""
    content = CELL.sub(lambda found: found[0].replace("\\|", "|"), content)
    return TEX.sub(lambda found: _mathml(html.unescape(found["tex"]), found["tag"] == "div"), content)


def navigation(docs: Path) -> list[Entry]:
    """Every page of the folder, the known ones in their order, a new one after those of its kind."""
    pages = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}
    known = {"index.md", "diagnostics.md", "errata.md", *START, *REFERENCE}
    others = sorted(page for page in pages if "/" not in page and page not in known)
    messages: list[Entry] = ["diagnostics.md"]
    for code, title in FAMILIES.items():
        messages.append({f"{code} {title}": _below(pages, f"diagnostics/{code}")})
    sections: dict[str, list[Entry]] = {
        "Start here": [page for page in START if page in pages],
        "Gallery": _below(pages, "gallery/", "gallery.md"),
        "Reference": [*(page for page in REFERENCE if page in pages), {"Messages": messages}],
        "More": [*(page for page in others if page != "gallery.md"), "errata.md"],
        "Decisions": _below(pages, "decisions/"),
    }
    return [{"Home": "index.md"}, *({title: entries} for title, entries in sections.items() if entries)]


def _below(pages: set[str], start: str, *first: str) -> list[Entry]:
    """The pages whose path starts like that, a folder's own page before the others."""
    found = sorted(page for page in pages if page.startswith(start))
    own = [page for page in found if page.count("/") == 1 and page.endswith(("/README.md", "/index.md"))]
    return [*(page for page in first if page in pages), *own, *(page for page in found if page not in own)]


def _mathml(tex: str, display: bool) -> str:
    return convert(tex.strip(), display="block" if display else "inline")
