"""Reads LIBSVM's model files: `key value` lines, then `SV` and one support vector on each line, in sparse text."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence

import numpy as np
import scipy.sparse as sp

from kdsl.binding.faults import fault, nearest
from kdsl.binding.kernels import Gaussian, Kernel, Linear, Polynomial, Sigmoid
from kdsl.binding.opening import read_bytes
from kdsl.language.diagnostics import KdslError
from kdsl.libsvm.model import CLASSIFIERS, SVM_TYPES, LibsvmModel

PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "linear": (),
    "polynomial": ("degree", "gamma", "coef0"),
    "rbf": ("gamma",),
    "sigmoid": ("gamma", "coef0"),
}
UNUSED: Mapping[str, str] = {
    "probA": "the probability estimates are not computed: kdsl predicts labels and values",
    "probB": "the probability estimates are not computed: kdsl predicts labels and values",
    "prob_density_marks": "the density marks are not used: kdsl predicts inliers and outliers",
}
KNOWN = (
    *("svm_type", "kernel_type", "degree", "gamma", "coef0", "nr_class", "total_sv"),
    *("rho", "label", "nr_sv", "SV"),
    *UNUSED,
)
MAX_CLASSES = 10_000
MAX_INDEX = 2**31 - 1
Members = dict[str, tuple[int, list[str]]]  # key -> its line and its words


def read_model(path: str | os.PathLike[str]) -> LibsvmModel:
    """The model in a file that svm-train wrote."""
    name = os.fspath(path)
    return parse_model(read_bytes(name).decode("utf-8", "replace"), name)


def parse_model(text: str, source: str) -> LibsvmModel:
    """The model that a file's text says; an error names the line that is wrong."""
    lines = text.split("\n")
    members = _members(lines, source)
    svm_type = _word(members, "svm_type", SVM_TYPES, source)
    kernel = _kernel(members, source)
    nr_class = _whole(members, "nr_class", source)
    total = _whole(members, "total_sv", source)
    classes = svm_type in CLASSIFIERS
    if not 1 <= nr_class <= MAX_CLASSES or (not classes and nr_class != 2):
        raise _wrong(source, members["nr_class"][0], f"`nr_class {nr_class}` does not fit `svm_type {svm_type}`")
    label = np.array([], dtype=np.int64)
    nr_sv = np.array([], dtype=np.int64)
    if classes:
        label = np.array(_integers(members, "label", nr_class, source), dtype=np.int64)
        nr_sv = np.array(_integers(members, "nr_sv", nr_class, source), dtype=np.int64)
        if (nr_sv < 0).any() or nr_sv.sum() != total:
            raise _wrong(source, members["nr_sv"][0], f"`nr_sv` adds up to {nr_sv.sum()} and `total_sv` is {total}")
        if len(set(label.tolist())) < nr_class:
            raise _wrong(source, members["label"][0], "a label stands twice in `label`")
    pairs = nr_class * (nr_class - 1) // 2 if classes else 1
    rho = np.array(_reals(members, "rho", pairs, source))
    first = members["SV"][0]
    coefficients, support = _vectors(lines[first:], first + 1, total, nr_class - 1, source)
    notes = tuple(dict.fromkeys(UNUSED[key] for key in members if key in UNUSED))
    return LibsvmModel(svm_type, kernel, nr_class, rho, label, nr_sv, coefficients, support, notes)


def _members(lines: Sequence[str], source: str) -> Members:
    """Every line up to `SV`, by its key."""
    found: Members = {}
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words:
            continue
        key = words[0]
        if not found and key != "svm_type":
            raise _wrong(source, number, "a LIBSVM model begins with `svm_type`")
        if key not in KNOWN:
            raise _wrong(source, number, f"`{key[:40]}` is no member of a LIBSVM model", nearest(key[:40], KNOWN))
        if key in found:
            raise _wrong(source, number, f"`{key}` stands here and in line {found[key][0]}")
        found[key] = number, words[1:]
        if key == "SV":
            return found
    raise _wrong(source, len(lines), "the file ends before `SV`")


