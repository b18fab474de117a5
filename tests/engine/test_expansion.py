"""Expansions of the core, in double and in single precision: every kernel, dense and CSR, on every instruction set."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from engine_problems import kernel_matrix, svc
from test_engine_behaviour import RUNNABLE, PointsGram, kkt_gap, two_clouds

from kdsl import _core
from kdsl.numerics.native_kernel import NativeKernel, core_points
from kdsl.solving.backends import engine

KINDS = ["linear", "polynomial", "gaussian", "laplacian", "sigmoid"]
GAMMA, OFFSET, DEGREE = 0.3, 0.7, 3


def points_of(P, sparse):
    if not sparse and P.dtype == np.float32:
        return _core.Points.dense(np.ascontiguousarray(P))
    return core_points(NativeKernel("linear", sp.csr_array(P) if sparse else P), None)


def expansion_of(kind, X, sparse=False, centre=None, gamma=GAMMA):
    return _core.Expansion(_core.Kernel(kind, gamma, OFFSET, DEGREE), points_of(X, sparse), centre, 2)


def exact(kind, X, coefficient, Z, gamma=GAMMA):
    return coefficient @ kernel_matrix(NativeKernel(kind, X, gamma, OFFSET, DEGREE), X, Z.astype(np.float64))


def scale_of(kind, X, coefficient, Z):
    """sum_i |c_i| sqrt(k(x_i, x_i) k(z, z)), the largest: what the error of a value is measured by."""

    def norms(P):
        own = [kernel_matrix(NativeKernel(kind, P, GAMMA, OFFSET, DEGREE), row, row) for row in P[:, None, :]]
        return np.sqrt(np.abs(np.ravel(own)))

    return (np.abs(coefficient) @ norms(X)) * norms(Z.astype(np.float64)).max()


def some_points(rng, count, features, sparse, single=False):
    P = rng.normal(size=(count, features)) * (rng.random((count, features)) < (0.3 if sparse else 1.0))
    return P.astype(np.float32) if single else P


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("isa", RUNNABLE)
def test_single_precision_is_within_its_bound_of_float64(kind, sparse, isa, monkeypatch):
    monkeypatch.setenv("KDSL_ISA", isa)
    rng = np.random.default_rng(3)
    X, Z = some_points(rng, 301, 13, sparse), some_points(rng, 133, 13, sparse, single=True)
    coefficient = rng.normal(size=301)
    expansion, at = expansion_of(kind, X, sparse), points_of(Z, sparse)
    wanted, scale = exact(kind, X, coefficient, Z), scale_of(kind, X, coefficient, Z)
    assert np.abs(expansion.values(coefficient, at, 2, False) - wanted).max() <= 1e-14 * scale
    rough = expansion.values(coefficient, at, 2, True)
    assert 0 < np.abs(rough - wanted).max() <= 1e-6 * scale


@pytest.mark.parametrize("rows", [1, 2, 5, 11, 12, 13, 23, 29, 240, 241])
@pytest.mark.parametrize("isa", RUNNABLE)
def test_every_number_of_rows_and_of_points(rows, isa, monkeypatch):
    """Groups of rows in registers, what is left of them, and panels that are not full."""
    monkeypatch.setenv("KDSL_ISA", isa)
    rng = np.random.default_rng(rows)
    for count in (0, 1, 15, 17, 32, 33, 257):
        for features in (1, 3, 65):
            X, Z = some_points(rng, rows, features, False), some_points(rng, count, features, False)
            coefficient = rng.normal(size=rows)
            expansion, at = expansion_of("gaussian", X), points_of(Z, False)
            wanted = exact("gaussian", X, coefficient, Z)
            got = expansion.values(coefficient, at, 2, False)
            assert np.abs(got - wanted).max(initial=0) <= 1e-13 * np.abs(coefficient).sum()
            rough = expansion.values(coefficient, points_of(Z.astype(np.float32), False), 1, True)
            if rough is None:
                assert count == 0 or np.abs(wanted).max() < 1e-2 * np.abs(coefficient).sum()
            else:
                assert np.abs(rough - wanted).max() <= 3e-6 * np.abs(coefficient).sum()


@pytest.mark.parametrize("single", [False, True])
def test_many_features_in_blocks_and_any_number_of_threads(single):
    """More features than a chunk of rows or a task's panels have room for; the same bits from one thread and three."""
    rng = np.random.default_rng(5)
    X, Z = some_points(rng, 150, 1500, False), some_points(rng, 700, 1500, False, single)
    coefficient = rng.normal(size=150)
    expansion, at = expansion_of("gaussian", X, centre=X.mean(axis=0), gamma=1 / 1500), points_of(Z, False)
    first, second = (expansion.values(coefficient, at, threads, single) for threads in (1, 3))
    assert first.tobytes() == second.tobytes()
    wanted = exact("gaussian", X, coefficient, Z, 1 / 1500)
    assert np.abs(first - wanted).max() <= (1e-5 if single else 1e-12) * np.abs(wanted).max()


