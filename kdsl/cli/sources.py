"""Reads specs from paths, shipped names and standard input, and says of them what the compiler found."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from kdsl import pipeline
from kdsl.cli.terminal import Console
from kdsl.language import limits
from kdsl.language.diagnostics import Diagnostic, KdslError
from kdsl.language.model import Model
from kdsl.language.source import check_size, decode_source
from kdsl.spec_file import find_spec

Result = TypeVar("Result")

MAX_BYTES = limits.SOURCE_BYTES + 1  # enough to see that there is too much


class Source(NamedTuple):
    """A spec's text, the name of its model by default, what to call it in messages, and why it is not text."""

    text: str
    stem: str
    filename: str
    faults: tuple[Diagnostic, ...] = ()


class SpecError(KdslError):
    """What is wrong with a spec, and the text that its places are in."""

    def __init__(self, diagnostics: Sequence[Diagnostic], source: Source) -> None:
        super().__init__(tuple(diagnostics))
        self.source = source


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


def on_spec(argument: str, action: Callable[[Source], Result]) -> Result:
    """What `action` makes of the spec that the argument means; what it refuses has its place in the text."""
    source = read_source(argument)
    try:
        if source.faults:
            raise KdslError(source.faults)
        return action(source)
    except OSError:
        raise
    except KdslError as error:
        raise SpecError(error.diagnostics, source) from None


def check_source(source: Source, strict: bool = False) -> tuple[Model, tuple[Diagnostic, ...]]:
    """The model of a spec, with the warnings about it."""
    checked = pipeline.check(pipeline.syntax(source.text), source.text, source.stem)
    found = stricter(checked.diagnostics, strict)
    if checked.model is None or has_errors(found):
        raise KdslError(found)
    return checked.model, found


def read_model(argument: str, strict: bool = False) -> tuple[Source, Model, tuple[Diagnostic, ...]]:
    """The spec that the argument means, its model, and the warnings about it."""
    return on_spec(argument, lambda source: (source, *check_source(source, strict)))


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