def _kernel(members: Members, source: str) -> Kernel:
    line, words = _member(members, "kernel_type", source)
    if words == ["precomputed"]:
        raise _wrong(
            source,
            line,
            "the kernel is precomputed, so the file holds numbers of training points and no kernel",
            "solve again with kdsl and a precomputed kernel",
        )
    kind = _word(members, "kernel_type", tuple(PARAMETERS), source)
    given = {name: _reals(members, name, 1, source)[0] for name in PARAMETERS[kind] if name != "degree"}
    if kind == "linear":
        return Linear()
    if kind == "rbf":
        return Gaussian(given["gamma"])
    if kind == "sigmoid":
        return Sigmoid(given["gamma"], given["coef0"])
    return Polynomial(_whole(members, "degree", source), given["gamma"], given["coef0"])


def _vectors(
    lines: Sequence[str], first: int, total: int, width: int, source: str
) -> tuple[np.ndarray[tuple[int, ...], np.dtype[np.float64]], sp.csr_array]:
    """The coefficients, and the support vectors with feature 1 in the first column."""
    if lines and lines[-1]:
        raise _wrong(source, first + len(lines) - 1, "the last line does not end: the file is cut short")
    kept = [(number, line.split()) for number, line in enumerate(lines, first) if line.strip()]
    if len(kept) != total:
        why = "the file is cut short" if len(kept) < total else "something follows the last support vector"
        raise _wrong(source, first + len(lines) - 2, f"{len(kept)} of {total} support vectors are there: {why}")
    coefficients = np.empty((total, width))
    starts, columns, values = [0], [], []
    for row, (number, words) in enumerate(kept):
        if len(words) < width or any(":" in word for word in words[:width]):
            raise _wrong(source, number, f"a support vector begins with {width} coefficients")
        coefficients[row] = [_real(word, number, source) for word in words[:width]]
        before = 0
        for word in words[width:]:
            index, _, value = word.partition(":")
            if not (index.isascii() and index.isdigit()) or not before < int(index[:11]) <= MAX_INDEX:
                raise _wrong(
                    source, number, f"`{word}` is not index:value with indices that increase from 1", "train again"
                )
            before = int(index)
            columns.append(before - 1)
            values.append(_real(value, number, source))
        starts.append(len(columns))
    shape = (total, max(columns, default=-1) + 1)
    indices = np.array(columns, dtype=np.int64)
    return coefficients, sp.csr_array((np.array(values, dtype=np.float64), indices, np.array(starts)), shape=shape)


def _member(members: Members, key: str, source: str) -> tuple[int, list[str]]:
    if key not in members:
        raise _wrong(source, members["SV"][0], f"there is no `{key}` before `SV`")
    return members[key]


def _word(members: Members, key: str, known: tuple[str, ...], source: str) -> str:
    line, words = _member(members, key, source)
    if len(words) != 1 or words[0] not in known:
        given = " ".join(words)[:40]
        raise _wrong(source, line, f"`{key} {given}` is not known", nearest(given, known))
    return words[0]


def _whole(members: Members, key: str, source: str) -> int:
    (value,) = _integers(members, key, 1, source)
    if value < 0:
        raise _wrong(source, members[key][0], f"`{key}` is {value}")
    return value


def _integers(members: Members, key: str, count: int, source: str) -> list[int]:
    line, words = _member(members, key, source)
    numbers = [_real(word, line, source) for word in words]
    if len(numbers) != count or any(number != int(number) or abs(number) > MAX_INDEX for number in numbers):
        raise _wrong(source, line, f"`{key}` is not {count} whole number{'s' * (count != 1)}")
    return [int(number) for number in numbers]


def _reals(members: Members, key: str, count: int, source: str) -> list[float]:
    line, words = _member(members, key, source)
    if len(words) != count:
        raise _wrong(source, line, f"`{key}` has {len(words)} numbers where {count} belong")
    return [_real(word, line, source) for word in words]


def _real(word: str, line: int, source: str) -> float:
    """A finite number as C writes it."""
    try:
        value = float(word) if "_" not in word else math.nan
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise _wrong(source, line, f"`{word[:40]}` is not a finite number")
    return value


def _wrong(source: str, line: int, what: str, help: str = "") -> KdslError:
    return fault("K670", f"`{source}`, line {line}: {what}", help=help or "give a file that LIBSVM's svm-train wrote")
