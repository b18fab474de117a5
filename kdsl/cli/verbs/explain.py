"""Explain a diagnostic code: what it means, an example, and how to mend it; without a code, list them all."""

from __future__ import annotations

import re
from argparse import ArgumentParser, Namespace

from kdsl import resources
from kdsl.cli.terminal import Console
from kdsl.cli.usage import UsageError

COPIED = re.compile(r"\[(\w+)\]")  # `error[K203]`, as a message begins


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("code", nargs="?", help="a code such as K203, or error[K203]")


def run(arguments: Namespace, console: Console) -> int:
    if arguments.code is None:
        for code in resources.explained_codes():
            console.out(_title(resources.explanation(code) or "") + "\n")
        return 0
    copied = COPIED.search(arguments.code)
    code = (copied[1] if copied else arguments.code).upper()
    page = resources.explanation(code)
    if page is not None:
        console.out(page)
        return 0
    from difflib import get_close_matches

    near = get_close_matches(code, resources.explained_codes(), n=1)
    hint = f"did you mean {near[0]}?" if near else "`kdsl explain` lists them"
    raise UsageError("kdsl explain", f"no diagnostic has the code {arguments.code}", hint)


def _title(page: str) -> str:
    """The page's first heading."""
    return page.partition("\n")[0].lstrip("# ")
