"""The engine at the edges: extreme parameters, determinism, instruction sets, threads, forks, limits, bad kernels."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from engine_problems import (
    KernelGram,
    MatrixGram,
    by_general_qp,
    clouds,
    gaussian,
    kernel_matrix,
    make_rows,
    no_rows,
    pieces,
    signed_atoms,
    svc,
    value,
    violation,
)

from kdsl import _core, allowance
from kdsl.bench.problems import Task, make
from kdsl.numerics.native_kernel import NativeKernel, core_points
from kdsl.solving.backends import engine, reference
from kdsl.solving.normal_form import HilbertBlock, NormalForm, Separable


def runs(isa):
    """Whether this processor has the instruction set."""
    command = [sys.executable, "-c", "from kdsl import _core; _core.isa()"]
    return subprocess.run(command, env={**os.environ, "KDSL_ISA": isa}, capture_output=True).returncode == 0


RUNNABLE = [isa for isa in ("portable", "avx2", "avx512", "amx") if runs(isa)]


def two_clouds(n, d=3, seed=0, apart=1.0):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    return rng.normal(size=(n, d)) + y[:, None] * apart / (2 * np.sqrt(d)), y


class PointsGram:
    """Only the kernel, for the core: no matrix is formed."""

    def __init__(self, kernel):
        self.kernel = kernel

    @property
    def size(self):
        return self.kernel.points.shape[0]

    def native(self):
        return self.kernel


def kkt_gap(problem, t):
    """m - M of a C-SVC, from a dense Hessian in float64."""
    block, h = problem.blocks[0], problem.separable
    y = problem.rows.matrix.toarray()[0]
    kernel, points = block.gram.kernel, block.gram.kernel.points
    parts = [kernel_matrix(kernel, points[i : i + 500], points) @ (y * t) for i in range(0, len(y), 500)]
    F = np.concatenate(parts) + h.slope * y
    up = np.where(y > 0, t < h.upper, t > 0)
    down = np.where(y > 0, t > 0, t < h.upper)
    return F[down].max() - F[up].min()


@pytest.mark.parametrize("C", [1e-6, 1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("gamma", [1e-6, 1.0, 1e6])
def test_C_and_gamma_over_twelve_decades(C, gamma):
    X, y = two_clouds(60)
    problem = svc(KernelGram(NativeKernel("gaussian", X, gamma)), y, C)
    got = engine.solve(problem, tol=1e-9, time_limit=20)
    assert got.status == "solved", got
    assert violation(problem, got.theta) < 1e-9
    expected, accurate = by_general_qp(problem)
    assert value(problem, got.theta) <= expected + 1e-8 * max(1.0, abs(expected))
    if accurate and C * gamma < 1e5:
        assert abs(value(problem, got.theta) - expected) <= 1e-7 * max(1.0, abs(expected))


@pytest.mark.parametrize("size", [1e-8, 1e8])
@pytest.mark.parametrize("kind", ["linear", "gaussian"])
def test_features_of_any_scale(kind, size):
    X, y = two_clouds(80)
    expected = engine.solve(svc(KernelGram(NativeKernel(kind, X, 0.5)), y, 1.0), tol=1e-10)
    gamma = 0.5 if kind == "linear" else 0.5 / size**2
    C = 1.0 / size**2 if kind == "linear" else 1.0
    problem = svc(KernelGram(NativeKernel(kind, X * size, gamma)), y, C)
    got = engine.solve(problem, kkt_tol=1e-9)  # m - M is in the units of y, whatever those of the features
    assert got.status == "solved"
    ratio = size**2 if kind == "linear" else 1.0
    assert np.isclose(value(problem, got.theta) * ratio, expected.facts["value"], rtol=1e-8)


def test_two_points():
    problem = svc(KernelGram(NativeKernel("linear", np.array([[1.0], [-1.0]]))), np.array([1.0, -1.0]), 10.0)
    got = engine.solve(problem, tol=1e-12)
    np.testing.assert_allclose(got.theta, [0.5, 0.5], atol=1e-12)


@pytest.mark.parametrize("labels", ["both", "one"])
def test_all_points_equal(labels):
    y = np.where(np.arange(20) % 2, 1.0, -1.0) if labels == "both" else np.ones(20)
    problem = svc(KernelGram(NativeKernel("gaussian", np.ones((20, 2)), 1.0)), y, 2.0)
    got = engine.solve(problem, tol=1e-10)
    assert got.status == "solved"
    expected = -40.0 if labels == "both" else 0.0  # every alpha at C, or none since y'alpha = 0
    assert np.isclose(value(problem, got.theta), expected)


def test_labels_one_in_a_hundred():
    X, y = two_clouds(404)
    y = np.where(np.arange(404) % 101 == 0, 1.0, -1.0)
    problem = svc(KernelGram(NativeKernel("gaussian", X, 0.5)), y, 10.0)
    got = engine.solve(problem, tol=1e-9)
    assert got.status == "solved"
    assert abs(value(problem, got.theta) - by_general_qp(problem)[0]) < 1e-6


def simplex_rows(classes, n, C):
    """A multiclass dual: alpha_ik >= 0, sum_k alpha_ik <= C, and one Hilbert variable for each class."""
    X, _ = two_clouds(n)
    rng = np.random.default_rng(3)
    label = rng.integers(0, classes, n)
    pairs = [(i, k) for i in range(n) for k in range(classes) if k != label[i]]
    gram = KernelGram(NativeKernel("gaussian", X, 0.5))
    blocks = []
    for c in range(classes):
        S = sp.lil_array((n, len(pairs)))
        for column, (i, k) in enumerate(pairs):
            S[i, column] = float(label[i] == c) - float(k == c)
        blocks.append(HilbertBlock(f"w[{c}]", gram, sp.csc_array(S)))
    A = np.array([[float(i == row) for i, _ in pairs] for row in range(n)])
    m = len(pairs)
    h = Separable.single(np.zeros(m), np.full(m, np.inf), np.zeros(m), -np.ones(m))
    return NormalForm(tuple(blocks), h, make_rows(A, np.full(n, C), np.zeros(n, bool)))


def test_simplex_rows_of_the_multiclass_dual():
    problem = simplex_rows(3, 30, 1.0)
    for strategy in ("full", "working_set"):
        got = engine.solve(problem, tol=1e-10, strategy=strategy, working_set=24)
        assert got.status == "solved"
        assert violation(problem, got.theta) < 1e-11
        assert abs(value(problem, got.theta) - by_general_qp(problem)[0]) < 1e-7


def test_a_bias_for_each_group_and_an_average_bound():
    X, y = two_clouds(80)
    group = np.arange(80) % 4
    base = svc(KernelGram(NativeKernel("gaussian", X, 0.5)), y, 1.0)
    A = np.array([y * (group == g) for g in range(4)] + [np.where(group < 2, 1.0, 0.3)])
    problem = NormalForm(base.blocks, base.separable, make_rows(A, [0, 0, 0, 0, 20.0], [True] * 4 + [False]))
    got = engine.solve(problem, tol=1e-10)
    assert got.status == "solved"
    assert violation(problem, got.theta) < 1e-11
    assert abs(value(problem, got.theta) - by_general_qp(problem)[0]) < 1e-7


def test_rows_that_cannot_be_met_are_infeasible():
    X, y = two_clouds(10)
    base = svc(KernelGram(NativeKernel("linear", X)), y, 1.0)
    for rows in (make_rows(np.ones(10), 11.0), make_rows([y, np.ones(10), y], [0.0, 5.0, 1.0])):
        assert engine.solve(NormalForm(base.blocks, base.separable, rows)).status == "infeasible"
        assert reference.solve(NormalForm(base.blocks, base.separable, rows)).status == "infeasible"


def test_a_ray_is_reported_with_its_direction():
    """Two equal points with opposite labels and no upper bound: the dual of a hard margin that cannot be."""
    gram = KernelGram(NativeKernel("gaussian", np.zeros((2, 1)), 1.0))
    problem = svc(gram, np.array([1.0, -1.0]), np.inf)
    for got in (engine.solve(problem), reference.solve(problem)):
        assert got.status == "unbounded"
        assert got.ray is not None
        assert problem.rows.matrix @ got.ray == 0
        assert (got.ray >= 0).all() and problem.separable.slope @ got.ray < 0


@pytest.mark.parametrize("kind", ["linear", "polynomial", "gaussian", "laplacian", "sigmoid"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("isa", RUNNABLE)
def test_kernel_blocks(kind, sparse, isa, monkeypatch):
    monkeypatch.setenv("KDSL_ISA", isa)
    rng = np.random.default_rng(1)
    X, Z = rng.normal(size=(301, 13)), rng.normal(size=(77, 13))
    if sparse:
        X, Z = X * (rng.random(X.shape) < 0.3), Z * (rng.random(Z.shape) < 0.3)
    kernel = NativeKernel(kind, X, gamma=0.3, offset=0.7, degree=3)
    coefficient = rng.normal(size=301)
    expected = coefficient @ kernel_matrix(kernel, X, Z)
    rows, cols = (core_points(NativeKernel("linear", sp.csr_array(P) if sparse else P), None) for P in (X, Z))
    for single, accuracy in ((False, 1e-13), (True, 1e-5)):
        got = _core.kernel_product(_core.Kernel(kind, 0.3, 0.7, 3), rows, coefficient, cols, 2, single)
        np.testing.assert_allclose(got, expected, atol=accuracy * np.abs(expected).max(), rtol=0)


@pytest.mark.parametrize("isa", RUNNABLE)
@pytest.mark.parametrize("strategy", ["full", "stored_rows", "working_set"])
def test_every_instruction_set_meets_the_tolerance(isa, strategy, monkeypatch):
    monkeypatch.setenv("KDSL_ISA", isa)
    X, y = two_clouds(1200)
    problem = svc(PointsGram(NativeKernel("gaussian", X, 0.2)), y, 10.0)
    got = engine.solve(problem, kkt_tol=1e-5, strategy=strategy, working_set=256)
    assert got.status == "solved" and got.facts["isa"] == isa
    assert kkt_gap(problem, got.theta) <= 1e-5 * (1 + 1e-6)


@pytest.mark.parametrize("strategy", ["full", "stored_rows", "working_set"])
def test_sparse_points_give_the_answer_of_dense_ones(strategy):
    rng = np.random.default_rng(2)
    X, y = two_clouds(400, d=30)
    X = X * (rng.random(X.shape) < 0.2)
    for kind in ("gaussian", "linear", "laplacian"):
        dense, sparse = (
            engine.solve(
                svc(PointsGram(NativeKernel(kind, points, 0.3)), y, 1.0), tol=1e-10, strategy=strategy, working_set=100
            )
            for points in (X, sp.csr_array(X))
        )
        assert np.isclose(dense.facts["value"], sparse.facts["value"], rtol=1e-9)
        stored = svc(MatrixGram(kernel_matrix(NativeKernel(kind, X, 0.3), X, X)), y, 1.0)
        assert np.isclose(dense.facts["value"], engine.solve(stored, tol=1e-10).facts["value"], rtol=1e-9)


def test_a_stored_gram_matrix_is_solved_by_working_sets_too():
    """Above 1,200 coordinates `full` takes working sets from the stored matrix."""
    X, y = two_clouds(1500)
    problem = svc(PointsGram(NativeKernel("gaussian", X, 0.2)), y, 100.0)
    got = engine.solve(problem, kkt_tol=1e-6, strategy="full")
    assert got.status == "solved"
    assert kkt_gap(problem, got.theta) <= 1e-6 * (1 + 1e-4)


@pytest.mark.parametrize(("n", "d", "C", "gamma"), [(1500, 5, 1e3, 0.3), (4600, 12, 1e2, 0.2)])
def test_newton_steps_end_what_pairs_of_coordinates_end_slowly(n, d, C, gamma):
    """Of the second, 3,700 coordinates are free: more than a working set holds until smaller ones got nowhere."""
    X, y = two_clouds(n, d)
    y = np.where(np.random.default_rng(1).random(n) < 0.05, -y, y)
    problem = svc(PointsGram(NativeKernel("gaussian", X, gamma)), y, C)
    got = engine.solve(problem, kkt_tol=1e-7)
    assert got.status == "solved"
    assert kkt_gap(problem, got.theta) <= 1e-7 * (1 + 1e-3)


def test_newton_steps_keep_the_rows_where_too_many_coordinates_are_carried_out():
    """In a space of low rank, with pieces that end near by, more are pinned in every pass."""
    drawn = make(Task("c-svc", "checkerboard", 20_000, 2, (("C", 100.0),)))
    problem = svc(PointsGram(NativeKernel("gaussian", drawn.X, drawn.gamma)), drawn.y, 100.0)
    got = engine.solve(problem, kkt_tol=1e-3)
    assert got.status == "solved"
    assert violation(problem, got.theta) <= 1e-12


def test_an_unknown_instruction_set_is_refused(monkeypatch):
    monkeypatch.setenv("KDSL_ISA", "mmx")
    with pytest.raises(RuntimeError, match="KDSL_ISA=mmx"):
        _core.isa()


@pytest.mark.parametrize("strategy", ["full", "stored_rows", "working_set"])
def test_same_input_same_bits(strategy):
    X, y = two_clouds(1500)
    problem = svc(PointsGram(NativeKernel("gaussian", X, 0.2)), y, 10.0)
    first, second = (engine.solve(problem, tol=1e-7, threads=2, strategy=strategy).theta for _ in range(2))
    assert first.tobytes() == second.tobytes()


@pytest.mark.parametrize("strategy", ["full", "stored_rows"])
def test_memory_that_another_solve_has_used_changes_nothing(strategy):
    """Pieces of 8 MiB and more are kept for the next solve, in the state in which they were given back."""

    def solve(n, seed):
        X, y = two_clouds(n, d=20, seed=seed, apart=2.0)
        problem = svc(PointsGram(NativeKernel("gaussian", X, 0.05)), y, 1.0)
        return engine.solve(problem, tol=1e-6, threads=2, strategy=strategy).theta.tobytes()

    first = solve(2100, 1)
    solve(2300, 2)
    assert solve(2100, 1) == first
    with ThreadPoolExecutor(3) as pool:
        assert set(pool.map(lambda _: solve(2100, 1), range(3))) == {first}


def test_small_problems_are_solved_by_one_thread_unless_more_are_asked_for():
    def threads(n, **asked):
        X, y = two_clouds(n)
        return engine.solve(svc(PointsGram(NativeKernel("gaussian", X, 0.2)), y, 1.0), **asked).facts["threads"]

    assert threads(300) == 1
    assert threads(300, threads=3) == 3
    assert threads(2500) == allowance.processors()


@pytest.mark.parametrize("isa", RUNNABLE)
@pytest.mark.parametrize("n", [2, 3, 7, 15, 16, 17, 63, 64, 65, 127, 130])
def test_scans_find_the_extremes_at_any_place(isa, n, monkeypatch):
    """Scans go by several vectors at once; what is left over goes by one, and then by numbers."""
    monkeypatch.setenv("KDSL_ISA", isa)
    for seed in range(4):
        X, y = two_clouds(n, seed=seed)
        problem = svc(PointsGram(NativeKernel("gaussian", X, 0.5)), y, 3.0)
        for tol in (1e-3, 1e-8):
            got = engine.solve(problem, kkt_tol=tol, strategy="full")
            assert got.status == "solved" and got.facts["kkt_gap"] <= tol


def test_a_start_may_be_anywhere_where_only_0_meets_the_row():
    rng = np.random.default_rng(1)
    problem = svc(PointsGram(NativeKernel("gaussian", rng.normal(size=(10, 2)), 0.2)), np.ones(10), 1.0)
    found = engine.solve(problem, start=np.abs(rng.normal(size=10)))
    assert found.status == "solved" and np.abs(found.theta).max() <= 1e-15


def test_a_warm_start_costs_less():
    X, y = two_clouds(1500)
    problem = svc(PointsGram(NativeKernel("gaussian", X, 0.2)), y, 1.0)
    cold = engine.solve(problem, tol=1e-8)
    warm = engine.solve(problem, start=cold.theta, tol=1e-8)
    assert warm.iterations < 0.1 * cold.iterations
    half = engine.solve(problem, start=3 * cold.theta, tol=1e-8)  # not feasible: brought back
    assert half.status == "solved" and violation(problem, half.theta) < 1e-10


def test_two_solves_at_once():
    X, y = two_clouds(1500)
    problems = [svc(PointsGram(NativeKernel("gaussian", X, g)), y, 5.0) for g in (0.1, 0.2, 0.4, 0.8)]
    alone = [engine.solve(p, tol=1e-7, threads=2).theta for p in problems]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda p: engine.solve(p, tol=1e-7, threads=2).theta, problems))
    for a, b in zip(alone, together, strict=True):
        assert a.tobytes() == b.tobytes()


def _solve_in_child(queue, problem):
    queue.put(engine.solve(problem, tol=1e-7, threads=2).theta)


def test_a_forked_child_can_solve():
    X, y = two_clouds(1500)
    problem = svc(PointsGram(NativeKernel("gaussian", X, 0.2)), y, 5.0)
    here = engine.solve(problem, tol=1e-7, threads=2).theta
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_solve_in_child, args=(queue, problem))
    child.start()
    there = queue.get(timeout=30)
    child.join(timeout=30)
    assert child.exitcode == 0
    assert here.tobytes() == there.tobytes()


LONG = """
import sys, time
sys.path.insert(0, {here!r})
from test_engine_behaviour import PointsGram, two_clouds
from engine_problems import svc
from kdsl.solving.backends import engine
from kdsl.numerics.native_kernel import NativeKernel
X, y = two_clouds(20_000, d=8, apart=0.1)
problem = svc(PointsGram(NativeKernel("gaussian", X, 0.5)), y, 1e6)
print("ready", flush=True)
try:
    engine.solve(problem, kkt_tol=1e-12)
