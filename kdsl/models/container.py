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

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kdsl.binding.faults import fault, warning
from kdsl.language.diagnostics import Diagnostic

SCHEMA = 1
MAGIC = b"kdsl-model "
DTYPES = ("<f8", "<i8", "<i4")


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
