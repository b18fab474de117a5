"""What is asked of a solve in Python is of its kind, or refused by the name of the argument."""

from __future__ import annotations

import errno
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kdsl
from kdsl.language.diagnostics import KdslError

RNG = np.random.default_rng(5)
X = RNG.normal(size=(24, 2))
Y = np.where(X[:, 0] > 0, 1.0, -1.0)


@pytest.mark.parametrize(
    ("error", "options", "message"),
    [
        (ValueError, {"threads": 10**9}, "threads must be a whole number from 1 to 1,024, not 1000000000"),
        (ValueError, {"threads": 0}, "threads must be a whole number from 1 to 1,024, not 0"),
        (TypeError, {"threads": 1.5}, "threads must be a whole number from 1 to 1,024, not 1.5"),
        (TypeError, {"threads": True}, "threads must be a whole number from 1 to 1,024, not True"),
        (TypeError, {"memory": "1G"}, "memory must be a positive whole number of bytes, not '1G'"),
        (ValueError, {"memory": -5}, "memory must be a positive whole number of bytes, not -5"),
        (ValueError, {"max_iterations": -1}, "max_iterations must be a positive whole number, not -1"),
        (ValueError, {"time_limit": np.nan}, "time_limit must be a positive number of seconds, not nan"),
        (ValueError, {"time_limit": 0}, "time_limit must be a positive number of seconds, not 0"),
        (TypeError, {"tol": "a"}, "tol must be a positive number, not 'a'"),
        (TypeError, {"tol": None}, "tol must be a positive number, not None"),
        (ValueError, {"seed": -1}, "seed must be a whole number, 0 or more, not -1"),
        (TypeError, {"kernels": {"k": 3}}, "the kernel `k` is a text or a function of two matrices of points, not 3"),
        (KdslError, {"backend": 3}, "there is no backend `3`"),
        (KdslError, {"params": {"C": None}}, "the parameter `C` is None"),
        (KdslError, {"params": {"C": np.complex128(1j)}}, "the parameter `C` is np.complex128"),
    ],
)
def test_what_is_asked_for_is_of_its_kind(error: type[Exception], options: dict[str, Any], message: str) -> None:
    with pytest.raises(error) as caught:
        kdsl.solve("svm_1norm", {"x": X, "y": Y}, **options)
    assert message in str(caught.value)


@pytest.mark.parametrize("read", [kdsl.read_spec, lambda path: kdsl.solve(path, {"x": X, "y": Y})])
def test_a_spec_that_is_not_there_is_both_kinds_of_error(read: Any, tmp_path: Path) -> None:
    assert read("svm_1norm")
    for path, number, message in (
        ("svm_1nrm", errno.ENOENT, "did you mean the shipped spec `svm_1norm`?"),
        (str(tmp_path), errno.EISDIR, "is a directory"),
    ):
        with pytest.raises(KdslError, match="K501") as caught:
            read(path)
        for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
            assert isinstance(error, OSError) and (error.errno, error.filename) == (number, path)
            assert message in str(error)


def test_what_is_asked_of_a_solution_is_refused_by_its_name(tmp_path: Path) -> None:
    solution = kdsl.solve("svm_1norm", {"x": X, "y": Y})
    with pytest.raises(KdslError, match=r"K650.*has no clause `predict 1`"):
        solution.predict(X, clause=1)  # type: ignore[arg-type]
    with pytest.raises(KdslError, match="K658") as caught:
        solution.save(tmp_path)
    assert isinstance(caught.value, OSError) and caught.value.errno == errno.EISDIR
    with pytest.raises(TypeError, match=r"bounds has no `delt`: did you mean `delta`\?"):
        solution.report(tmp_path / "page.html", bounds={"delt": 1})
