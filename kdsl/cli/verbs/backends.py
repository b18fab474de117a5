"""List the solvers that kdsl can call: installed or not, version, accuracy, licence, and what each takes."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from kdsl.cli.terminal import Console

if TYPE_CHECKING:
    from kdsl.solving.backends.interface import Backend

SCHEMA = 1


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="list what is not installed too")
    parser.add_argument("--json", action="store_true", help="list all of them as JSON")


def run(arguments: Namespace, console: Console) -> int:
    from kdsl.language.report import render_text
    from kdsl.solving.backends.registry import GROUP, backends

    known, warnings = backends()
    if arguments.json:
        import json

        listing = {"schema": SCHEMA, "backends": [_entry(backend) for backend in known]}
        console.out_file(json.dumps(listing, indent=2, ensure_ascii=False) + "\n")
    else:
        here = [backend for backend in known if backend.installed()]
        absent = [backend for backend in known if not backend.installed()]
        console.out(_table(here))
        if absent and arguments.all:
            console.out("\nnot installed\n" + _table(absent))
        elif absent:
            console.err(f"{len(absent)} more are known but not installed: `kdsl backends --all`\n")
    if warnings:
        console.err(render_text(warnings, "", f"entry points {GROUP}", console.colour_err, console.ascii))
    return 0


def _entry(backend: Backend) -> dict[str, object]:
    return {
        "name": backend.name,
        "installed": backend.installed(),
        "version": backend.version() if backend.installed() else None,
        "accuracy": backend.accuracy,
        "licence": backend.licence,
        "package": backend.package or "kdsl",
        "takes": backend.takes,
    }


def _table(listed: list[Backend]) -> str:
    """Columns: name, version, accuracy, licence, what it takes."""
    rows = [("backend", "version", "rel_gap", "licence", "takes")]
    for b in listed:
        version = b.version() if b.installed() else "-"
        rows.append((b.name, version, f"{b.accuracy:.0e}", b.licence, b.takes))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return "".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(row[:4], widths, strict=True)), row[4]]) + "\n"
        for row in rows
    )
