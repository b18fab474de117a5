"""Points in parts of 8 bits, which a matrix unit multiplies: as good as single precision, for points of every size."""

from __future__ import annotations

import numpy as np
import pytest
from engine_problems import kernel_matrix, svc
from test_engine_behaviour import RUNNABLE, PointsGram, kkt_gap, two_clouds
from test_expansion import exact, expansion_of, points_of, some_points

from kdsl import _core
from kdsl.numerics.native_kernel import NativeKernel, core_points
from kdsl.solving.backends import engine

pytestmark = pytest.mark.skipif("amx" not in RUNNABLE, reason="this processor has no tiles")
KINDS = ["linear", "polynomial", "gaussian", "sigmoid"]


def products(kind, X, coefficient, Z, gamma, single):
    at = (core_points(NativeKernel("linear", P), None) for P in (X, Z))
    rows, cols = at
    return _core.kernel_product(_core.Kernel(kind, gamma, 0.7, 3), rows, coefficient, cols, 2, single)


def error(kind, X, coefficient, Z, gamma):
    """Of single precision, beside the sum of all terms without their signs."""
    K = kernel_matrix(NativeKernel(kind, X, gamma, 0.7, 3), X, Z)
    got = products(kind, X, coefficient, Z, gamma, True)
    return (np.abs(got - coefficient @ K) / np.maximum(np.abs(coefficient) @ np.abs(K), 1e-30)).max()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("features", [32, 33, 63, 64, 65, 130, 257, 700])
def test_sums_are_as_good_as_those_of_single_precision(kind, features, monkeypatch):
    rng = np.random.default_rng(features)
    X, Z = rng.normal(size=(301, features)), rng.normal(size=(77, features))
    coefficient = rng.normal(size=301)
    errors = {}
    for isa in ("amx", "avx512"):
        monkeypatch.setenv("KDSL_ISA", isa)
        errors[isa] = error(kind, X, coefficient, Z, 1 / features)
    assert errors["amx"] != errors["avx512"] or kind == "linear"  # which is summed in double precision
    assert errors["amx"] <= 2 * errors["avx512"] + 1e-7


@pytest.mark.parametrize("rows", [1, 2, 15, 16, 17, 31, 32, 33, 255, 256, 257, 289])
def test_every_number_of_rows_and_of_points(rows, monkeypatch):
    monkeypatch.setenv("KDSL_ISA", "amx")
    rng = np.random.default_rng(rows)
    for count in (1, 15, 32, 33, 100):
        for features in (32, 65, 1000):
            X, Z = some_points(rng, rows, features, False), some_points(rng, count, features, False, single=True)
            coefficient = rng.random(rows)
            wanted = exact("gaussian", X, coefficient, Z, 0.3 / features)
            rough = expansion_of("gaussian", X, gamma=0.3 / features).values(coefficient, points_of(Z, False), 2, True)
            assert np.abs(rough - wanted).max() <= 3e-6 * np.abs(coefficient).sum()


def test_a_point_far_away_takes_nothing_from_the_others(monkeypatch):
    """Each point has a step of its own: one step for all would be 2^-9 here."""
    monkeypatch.setenv("KDSL_ISA", "amx")
    rng = np.random.default_rng(3)
    X, Z = rng.normal(size=(200, 40)), rng.normal(size=(90, 40))
    X[0] *= 1e4
    assert error("gaussian", X, np.ones(200), Z, 1 / 40) < 3e-6


@pytest.mark.parametrize("scale", [1e-150, 1e-8, 1.0, 1e8])
def test_steps_follow_the_scale_of_the_features(scale, monkeypatch):
    monkeypatch.setenv("KDSL_ISA", "amx")
    rng = np.random.default_rng(4)
    X, Z = rng.normal(size=(100, 50)), rng.normal(size=(60, 50))
    assert error("gaussian", scale * X, np.ones(100), scale * Z, 1 / 50 / scale / scale) < 3e-6


def test_points_that_are_all_zero_or_all_one_point(monkeypatch):
    monkeypatch.setenv("KDSL_ISA", "amx")
    for X in (np.zeros((40, 40)), np.full((40, 40), 3.0), np.full((40, 40), -1e-30)):
        np.testing.assert_allclose(products("gaussian", X, np.ones(40), X, 0.5, True), 40.0, rtol=1e-6)


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_a_new_point_that_is_no_point_is_left_to_double_precision(odd, monkeypatch):
    monkeypatch.setenv("KDSL_ISA", "amx")
    rng = np.random.default_rng(5)
    X, Z = some_points(rng, 90, 40, False), some_points(rng, 30, 40, False, single=True)
    expansion = expansion_of("gaussian", X, gamma=1 / 40)
    assert expansion.values(np.ones(90), points_of(Z, False), 2, True) is not None
    Z[7, 39] = odd
    assert expansion.values(np.ones(90), points_of(Z, False), 2, True) is None


@pytest.mark.parametrize("strategy", ["full", "stored_rows", "working_set"])
@pytest.mark.parametrize("features", [40, 200])
def test_the_gap_is_what_was_asked_for(strategy, features, monkeypatch):
    monkeypatch.setenv("KDSL_ISA", "amx")
    X, y = two_clouds(1300, d=features, apart=2.0)
    problem = svc(PointsGram(NativeKernel("gaussian", X, 1 / features)), y, 3.0)
    for tolerance in (1e-3, 1e-8):
        got = engine.solve(problem, kkt_tol=tolerance, strategy=strategy, working_set=256)
        assert got.status == "solved" and got.facts["isa"] == "amx"
        assert kkt_gap(problem, got.theta) <= tolerance * (1 + 1e-6) + 1e-12


def test_points_in_single_precision_are_centred_as_those_in_double(monkeypatch):
    monkeypatch.setenv("KDSL_ISA", "amx")
    rng = np.random.default_rng(7)
    X = 1000.0 + some_points(rng, 300, 45, False)
    Z = (1000.0 + some_points(rng, 200, 45, False)).astype(np.float32)
    coefficient = rng.random(300)
    wanted = exact("gaussian", X, coefficient, Z, 1 / 45)
    rough = expansion_of("gaussian", X, centre=X.mean(axis=0), gamma=1 / 45).values(
        coefficient, points_of(Z, False), 2, True
    )
    assert np.abs(rough - wanted).max() <= 1e-5 * np.abs(wanted).max()
