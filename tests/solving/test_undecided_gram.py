"""A Gram matrix that nobody knows to be positive semidefinite never ends in `optimal`."""

from __future__ import annotations

import numpy as np
import pytest

from kdsl.binding import psd
from kdsl.numerics.arrays import Floats, Matrix
from kdsl.numerics.grams import GramOracle
from kdsl.solving import spaces
from kdsl.solving.api import solve


def gaussian(a: Matrix, b: Matrix) -> Floats:
    return np.asarray(np.exp(-((np.asarray(a)[:, None, :] - np.asarray(b)[None, :, :]) ** 2).sum(axis=-1)))


def problem() -> dict[str, Floats]:
    generator = np.random.default_rng(0)
    x = generator.normal(size=(30, 2))
    return {"x": x, "y": np.where(x[:, 0] + 0.3 * generator.normal(size=30) > 0, 1.0, -1.0)}


def test_a_small_matrix_of_an_unknown_kernel_is_decided() -> None:
    assert solve("svm_1norm", problem(), kernels={"k": gaussian}).status == "optimal"


def test_an_undecided_one_is_optimal_inaccurate_at_best(monkeypatch: pytest.MonkeyPatch) -> None:
    def hasty(oracle: GramOracle, memory: int, seed: int) -> psd.PsdReport:
        return psd.audit_psd(oracle, limit=10, memory=memory, seed=seed)

    monkeypatch.setattr(spaces, "audit_psd", hasty)
    solution = solve("svm_1norm", problem(), kernels={"k": gaussian})
    assert solution.certificate.rel_gap <= 1e-6
    assert solution.status == "optimal_inaccurate"
    assert "K575" in {warning.code for warning in solution.warnings}
