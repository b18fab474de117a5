"""Reads general quadratic programs: Maros-Meszaros .mat files, and .npz files in the manner of qpsolvers.

.mat  minimise 1/2 x'Px + q'x + r  subject to  l <= Ax <= u; infinities are 1e20
.npz  the same members, or  Gx <= h, Ax = b, lb <= x <= ub; an absent member may be missing or a pickled None,
      which is recognised by its header: nothing is ever unpickled
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from kdsl.language.diagnostics import Diagnostic, KdslError
from kdsl.numerics.arrays import Floats
from kdsl.solving.expand import ExplicitQP

INFINITY = 1e19  # from here on an end is absent; files hold 1e20 with rounding errors
ROUNDING = 1e-9  # of the larger, by which numbers that should be equal may differ
ZIP_START, MAT_START = b"PK\x03\x04", b"MATLAB"


def read_qp(path: str) -> ExplicitQP:
    """The quadratic program in a file; which of the two formats it is, its first bytes tell."""
    with open(path, "rb") as file:
        start = file.read(16)
    name = os.path.basename(path)
    if start.startswith(ZIP_START):
        return assemble(_npz_members(path, name), name)
    if start.startswith(MAT_START):
        return assemble(_mat_members(path, name), name)
    raise _fault(name, "it is neither a .mat file (version 5) nor an .npz file", "save P, q, A, l, u with numpy.savez")


def assemble(members: Mapping[str, Any], name: str) -> ExplicitQP:
    """A program from the members of a file."""
    if "P" not in members or "q" not in members:
        present = ", ".join(sorted(members)) or "nothing"
        raise _fault(name, f"it has no members P and q; it holds {present}", "")
    q = _vector(members, "q", name)
    n = len(q)
    P = _matrix(members, "P", n, name)
    if P.shape[0] != n:
        raise _fault(name, f"P has {P.shape[0]} rows and q has {n} entries", "P must be square, one row a variable")
    if np.abs((P - P.T).data).max(initial=0.0) > ROUNDING * np.abs(P.data).max(initial=0.0):
        help = "give (P + P') / 2, or where P is one triangle of the matrix, P + P' - diag(P)"
        raise _fault(name, "P is not symmetric", help)
    parts, lower, upper = [sp.csr_array((0, n))], [np.zeros(0)], [np.zeros(0)]
    if "G" in members:
        parts.append(_matrix(members, "G", n, name))
        upper.append(_vector(members, "h", name, parts[-1].shape[0]))
        lower.append(np.full(len(upper[-1]), -np.inf))
    if "A" in members:
        parts.append(_matrix(members, "A", n, name))
        ends = ("b", "b") if "b" in members else ("l", "u")
        lower.append(_vector(members, ends[0], name, parts[-1].shape[0]))
        upper.append(_vector(members, ends[1], name, parts[-1].shape[0]))
    shift = float(_vector(members, "r", name, 1)[0]) if "r" in members else 0.0
    if lower[1:]:
        _refuse_crossing(lower[-1], upper[-1], "row {} of A" if "A" in members else "row {} of G", name)
    if "lb" in members and "ub" in members:
        _refuse_crossing(_vector(members, "lb", name, n), _vector(members, "ub", name, n), "variable {}", name)
    return ExplicitQP(
        P=sp.csc_array((P + P.T) / 2),
        q=q,
        A=sp.csr_array(sp.vstack(parts, format="csr")),
        l=_unbounded(np.concatenate(lower)),
        u=_unbounded(np.concatenate(upper)),
        lower=_unbounded(_vector(members, "lb", name, n)) if "lb" in members else np.full(n, -np.inf),
        upper=_unbounded(_vector(members, "ub", name, n)) if "ub" in members else np.full(n, np.inf),
        constant=shift,
    )


def _mat_members(path: str, name: str) -> dict[str, Any]:
    from scipy.io import loadmat

    return {key: value for key, value in _load(name, lambda: loadmat(path)).items() if not key.startswith("__")}


def _npz_members(path: str, name: str) -> dict[str, Any]:
    """Each member on its own; one whose header says `one object` is an absent one."""
    members: dict[str, Any] = {}
    with _load(name, lambda: np.load(path, allow_pickle=False)) as archive:
        for key in archive.files:
            if not _is_object(path, name, key):
                members[key] = _load(name, lambda key=key: archive[key])  # type: ignore[misc]
    return members


def _is_object(path: str, name: str, key: str) -> bool:
    """Whether a member is a single pickled object; an array of objects is refused."""
    shape, has_object = _load(name, lambda: _header(path, key))
    if has_object and shape != ():
        raise _fault(name, f"{key} is an array of Python objects, which kdsl does not unpickle", "save it as numbers")
    return bool(has_object)


def _header(path: str, key: str) -> tuple[tuple[int, ...], bool]:
    """The shape of a member, and whether it holds objects."""
    with zipfile.ZipFile(path) as archive, archive.open(f"{key}.npy") as member:
        version = np.lib.format.read_magic(member)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(member)
    return shape, dtype.hasobject


def _load(name: str, read: Callable[[], Any]) -> Any:
    try:
        return read()
    except MemoryError:
        raise
    except Exception as error:  # scipy and numpy raise nearly everything on files that are damaged
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise _fault(name, f"it cannot be read: {error}", "the file may be damaged or cut short") from error


def _matrix(members: Mapping[str, Any], key: str, columns: int, name: str) -> sp.csr_array[Any]:
    value = members[key]
    if not sp.issparse(value) and np.ndim(value) != 2:
        raise _fault(name, f"{key} is not a matrix", "")
    try:
        matrix = sp.csr_array(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise _fault(name, f"{key} is not a matrix of numbers", "") from error
    if matrix.shape[1] != columns:
        raise _fault(name, f"{key} has {matrix.shape[1]} columns and there are {columns} variables", "")
    if not np.isfinite(matrix.data).all():
        raise _fault(name, f"{key} holds a number that is not finite", "")
    return matrix


def _vector(members: Mapping[str, Any], key: str, name: str, length: int | None = None) -> Floats:
    if key not in members:
        raise _fault(name, f"it has no member {key}", "")
    value = members[key]
    try:
        vector = np.asarray(value.toarray() if sp.issparse(value) else value, dtype=np.float64).ravel()
    except (TypeError, ValueError) as error:
        raise _fault(name, f"{key} is not a vector of numbers", "") from error
    if length is not None and len(vector) != length:
        raise _fault(name, f"{key} has {len(vector)} entries instead of {length}", "")
    if np.isnan(vector).any() or (key in ("q", "r") and not np.isfinite(vector).all()):
        raise _fault(name, f"{key} holds a number that is not finite", "")
    return vector


def _refuse_crossing(low: Floats, high: Floats, what: str, name: str) -> None:
    """No weights of rows show what one row shows by itself: its ends cross."""
    with np.errstate(invalid="ignore"):  # of two infinite ends
        crossing = np.flatnonzero(low - high > ROUNDING * np.maximum(np.abs(low), np.abs(high)))
    if len(crossing):
        first = int(crossing[0])
        place, ends = what.format(first + 1), f"{low[first]:.6g}, and at most {high[first]:.6g}"
        more = f" ({len(crossing):,} are so)" if len(crossing) > 1 else ""
        raise _fault(name, f"{place} is to be at least {ends}: no point meets that{more}", "")


def _unbounded(ends: Floats) -> Floats:
    return np.where(np.abs(ends) >= INFINITY, np.copysign(np.inf, ends), ends)


def _fault(name: str, why: str, help: str) -> KdslError:
    return KdslError([Diagnostic("K610", f"{name} is not a quadratic program that kdsl can read", why=why, help=help)])
