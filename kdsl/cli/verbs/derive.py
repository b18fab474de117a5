"""Derive the Lagrangian, the dual and the KKT conditions of a spec, each step with its reason."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from kdsl import pipeline
from kdsl.cli.sources import Source, check_source, on_spec, report
from kdsl.cli.terminal import Console
from kdsl.cli.values import seconds, seed

if TYPE_CHECKING:
    from kdsl.algebra.derivation import Derivation
    from kdsl.algebra.evidence import Evidence

FORMATS = ("text", "latex", "html", "json")
_EXIT = {"passed": 0, "refuted": 3, "untested": 5}
_WORDS = {
    "refuted": "the evidence does not support the derivation",
    "untested": "the derivation could not be tested: nothing speaks for it or against it; try another --seed",
}


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("spec", help="a path, the name of a shipped spec, or - for standard input")
    parser.add_argument("--format", choices=FORMATS, default="text", help="text unless given")
    parser.add_argument("-o", dest="output", metavar="FILE", help="write to FILE instead of standard output")
    parser.add_argument("--verify", action="store_true", help="test the derivation on random small instances")
    parser.add_argument("--seed", type=seed, default=0, help="of the random instances (default: 0)")
    parser.add_argument(
        "--time-limit", type=seconds, default=20.0, metavar="SECONDS", help="for --verify (default: 20)"
    )
    parser.add_argument("--strict", action="store_true", help="make warnings errors")


def run(arguments: Namespace, console: Console) -> int:
    return on_spec(arguments.spec, lambda source: _derive(source, arguments, console))


def _derive(source: Source, arguments: Namespace, console: Console) -> int:
    model, warnings = check_source(source, arguments.strict)
    report(warnings, source, console)
    derivation = pipeline.derive(model)
    evidence = None
    if arguments.verify:
        evidence = pipeline.verify(derivation, arguments.seed, arguments.time_limit)
    to_terminal = arguments.output is None and arguments.format == "text"
    text = _render(derivation, evidence, arguments.format, ascii=to_terminal and console.ascii)
    if to_terminal:
        console.out(text)
    else:
        console.out_file(text, arguments.output)
    verdict = "passed" if evidence is None else evidence.verdict
    if verdict != "passed":
        console.err(f"{source.filename}: {_WORDS[verdict]}\n")
    return _EXIT[verdict]


def _render(derivation: Derivation, evidence: Evidence | None, form: str, ascii: bool) -> str:
    if form == "latex":
        from kdsl.render.latex import render as render_latex

        return render_latex(derivation, evidence)
    if form == "html":
        from kdsl.render.html import render as render_html

        return render_html(derivation, evidence)
    if form == "json":
        from kdsl.render.json_ import render as render_json

        return render_json(derivation, evidence)
    from kdsl.render.text import render as render_text

    return render_text(derivation, evidence, ascii=ascii)
