"""The words beside `optimal_inaccurate` say what is inaccurate, and not what the backend believed."""

from __future__ import annotations

import numpy as np
import pytest

import kdsl

X = np.array([[0.0, 1.0], [1.0, 0.2], [2.0, -1.0], [-1.0, 0.5], [0.3, -2.0], [1.5, 1.5]])
Y = np.array([1, -1, 1, -1, 1, -1])


def test_an_indefinite_matrix_leaves_a_stationary_point() -> None:
    found = kdsl.solve("svm_1norm", {"x": X, "y": Y}, kernels={"k": "sigmoid(gamma = 1)"}, psd="accept")
    assert found.status == "optimal_inaccurate"
    assert found.message == "a stationary point; no gap can be closed under an indefinite Gram matrix"


@pytest.mark.parametrize(("price", "words"), [(0.34, "the bound on the norm is not tight"), (5.0, "within")])
def test_a_norm_that_is_not_tight_or_is(price: float, words: str) -> None:
    """At a low price the classes stand on the same three points, and their hulls meet; at the other they are apart."""
    points = np.vstack([X[:3], X[:3]]) if price < 1 else np.vstack([X[:3], X[:3] + 9.0])
    found = kdsl.solve(
        "svm_1norm_unit", {"x": points, "y": np.repeat([1, -1], 3)}, {"C": price}, kernels={"k": "linear"}
    )
    assert (found.status == "optimal_inaccurate") == (price < 1)
    assert words in found.message
