"""Where a solve starts when only sums of the multipliers are given: near the end, at a point that meets the rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from engine_problems import make_rows, no_rows, pieces, signed_atoms, value
from test_engine_behaviour import two_clouds
from test_lattice import LargeGram

from kdsl.numerics.native_kernel import NativeKernel
from kdsl.solving.backends import engine
from kdsl.solving.engine_coordinates import engine_form, starting_point
from kdsl.solving.normal_form import HilbertBlock, NormalForm

N = 2000


def box(upper, slope=0.0):
    return pieces(*[[(0.0, u, 0.0, slope)] for u in upper])


def one_class(upper, total, slope=0.0):
    """min 1/2 t'Kt + slope sum(t): sum t = total, 0 <= t <= upper."""
    X, _ = two_clouds(len(upper), d=5, seed=1)
    gram = LargeGram(NativeKernel("gaussian", X, 0.1))
    rows = make_rows(np.ones((1, len(upper))), [total])
    return NormalForm((HilbertBlock("w", gram, signed_atoms(np.ones(len(upper)))),), box(upper, slope), rows)


def nu_machine(nu):
    X, y = two_clouds(N, d=5, seed=2, apart=2.0)
    gram = LargeGram(NativeKernel("gaussian", X, 0.1))
    rows = make_rows(np.vstack([y, np.ones(N)]), [0.0, nu * N])
    return NormalForm((HilbertBlock("w", gram, signed_atoms(y)),), box(np.ones(N)), rows)


def somewhere(problem):
    """The point that meets the rows which a solve without a start would begin with otherwise."""
    form = engine_form(problem, np.zeros(problem.size))
    return form.to_theta(starting_point(form, None))


def both(problem, tol=1e-8):
    near, far = engine.solve(problem, tol=tol), engine.solve(problem, somewhere(problem), tol=tol)
    assert near.status == far.status == "solved"
    for found in (near, far):
        residual = problem.rows.matrix @ found.theta - problem.rows.target
        assert np.abs(residual).max() <= 1e-12 * np.abs(found.theta).sum()
        assert (found.theta >= 0).all() and (found.theta <= problem.separable.upper).all()
    assert abs(value(problem, near.theta) - value(problem, far.theta)) <= tol * abs(value(problem, far.theta))
    return near, far


@pytest.mark.parametrize("nu", [0.05, 0.5, 0.95])
def test_a_one_class_machine_starts_near_its_end(nu):
    near, far = both(one_class(np.ones(N), nu * N), tol=1e-6)
    assert near.facts["entries"] < 0.95 * far.facts["entries"]


def test_a_nu_machine_has_two_classes_with_sums():
    both(nu_machine(0.3), tol=1e-6)


def test_bounds_of_different_size_and_a_slope():
    rng = np.random.default_rng(3)
    upper = rng.choice([0.0, 0.1, 1.0, 5.0], size=N)
    both(one_class(upper, 0.4 * upper.sum(), slope=-0.3))


@pytest.mark.parametrize("share", [1.0, 1.0 - 1e-13, 1e-13])
def test_sums_at_an_end_of_what_the_bounds_allow(share):
    upper = np.ones(N)
    problem = one_class(upper, share * N)
    found = engine.solve(problem)
    assert found.status == "solved"
    assert abs(found.theta.sum() - share * N) <= 1e-12 * N
    assert (found.theta >= 0).all() and (found.theta <= upper).all()


def test_a_start_that_is_given_is_the_start():
    problem = one_class(np.ones(N), 0.3 * N)
    found = engine.solve(problem, kkt_tol=1e-4)
    again = engine.solve(problem, found.theta, kkt_tol=1e-3)
    assert again.status == "solved" and again.iterations == 0
    assert np.abs(again.theta - found.theta).max() <= 1e-15


def test_a_sum_without_bounds_has_no_vertex():
    problem = one_class(np.full(N, np.inf), 1.0)
    found = engine.solve(problem, tol=1e-6)
    assert found.status == "solved" and np.isclose(found.theta.sum(), 1.0)


def test_the_same_start_twice():
    problem = nu_machine(0.5)
    first, second = (engine.solve(problem, kkt_tol=1e-3, threads=2).theta for _ in range(2))
    assert first.tobytes() == second.tobytes()


def test_values_beyond_single_precision_are_sampled_in_double():
    """A polynomial of far points: its values do not fit, and a gradient of them would be infinite."""
    X, _ = two_clouds(N, d=3)
    gram = LargeGram(NativeKernel("polynomial", 1e6 * X, 1.0, 1.0, 4))
    rows = make_rows(np.ones((1, N)), [0.3 * N])
    problem = NormalForm((HilbertBlock("w", gram, signed_atoms(np.ones(N))),), box(np.ones(N)), rows)
    found = engine.solve(problem, tol=1e-6, time_limit=5.0)
    assert np.isfinite(found.facts["value"]) and abs(found.theta.sum() - 0.3 * N) <= 1e-9 * N


# ---------------------------------------------------------------- losses that leave nothing at 0

LIKELY = 2500


