"""Report every mistake in a spec, with its place, its reason and its remedy."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from kdsl import pipeline
from kdsl.cli.refusals import exit_code
from kdsl.cli.sources import Source, read_source, stricter
from kdsl.cli.terminal import Console
from kdsl.language.diagnostics import Diagnostic, KdslError


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("spec", nargs="+", help="a path, the name of a shipped spec, or - for standard input")
    parser.add_argument("--json", action="store_true", help="print the diagnostics as JSON, one object for each spec")
    parser.add_argument("--strict", action="store_true", help="make warnings errors")


def run(arguments: Namespace, console: Console) -> int:
    from kdsl.language.report import render_json, render_text

    code = 0
    for argument in arguments.spec:
        source = _read(argument)
        found = stricter(_diagnostics(source), arguments.strict)
        code = max(code, exit_code(found))
        if arguments.json:
            console.out_file(render_json(found, source.text, source.filename) + "\n")
        elif found:
            console.out(render_text(found, source.text, source.filename, console.colour_out, console.ascii))
        else:
            console.err(f"{source.filename}: nothing to report\n")
    return code


def _read(argument: str) -> Source:
    """The spec, or why there is none."""
    try:
        return read_source(argument)
    except KdslError as error:
        return Source("", "", argument, error.diagnostics)


def _diagnostics(source: Source) -> tuple[Diagnostic, ...]:
    if source.faults:
        return source.faults
    found: tuple[Diagnostic, ...] = ()
    try:
        model, found = pipeline.check(pipeline.syntax(source.text), source.text, source.stem)
        if model is not None:
            pipeline.derive(model)  # convexity, and whether every unknown is held, show only there
    except KdslError as error:
        return (*found, *error.diagnostics)
    return found
