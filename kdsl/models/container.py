"""The bytes of a model file: a header of plain values, arrays after it, and checksums of both.

    kdsl-model 1                                        the format and its schema number
    sha256 <hex>                                        of everything after this line
    header <bytes> <hex>                                length and SHA-256 of the header
    {"...": ...}                                        the header: JSON in UTF-8
    ...                                                 the arrays, one after another, little-endian, in C order

The header's member "arrays" says for each array its dtype, shape, place (counted from the end of the header) and
SHA-256. There is no code in the file and no pickle. It is written beside its place, synchronised with the disk and
renamed: there is the old file or the new one, never a part.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from kdsl.binding.faults import fault, warning
from kdsl.language.diagnostics import Diagnostic

SCHEMA = 1
MAGIC = b"kdsl-model "
DTYPES = ("<f8", "<i8", "<i4")
HEX = 64
KEPT = "what was there before is unchanged"
EARLY = "this was tried before the work whose result it is to hold"


@dataclass(frozen=True, eq=False)
class Container:
    """A header and its arrays; `damage` says which parts differ from their checksums."""

    header: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    damage: tuple[Diagnostic, ...] = ()


def pack(header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """The file's content."""
    listed: dict[str, Any] = {}
    parts: list[bytes] = []
    place = 0
    for name, array in arrays.items():
        kind = "<f8" if array.dtype.kind == "f" else "<i8"
        content = np.ascontiguousarray(array, dtype=kind).tobytes()
        listed[name] = {"dtype": kind, "shape": list(array.shape), "at": place, "sha256": digest(content)}
        place += len(content)
        parts.append(content)
    text = json.dumps({**header, "arrays": listed}, ensure_ascii=False, allow_nan=False, indent=1).encode() + b"\n"
    body = b"".join([f"header {len(text)} {digest(text)}\n".encode(), text, *parts])
    return MAGIC + f"{SCHEMA}\nsha256 {digest(body)}\n".encode() + body


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@contextlib.contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """A file to write to that becomes `path` when all is written: a full disk, or a crash, leaves what was there."""
    target = os.path.realpath(path)
    if os.path.exists(target) and not stat.S_ISREG(os.stat(target).st_mode):
        try:
            with open(target, "wb") as special:  # a pipe or a device is written to, not replaced
                yield special
        except OSError as error:
            if error.filename is None:
                raise unwritable(error.errno or 0, path, "it is a pipe or a device") from None
            raise
        return
    temporary = os.path.join(os.path.dirname(target), f".{os.path.basename(target)}.{secrets.token_hex(4)}.part")
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.filename in (None, temporary):
            raise unwritable(error.errno or 0, path, KEPT) from None
        raise
    sync_folder(os.path.dirname(target))


def check_place(path: str) -> None:
    """An OSError where a file could not be written, before the work of which it is to hold the result."""
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    if os.path.isdir(target):
        raise unwritable(errno.EISDIR, path, EARLY)
    if not os.path.isdir(folder):
        raise unwritable(errno.ENOENT, path, EARLY)
    if not os.access(target if os.path.exists(target) else folder, os.W_OK):
        raise unwritable(errno.EACCES, path, EARLY)


def unwritable(number: int, path: str, note: str) -> OSError:
    """The error of its kind (PermissionError and so on), with a note by which the command line knows it (K658)."""
    error = OSError(number, os.strerror(number), path)
    error.add_note(note)
    return error


def sync_folder(folder: str) -> None:
    """So that the new name survives a crash; not every file system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def unpack(content: bytes, path: str) -> Container:
    """The parts of a file, with what is damaged in them; an error where they cannot be told apart."""
    magic, _, rest = content.partition(b"\n")
    schema = magic.removeprefix(MAGIC).decode("ascii", "replace")
    if not magic.startswith(MAGIC) or not schema.isdigit() or int(schema) < 1:
        raise fault(
            "K652",
            f"`{path}` is not a model file of kdsl",
            f"it does not begin with `{MAGIC.decode()}{SCHEMA}`",
            "give a file that `kdsl solve -o` wrote",
        )
    if int(schema) > SCHEMA:
        raise fault(
            "K653",
            f"`{path}` was written by a newer kdsl: its schema is {schema}, this one reads up to {SCHEMA}",
            help="upgrade kdsl",
        )
    said, _, body = rest.partition(b"\n")
    line, _, tail = body.partition(b"\n")
    words = line.split(b" ")
    if not said.startswith(b"sha256 ") or len(words) != 3 or words[0] != b"header" or not words[1].isdigit():
        raise damaged_or_short(path, "its first lines are not whole", len(content))
    length = int(words[1])
    if length > len(tail):
        raise damaged_or_short(path, f"its header has {len(tail):,} of {length:,} bytes", len(content))
    text, binary = tail[:length], tail[length:]
    damage = [] if digest(body) == said[7:].decode("ascii", "replace") else [changed(path, "the whole file")]
    if digest(text) != words[2].decode("ascii", "replace"):
        damage.append(changed(path, "the header"))
    try:
        header = json.loads(text.decode("utf-8"))
        listed = dict(header["arrays"])
    except (ValueError, KeyError, TypeError):
        raise fault(
            "K655",
            f"`{path}` is damaged: its header is no longer JSON",
            "a part of it was changed after it was written",
            "solve again, or take the file from a copy",
        ) from None
    arrays = {}
    for name, about in listed.items():
        array, intact = read_array(name, about, binary, path)
        arrays[name] = array
        if not intact:
            damage.append(changed(path, f"the array `{name}`"))
    if not damage and sum(array.nbytes for array in arrays.values()) != len(binary):
        damage.append(changed(path, "what follows the arrays"))
    return Container(header, arrays, tuple(damage))


def read_array(name: str, about: Any, binary: bytes, path: str) -> tuple[NDArray[Any], bool]:
    """An array, and whether it has its checksum."""
    try:
        kind, shape, at, said = str(about["dtype"]), [int(n) for n in about["shape"]], int(about["at"]), about["sha256"]
    except (KeyError, TypeError, ValueError):
        kind, shape, at, said = "", [], -1, ""
    if kind not in DTYPES or at < 0 or any(n < 0 for n in shape):
        raise fault("K655", f"`{path}` is damaged: its header does not describe the array `{name}`", help=AGAIN)
    end = at + int(kind[-1]) * int(np.prod(shape, dtype=object))
    if end > len(binary):
        raise damaged_or_short(path, f"the array `{name}` ends at byte {end:,} of {len(binary):,}", len(binary))
    content = binary[at:end]
    return np.frombuffer(content, dtype=kind).reshape(shape), digest(content) == said


AGAIN = "solve again, or take the file from a copy"


def damaged_or_short(path: str, why: str, size: int) -> Exception:
    return fault("K654", f"`{path}` is cut short or damaged after {size:,} bytes", why, AGAIN)


def changed(path: str, part: str) -> Diagnostic:
    message = f"`{path}` is damaged: {part} does not have the checksum it was written with"
    return warning("K655", message, "a part of it was changed after it was written", AGAIN)._replace(severity="error")
