"""CommandParser: argparse's parser, which says of a command line what is wrong with it and not all that it could be."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import NoReturn

USAGE = 2


class CommandParser(ArgumentParser):
    """Of a verb, and of what a verb is divided into."""

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"{self.prog}: error: {message}\n  = help: `{self.prog} --help` lists what it takes\n")
