"""LIBSVM itself, through its Python package: what it trains, what it prints, and what its models say."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

WHY = "LIBSVM's Python package libsvm-official is not installed"
FIGURES = re.compile(r"obj = (\S+), rho = (\S+)\s+nSV = (\d+), nBSV = (\d+)")


class Printed(NamedTuple):
    """What svm-train prints of one problem."""

    objective: float
    rho: float
    support: int
    bounded: int


def peer_train(X: Any, y: Any, flags: str) -> tuple[Any, list[Printed]]:
    """The model of LIBSVM, and the figures that it prints of each problem."""
    svmutil = pytest.importorskip("libsvm.svmutil", reason=WHY)
    from libsvm import svm

    words, catch = listener(svm)
    words.clear()
    problem, parameter = svmutil.svm_problem(list(y), np.asarray(X).tolist()), svmutil.svm_parameter(flags)
    parameter.print_func = catch
    model = svmutil.svm_train(problem, parameter)
    found = FIGURES.findall(b"".join(words).decode())
    return model, [Printed(float(o), float(r), int(n), int(b)) for o, r, n, b in found]


@cache
def listener(svm: Any) -> tuple[list[bytes], Any]:
    """What LIBSVM prints, and the function that it prints with, which it keeps for good."""
    words: list[bytes] = []
    return words, svm.PRINT_STRING_FUN(words.append)


def peer_save(model: Any, path: Path) -> Path:
    svmutil = pytest.importorskip("libsvm.svmutil", reason=WHY)
    svmutil.svm_save_model(str(path), model)
    return path


def peer_predict(path: Path, X: Any) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """(labels or values, decision values) of the model in a file.

    Not by the package's svm_predict, whose buffer for the decision values of a nu-SVC has room for one only.
    """
    svmutil = pytest.importorskip("libsvm.svmutil", reason=WHY)
    from libsvm import svm

    model = svmutil.svm_load_model(str(path))
    classes = model.get_nr_class()
    count = max(1, classes * (classes - 1) // 2)
    room = (svm.c_double * count)()
    labels, values = [], []
    for point in np.asarray(X).tolist():
        labels.append(svm.libsvm.svm_predict_values(model, svm.gen_svm_nodearray(point)[0], room))
        values.append(list(room))
    return np.asarray(labels), np.asarray(values)


def write_svmlight(path: Path, X: Any, y: Any) -> Path:
    """Every number so that it reads back as the same float64."""
    rows = [" ".join(f"{n}:{value!r}" for n, value in enumerate(row, 1)) for row in np.asarray(X).tolist()]
    path.write_text("".join(f"{label} {row}\n" for label, row in zip(np.asarray(y).tolist(), rows, strict=True)))
    return path
