"""Files that are written whole or not at all: beside their place, synchronised with the disk and renamed."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from typing import BinaryIO

from kdsl.language.diagnostics import Diagnostic, KdslError

KEPT = "what was there before is unchanged"
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
    target = os.path.realpath(path)
    if os.path.exists(target) and not stat.S_ISREG(os.stat(target).st_mode):
        try:
            with open(target, "wb") as special:  # a pipe or a device is written to, not replaced
                yield special
        except OSError as error:
            if error.filename is None and error.errno != errno.EPIPE:
                raise Unwritable(error.errno or 0, path, "it is a pipe or a device") from None
            raise
        return
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


def write_whole(path: str, text: str) -> None:
    """Text in UTF-8, its line ends as they are."""
    with replacing(path) as file:
        file.write(text.encode("utf-8", "backslashreplace"))


def check_place(path: str) -> None:
    """Raises Unwritable where a file could not be written, before the work of which it is to hold the result."""
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
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
