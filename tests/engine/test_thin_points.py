"""Dense points with most features in common: predicted and solved by what is left of them, on every instruction set."""

from __future__ import annotations

import numpy as np
import pytest
from engine_problems import kernel_matrix, svc
from test_engine_behaviour import RUNNABLE, PointsGram, kkt_gap

from kdsl import _core
from kdsl.numerics.native_kernel import NativeKernel
from kdsl.solving.backends import engine

KINDS = ["linear", "polynomial", "gaussian", "laplacian", "sigmoid"]
OFFSET, DEGREE = 0.7, 3


def ink(rng, count, features=80, left=0.2, usual=0.0):
    """Points of which so many features are not the usual ones."""
    P = rng.normal(size=(count, features)) * (rng.random((count, features)) < left)
    return np.where(P == 0, usual, P)


def standardised(P):
    return (P - P.mean(axis=0)) / P.std(axis=0)


def expansion_of(kind, X, gamma=0.01, centre=None):
    return _core.Expansion(_core.Kernel(kind, gamma, OFFSET, DEGREE), _core.Points.dense(X), centre, 2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("isa", RUNNABLE)
def test_predictions_are_those_of_the_formula(kind, isa, monkeypatch):
    monkeypatch.setenv("KDSL_ISA", isa)
    rng = np.random.default_rng(1)
    P = ink(rng, 341)
    if kind in ("gaussian", "laplacian"):
        P = standardised(P)
        assert (P != 0).all()
    X, Z = P[:301], P[301:]
    coefficient = rng.normal(size=301)
    wanted = coefficient @ kernel_matrix(NativeKernel(kind, X, 0.01, OFFSET, DEGREE), X, Z)
    expansion = expansion_of(kind, X, centre=X.mean(axis=0) if kind in ("gaussian", "laplacian") else None)
    assert expansion.thin == (isa != "amx" or kind == "laplacian")  # tiles are quicker
    got = expansion.values(coefficient, _core.Points.dense(Z), 2, False)
    assert np.abs(got - wanted).max() <= 1e-13 * np.abs(coefficient).sum() * max(1.0, np.abs(wanted).max())
    rough = expansion.values(coefficient, _core.Points.dense(Z.astype(np.float32)), 2, True)
    assert rough is not None
    assert 0 < np.abs(rough - wanted).max() <= 1e-5 * np.abs(wanted).max()


def test_points_that_are_not_thin_are_left_as_they_are():
    rng = np.random.default_rng(2)
    assert not expansion_of("gaussian", ink(rng, 300, left=0.4)).thin
    assert not expansion_of("gaussian", ink(rng, 300, features=63)).thin
    assert not expansion_of("polynomial", ink(rng, 300, usual=1.0)).thin  # the usual value may be subtracted
    assert expansion_of("gaussian", ink(rng, 300, usual=1.0)).thin  # only from points of a kernel of differences
    assert expansion_of("gaussian", np.ones((1, 64))).thin


def test_features_without_a_usual_value_are_centred():
    """Far from the origin, or with one value far from all others: neither costs digits."""
    rng = np.random.default_rng(5)
    P = ink(rng, 341)
    P[:, 0] += 1000.0
    P[0, 1] = 1e5  # the first of the sample
    X, Z = P[:301], P[301:].astype(np.float32)
    coefficient = rng.normal(size=301)
    expansion = expansion_of("gaussian", X, centre=X.mean(axis=0))
    assert expansion.thin
    wanted = coefficient @ kernel_matrix(NativeKernel("gaussian", X, 0.01, OFFSET, DEGREE), X, Z.astype(np.float64))
    got = expansion.values(coefficient, _core.Points.dense(Z.astype(np.float64)), 2, False)
    assert np.abs(got - wanted).max() <= 1e-10 * np.abs(coefficient).sum()


@pytest.mark.parametrize("isa", RUNNABLE)
@pytest.mark.parametrize("strategy", ["full", "stored_rows", "working_set"])
def test_solves_meet_the_tolerance_and_say_how(strategy, isa, monkeypatch):
    monkeypatch.setenv("KDSL_ISA", isa)
    rng = np.random.default_rng(3)
    X = standardised(ink(rng, 700))
    y = np.sign(X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=700))
    for kind, gamma in (("laplacian", 0.01), ("gaussian", 0.005)):
        problem = svc(PointsGram(NativeKernel(kind, X, gamma)), y, 10.0)
        got = engine.solve(problem, kkt_tol=1e-5, strategy=strategy, working_set=128)
        assert got.status == "solved"
        assert kkt_gap(problem, got.theta) <= 1e-5 * (1 + 1e-6)
        rounded = kind == "gaussian" and isa in ("avx512", "amx")  # that is as quick
        assert ("usual features" in got.facts["how"]) is not rounded


def test_a_feature_that_is_no_number_is_named():
    X = ink(np.random.default_rng(4), 300)
    X[17, 3] = np.nan
    y = np.where(np.arange(300) % 2, 1.0, -1.0)
    with pytest.raises(ValueError, match="point 18 has a feature that is not a finite number"):
        engine.solve(svc(PointsGram(NativeKernel("laplacian", X, 0.01)), y, 1.0))
