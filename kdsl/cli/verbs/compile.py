"""Print a spec as one stage of the compiler sees it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from kdsl import pipeline
from kdsl.cli.binding_options import add_data_options, size
from kdsl.cli.sources import Source, check_source, on_spec, read_model, report
from kdsl.cli.terminal import Console
from kdsl.cli.verbs.solve import add_solver_options, check_kernels, options_of, prepare_problem
from kdsl.language.model import Model

SECTIONS = {  # of the printed derivation, for each stage of the algebra
    "primal": ("notation", "primal", "reformulation"),
    "lagrangian": ("lagrangian", "stationarity"),
    "dual": ("exact", "dual", "recovery"),
    "kkt": ("kkt",),
}
WITH_DATA = ("normal-form", "route")
STAGES = ("syntax", "model", *SECTIONS, *WITH_DATA)


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("spec", help="a path, the name of a shipped spec, or - for standard input")
    parser.add_argument("--emit", metavar="STAGE", choices=STAGES, required=True, help=" | ".join(STAGES))
    parser.add_argument("--strict", action="store_true", help="make warnings errors")
    on_data = parser.add_argument_group(f"for {' and '.join(WITH_DATA)}, which are those of data")
    add_data_options(on_data, required=False)
    add_solver_options(on_data)
    on_data.add_argument("--memory", type=size, metavar="BYTES", help="what may be used, such as 512M or 2G")


def run(arguments: Namespace, console: Console) -> int:
    if arguments.emit in WITH_DATA:
        source, model, warnings = read_model(arguments.spec, arguments.strict)
        report(warnings, source, console)
        return _emit_with_data(model, arguments, console)
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


def _emit_with_data(model: Model, arguments: Namespace, console: Console) -> int:
    from kdsl.solving.facts import facts_of
    from kdsl.solving.stage_text import normal_form_text, route_text

    check_kernels(arguments.kernel or [])
    prepared = prepare_problem(model, arguments)
    lowered = pipeline.lower(prepared)
    if arguments.emit == "normal-form":
        console.out(normal_form_text(prepared.posed, lowered))
        return 0
    options = options_of(arguments)
    chosen = pipeline.route(prepared, lowered, options, arguments.backend)
    console.out(route_text(prepared.posed, facts_of(lowered.problem, options.memory), chosen))
    return 0
