"""What the core refuses of Python, and answers that depend on rows and points which few problems have."""

from __future__ import annotations

import gc
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from engine_problems import (
    KernelGram,
    MatrixGram,
    by_general_qp,
    kernel_matrix,
    make_rows,
    no_rows,
    pieces,
    signed_atoms,
    value,
    with_isa,
)

from kdsl import _core
from kdsl.numerics.native_kernel import NativeKernel
from kdsl.solving.backends.engine import solve
from kdsl.solving.normal_form import HilbertBlock, NormalForm, Separable


def options(**changed: object) -> _core.Options:
    usual = {
        "tolerance": 1e-6,
        "kkt_tolerance": None,
        "memory": 1e8,
        "threads": 2,
        "all_threads": True,
        "strategy": "automatic",
        "working_set": 0,
        "any_start": False,
    }
    return _core.Options(**{**usual, **changed})


def box(n: int, upper: float = 1.0) -> _core.Pieces:
    zero = np.zeros(n)
    return _core.Pieces(np.arange(n + 1), zero, zero + upper, zero, zero - 1.0, zero)


def hessian(n: int, seed: int = 0) -> _core.KernelHessian:
    points = _core.Points.dense(np.random.default_rng(seed).normal(size=(n, 3)))
    atoms = (np.arange(n + 1), np.arange(n), np.ones(n))
    return _core.KernelHessian(_core.Kernel("gaussian"), points, None, *atoms, 2, 1e8)


@pytest.mark.parametrize(
    ("begin", "free"), [([5, 10], True), ([0, -100, 10], False), ([0, 100, 10], False), ([], False), ([0], True)]
)
def test_classes_stand_one_behind_the_other(begin: list[int], free: bool) -> None:
    with pytest.raises(ValueError, match=r"classes|do not fit"):
        _core.Classes(np.array(begin, dtype=np.int64), free, None)


@pytest.mark.parametrize("features", [-5, 2**60])
def test_features_are_counted(features: int) -> None:
    with pytest.raises(ValueError, match="do not fit together"):
        _core.Points.sparse(np.zeros(4, np.int64), np.zeros(0, np.int32), np.zeros(0), features)


@pytest.mark.parametrize("named", [[0, 0, 1], [1, 0, 2], [0, 1, 3]])
def test_features_of_a_row_rise(named: list[int]) -> None:
    with pytest.raises(ValueError, match="or twice"):
        _core.Points.sparse(np.array([0, 3]), np.array(named, np.int32), np.ones(3), 3)


@pytest.mark.parametrize("wrong", [(np.nan, 1.0, 0.0), (0.0, np.nan, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, np.inf)])
def test_pieces_are_intervals_with_numbers(wrong: tuple[float, float, float]) -> None:
    left, right, slope = (np.array([number]) for number in wrong)
    with pytest.raises(ValueError, match="no interval"):
        _core.Pieces(np.array([0, 1]), left, right, np.zeros(1), slope, np.zeros(1))


def test_terms_outlive_the_list_that_they_came_in() -> None:
    n, terms = 300, [hessian(300)]

    def forget(iterations: int, gap: float) -> bool:
        terms.clear()
        gc.collect()
        return False

    asked = options(tolerance=1e-12, strategy="working_set")
    classes = _core.Classes(np.array([0, n]), True, None)
    found = _core.solve(box(n, 1e4), classes, terms, 0.0, np.zeros(n), None, asked, 3.0, 10**9, forget)
    assert not terms and np.isfinite(found["t"]).all()


def test_memory_without_end_is_much_memory() -> None:
    n = 1500
    classes = _core.Classes(np.array([0, n]), True, None)
    with_much, with_all = (
        _core.solve(
            box(n), classes, [hessian(n)], 0.0, np.zeros(n), None, options(memory=m, threads=1), 20.0, 10**9, None
        )
        for m in (1e12, np.inf)
    )
    assert with_much["outer"] == with_all["outer"] and np.array_equal(with_much["t"], with_all["t"])


def test_a_centre_is_not_subtracted_from_sparse_points() -> None:
    point = _core.Points.sparse(np.array([0, 1]), np.array([2], np.int32), np.ones(1), 3)
    expansion = _core.Expansion(_core.Kernel("gaussian"), point, np.full(3, 5.0), 1)
    assert expansion.values(np.ones(1), point, 1, False) == pytest.approx([1.0])


@pytest.mark.parametrize("strategy", ["automatic", "stored_rows", "working_set", "full"])
@pytest.mark.parametrize("both", [False, True])
def test_slacks_have_no_kernel_values(both: bool, strategy: str) -> None:
    """Rows that are stored have a column for each slack of an inequality: 0, where it once was k(x, 0)."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(40, 200))
        X, y = rng.normal(size=(n, 3)), rng.choice([-1.0, 1.0], size=n)
        kernel, linear = NativeKernel("gaussian", X, 0.1), NativeKernel("linear", X)
        blocks = [HilbertBlock("w", KernelGram(kernel), signed_atoms(y))]
        if both:
            blocks.append(HilbertBlock("v", MatrixGram(kernel_matrix(linear, X, X)), signed_atoms(y)))
        h = Separable.single(np.zeros(n), np.ones(n), np.zeros(n), -np.ones(n))
        rows = make_rows(np.vstack([np.ones(n), y]), [0.3 * n, 0.0], [False, False])
        problem = NormalForm(tuple(blocks), h, rows)
        found = solve(problem, None, 1e-3, strategy=strategy)  # pairs take long for more under these rows
        assert found.status == "solved"
        assert value(problem, found.theta) == pytest.approx(by_general_qp(problem)[0], rel=3e-3)


@pytest.mark.parametrize("isa", ["portable", "avx2", "avx512"])
def test_points_at_the_origin_under_a_linear_kernel(isa: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs without curvature: their gain is no 0/0."""
    with_isa(isa, monkeypatch)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(64, 400))
        X, y = rng.normal(size=(n, 4)), rng.choice([-1.0, 1.0], size=n)
        X[rng.random(n) < 0.5] = 0.0
        h = Separable.single(np.zeros(n), rng.uniform(0.5, 2, size=n), np.zeros(n), -rng.uniform(0.5, 1.5, size=n))
        block = HilbertBlock("w", KernelGram(NativeKernel("linear", X)), signed_atoms(y))
        problem = NormalForm((block,), h, make_rows(y, 0.0))
        found = solve(problem, None, 1e-6, strategy="full", threads=1, time_limit=10)
        assert found.status == "solved"
        assert value(problem, found.theta) == pytest.approx(by_general_qp(problem)[0], rel=1e-5)


