"""Write a saved model as a model file of LIBSVM, where it has such a form."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from kdsl.cli.binding_options import messages
from kdsl.cli.terminal import Console


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("model", help="a file that `kdsl solve -o` wrote")
    parser.add_argument("-o", dest="output", metavar="FILE", help="write to FILE instead of standard output")


def run(arguments: Namespace, console: Console) -> int:
    from kdsl.libsvm.exporting import export_model
    from kdsl.libsvm.writing import model_text
    from kdsl.models.model_file import load_model

    loaded = load_model(arguments.model)
    messages([] if loaded.doubt is None else [loaded.doubt], console)
    console.out_file(model_text(export_model(loaded)), arguments.output)
    return 0
