"""Finds the file of a spec by its path or, of a shipped one, by its name."""

from __future__ import annotations

import errno
import os

from kdsl import resources
from kdsl.language.diagnostics import Diagnostic, KdslError


class Unfound(KdslError, OSError):
    """K501: no file has this spec, with the system's `errno`, `strerror` and `filename`."""

    def __init__(self, path: str) -> None:
        number = errno.EISDIR if os.path.isdir(path) else errno.ENOENT
        super().__init__([_directory(path) if number == errno.EISDIR else _missing(path)])
        self.errno, self.strerror, self.filename = number, os.strerror(number), path

    def __reduce__(self) -> tuple[type[Unfound], tuple[str]]:
        return Unfound, (self.filename,)


def find_spec(argument: str) -> str:
    """The path that is meant: a file, else a shipped spec of that name."""
    if os.path.exists(argument) and not os.path.isdir(argument):
        return argument
    shipped = resources.spec_path(argument)
    if shipped is None:
        raise Unfound(argument)
    return shipped


def _directory(path: str) -> Diagnostic:
    return Diagnostic("K501", f"`{path}` is a directory", (), "a spec is one file", "name a file inside it")


def _missing(path: str) -> Diagnostic:
    from difflib import get_close_matches

    stem = os.path.basename(path).removesuffix(resources.SPEC_SUFFIX)
    near = get_close_matches(stem, resources.spec_names(), n=1)
    hint = f"did you mean the shipped spec `{near[0]}`?" if near else "`kdsl specs` lists the shipped ones"
    return Diagnostic("K501", f"there is no file `{path}`, nor a shipped spec of that name", (), "", hint)
