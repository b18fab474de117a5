"""Checks, before any work, where a command writes: that it can, and that it destroys nothing that it reads."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kdsl import resources
from kdsl.cli.binding_options import FUNCTION
from kdsl.spec_file import find_spec
from kdsl.whole_file import check_place

if TYPE_CHECKING:
    from kdsl.language.diagnostics import KdslError

WRITTEN = ("output", "report")  # what verbs call the arguments that say where to write
READ = ("spec", "model", "data", "file")  # and those that say what to read


def check_places(arguments: Namespace) -> None:
    """An OSError where a place cannot be written, K659 where what is read, or another result, would be lost."""
    places = [place for name in WRITTEN if (place := getattr(arguments, name, None)) is not None]
    for place in places:
        if place == "-":
            raise _refused("`-` is no file to write to", "", "leave it out; a file of that name is `./-`")
        check_place(place)
        lost = next((path for path in _read(arguments) if os.path.isfile(path) and _same_file(place, path)), None)
        if lost is not None:
            alias = "" if lost == place else f", as `{lost}`"
            what = f"`{place}` is a file that this command reads{alias}"
            raise _refused(what, "what it holds would be lost", "write to another place")
    if len(places) == len(WRITTEN) and _same_file(*places):
        what = f"`{places[0]}` is to hold two results"
        raise _refused(what, "the second would take the place of the first", "give each a place of its own")


def check_own(spec: str) -> None:
    """K659 where the spec that is to be rewritten is one that comes with kdsl, known by its name."""
    if spec != "-" and find_spec(spec) != spec:
        what = f"`{spec}` is a spec that comes with kdsl, no file of yours"
        raise _refused(
            what, "every model that names it would change", f"lay out a copy: `kdsl fmt {spec} > mine.kspec`"
        )


def _read(arguments: Namespace) -> Iterator[str]:
    """The paths that words of the command line may mean: `FILE`, `INDEX:FILE`, `SPEC`, `K = FILE.py:FUNCTION`."""
    for name in READ:
        given = getattr(arguments, name, None) or []
        with_index = name == "data" and not isinstance(given, str)
        for word in [given] if isinstance(given, str) else given:
            yield word
            yield word.partition(":")[2] if with_index else ""
            yield resources.spec_path(word) or ""
    for word in getattr(arguments, "kernel", None) or []:
        python = FUNCTION.fullmatch(word.rpartition("=")[2].strip())
        if python is not None:
            yield python["path"]


def _same_file(place: str, path: str) -> bool:
    """Whether both mean one file, links followed; a pipe or a device has nothing to lose."""
    if os.path.exists(place):
        return os.path.isfile(place) and os.path.isfile(path) and os.path.samefile(place, path)
    return os.path.realpath(place) == os.path.realpath(path)


def _refused(what: str, why: str, help: str) -> KdslError:
    from kdsl.binding.faults import fault

    return fault("K659", what, why, help)