except KeyboardInterrupt:
    print(time.monotonic(), flush=True)
"""


def test_ctrl_c_within_a_fifth_of_a_second():
    script = LONG.format(here=os.path.dirname(__file__))
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline().strip() == "ready"
        time.sleep(1.0)
        assert child.poll() is None
        sent = time.monotonic()
        child.send_signal(signal.SIGINT)
        answer = child.stdout.readline()
        assert float(answer) - sent < 0.2
    finally:
        child.kill()
        child.wait()


def hard_problem():
    X, y = two_clouds(3000, d=8, apart=0.1)
    return svc(PointsGram(NativeKernel("gaussian", X, 0.5)), y, 1e6)


def test_the_time_limit_is_kept_and_the_best_point_returned():
    problem = hard_problem()
    began = time.perf_counter()
    got = engine.solve(problem, kkt_tol=1e-12, time_limit=0.1)
    assert time.perf_counter() - began < 0.9
    assert got.status == "time_limit"
    assert violation(problem, got.theta) < 1e-9
    assert got.theta.any() == (got.iterations > 0)  # a busy machine may spend the time elsewhere


def test_the_iteration_limit_is_kept():
    got = engine.solve(hard_problem(), kkt_tol=1e-12, max_iterations=1000)
    assert got.status == "iteration_limit" and got.iterations == 1000


@pytest.mark.parametrize(
    ("strategy", "n", "limit"), [("working_set", 2500, 8000), ("full", 1000, 1000), ("full", 2500, 1000)]
)
def test_a_limit_loses_nothing_of_what_was_counted(strategy, n, limit):
    """Of rows a step needs two at least; those that are stored are computed once."""
    X, y = clouds(n)
    got = engine.solve(svc(gaussian(X), y, 10.0), kkt_tol=1e-9, max_iterations=limit, strategy=strategy)
    assert got.status == "iteration_limit"
    assert got.facts["entries"] > 100 * n
    if strategy == "full":
        assert got.facts["entries"] < 2 * n * n
    assert (got.facts["outer"] > 0) == (n == 2500)


def test_a_limit_inside_the_start_counts_too():
    """All steps go to the sample whose answer is asked for first."""
    X, y = clouds(2500)
    got = engine.solve(svc(gaussian(X), y, 10.0), kkt_tol=1e-9, max_iterations=20, strategy="working_set")
    assert got.status == "iteration_limit" and got.iterations == 20
    assert got.facts["outer"] == 0 and got.facts["entries"] > 0


def test_the_callback_sees_progress_and_may_stop():
    seen = []
    got = engine.solve(hard_problem(), kkt_tol=1e-12, callback=lambda *progress: seen.append(progress) or len(seen) > 2)
    assert got.status == "interrupted"
    assert len(seen) == 3 and seen[-1][0] > 0


def test_an_exception_in_the_callback_comes_out():
    def fail(iterations, gap):
        raise LookupError("no")

    with pytest.raises(LookupError):
        engine.solve(hard_problem(), kkt_tol=1e-12, callback=fail)


class Failing(MatrixGram):
    def rows(self, indices):
        raise ZeroDivisionError("in the kernel")


def test_an_exception_in_a_kernel_comes_out():
    _, y = two_clouds(20)
    with pytest.raises(ZeroDivisionError, match="in the kernel"):
        engine.solve(svc(Failing(np.eye(20)), y, 1.0))


def test_a_kernel_that_is_not_a_number_is_named():
    K = np.eye(20)
    K[3, 7] = np.nan
    _, y = two_clouds(20)
    with pytest.raises(ValueError, match="kernel of w is nan between points 4 and 8"):
        engine.solve(svc(MatrixGram(K), y, 1.0))


def test_a_point_that_is_not_a_number_is_named():
    X, y = two_clouds(20)
    X[4, 1] = np.nan
    with pytest.raises(ValueError, match="point 5 has a feature that is not a finite number"):
        engine.solve(svc(PointsGram(NativeKernel("linear", X)), y, 1.0))


@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_features_that_single_precision_cannot_hold(size):
    """Above 500 points single precision is used first, where it can be."""
    X, y = two_clouds(600)
    C = 1.0 / size**2
    got = engine.solve(svc(PointsGram(NativeKernel("linear", X * size)), y, C), kkt_tol=1e-6)
    expected = engine.solve(svc(PointsGram(NativeKernel("linear", X)), y, 1.0), kkt_tol=1e-6)
    assert got.status == "solved"
    np.testing.assert_allclose(got.theta.sum() * size**2, expected.theta.sum(), rtol=1e-4)


def test_little_memory_means_small_working_sets():
    X, y = two_clouds(1500)
    problem = svc(PointsGram(NativeKernel("gaussian", X, 0.2)), y, 1.0)
    assert engine.solve(problem, strategy="automatic", memory=1e9).facts["strategy"] == "working_set"
    got = engine.solve(problem, kkt_tol=1e-5, memory=1e5)
    assert got.status == "solved" and kkt_gap(problem, got.theta) <= 1e-5


def test_a_block_is_asked_for_once_and_never_by_entries():
    calls = []

    class Counting(MatrixGram):
        def rows(self, indices):
            calls.append(len(indices))
            return super().rows(indices)

    X, y = two_clouds(200)
    K = kernel_matrix(NativeKernel("gaussian", X, 0.5), X, X)
    engine.solve(svc(Counting(K), y, 1.0), tol=1e-8)
    assert calls == [200]


def test_a_row_of_a_python_kernel_is_asked_for_once():
    asked = []

    class Noting(MatrixGram):
        def rows(self, indices):
            asked.extend(indices)
            return super().rows(indices)

    X, y = two_clouds(1500)
    problem = svc(Noting(kernel_matrix(NativeKernel("gaussian", X, 0.5), X, X)), y, 1.0)
    got = engine.solve(problem, tol=1e-8)
    assert got.status == "solved" and got.facts["strategy"] == "stored_rows"
    assert len(asked) == len(set(asked)) == got.facts["entries"] / 1500


@pytest.mark.parametrize("features", [3, 120])
def test_rows_that_have_no_room_are_computed_again(features):
    """Room for 100 rows of 1,500, of one kernel and of a sum of two."""
    X, y = two_clouds(1500, features)
    kernel = NativeKernel("gaussian", X, 1 / features)
    one = svc(PointsGram(kernel), y, 1.0)
    got = engine.solve(one, kkt_tol=1e-5, strategy="stored_rows", memory=100 * 1504 * 4 * 2)
    assert got.status == "solved" and got.facts["strategy"] == "stored_rows"
    assert kkt_gap(one, got.theta) <= 1e-5 * (1 + 1e-6)
    block = one.blocks[0]
    two = NormalForm((block, HilbertBlock("v", block.gram, block.atoms)), one.separable, one.rows)
    both = [engine.solve(two, kkt_tol=1e-5, strategy=s).facts["value"] for s in ("stored_rows", "working_set")]
    assert np.isclose(*both, rtol=1e-6)


@pytest.mark.parametrize(("memory", "strategy"), [(1e8, "full"), (1e7, "stored_rows"), (1e6, "working_set")])
def test_a_dear_kernel_is_stored_as_far_as_memory_goes(memory, strategy):
    """1,500 coordinates: 27 MB for the whole matrix in both precisions, 0.8 MB for rows that are worth while."""
    X, y = two_clouds(1500, 400)
    problem = svc(PointsGram(NativeKernel("gaussian", X, 1 / 400)), y, 1.0)
    got = engine.solve(problem, kkt_tol=1e-4, memory=memory)
    assert got.facts["strategy"] == strategy
    assert kkt_gap(problem, got.theta) <= 1e-4 * (1 + 1e-6)


def test_the_interpreter_runs_while_the_engine_does():
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.wait(0.01):
            ticks.append(None)

    ticker = threading.Thread(target=tick, daemon=True)
    ticker.start()
    try:
        engine.solve(hard_problem(), kkt_tol=1e-12, time_limit=0.5)
    finally:
        stop.set()
    ticker.join()
    assert len(ticks) > 10


def test_an_indefinite_kernel_ends():
    X, y = two_clouds(60)
    problem = svc(KernelGram(NativeKernel("sigmoid", X, gamma=2.0, offset=-1.0)), y, 1.0)
    got = engine.solve(problem, tol=1e-8, time_limit=5)
    assert got.status in ("solved", "stalled")
    assert violation(problem, got.theta) < 1e-9


def test_scalars_without_an_atom():
    """min 1/2 t0^2 - t1 with 0 <= t1 <= 3 and t0 + t1 = 2: one coordinate has no kernel at all."""
    gram = MatrixGram(np.ones((1, 1)))
    block = HilbertBlock("w", gram, sp.csc_array(np.array([[1.0, 0.0]])))
    h = pieces([(-np.inf, np.inf, 0, 0)], [(0, 3, 0, -1)])
    problem = NormalForm((block,), h, make_rows([1.0, 1.0], 2.0))
    for got in (engine.solve(problem, tol=1e-12), reference.solve(problem)):
        np.testing.assert_allclose(got.theta, [-1.0, 3.0], atol=1e-9)


def test_no_coordinate_at_all():
    problem = NormalForm((), Separable(np.zeros(1, np.int64), *[np.zeros(0)] * 5), no_rows(0), 1.5)
    got = engine.solve(problem)
    assert got.status == "solved" and len(got.theta) == 0


def test_signs_of_the_atoms_do_not_matter():
    X, y = two_clouds(50)
    problem = svc(KernelGram(NativeKernel("gaussian", X, 0.5)), y, 1.0)
    flipped = NormalForm(
        (HilbertBlock("w", problem.blocks[0].gram, signed_atoms(-y)),), problem.separable, problem.rows
    )
    a, b = (engine.solve(p, tol=1e-10).theta for p in (problem, flipped))
    np.testing.assert_allclose(a, b, atol=1e-6)
