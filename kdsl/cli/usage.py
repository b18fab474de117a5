"""What is known of a command line before it is understood, and the error of one that means nothing."""

from __future__ import annotations

from collections.abc import Sequence


class UsageError(Exception):
    """Who refuses the command line, why, and what would help."""

    def __init__(self, program: str, message: str, help: str = "") -> None:
        super().__init__(message)
        self.program, self.message, self.help = program, message, help

    def __str__(self) -> str:
        help = f"  = help: {self.help}\n" if self.help else ""
        return f"{self.program}: error: {self.message}\n{help}"


def asks_for_json(words: Sequence[str]) -> bool:
    """Whether `--json` or `--format json` is among the words, shortened as argparse allows it."""
    for word, after in zip(words, [*words[1:], ""], strict=False):
        option, equals, value = word.partition("=")
        if option.startswith("--j") and "--json".startswith(option):
            return True
        if option.startswith("--f") and "--format".startswith(option) and (value if equals else after) == "json":
            return True
    return False
