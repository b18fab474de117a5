"""Draw a solved problem, or a loss, at the size of a paper's column."""

from __future__ import annotations

import os
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from typing import TYPE_CHECKING

from kdsl import pipeline
from kdsl.cli.binding_options import add_data_options, add_resource_options, messages, pair, tables_of
from kdsl.cli.sources import read_model, report
from kdsl.cli.terminal import Console
from kdsl.cli.verbs.solve import EXIT, OTHERWISE, add_solver_options, check_kernels, options_of, prepare_problem

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kdsl.language.model import Model
    from kdsl.models.solution import Solution
    from kdsl.plot.convergence import Record
    from kdsl.plot.fits import Solved

KINDS = {
    "decision": "the decision over two features, with margins and support vectors",
    "margins": "multipliers against margins or residuals, and who breaks KKT",
    "gap": "the gap against time while the problem is solved",
    "tube": "the regression over one feature, with its tube",
    "novelty": "the level sets of a novelty over two features",
    "loss": "a loss of the objective and its conjugate; without data",
}
MAGIC = b"kdsl-model "


def configure(parser: ArgumentParser) -> None:
    kinds = "; ".join(f"{name}: {what}" for name, what in KINDS.items())
    parser.add_argument("kind", choices=KINDS, metavar="KIND", help=kinds)
    parser.add_argument("spec", metavar="SPEC_OR_MODEL", help="a spec, or a file that `kdsl solve -o` wrote")
    parser.add_argument("-o", dest="output", metavar="FILE", help="a .png, .svg or .pdf (NAME_KIND.png)")
    parser.add_argument("--pair", type=names, metavar="A,B", help="the two features to be shown")
    parser.add_argument("--feature", metavar="A", help="the feature to be shown by `tube`")
    parser.add_argument("--at", action="append", type=pair, metavar="G=LABEL", help="the group whose surface is drawn")
    parser.add_argument("--loss", metavar="NAME", help="the loss to be shown, where the objective has several")
    parser.add_argument("--columns", type=int, choices=(1, 2), default=1, help="the width: 3.3 or 6.9 inches (1)")
    add_data_options(parser, required=False)
    add_solver_options(parser)
    add_resource_options(parser)


def names(text: str) -> tuple[str, ...]:
    """`age,income`."""
    found = tuple(word.strip() for word in text.split(","))
    if not all(found):
        raise ArgumentTypeError(f"`{text}` is not of the form A,B")
    return found


def default_output(arguments: Namespace) -> str:
    """In the current folder, called as the spec or the model is, and after the kind of the picture."""
    stem = "stdin" if arguments.spec == "-" else os.path.splitext(os.path.basename(arguments.spec))[0]
    return f"{stem}_{arguments.kind}.png"


def run(arguments: Namespace, console: Console) -> int:
    from kdsl.plot.sheets import format_of

    format_of(arguments.output)
    if is_model(arguments.spec):
        return _write(_of_model(arguments), arguments.output, console)
    return _of_spec(arguments, console)


def is_model(path: str) -> bool:
    """Whether the file begins as model files do."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def _write(figure: Figure, output: str, console: Console) -> int:
    from kdsl.plot import save

    save(figure, output)
    console.out_place(output)
    return 0


def _of_model(arguments: Namespace) -> Figure:
    """A picture of a saved model, with the data that it was fitted on."""
    from kdsl.binding.faults import fault
    from kdsl.cli.binding_options import kernels_of
    from kdsl.models.model_file import load_model, read_container, restore
    from kdsl.plot import with_data

    if arguments.kind in ("gap", "loss"):
        why = "a model file does not say how it was solved" if arguments.kind == "gap" else "its data are not needed"
        raise fault("K668", f"`{arguments.kind}` is drawn from a spec, not from a model file", why, "give the spec")
    model = restore(read_container(arguments.spec), arguments.spec, None).model
    functions = kernels_of(arguments.kernel or [], model, arguments.allow_python)
    loaded = load_model(arguments.spec, {name: given for name, given in functions.items() if callable(given)})
    return draw(with_data(loaded, tables_of(_data(arguments), model, arguments.index_base)), None, arguments)


def _of_spec(arguments: Namespace, console: Console) -> int:
    source, model, warnings = read_model(arguments.spec)
    report(warnings, source, console)
    check_kernels(arguments.kernel or [])
    if arguments.kind == "loss":
        from kdsl.plot import loss

        figure = loss(model, dict(arguments.params or []), arguments.loss, columns=arguments.columns)
        return _write(figure, arguments.output, console)
    solved = _solved(model, arguments, console)
    if isinstance(solved, int):
        return solved
    solution, record = solved
    messages(solution.warnings, console)
    return _write(draw(solution, record, arguments), arguments.output, console)


def _data(arguments: Namespace) -> list[str]:
    """The tables; K668 where a picture needs them and none is given."""
    from kdsl.binding.faults import fault

    if not arguments.data:
        raise fault("K668", f"`{arguments.kind}` shows examples, and no data are given", help="say `--data FILE`")
    given: list[str] = arguments.data
    return given


def _solved(model: Model, arguments: Namespace, console: Console) -> tuple[Solution, Record] | int:
    """The solution and how it was reached, or the exit code where there is none."""
    from kdsl.cli.progress import Watch
    from kdsl.plot import Record
    from kdsl.solving.infeasibility import NoSolution

    _data(arguments)
    prepared = prepare_problem(model, arguments)
    with Watch(console, arguments.quiet) as watch:
        record = Record(watch)
        try:
            return pipeline.solve(prepared, options_of(arguments), arguments.backend, record, watch.step), record
        except NoSolution as none:
            messages(none.diagnostics, console)
            return EXIT.get(none.status, OTHERWISE)


def draw(solved: Solved, record: Record | None, arguments: Namespace) -> Figure:
    """The picture that was asked for."""
    from kdsl import plot
    from kdsl.models.solution import Solution

    if arguments.kind == "gap":
        assert record is not None and isinstance(solved, Solution)
        return plot.gap(record, solved, columns=arguments.columns)
    if arguments.kind == "margins":
        return plot.margins(solved, columns=arguments.columns)
    if arguments.kind == "tube":
        return plot.tube(solved, arguments.feature, dict(arguments.at or []), columns=arguments.columns)
    picture = plot.decision if arguments.kind == "decision" else plot.novelty
    return picture(solved, arguments.pair, dict(arguments.at or []), columns=arguments.columns)
