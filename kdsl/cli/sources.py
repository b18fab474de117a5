"""Reads specs from paths, shipped names and standard input, and reports on them what the compiler found."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

from kdsl.cli.terminal import Console
from kdsl.language import limits
from kdsl.language.diagnostics import Diagnostic, KdslError
from kdsl.language.source import check_size, decode_source

MAX_BYTES = limits.SOURCE_BYTES + 1  # enough to see that there is too much


class Source(NamedTuple):
    """A spec's text, the name of its model by default, what to call it in messages, and why it is not text."""

    text: str
    stem: str
    filename: str
    faults: tuple[Diagnostic, ...] = ()


def find_spec(argument: str) -> str:
    """The path that a command-line argument means: a file, else a shipped spec of that name."""
    from kdsl import resources

    if os.path.exists(argument) and not os.path.isdir(argument):
        return argument
    shipped = resources.spec_path(argument)
    if shipped is not None:
        return shipped
    if os.path.isdir(argument):
        raise IsADirectoryError(21, "is a directory, not a spec", argument)
    from difflib import get_close_matches

    stem = os.path.basename(argument).removesuffix(resources.SPEC_SUFFIX)
    near = get_close_matches(stem, resources.spec_names(), n=1)
    hint = f"; did you mean the shipped spec `{near[0]}`?" if near else "; `kdsl specs` lists the shipped ones"
    raise FileNotFoundError(2, "no such file, nor a shipped spec of that name" + hint, argument)


def read_source(argument: str) -> Source:
    """The spec that a command-line argument means; `-` is standard input."""
    if argument == "-":
        if sys.stdin is None:
            raise OSError("standard input is closed")
        content = sys.stdin.buffer.read(MAX_BYTES)
        return _source(content, len(content), "stdin", "<stdin>")
    path = find_spec(argument)
    with open(path, "rb") as file:
        content = file.read(MAX_BYTES)
        size = max(len(content), os.fstat(file.fileno()).st_size)
    return _source(content, size, os.path.basename(path).removesuffix(".kspec"), path)


def on_spec(argument: str, console: Console, action: Callable[[Source], int]) -> int:
    """Run `action` on the spec that the argument means; what it refuses is reported with its place in the text."""
    source = read_source(argument)
    try:
        if source.faults:
            raise KdslError(source.faults)
        return action(source)
    except KdslError as error:
        report(error.diagnostics, source, console)
        return 1


def report(diagnostics: Sequence[Diagnostic], source: Source, console: Console) -> None:
    """Print diagnostics as messages."""
    from kdsl.language.report import render_text

    if diagnostics:
        console.err(render_text(diagnostics, source.text, source.filename, console.colour_err, console.ascii))


def stricter(diagnostics: Sequence[Diagnostic], strict: bool) -> tuple[Diagnostic, ...]:
    """The diagnostics, with warnings made errors where `--strict` was given."""
    return tuple(d._replace(severity="error") if strict else d for d in diagnostics)


def has_errors(diagnostics: Sequence[Diagnostic]) -> bool:
    return any(d.severity == "error" for d in diagnostics)


def _source(content: bytes, size: int, stem: str, filename: str) -> Source:
    try:
        check_size(size)
        return Source(decode_source(content), stem, filename)
    except KdslError as error:
        readable = content.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
        return Source(readable, stem, filename, error.diagnostics)
