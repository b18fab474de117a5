"""Nothing is called optimal that the rounding of the kernel's values may have changed by more than the tolerance."""

from __future__ import annotations

import numpy as np
import pytest
from exact_text import compare

import kdsl
from kdsl.solving.rounding import rounding_note

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 2))
Y = np.where(X[:, 0] > 0, 1.0, -1.0)
X[:, 0] += Y
SHIFTS = (0.0, 1e3, 1e4, 1e5, 1e6, 1e7)


@pytest.mark.parametrize("spec", ["svm_hard_unit", "svm_1norm"])
def test_what_is_called_optimal_is_the_optimum_of_the_data(spec: str) -> None:
    """The problem does not change when all points are moved; its inner products lose digit after digit."""
    seen = {}
    for shift in SHIFTS:
        seen[shift] = kdsl.solve(spec, {"x": X + shift, "y": Y}, kernels={"k": "linear"}, time_limit=5.0)
        if seen[shift].status == "optimal":
            assert seen[shift].value == pytest.approx(seen[0.0].value, abs=2e-6), shift
    assert seen[0.0].status == seen[1e3].status == "optimal"
    assert seen[1e7].status != "optimal"


def test_the_gap_alone_would_not_tell() -> None:
    solution = kdsl.solve("svm_hard_unit", {"x": X + 1e7, "y": Y}, time_limit=5.0)
    assert solution.certificate.rel_gap < 1e-6
    assert solution.status == "optimal_inaccurate" and not solution.is_optimal()
    assert {"K577", "K624"} <= {warning.code for warning in solution.warnings}
    scaled = kdsl.solve("svm_hard_unit", {"x": X + 1e7, "y": Y}, scale="standard", time_limit=5.0)
    assert scaled.status == "optimal" and scaled.is_optimal()


def test_distances_do_not_see_the_shift() -> None:
    for shift in SHIFTS[:-1]:
        solution = kdsl.solve("svm_1norm", {"x": X + shift, "y": Y})
        assert solution.status == "optimal" and not solution.warnings


def test_a_larger_tolerance_may_be_met() -> None:
    data = {"x": X + 1e6, "y": Y}
    strict = kdsl.solve("svm_hard_unit", data, time_limit=5.0)
    loose = kdsl.solve("svm_hard_unit", data, tol=1e-2, time_limit=5.0)
    assert (strict.status, loose.status) == ("optimal_inaccurate", "optimal")
    assert loose.is_optimal(1e-2)


def test_the_message() -> None:
    compare("K624", [rounding_note(5.9e-5)])
