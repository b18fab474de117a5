"""Random normal forms of every shape, against an independent QP solver, the reference and a duality gap."""

from __future__ import annotations

from itertools import pairwise

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
    value,
    violation,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kdsl.numerics.native_kernel import NativeKernel
from kdsl.solving.backends import engine, reference
from kdsl.solving.normal_form import HilbertBlock, NormalForm

ACCURACY = 1e-8
inf = np.inf


def loss(name, C, target, rng):
    """The pieces of h_k for one example: the conjugates of the losses of the textbooks, and one of nobody's."""
    match name:
        case "hinge":
            return [(0, C, 0, -1)]
        case "squared hinge":
            return [(0, inf, 1 / C, -1)]
        case "hard":
            return [(0, inf, 0, -1)]
        case "epsilon":
            return [(-C, 0, 0, -target - 0.1), (0, C, 0, -target + 0.1)]
        case "absolute":
            return [(-C, C, 0, -target)]
        case "pinball":
            return [(-0.2 * C, 0.8 * C, 0, -target)]
        case "huber":
            return [(-C, C, 1.345 / C, -target)]
        case "squared":
            return [(-inf, inf, 1 / C, -target)]
        case "own":
            ends = np.r_[-C, np.sort(rng.uniform(-C, C, 3)), C]
            slopes, out = -2.0 - target, []
            for left, right in pairwise(ends):
                curvature = rng.choice([0.0, 1.0 / C])
                out.append((left, right, curvature, slopes - curvature * left))
                slopes = slopes + curvature * (right - left) + rng.choice([0.0, 0.5])
            return out


BOUNDED = ("hinge", "epsilon", "absolute", "pinball", "huber", "own")
LOSSES = (*BOUNDED, "squared hinge", "squared")


@st.composite
def normal_forms(draw, losses=LOSSES, rows=(0, 1, 2), largest=60):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(2, largest))
    d = draw(st.integers(1, 4))
    C = 10.0 ** draw(st.integers(-2, 2))
    X = rng.normal(size=(n, d))
    if draw(st.booleans()):  # duplicated points
        X = X[rng.integers(0, n, n)]
    y = rng.choice([-1.0, 1.0], n)
    kind = draw(st.sampled_from(["linear", "gaussian", "polynomial", "laplacian"]))
    kernel = NativeKernel(kind, X, gamma=0.5, offset=1.0, degree=2)
    gram = KernelGram(kernel) if draw(st.booleans()) else MatrixGram(kernel_matrix(kernel, X, X))
    name = draw(st.sampled_from(losses))
    weight = rng.uniform(0.5, 2.0, n) if draw(st.booleans()) else np.ones(n)
    h = pieces(*(loss(name, C * w, float(t), rng) for w, t in zip(weight, rng.normal(size=n), strict=True)))
    atoms = sp.lil_array(np.diag(y if "hinge" in name else np.ones(n)))
    if draw(st.booleans()):  # some atoms are differences and averages of points
        for k in rng.choice(n, max(1, n // 5), replace=False):
            atoms[:, [k]] = 0
            chosen = rng.choice(n, min(n, int(rng.integers(2, 9))), replace=False)
            atoms[chosen, k] = rng.choice([-1.0, 1.0], len(chosen)) / rng.integers(1, 3)
    shift = rng.normal(size=n) if draw(st.booleans()) else None
    block = HilbertBlock("w", gram, sp.csc_array(atoms), shift)
    count = draw(st.sampled_from(rows))
    inside = np.clip(rng.normal(size=n) * C, h.lower, h.upper)
    general = draw(st.booleans())
    matrix = np.array([rng.normal(size=n) * rng.choice([0.0, 1.0, 1.0], n) if general else y, np.ones(n)])[:count]
    equality = rng.choice([True, False, True], count)
    target = matrix @ inside + np.where(equality, 0.0, rng.uniform(0, 1, count) * rng.choice([0, 1]))
    return NormalForm((block,), h, make_rows(matrix, target, equality) if count else no_rows(n), rng.normal())


def relative(a, b):
    return abs(a - b) / max(1.0, abs(a), abs(b))


def check(problem, got, agreement=ACCURACY):
    """Feasible; and the general solver's value, or better where that solver does not call its own accurate."""
    expected, accurate = by_general_qp(problem)
    reached = value(problem, got.theta)
    assert got.status == "solved", got
    assert violation(problem, got.theta) < 1e-11
    assert reached <= expected + ACCURACY * max(1.0, abs(expected)), got.facts
    if accurate:
        assert relative(reached, expected) < agreement, got.facts


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(normal_forms())
def test_engine_finds_the_value_that_a_general_qp_solver_finds(problem):
    check(problem, engine.solve(problem, tol=1e-10))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(normal_forms())
def test_working_sets_find_it_too(problem):
    check(problem, engine.solve(problem, tol=1e-10, strategy="working_set", working_set=8))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(normal_forms(), st.integers(0, 2**32 - 1))
def test_any_start_leads_to_the_same_value(problem, seed):
    expected = engine.solve(problem, tol=1e-10)
    start = 3.0 * np.random.default_rng(seed).normal(size=problem.size)
    got = engine.solve(problem, start=start, tol=1e-10)
    assert got.status == "solved" and violation(problem, got.theta) < 1e-11
    assert relative(value(problem, got.theta), value(problem, expected.theta)) < ACCURACY


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(normal_forms(losses=BOUNDED, largest=20))
def test_engine_and_reference_agree(problem):
    slow = reference.solve(problem, tol=1e-8, max_iterations=300)
    fast = engine.solve(problem, tol=1e-10)
    if slow.status == "solved":
        assert violation(problem, slow.theta) < 1e-9
        assert relative(value(problem, slow.theta), value(problem, fast.theta)) < ACCURACY


@pytest.mark.parametrize("name", [*LOSSES, "hard"])
@pytest.mark.parametrize("rows", [0, 1])
def test_every_loss_with_and_without_a_bias(name, rows):
    rng = np.random.default_rng(5)
    n = 40
    X = rng.normal(size=(n, 2))
    y = np.sign(X[:, 0] + 0.3 * X[:, 1])
    gram = KernelGram(NativeKernel("gaussian", X, 2.0))
    h = pieces(*(loss(name, 2.0, float(t), rng) for t in X[:, 1]))
    atoms = sp.csc_array(np.diag(y if name in ("hinge", "squared hinge", "hard") else np.ones(n)))
    A = y if name in ("hinge", "squared hinge", "hard") else np.ones(n)
    problem = NormalForm((HilbertBlock("w", gram, atoms),), h, make_rows(A, 0.0) if rows else no_rows(n))
    got = engine.solve(problem, tol=1e-11)
    assert got.status == "solved"
    assert relative(value(problem, got.theta), by_general_qp(problem)[0]) < ACCURACY
    slow = reference.solve(problem, tol=1e-9)
    assert slow.status == "solved"
    assert relative(value(problem, got.theta), value(problem, slow.theta)) < ACCURACY
