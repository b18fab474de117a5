"""Start a spec of your own from a template: it checks and derives as it is, and its comments say what to change."""

from __future__ import annotations

import os
import re
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, NamedTuple

from kdsl import resources
from kdsl.cli.terminal import Console

if TYPE_CHECKING:
    from kdsl.language.model import Model

DEFAULT = "classification"


class Start(NamedTuple):
    """Where the spec goes, and its text."""

    path: str
    text: str


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("name", help="the name of the model; NAME.kspec is written, and nothing is overwritten")
    known = ", ".join(resources.template_names())
    parser.add_argument("--template", metavar="WORD", default=DEFAULT, help=f"one of {known} ({DEFAULT})")


def run(arguments: Namespace, console: Console) -> int:
    start = started(arguments.name, arguments.template)
    _write(start)
    console.out(_told(start))
    return 0


def started(name: str, template: str) -> Start:
    """The spec of that name from the template, its model called as its file is."""
    from kdsl.binding.faults import fault, listing, nearest

    names = resources.template_names()
    if template not in names:
        remedy = nearest(template, names)
        shown = remedy if remedy.startswith("there is") else f"{remedy} There is {listing(names)}"
        raise fault("K681", f"there is no template `{template}`", help=shown)
    path = f"{name.removesuffix(resources.SPEC_SUFFIX)}{resources.SPEC_SUFFIX}"
    stem = os.path.basename(path).removesuffix(resources.SPEC_SUFFIX)
    if not _is_name(stem):
        raise fault(
            "K680",
            f"`{stem}` cannot be the name of a model",
            "a name begins with a letter, and goes on with letters, digits and underscores",
            f"such as `kdsl init {_mended(stem)}`",
        )
    text = resources.template(template)
    return Start(path, re.sub(r"^model \w+", f"model {stem}", text, count=1, flags=re.MULTILINE))


def _is_name(stem: str) -> bool:
    """Whether the language reads it as one name, which stands alone after `model`."""
    from kdsl.language.lexer import scan

    tokens, faults = scan(stem)
    return not faults and [(token.type, token.end) for token in tokens] == [("NAME", len(stem))]


def _mended(stem: str) -> str:
    """A name that resembles the one that was given."""
    from unicodedata import combining, normalize

    plain = "".join(c for c in normalize("NFKD", stem) if not combining(c))
    letters = re.sub(r"\W+", "_", plain, flags=re.ASCII).strip("_")
    mended = letters if letters[:1].isalpha() else f"model_{letters}".strip("_")
    return mended if _is_name(mended) else f"{mended}_model"


def _write(start: Start) -> None:
    """A new file; K682 where there is one already."""
    from kdsl.binding.faults import fault

    try:
        with open(start.path, "x", encoding="utf-8", newline="\n") as file:
            file.write(start.text)
    except FileExistsError:
        why = "nothing is overwritten"
        raise fault("K682", f"`{start.path}` is there already", why, "choose another name, or remove it") from None


def _told(start: Start) -> str:
    """What was made, and what to do with it."""
    from shlex import quote

    from kdsl.pipeline import parse_spec

    model = parse_spec(start.text)
    spec = quote(start.path)
    saved = quote(start.path.removesuffix(resources.SPEC_SUFFIX) + ".kdsl")
    target = _target(model)
    steps = [
        (f"kdsl check {spec}", "after every change"),
        (f"kdsl derive {spec} --verify", "its dual, tested on random instances"),
        (f"kdsl solve {spec} --data train.csv{target} -o {saved}", "on your data"),
        (f"kdsl predict {saved} new.csv", "new points"),
    ]
    width = max(len(command) for command, _ in steps)
    lines = "".join(f"  {command.ljust(width)}   {purpose}\n" for command, purpose in steps)
    return f"{start.path} is yours: {model.title}. Change it, then\n\n{lines}"


def _target(model: Model) -> str:
    """The option that names the column of labels or responses, where the model has one."""
    answers = any(d.name == "y" for d in model.data)
    return " --target COLUMN" if answers else ""