@pytest.mark.parametrize("second", ["sparse", "laplacian"])
def test_points_that_cannot_be_rounded_beside_points_that_can(second: str) -> None:
    rng = np.random.default_rng(0)
    n = 2200
    X, y = rng.normal(size=(n, 21)), rng.choice([-1.0, 1.0], size=n)
    other = NativeKernel("laplacian", X[:, :4].copy(), 0.2)
    if second == "sparse":
        other = NativeKernel(
            "gaussian", sp.csr_array(np.where(rng.random((n, 8)) < 0.3, rng.normal(size=(n, 8)), 0)), 0.2
        )
    kernels = (NativeKernel("gaussian", X, 1 / 21), other)

    class Told(MatrixGram):
        def __init__(self, kernel: NativeKernel) -> None:
            self.kernel = kernel

        size = property(lambda self: n)

        def native(self) -> NativeKernel:
            return self.kernel

    blocks = tuple(HilbertBlock(str(place), Told(kernel), signed_atoms(y)) for place, kernel in enumerate(kernels))
    h = Separable.single(np.zeros(n), np.ones(n), np.zeros(n), -np.ones(n))
    problem = NormalForm(blocks, h, make_rows(y, 0.0))
    whole = solve(problem, None, 1e-6, strategy="full")
    rounded = solve(problem, None, 1e-6, strategy="working_set")
    assert whole.status == rounded.status == "solved"
    assert rounded.facts["value"] == pytest.approx(float(whole.facts["value"]), rel=3e-6)


def test_a_start_beyond_all_measure_is_not_called_solved() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), rng.choice([-1.0, 1.0], size=20)
    h = pieces(*[[(-np.inf, np.inf, 1.0, -1.0)]] * 20)
    block = HilbertBlock("w", KernelGram(NativeKernel("gaussian", X, 0.5)), signed_atoms(y))
    problem = NormalForm((block,), h, make_rows(y, 1.0))
    for size in (1.0, 1e6, 1e16):
        found = solve(problem, rng.normal(size=20) * size, 1e-6)
        met = abs(float(y @ found.theta) - 1.0) <= 1e-8
        assert found.status == ("solved" if met else "stalled")
        assert met or size == 1e16
    for number in (np.nan, np.inf):
        for limit in (5.0, 0.0):
            found = solve(NormalForm((block,), h, no_rows(20)), np.full(20, number), 1e-6, time_limit=limit)
            assert found.status == ("solved" if limit else "time_limit") and np.isfinite(found.theta).all()


def test_clusters_far_apart_are_told_by_differences() -> None:
    """Squared norms of 1e16 hide distances of 1: such points go to NumPy, and the answer is right."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.where(np.arange(60) % 2, 1.0, -1.0)
    X[:, 0] += 0.5 * y
    X[30:] += 1e8
    block = HilbertBlock("w", KernelGram(NativeKernel("gaussian", X, 0.5)), signed_atoms(y))
    h = Separable.single(np.zeros(60), np.ones(60), np.zeros(60), -np.ones(60))
    problem = NormalForm((block,), h, make_rows(y, 0.0))
    found = solve(problem, None, 1e-8)
    assert found.status == "solved"
    assert value(problem, found.theta) == pytest.approx(by_general_qp(problem)[0], rel=1e-6)


def test_one_large_class_among_many_keeps_to_the_memory() -> None:
    """With more than 64 classes they are taken whole, but for one that does not fit."""
    code = """
import resource, numpy as np, scipy.sparse as sp
from engine_problems import MatrixGram, NativeKernel, signed_atoms
from kdsl.solving.backends.engine import solve
from kdsl.solving.normal_form import HilbertBlock, NormalForm, Rows, Separable
rng, large, small = np.random.default_rng(0), 6000, 65
n = large + 3 * small
group = np.r_[np.zeros(large, int), np.repeat(np.arange(1, small + 1), 3)]
y = rng.choice([-1.0, 1.0], size=n)
class Told(MatrixGram):
    def __init__(self, X): self.kernel = NativeKernel("gaussian", X, 0.5)
    size = property(lambda self: n)
    def native(self): return self.kernel
rows = Rows(sp.csr_array((y, (group, np.arange(n))), (small + 1, n)), np.zeros(small + 1), np.ones(small + 1, bool))
h = Separable.single(np.zeros(n), np.ones(n), np.zeros(n), -np.ones(n))
problem = NormalForm((HilbertBlock("w", Told(rng.normal(size=(n, 3))), signed_atoms(y)),), h, rows)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
found = solve(problem, None, 1e-4, memory=1e7)
print(found.status, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=__file__.rpartition("/")[0], capture_output=True, text=True, timeout=120
    )
    status, grown = done.stdout.split()
    assert status == "solved" and int(grown) < 60_000
