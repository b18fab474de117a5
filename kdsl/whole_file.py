"""Files that are written whole or not at all: beside their place, synchronised with the disk and renamed."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import sys
from collections.abc import Iterator
from typing import BinaryIO

from kdsl.language.diagnostics import Diagnostic, KdslError

KEPT = "what was there before is unchanged"
OPEN_FILES = re.compile(r"/dev/fd|/proc/self/(task/\d+/)?fd")  # the folders where they have names
LINKS = 40  # as many as the system follows
EARLY = "this was tried before the work whose result it is to hold"


class Unwritable(KdslError, OSError):
    """K658: a file that could not be written, with the system's `errno`, `strerror` and `filename`."""

    def __init__(self, number: int, path: str, why: str) -> None:
        cause = os.strerror(number)
        help = "make the folder first" if number == errno.ENOENT else "give a place with room where you may write"
        super().__init__([Diagnostic("K658", f"`{path}` cannot be written: {cause}", (), why, help)])
        self.errno, self.strerror, self.filename = number, cause, path

    def __reduce__(self) -> tuple[type[Unwritable], tuple[int, str, str]]:
        return Unwritable, (self.errno or 0, self.filename, self.diagnostics[0].why)


@contextlib.contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """A file to write to that becomes `path` when all is written: a full disk, or a crash, leaves what was there.

    The permissions of a file that is replaced stay as they are.
    """
    if os.path.isdir(path):
        raise Unwritable(errno.EISDIR, path, KEPT)
    number = _descriptor(path)
    if number is not None or (os.path.exists(path) and not stat.S_ISREG(os.stat(path).st_mode)):
        with _written_to(path, number) as special:
            yield special
        return
    target = os.path.realpath(path)
    temporary = os.path.join(os.path.dirname(target), f".{os.path.basename(target)}.{os.urandom(4).hex()}.part")
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(target):
            os.chmod(temporary, stat.S_IMODE(os.stat(target).st_mode))
        os.replace(temporary, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.filename in (None, temporary):
            raise Unwritable(error.errno or 0, path, KEPT) from None
        raise
    _sync_folder(os.path.dirname(target))


@contextlib.contextmanager
def _written_to(path: str, number: int | None) -> Iterator[BinaryIO]:
    """A pipe, a device or what is open already, where it stands: after what was printed there before."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    try:
        with open(path if number is None else os.dup(number), "wb") as special:
            yield special
    except OSError as error:
        if error.filename is None and error.errno != errno.EPIPE:
            raise Unwritable(error.errno or 0, path, "it is a pipe or a device") from None
        raise


def _descriptor(path: str) -> int | None:
    """The number of this process's open file that `path` names, such as `/dev/stdout`; links are followed."""
    for _ in range(LINKS):
        folder, name = os.path.split(os.path.abspath(path))
        folder = os.path.realpath(folder)
        if name.isdecimal() and OPEN_FILES.fullmatch(folder.replace(f"/proc/{os.getpid()}/", "/proc/self/", 1)):
            return int(name)
        if not os.path.islink(path):
            return None
        path = os.path.join(folder, os.readlink(path))
    return None


def write_whole(path: str, text: str) -> None:
    """Text in UTF-8, its line ends as they are."""
    with replacing(path) as file:
        file.write(text.encode("utf-8", "backslashreplace"))


def check_place(path: str) -> None:
    """Raises Unwritable where a file could not be written, before the work of which it is to hold the result."""
    number = _descriptor(path)
    if number is not None:
        try:
            os.write(number, b"")
        except OSError as error:
            raise Unwritable(error.errno or 0, path, EARLY) from None
        return
    target = path if os.path.exists(path) else os.path.realpath(path)
    folder = os.path.dirname(os.path.abspath(target))
    if os.path.isdir(target):
        raise Unwritable(errno.EISDIR, path, EARLY)
    if not os.path.isdir(folder):
        raise Unwritable(errno.ENOENT, path, EARLY)
    if not os.access(target if os.path.exists(target) else folder, os.W_OK):
        raise Unwritable(errno.EACCES, path, EARLY)


def _sync_folder(folder: str) -> None:
    """So that the new name survives a crash; not every file system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
