"""Write a saved model and its data to one HTML page, every figure computed again."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace

from kdsl.cli.binding_options import add_base_option, add_function_options, add_resource_options, messages
from kdsl.cli.terminal import Console
from kdsl.cli.verbs.verify import BROKEN, FAILED, computed_again

EXIT_CODES = BROKEN
OTHER_DATA = "K656"


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("model", help="a file that `kdsl solve -o` wrote")
    parser.add_argument(
        "--data", action="append", required=True, metavar="[INDEX:]FILE", help="the training data, as for solve"
    )
    add_base_option(parser)
    parser.add_argument("-o", dest="output", metavar="HTML", help="the page (MODEL.html)")
    add_function_options(parser)
    add_resource_options(parser)


def default_output(arguments: Namespace) -> str:
    """In the current folder, called as the model is."""
    return f"{os.path.splitext(os.path.basename(arguments.model))[0]}.html"


def run(arguments: Namespace, console: Console) -> int:
    from kdsl.plot import with_data
    from kdsl.report.account import account_of_model
    from kdsl.report.writing import write_report

    found, tables = computed_again(arguments, console)
    if any(finding.code == OTHER_DATA for finding in found.findings):
        messages(found.findings, console)
        return FAILED
    write_report(account_of_model(found, with_data(found.loaded, tables)), arguments.output)
    console.out_place(arguments.output)
    messages(found.findings, console)
    return 0 if found.holds else FAILED