def deviations(pieces_of, rows, d=3, seed=4):
    """A regression whose loss has the given pieces of a conjugate at each target."""
    X, _ = two_clouds(LIKELY, d=d, seed=seed)
    target = np.sin(X[:, 0]) + np.random.default_rng(seed).normal(size=LIKELY)
    gram = LargeGram(NativeKernel("gaussian", X, 0.2))
    h = pieces(*(pieces_of(v) for v in target))
    return NormalForm((HilbertBlock("w", gram, signed_atoms(np.ones(LIKELY))),), h, rows)


def absolute(v):
    return [(-0.7, 0.3, 0.0, -v)]


def four_pieces(v):
    """Slopes of the loss -2, -1/2, 1/4 and 1: kinks beside 0."""
    return [(-2.0, -0.5, 0.0, -v - 0.4), (-0.5, 0.25, 0.0, -v), (0.25, 1.0, 0.0, -v + 0.4)]


def sum_of_all():
    return make_rows(np.ones((1, LIKELY)), [0.0])


def a_bias_each():
    group = np.arange(LIKELY) % 5
    return make_rows((group == np.arange(5)[:, None]).astype(float), np.zeros(5))


@pytest.mark.parametrize("loss", [absolute, four_pieces])
@pytest.mark.parametrize("rows", [sum_of_all, a_bias_each, lambda: no_rows(LIKELY)], ids=["bias", "biases", "none"])
def test_what_ends_far_from_0_starts_there(loss, rows):
    """The answer is that of a solve from 0, in fewer steps: most multipliers never pass the way there."""
    problem = deviations(loss, rows())
    near = engine.solve(problem, tol=1e-6, strategy="working_set")
    far = engine.solve(problem, np.zeros(LIKELY), tol=1e-6, strategy="working_set")
    assert near.status == far.status == "solved"
    reached = value(problem, far.theta)
    assert abs(value(problem, near.theta) - reached) <= 2e-6 * max(1.0, abs(reached))
    for found in (near, far):
        assert np.abs(problem.rows.matrix @ found.theta - problem.rows.target).max(initial=0.0) <= 1e-9
    assert near.iterations < 0.9 * far.iterations


def overlapping(points, labels, C):
    gram = LargeGram(NativeKernel("gaussian", points, 0.1))
    h = box(np.full(len(labels), C), slope=-1.0)
    return NormalForm((HilbertBlock("w", gram, signed_atoms(labels)),), h, make_rows(labels[None, :], [0.0]))


@pytest.mark.parametrize("C", [0.01, 1.0])
@pytest.mark.parametrize("more", [False, True], ids=["all", "few have no ends"])
def test_classes_that_overlap_start_at_bounds(C, more):
    """Most support vectors of the answer are at C; with a small C the sample is asked again with a larger one."""
    X, y = two_clouds(LIKELY, d=3, seed=6)
    problem = overlapping(X, y, C)
    if more:  # quadratic losses at some examples
        upper = np.where(np.arange(LIKELY) % 20, C, np.inf)
        h = pieces(*([(0.0, u, 0.0 if np.isfinite(u) else 1 / C, -1.0)] for u in upper))
        problem = replace(problem, separable=h)
    near = engine.solve(problem, tol=1e-6, strategy="working_set")
    far = engine.solve(problem, np.zeros(LIKELY), tol=1e-6, strategy="working_set")
    assert near.status == far.status == "solved"
    assert near.iterations < 0.9 * far.iterations
    assert abs(problem.rows.matrix @ near.theta).max() <= 1e-9 * near.theta.sum()
    reached = value(problem, far.theta)
    assert abs(value(problem, near.theta) - reached) <= 2e-6 * abs(reached)


def test_where_few_support_vectors_are_to_be_expected_none_are():
    """Two points, each many times: two multipliers are enough."""
    y = np.where(np.arange(3000) % 2, 1.0, -1.0)
    found = engine.solve(overlapping(np.outer(y, np.ones(4)), y, 1.0), tol=1e-6, strategy="working_set")
    assert found.status == "solved" and found.iterations < 10


def test_equal_targets_have_nothing_to_sample():
    """No derivative differs from another: the start is the end."""
    problem = deviations(lambda v: [(-0.7, 0.3, 0.0, -1.0)], sum_of_all())
    found = engine.solve(problem, tol=1e-8, strategy="working_set")
    assert found.status == "solved"
    assert np.abs(found.theta).max() <= 1e-9 or found.facts["relative_gap"] <= 1e-8


@pytest.mark.parametrize("steps", [1, 50, 500])
def test_a_limit_inside_the_sample_says_nothing_of_the_gap(steps):
    problem = deviations(absolute, sum_of_all())
    found = engine.solve(problem, tol=1e-9, max_iterations=steps, strategy="working_set")
    assert found.status == "iteration_limit"
    assert not found.facts["kkt_gap"] <= 1e-9  # it is NaN where t has moved since it was measured
    assert np.abs(problem.rows.matrix @ found.theta).max() <= 1e-9


def test_the_same_ends_twice():
    problem = deviations(four_pieces, sum_of_all())
    first, second = (engine.solve(problem, kkt_tol=1e-3, threads=2).theta for _ in range(2))
    assert first.tobytes() == second.tobytes()
