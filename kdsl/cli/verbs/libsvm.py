"""Use a model file of LIBSVM: predict with it as svm-predict does.

It holds no data, no spec and no certificate, so it cannot become a model file of kdsl.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from kdsl.cli.binding_options import exit_code, messages
from kdsl.cli.terminal import Console
from kdsl.language.diagnostics import KdslError

if TYPE_CHECKING:
    from kdsl.binding.table import Matrix


def configure(parser: ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    predict = actions.add_parser("predict", help="print what the model says of each example, one on each line")
    predict.add_argument("model", help="a file that LIBSVM's svm-train wrote")
    predict.add_argument("data", help="examples in svmlight text: label index:value ...; the labels are not used")
    predict.add_argument("--decision", action="store_true", help="print the decision values too, one for each pair")
    predict.add_argument("-o", dest="output", metavar="FILE", help="write to FILE instead of standard output")


def run(arguments: Namespace, console: Console) -> int:
    try:
        text = _predictions(arguments, console)
        if arguments.output is None:
            console.out_file(text)
        else:
            from kdsl.models.container import replacing

            with replacing(arguments.output) as file:
                file.write(text.encode())
    except KdslError as error:
        messages(error.diagnostics, console)
        return exit_code(error)
    return 0


def _predictions(arguments: Namespace, console: Console) -> str:
    from kdsl.libsvm.reading import read_model

    model = read_model(arguments.model)
    for note in model.notes:
        console.err(f"note: {arguments.model}: {note}\n")
    decision = model.decision(_points(arguments.data))
    lines = [f"{value:.17g}" for value in model.answer(decision)]
    if arguments.decision:
        tails = [" ".join(f"{value:.17g}" for value in row) for row in decision]
        lines = [f"{line} {tail}".rstrip() for line, tail in zip(lines, tails, strict=True)]
    return "".join(f"{line}\n" for line in lines)


def _points(path: str) -> Matrix:
    """The features of a file in svmlight text, feature 1 in the first column."""
    from kdsl.binding.faults import fault
    from kdsl.binding.reading import read_table

    table = read_table(path, base=1)
    if table.label is None:
        raise fault(
            "K671",
            f"`{path}` is not svmlight text",
            "a LIBSVM model numbers its features, and a table names its columns",
            "write each example as `label index:value ...`",
        )
    features = [place for place, name in enumerate(table.names) if name not in ("label", "qid")]
    return table.values[:, features]
