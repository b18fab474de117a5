"""K v for once: from the points that carry something, whichever way the product is computed."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from kdsl.binding.gram import KernelGram
from kdsl.binding.kernels import Gaussian, Linear, Polynomial
from kdsl.solving.watched import WatchedGram

X = np.random.default_rng(0).normal(size=(500, 6))
SOME = np.where(np.random.default_rng(1).random(500) < 0.5, np.random.default_rng(2).normal(size=500), 0.0)


@pytest.mark.parametrize(
    "vector", [SOME, np.zeros(500), SOME[:, None] * [1.0, 2.0, 0.0]], ids=["some", "none", "several"]
)
@pytest.mark.parametrize("memory", [100_000, 1 << 28], ids=["blocks", "small"])
@pytest.mark.parametrize("points", [X, sp.csr_array(X), X[:, :1]], ids=["dense", "csr", "one feature"])
@pytest.mark.parametrize("kernel", [Gaussian(0.1), Polynomial(2), Linear()], ids=lambda k: type(k).__name__)
def test_the_same_as_the_matrix_times_the_vector(kernel, points, memory, vector):
    gram = KernelGram(kernel, points, memory)
    full = kernel.block(points, points)
    size = float(np.abs(full).max()) * float(np.abs(vector).sum())
    watched = WatchedGram(gram, lambda done, whole, what: None)
    for found in (gram.expand(vector), watched.expand(vector), watched.matvec(vector)):
        np.testing.assert_allclose(found, full @ vector, rtol=0, atol=1e-13 * size)


def test_nothing_is_kept_and_what_is_kept_is_used():
    gram = KernelGram(Gaussian(0.1), X)
    gram.expand(SOME)
    assert "kept" not in vars(gram)
    expected = gram.matvec(SOME)
    assert gram.kept is not None
    gram.kept[:] *= 2.0
    np.testing.assert_allclose(gram.expand(SOME), 2.0 * expected, rtol=1e-11, atol=1e-11)
