"""Verify a saved model: compute everything again from the file and the data, and compare."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from kdsl.cli.binding_options import (
    add_base_option,
    add_function_options,
    add_resource_options,
    functions_of,
    messages,
    tables_of,
)
from kdsl.cli.terminal import Console

if TYPE_CHECKING:
    from kdsl.models.verification import Verification

SCHEMA = 1
FAILED = 3
BROKEN = dict.fromkeys(("K652", "K653", "K654", "K655", "K676"), FAILED)  # a file that can no longer be read fails too
EXIT_CODES = BROKEN


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("model", help="a file that `kdsl solve -o` wrote")
    parser.add_argument(
        "--data", action="append", required=True, metavar="[INDEX:]FILE", help="the training data, as for solve"
    )
    add_base_option(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_function_options(parser)
    add_resource_options(parser)


def run(arguments: Namespace, console: Console) -> int:
    found, _ = computed_again(arguments, console)
    if arguments.json:
        console.out_file(_json(found))
    else:
        console.out(_text(found))
        messages(found.findings, console)
    return 0 if found.holds else FAILED


def computed_again(arguments: Namespace, console: Console) -> tuple[Verification, dict[str, Any]]:
    """What comes of computing a saved model again, and the tables that it was computed from."""
    from kdsl.binding.kernels import DEFAULT_MEMORY
    from kdsl.cli.progress import Watch
    from kdsl.models.model_file import read_container, restore
    from kdsl.models.verification import verify_model

    functions = functions_of(arguments)
    model = restore(read_container(arguments.model), arguments.model).model
    tables = tables_of(arguments.data, model, arguments.index_base)
    with Watch(console, arguments.quiet) as watch:
        return verify_model(arguments.model, tables, functions, arguments.memory or DEFAULT_MEMORY, watch.step), tables


def _json(found: Verification) -> str:
    import json

    from kdsl.models.report import number, warning_entry

    entry = {
        "schema": SCHEMA,
        "verified": found.holds,
        "model": found.loaded.model.name,
        "status": found.loaded.status,
        "figures": [
            {
                "name": f.name,
                "stored": None if f.stored is None else number(f.stored),
                "computed": None if f.computed is None else number(f.computed),
                "holds": f.holds,
            }
            for f in found.figures
        ],
        "findings": [warning_entry(finding) for finding in found.findings],
    }
    return json.dumps(entry, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _text(found: Verification) -> str:
    rows = [("", "stored", "computed", "")]
    for f in found.figures:
        rows.append((f.name, _figure(f.stored), _figure(f.computed), "" if f.holds else "differs"))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    table = "".join(
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(w) for cell, w in zip(row[1:3], widths[1:], strict=True)), row[3]]
        ).rstrip()
        + "\n"
        for row in rows
    )
    model, status = found.loaded.model.name, found.loaded.status
    if found.holds:
        return f"{table if found.figures else ''}{model}: verified; it is {status}, as the file says\n"
    found_words = f"{len(found.findings)} finding{'' if len(found.findings) == 1 else 's'}"
    return f"{table if found.figures else ''}{model}: NOT verified ({found_words})\n"


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.12g}"
