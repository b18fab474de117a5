"""CommandParser: argparse's parser, which says of a command line what is wrong with it and not all that it could be."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import NoReturn

from kdsl.cli.usage import UsageError


class CommandParser(ArgumentParser):
    """Of a verb, and of what a verb is divided into."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(self.prog, message, f"`{self.prog} --help` lists what it takes")
