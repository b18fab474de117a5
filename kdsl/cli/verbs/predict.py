"""Predict new points with a saved model: CSV of any length goes through in blocks, in its order."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kdsl.cli.binding_options import (
    add_base_option,
    add_function_options,
    add_resource_options,
    functions_of,
    messages,
)
from kdsl.cli.terminal import Console

if TYPE_CHECKING:
    from kdsl.algebra.numeric import Array
    from kdsl.binding.table import Table
    from kdsl.models.fitted import Fitted
    from kdsl.models.model_file import LoadedModel

ROWS = 10_000  # of a block, at most
COPIES = 8  # of a block that may be in memory at once


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("model", help="a file that `kdsl solve -o` wrote")
    parser.add_argument(
        "data", help="a table with the columns of training; - is standard input, in any format of a table"
    )
    parser.add_argument("--clause", metavar="KIND", help="the predict clause that answers, where it is not the first")
    parser.add_argument("--decision", action="store_true", help="print the decision values too")
    parser.add_argument("-o", dest="output", metavar="FILE", help="write to FILE instead of standard output")
    add_base_option(parser)
    add_function_options(parser)
    add_resource_options(parser)


def run(arguments: Namespace, console: Console) -> int:
    from kdsl.models.model_file import load_model

    loaded = load_model(arguments.model, functions_of(arguments))
    messages([] if loaded.doubt is None else [loaded.doubt], console)
    lines = _lines(loaded, arguments, console)
    if arguments.output is None:
        for text in lines:
            console.out_file(text)
    else:
        _write(arguments.output, lines)
    return 0


def _write(path: str, lines: Iterator[str]) -> None:
    """The whole file or the old one."""
    from kdsl.whole_file import replacing

    with replacing(path) as file:
        for text in lines:
            file.write(text.encode())


def _lines(loaded: LoadedModel, arguments: Namespace, console: Console) -> Iterator[str]:
    """The table of predictions, block by block."""
    from kdsl.binding.kernels import DEFAULT_MEMORY
    from kdsl.binding.streaming import read_blocks
    from kdsl.cli.progress import Watch

    fitted = loaded.fitted.answering(arguments.clause)
    features = len(fitted.feature_map.names)
    rows = max(1, min(ROWS, (arguments.memory or DEFAULT_MEMORY) // (8 * COPIES * max(1, features))))
    done, titled = 0, False
    with Watch(console, arguments.quiet) as watch:
        for table in read_blocks(arguments.data, rows, base=arguments.index_base, words=fitted.words()):
            predicted, decision = _both(fitted, table)
            if not titled:
                titled = True
                yield _csv([_titles(fitted, decision, arguments.decision)])
            yield _csv(_rows(predicted, decision, arguments.decision))
            done += len(predicted)
            watch.count(done, "rows")


def _both(fitted: Fitted, table: Table) -> tuple[Array, Array]:
    points, labels = fitted.from_table(table)
    return fitted.predict_both(points, labels)


def _titles(fitted: Fitted, decision: Array, wanted: bool) -> list[str]:
    """`label`, and `decision` or one column for each class."""
    titles = [fitted.clause.kind]
    if wanted and decision.ndim == 2:
        titles += [f"decision.{name}" for name in fitted.decision_names]
    elif wanted:
        titles.append("decision")
    return titles


def _rows(predicted: Array, decision: Array, wanted: bool) -> list[list[str]]:
    shown = [[_word(value)] for value in predicted]
    if wanted:
        for row, values in zip(shown, decision.reshape(len(shown), -1), strict=True):
            row.extend(repr(float(value)) for value in values)
    return shown


def _word(value: object) -> str:
    """A label as it was spelt; a number so that it reads back as the same."""
    if isinstance(value, str):
        return value
    number = float(value)  # type: ignore[arg-type]
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


def _csv(rows: list[list[str]]) -> str:
    import csv
    import io

    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
