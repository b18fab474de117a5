"""K v of points with themselves: every kernel value is computed once and serves two points."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from engine_problems import kernel_matrix, no_rows, svc, with_isa
from test_lattice import LargeGram

from kdsl import _core
from kdsl.binding import expansions
from kdsl.binding.expansions import Expansion
from kdsl.binding.gram import KernelGram
from kdsl.binding.kernels import Gaussian, Polynomial
from kdsl.numerics.native_kernel import NativeKernel
from kdsl.solving.backends import engine

KINDS = ("linear", "polynomial", "gaussian", "laplacian", "sigmoid")
TILE = 192  # points, of kdsl/core/kernel_product.cpp


def points_and_weights(n: int, d: int = 5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    return rng.normal(size=(n, d)), rng.normal(size=n)


def product(kind: str, X: np.ndarray, v: np.ndarray, single: bool, threads: int = 2) -> np.ndarray:
    points = _core.Points.dense(X)
    return _core.kernel_product(_core.Kernel(kind, 0.3, 0.7, 3), points, v, points, threads, single)


@pytest.mark.parametrize("isa", ["portable", "avx2", "avx512", "amx"])
@pytest.mark.parametrize("n", [1, TILE - 1, TILE, TILE + 1, 2 * TILE, 3 * TILE + 7])
def test_every_kernel_on_any_number_of_tiles(n: int, isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with_isa(isa, monkeypatch)
    X, v = points_and_weights(n)
    for kind in KINDS:
        K = kernel_matrix(NativeKernel(kind, X, 0.3, 0.7, 3), X, X)  # type: ignore[arg-type]
        size = np.abs(K) @ np.abs(v)
        assert (np.abs(product(kind, X, v, False) - K @ v) <= 1e-13 * size).all()
        assert (np.abs(product(kind, X, v, True) - K @ v) <= 3e-6 * size).all()


@pytest.mark.parametrize("single", [False, True])
def test_threads_change_no_bit(single: bool) -> None:
    X, v = points_and_weights(1500)
    first = product("gaussian", X, v, single, 1)
    for threads in (1, 2, 3):
        assert np.array_equal(product("gaussian", X, v, single, threads), first)


@pytest.mark.parametrize("carrying", [1.0, 0.5, 0.05])
def test_a_gram_matrix_is_expanded_from_what_carries_something(carrying: float) -> None:
    """Points beside those that carry something, and among them, get what the matrix says."""
    X, v = points_and_weights(1200)
    v[np.random.default_rng(0).random(1200) > carrying] = 0.0
    gram = KernelGram(Gaussian(0.3), X)
    K = Gaussian(0.3).block(X, X)
    assert gram.expand(v) == pytest.approx(K @ v, rel=0, abs=1e-11)
    assert gram.matvec(v) == pytest.approx(K @ v, rel=0, abs=1e-11)


def test_what_does_not_agree_with_numpy_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    X, v = points_and_weights(400)
    kernel = Polynomial(3, 0.3, 0.7)
    real = _core.kernel_product
    asked = []

    def wrong(*args: object) -> np.ndarray:
        asked.append(args)
        return real(*args) * (1 + 1e-6)  # type: ignore[arg-type]

    monkeypatch.setattr(_core, "kernel_product", wrong)
    got = Expansion(kernel, X, v, 1 << 28).at_support()
    assert len(asked) == 1
    assert got == pytest.approx(kernel.block(X, X) @ v, rel=1e-11)


def test_few_points_are_left_to_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    X, v = points_and_weights(50)
    monkeypatch.setattr(_core, "kernel_product", lambda *args: pytest.fail("NumPy is as quick"))
    assert expansions.WORTHWHILE > 50**2
    got = Expansion(Gaussian(0.3), X, v, 1 << 28).at_support()
    assert got == pytest.approx(Gaussian(0.3).block(X, X) @ v, rel=1e-12)


def test_points_too_large_to_be_packed_at_once_are_not() -> None:
    """More than 2^24 numbers: each value is computed for itself, as it is for other points that are equal."""
    n, d = 260, 65_000
    rng = np.random.default_rng(0)
    X, v = rng.normal(size=(n, d)), rng.normal(size=n)
    points, others = _core.Points.dense(X), _core.Points.dense(X.copy())
    got = _core.kernel_product(_core.Kernel("gaussian", 1 / d, 0.0, 1), points, v, points, 2, False)
    assert np.array_equal(
        got, _core.kernel_product(_core.Kernel("gaussian", 1 / d, 0.0, 1), points, v, others, 2, False)
    )


@pytest.mark.parametrize("isa", ["portable", "avx2", "avx512", "amx"])
@pytest.mark.parametrize("carrying", [1100, 1700, 2000])
def test_a_start_is_measured_among_its_own_points_and_beside_them(
    carrying: int, isa: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gradient at a start: values among the points that carry something serve two of them each."""
    with_isa(isa, monkeypatch)
    n, rng = 2000, np.random.default_rng(carrying)
    X = rng.normal(size=(n, 4))
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    theta = np.zeros(n)
    theta[rng.permutation(n)[:carrying]] = 0.5
    problem = svc(LargeGram(NativeKernel("gaussian", X, 0.3)), y, 1.0)
    problem = replace(problem, rows=no_rows(n))
    got = engine.solve(problem, theta, kkt_tol=1e9, strategy="working_set")
    assert got.status == "solved" and got.iterations == 0
    assert np.array_equal(got.theta, theta)
    v = y * theta
    K = kernel_matrix(NativeKernel("gaussian", X, 0.3), X, X)
    wanted = 0.5 * v @ K @ v - theta.sum()
    assert abs(got.facts["value"] - wanted) <= 1e-5 * abs(wanted)
