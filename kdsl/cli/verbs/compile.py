"""Print a spec as one stage of the compiler sees it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from kdsl import pipeline
from kdsl.cli.sources import Source, check_source, on_spec, report
from kdsl.cli.terminal import Console

SECTIONS = {  # of the printed derivation, for each stage of the algebra
    "primal": ("notation", "primal", "reformulation"),
    "lagrangian": ("lagrangian", "stationarity"),
    "dual": ("exact", "dual", "recovery"),
    "kkt": ("kkt",),
}
STAGES = ("syntax", "model", *SECTIONS)


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("spec", help="a path, the name of a shipped spec, or - for standard input")
    parser.add_argument("--emit", metavar="STAGE", choices=STAGES, required=True, help=" | ".join(STAGES))
    parser.add_argument("--strict", action="store_true", help="make warnings errors")


def run(arguments: Namespace, console: Console) -> int:
    return on_spec(arguments.spec, lambda source: _emit(source, arguments, console))


def _emit(source: Source, arguments: Namespace, console: Console) -> int:
    from kdsl.cli.tree import draw

    if arguments.emit == "syntax":
        console.out(draw(pipeline.syntax(source.text)))
        return 0
    model, warnings = check_source(source, arguments.strict)
    report(warnings, source, console)
    if arguments.emit == "model":
        console.out(draw(model))
        return 0
    from kdsl.render.document import document
    from kdsl.render.text import document_text

    whole = document(pipeline.derive(model))
    part = tuple(section for section in whole.sections if section.key in SECTIONS[arguments.emit])
    console.out(document_text(whole._replace(sections=part), ascii=console.ascii))
    return 0