def test_points_far_from_the_origin_are_centred():
    rng = np.random.default_rng(7)
    X, Z = 1000.0 + some_points(rng, 300, 5, False), (1000.0 + some_points(rng, 200, 5, False)).astype(np.float32)
    coefficient, at = rng.random(300), points_of(Z, False)
    wanted = exact("gaussian", X, coefficient, Z)
    rough = expansion_of("gaussian", X, centre=X.mean(axis=0)).values(coefficient, at, 2, True)
    assert np.abs(rough - wanted).max() <= 1e-6 * np.abs(wanted).max()
    assert expansion_of("gaussian", X).values(coefficient, at, 2, True) is None  # 1e6 gamma loses all its digits


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("kind", ["gaussian", "laplacian", "sigmoid", "polynomial"])
def test_sums_that_single_precision_does_not_hold_are_refused(kind, sparse):
    rng = np.random.default_rng(9)
    X, Z = some_points(rng, 50, 4, sparse), some_points(rng, 40, 4, sparse, single=True)
    coefficient = rng.random(50)
    assert expansion_of(kind, X, sparse).values(coefficient, points_of(Z, sparse), 1, True) is not None
    far = 1e6
    assert expansion_of(kind, far * X, sparse).values(coefficient, points_of(Z, sparse), 1, True) is None
    assert expansion_of(kind, X, sparse).values(coefficient, points_of(far * Z, sparse), 1, True) is None
    assert expansion_of(kind, X, sparse).values(1e13 * coefficient, points_of(Z, sparse), 1, True) is None


def test_terms_that_cancel_are_refused():
    """Coefficients of 1e6 of both signs on points that nearly coincide: the sum has no digits left."""
    rng = np.random.default_rng(11)
    half = some_points(rng, 100, 4, False)
    X, Z = np.vstack([half, half + 1e-7]), some_points(rng, 80, 4, False, single=True)
    coefficient = np.repeat([1e6, -1e6], 100)
    assert expansion_of("gaussian", X).values(coefficient, points_of(Z, False), 2, True) is None
    got = expansion_of("gaussian", X).values(coefficient, points_of(Z, False), 2, False)
    assert np.abs(got - exact("gaussian", X, coefficient, Z)).max() <= 1e-14 * np.abs(coefficient).sum()


def test_what_does_not_fit_together_is_said():
    rng = np.random.default_rng(13)
    X, Z = some_points(rng, 6, 3, False), some_points(rng, 4, 2, False)
    expansion, mean = expansion_of("gaussian", X), np.zeros(2)
    for coefficient, at in (
        (np.ones(5), points_of(X, False)),
        (np.ones(6), points_of(Z, False)),
        (np.ones(6), points_of(X, True)),
    ):
        with pytest.raises(ValueError, match="do not fit together"):
            expansion.values(coefficient, at, 1, False)
    with pytest.raises(ValueError, match="no point of this space"):
        expansion_of("gaussian", X, centre=mean)
    single = _core.Points.dense(X.astype(np.float32))
    with pytest.raises(ValueError, match="single precision stand in no problem"):
        _core.Expansion(_core.Kernel("gaussian", 1.0, 0.0, 1), single, None, 1)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize(("count", "strategy"), [(333, "full"), (600, "working_set")])
@pytest.mark.parametrize("isa", RUNNABLE)
def test_blocks_of_many_features_are_copied_across_the_diagonal(isa, count, strategy, sparse, monkeypatch):
    """Blocks of full panels and of panels that are not full, in both precisions: 1e-9 is for double precision only."""
    monkeypatch.setenv("KDSL_ISA", isa)
    X, y = two_clouds(count, d=40)
    X = X * (np.random.default_rng(2).random(X.shape) < 0.3) if sparse else X
    points = sp.csr_array(X) if sparse else X
    problem = svc(PointsGram(NativeKernel("gaussian", points, 0.02)), y, 10.0)
    dense = svc(PointsGram(NativeKernel("gaussian", X, 0.02)), y, 10.0)
    for tolerance in (1e-3, 1e-9):
        got = engine.solve(problem, kkt_tol=tolerance, strategy=strategy, working_set=96)
        assert got.status == "solved"
        assert kkt_gap(dense, got.theta) <= tolerance * (1 + 1e-4) + 1e-12


@pytest.mark.parametrize("isa", RUNNABLE)
def test_exponentials_to_the_last_digits(isa, monkeypatch):
    """2^-z as exp(-log(2) |0 - z|): in all of single precision, and where rounding z is not what is seen in double."""
    monkeypatch.setenv("KDSL_ISA", isa)
    origin, one = points_of(np.zeros((1, 1)), False), np.ones(1)

    def powers(z, single):
        at = points_of(z[:, None].astype(np.float64), False)
        return _core.kernel_product(_core.Kernel("laplacian", np.log(2.0), 0.0, 1), origin, one, at, 1, single)

    z = np.linspace(0.0, 125.9, 100_001).astype(np.float32)
    exact = np.exp2(-z.astype(np.float64))
    assert np.abs(powers(z, True) / exact - 1).max() < 3e-7
    z = np.linspace(0.0, 8.0, 100_001)
    assert np.abs(powers(z, False) / np.exp2(-z) - 1).max() < 3e-15
    assert powers(np.zeros(1), True)[0] == powers(np.zeros(1), False)[0] == 1.0
    far = np.array([126.0, 200.0, 1e6])
    assert (powers(far, True) == 2.0**-126).all() and (powers(1000.0 * far, False) == 2.0**-1022).all()
