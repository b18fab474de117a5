"""docs/commands.md has every verb with every option, in the words of its help; KDSL_UPDATE_GOLDEN=1 puts them there."""

from __future__ import annotations

import os
import re
from argparse import Action, ArgumentParser
from argparse import _SubParsersAction as SubParsers
from importlib import import_module
from pathlib import Path

import pytest

from kdsl.cli.main import VERBS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "commands.md"
HEAD = "| argument | what it is |\n|---|---|\n"
TABLE = re.compile(re.escape(HEAD) + r"(\|.*\n)*")


def module_parser(verb: str) -> tuple[str, ArgumentParser]:
    """The verb's sentence about itself, and its parser."""
    module = import_module(f"kdsl.cli.verbs.{verb.replace('-', '_')}")
    parser = ArgumentParser(prog=f"kdsl {verb}")
    module.configure(parser)
    return (module.__doc__ or "").partition("\n\n")[0].replace("\n", " ").strip(), parser


def tables(parser: ArgumentParser) -> str:
    """What the page shows of a parser: its arguments, or those of each of its actions."""
    for action in parser._actions:
        if isinstance(action, SubParsers):
            return "\n".join(f"`{name}`:\n\n{tables(below)}" for name, below in action.choices.items())
    rows = [row(action) for action in parser._actions if action.dest != "help"]
    return HEAD + "".join(rows)


def row(action: Action) -> str:
    assert action.help, f"{action.dest} has no help"
    name = action.metavar or (action.dest.upper() if action.option_strings else action.dest)
    shown = name if isinstance(name, str) else " ".join(name)
    if action.choices is not None and action.metavar is None:
        shown = "|".join(map(str, action.choices))
    spelt = [f"{option} {shown}" if action.nargs != 0 else option for option in action.option_strings] or [
        f"[{shown}]" if action.nargs == "?" else f"{shown} ..." if action.nargs == "+" else shown
    ]
    words = re.sub(r"%%", "%", action.help)
    return f"| {', '.join(f'`{_cell(word)}`' for word in spelt)} | {_cell(words)} |\n"


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


def sections(page: str) -> dict[str, str]:
    """The text of each verb's section."""
    parts = re.split(r"^## `kdsl ([\w-]+)`$", page, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def renewed(section: str, table: str) -> str:
    """The section with the tables as they ought to be, where they stood."""
    found = re.compile(r"(?:`[\w-]+`:\n\n)?" + TABLE.pattern)
    first = found.search(section)
    place = first.start() if first else len(section)
    rest = re.sub(r"(?:`[\w-]+`:\n\n)?" + re.escape(HEAD) + r"(?:\|.*\n)*\n?", "", section)
    return f"{rest[:place].rstrip()}\n\n{table}\n{rest[place:].lstrip()}".rstrip("\n") + "\n\n"


def ought(page: str) -> str:
    """The page with every verb, in the order of `kdsl --help`, and every table."""
    beginning, mark, _ = page.partition("## `kdsl ")
    written = sections(page)
    parts = [beginning if mark else page.rstrip("\n") + "\n\n"]
    for verb in VERBS:
        sentence, parser = module_parser(verb)
        section = written.get(verb, f"\n\n{sentence}\n")
        parts.append(f"## `kdsl {verb}`" + renewed(section, tables(parser)))
    return "".join(parts).rstrip("\n") + "\n"


def test_every_verb_and_every_option_is_there() -> None:
    page = PAGE.read_text(encoding="utf-8")
    if os.environ.get("KDSL_UPDATE_GOLDEN"):
        page = ought(page)
        PAGE.write_text(page, encoding="utf-8")
    assert list(sections(page)) == list(VERBS)
    for verb, section in sections(page).items():
        table = tables(module_parser(verb)[1])
        assert all(part in section for part in table.split("\n\n")), f"kdsl {verb}: KDSL_UPDATE_GOLDEN=1 renews it"
        assert len(TABLE.findall(section)) == table.count(HEAD)


@pytest.mark.parametrize("spoilt", ["--tol TOL", "--positive LABEL"])
def test_a_page_without_an_option_is_renewed(spoilt: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    without = "".join(line for line in page.splitlines(keepends=True) if not line.startswith(f"| `{spoilt}`"))
    assert without != page
    assert ought(without) == ought(page) == page


def test_a_verb_that_is_missing_is_put_in_its_place() -> None:
    page = PAGE.read_text(encoding="utf-8")
    section = sections(page)["explain"]
    without = page.replace(f"## `kdsl explain`{section}", "")
    assert list(sections(ought(without))) == list(VERBS)
    assert "`[code]`" in sections(ought(without))["explain"]
