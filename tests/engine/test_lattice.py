"""Points rounded to a lattice: they are worked on where that is quicker, and what is found is as exact as without."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cached_property
from pathlib import Path

import numpy as np
import pytest
from engine_problems import MatrixGram, kernel_matrix, make_rows, pieces, signed_atoms, svc, value
from scipy.spatial.distance import cdist

from kdsl import _core
from kdsl.numerics.native_kernel import NativeKernel
from kdsl.solving.backends import engine
from kdsl.solving.normal_form import HilbertBlock, NormalForm

N = 2100  # the fewest that are rounded


def has_lattice():
    """Whether this processor multiplies 16-bit integers as the lattice wants it: a solve says whether it was used."""
    return bool(solved(problem_of("gaussian", 20)).facts["rough"])


def clouds(d, n=N, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    X = rng.normal(size=(n, d))
    X[:, : min(d, 3)] += 0.8 * y[:, None]
    return X, y


class LargeGram(MatrixGram):
    """A kernel whose matrix the tests form only when they look at it."""

    def __init__(self, kernel):
        self.kernel = kernel

    @cached_property
    def K(self):
        kernel, X = self.kernel, self.kernel.points
        if kernel.kind == "gaussian":
            return np.exp(-kernel.gamma * cdist(X, X, "sqeuclidean"))
        if kernel.kind == "laplacian":
            return np.exp(-kernel.gamma * cdist(X, X, "cityblock"))
        return kernel_matrix(kernel, X, X)

    @property
    def size(self):
        return len(self.kernel.points)

    def native(self):
        return self.kernel


def kernel_of(kind, X):
    d = X.shape[1]
    return {
        "gaussian": NativeKernel("gaussian", X, 1 / d),
        "polynomial": NativeKernel("polynomial", X, 1 / d, 1.0, 2),
        "sigmoid": NativeKernel("sigmoid", X, 0.01 / d, -0.5),
        "laplacian": NativeKernel("laplacian", X, 1 / d),
    }[kind]


def problem_of(kind, d, C=1.0, scale=1.0):
    X, y = clouds(d)
    if scale != 1.0:
        return svc(LargeGram(NativeKernel("gaussian", X * scale, 1 / d / scale**2)), y, C)
    return svc(LargeGram(kernel_of(kind, X)), y, C)


def solved(problem, kkt_tol=1e-3, **options):
    found = engine.solve(problem, kkt_tol=kkt_tol, strategy=options.pop("strategy", "working_set"), **options)
    assert found.status == "solved", found
    return found


def true_gap(problem, t):
    """m - M of a C-SVC in double precision."""
    K, y, h = problem.blocks[0].gram.K, problem.rows.matrix.toarray()[0], problem.separable
    F = K @ (y * t) + h.slope * y
    up, down = np.where(y > 0, t < h.upper, t > 0), np.where(y > 0, t > 0, t < h.upper)
    return F[down].max() - F[up].min()


@pytest.mark.parametrize("strategy", ["working_set", "stored_rows"])
@pytest.mark.parametrize(("kind", "d"), [("gaussian", 20), ("gaussian", 33), ("polynomial", 21)])
@pytest.mark.parametrize("kkt_tol", [1e-3, 1e-7])
def test_the_gap_is_what_was_asked_for(kind, d, kkt_tol, strategy):
    problem = problem_of(kind, d, C=0.1 if kind == "polynomial" else 1.0)
    found = solved(problem, kkt_tol, strategy=strategy)
    assert true_gap(problem, found.theta) <= kkt_tol
    assert abs(found.facts["kkt_gap"] - true_gap(problem, found.theta)) <= 0.5 * kkt_tol


def test_it_is_used_where_a_vector_instruction_makes_it_quick():
    processor = Path("/proc/cpuinfo")
    flags = processor.read_text() if processor.exists() else ""
    expected = _core.isa() in ("avx512", "amx") and "avx512_vnni" in flags
    assert has_lattice() == expected


@pytest.mark.parametrize("isa", ["portable", "avx2"])
def test_others_do_without(isa):
    """The same optimum, found without the lattice in a process that has no such instruction."""
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from test_lattice import problem_of, solved, value\n"
        "p = problem_of('gaussian', 20); f = solved(p, 1e-6); print(f.facts['rough'], value(p, f.theta))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, os.path.dirname(__file__)],
        env={**os.environ, "KDSL_ISA": isa},
        capture_output=True,
        text=True,
    )
    if "this processor lacks it" in run.stderr:
        pytest.skip(f"this processor has no {isa}")
    rough, other = run.stdout.split()
    problem = problem_of("gaussian", 20)
    own = value(problem, solved(problem, 1e-6).theta)
    assert rough == "0"
    assert abs(float(other) - own) <= 1e-6 * abs(own)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_steps_follow_the_scale_of_the_features(scale):
    problem = problem_of("gaussian", 20, scale=scale)
    found = solved(problem)
    assert bool(found.facts["rough"]) == has_lattice()
    assert true_gap(problem, found.theta) <= 1e-3


def test_one_point_far_away_makes_steps_long_and_nothing_wrong():
    X, y = clouds(20)
    X[0] *= 1e4
    problem = svc(LargeGram(NativeKernel("gaussian", X, 0.05)), y, 1.0)
    found = solved(problem, 1e-4)
    assert true_gap(problem, found.theta) <= 1e-4


def test_all_points_equal():
    y = np.where(np.arange(N) % 2, 1.0, -1.0)
    problem = svc(LargeGram(NativeKernel("gaussian", np.ones((N, 20)), 1.0)), y, 2.0)
    assert np.isclose(value(problem, solved(problem).theta), -2.0 * N)


def test_large_multipliers_where_rounding_weighs_most():
    problem = problem_of("gaussian", 20, C=1e3)
    found = solved(problem, 1e-4)
    assert true_gap(problem, found.theta) <= 1e-4


def test_a_sum_of_two_kernels_one_of_which_has_no_lattice():
    X, y = clouds(20)
    blocks = tuple(
        HilbertBlock(kind, LargeGram(kernel_of(kind, X)), signed_atoms(y)) for kind in ("gaussian", "laplacian")
    )
    plain = svc(LargeGram(kernel_of("gaussian", X)), y, 1.0)
    both = NormalForm(blocks, plain.separable, plain.rows)
    found = solved(both)
    Q = sum(b.gram.K for b in blocks)
    F = Q @ (y * found.theta) - y
    up = np.where(y > 0, found.theta < 1, found.theta > 0)
    down = np.where(y > 0, found.theta > 0, found.theta < 1)
    assert F[down].max() - F[up].min() <= 1e-3


def test_kinked_pieces_with_an_equality():
    """Regression in the rows' own coordinates: l variables with a kink at 0."""
    X, _ = clouds(24)
    rng = np.random.default_rng(5)
    target = np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=N)
    h = pieces(*[[(-10.0, 0.0, 0.0, -y - 0.1), (0.0, 10.0, 0.0, -y + 0.1)] for y in target])
    gram = LargeGram(NativeKernel("gaussian", X, 1 / 24))
    problem = NormalForm((HilbertBlock("w", gram, signed_atoms(np.ones(N))),), h, make_rows(np.ones((1, N)), [0.0]))
    found = solved(problem)
    F = gram.K @ found.theta
    t = found.theta
    rise = F - target + np.where(t >= 0, 0.1, -0.1)
    fall = F - target + np.where(t > 0, 0.1, -0.1)
    assert fall[t > -10].max() - rise[t < 10].min() <= 1e-3


def test_same_bits_twice():
    problem = problem_of("gaussian", 20)
    first, second = (solved(problem, threads=2).theta for _ in range(2))
    assert (first == second).all()


@pytest.mark.parametrize("threads", [1, 3])
def test_any_number_of_threads_gets_there(threads):
    problem = problem_of("gaussian", 20)
    assert true_gap(problem, solved(problem, threads=threads).theta) <= 1e-3
