"""Lay a spec out in the standard way: print it, or rewrite the file with --in-place."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from kdsl.cli.places import check_own
from kdsl.cli.refusals import refuse
from kdsl.cli.sources import Source, on_spec
from kdsl.cli.terminal import Console
from kdsl.language.diagnostics import KdslError


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("spec", nargs="+", help="a path, the name of a shipped spec, or - for standard input")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--check", action="store_true", help="print nothing; exit with 1 if a file would change")
    mode.add_argument("-i", "--in-place", action="store_true", help="rewrite the files")
    symbols = parser.add_mutually_exclusive_group()
    symbols.add_argument("--unicode", action="store_true", help="spell every symbol in Unicode")
    symbols.add_argument("--ascii", action="store_true", help="spell every symbol in ASCII")


def run(arguments: Namespace, console: Console) -> int:
    return max(_one(argument, arguments, console) for argument in arguments.spec)


def _one(argument: str, arguments: Namespace, console: Console) -> int:
    """One that cannot be laid out does not keep the others from it."""
    try:
        if arguments.in_place:
            check_own(argument)
        return on_spec(argument, lambda source: _format(source, arguments, console))
    except KdslError as error:
        return refuse(error, console)


def _format(source: Source, arguments: Namespace, console: Console) -> int:
    from kdsl.language.formatter import format_source

    spelling = True if arguments.unicode else False if arguments.ascii else None
    text = format_source(source.text, unicode=spelling)
    if arguments.check:
        if text != source.text:
            console.err(f"{source.filename}: would be laid out differently\n")
            return 1
    elif arguments.in_place and source.filename != "<stdin>":
        if text != source.text:
            from kdsl.whole_file import write_whole

            write_whole(source.filename, text)
            console.err(f"{source.filename}: laid out\n")
    else:
        console.out_file(text)
    return 0
