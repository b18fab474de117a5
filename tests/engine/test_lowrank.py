"""The low-rank backend against a general QP solver and the engine: every loss, any rows, samples and screening."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from engine_problems import (
    KernelGram,
    MatrixGram,
    by_general_qp,
    make_rows,
    no_rows,
    pieces,
    value,
    violation,
    with_isa,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from kdsl import _core
from kdsl.language.diagnostics import KdslError
from kdsl.numerics.native_kernel import NativeKernel
from kdsl.solving import api, routing
from kdsl.solving.backends import engine, lowrank
from kdsl.solving.backends.interface import Options
from kdsl.solving.explicit_rows import explicit_rows
from kdsl.solving.facts import facts_of
from kdsl.solving.interior_point import Program, solve_interior
from kdsl.solving.normal_form import HilbertBlock, NormalForm, Separable
from kdsl.solving.pivoted_cholesky import pivoted_cholesky
from kdsl.solving.screening import solve_rows
from kdsl.solving.segments import segments_of

INF = np.inf


class LinearGram:
    """X X', which is never formed."""

    def __init__(self, X):
        self.X = X

    @property
    def size(self):
        return self.X.shape[0]

    def diagonal(self):
        return np.asarray((self.X * self.X).sum(axis=1)).ravel()

    def rows(self, indices):
        return self.X[indices] @ self.X.T

    def matvec(self, vector):
        return self.X @ (self.X.T @ vector)

    def native(self):
        return NativeKernel("linear", self.X)


def coordinate(loss: str, y: float, C: float) -> list[tuple[float, float, float, float]]:
    """The pieces (left, right, curvature, slope) of h for one example."""
    match loss:
        case "hinge":
            return [(0.0, C, 0.0, -1.0)]
        case "squared_hinge":
            return [(0.0, INF, 1 / C, -1.0)]
        case "insensitive":
            return [(-C, 0.0, 0.0, -y - 0.2), (0.0, C, 0.0, -y + 0.2)]
        case "pinball":
            return [(-0.3 * C, 0.7 * C, 0.0, -y)]
        case "huber":
            return [(-C, C, 0.5, -y)]
        case "squared":
            return [(-INF, INF, 1 / C, -y)]
        case "insensitive_squared":
            return [(-INF, 0.0, 1 / C, -y - 0.2), (0.0, INF, 1 / C, -y + 0.2)]
        case "user":
            return [(-C, -C / 3, 0.3 / C, -y - 0.5), (-C / 3, 0.0, 0.0, -y - 0.55), (0.0, C / 2, 0.0, 0.1 - y)]
    raise ValueError(loss)


LOSSES = ("hinge", "squared_hinge", "insensitive", "pinball", "huber", "squared", "insensitive_squared", "user")
ROWS = ("none", "bias", "nu", "inequality", "dependent")


def random_problem(loss, rows, n, d, C, seed, duplicates=False, weighted=False, pairs=False):
    random = np.random.default_rng(seed)
    X = random.standard_normal((n, d))
    if duplicates:
        X = X[random.integers(0, max(2, n // 3), n)]
        X[:, -1] = X[:, 0]
    y = np.where(random.random(n) < 0.5, -1.0, 1.0)
    response = X[:, 0] + 0.3 * random.standard_normal(n)
    costs = C * (random.uniform(0.2, 2.0, n) if weighted else np.ones(n))
    signed = loss in ("hinge", "squared_hinge")
    h = pieces(*[coordinate(loss, float(response[k]), float(costs[k])) for k in range(n)])
    signs = y if signed else np.ones(n)
    atoms = sp.csc_array(sp.diags_array(signs))
    if pairs:
        other = random.permutation(n)
        atoms = sp.csc_array(atoms - 0.5 * sp.csc_array((np.ones(n), (other, np.arange(n))), (n, n)))
    low, high = np.maximum(h.lower, -C), np.minimum(h.upper, C)
    inside = 0.5 * (low + high) + 0.2 * (high - low) * random.uniform(-1, 1, n)
    second = random.standard_normal(n)
    match rows:
        case "none":
            made = no_rows(n)
        case "bias":
            made = make_rows(signs, signs @ inside)
        case "nu":
            made = make_rows([signs, np.ones(n)], [signs @ inside, inside.sum()])
        case "inequality":
            made = make_rows([signs, second], [signs @ inside, second @ inside + 0.01], [True, False])
        case "dependent":
            made = make_rows([signs, 2 * signs], [signs @ inside, 2 * (signs @ inside)])
    return NormalForm((HilbertBlock("w", LinearGram(X), atoms),), h, made, constant=0.3)


def check(problem, found, tol, best):
    reached = value(problem, found.theta)
    assert found.status == "solved", found.message
    assert violation(problem, found.theta) <= 1e-8
    assert reached - best <= tol * max(1.0, abs(best))
    assert best - reached <= 2e-7 * max(1.0, abs(best))  # the other solver's own error


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_with_any_rows(loss, rows):
    problem = random_problem(loss, rows, n=40, d=3, C=2.0, seed=len(loss) + 10 * len(rows))
    best, accurate = by_general_qp(problem)
    if not accurate:  # it gives up a digit early on some: then the engine says
        best = value(problem, engine.solve(problem, tol=1e-10, time_limit=20).theta)
    check(problem, lowrank.solve(problem, Options(tol=1e-8)), 1e-8, best)


@settings(max_examples=60, deadline=None)
@given(
    loss=st.sampled_from(LOSSES),
    rows=st.sampled_from(ROWS),
    n=st.integers(2, 60),
    d=st.integers(1, 6),
    C=st.sampled_from([1e-4, 0.1, 1.0, 30.0, 1e4]),
    seed=st.integers(0, 10**6),
    duplicates=st.booleans(),
    weighted=st.booleans(),
    pairs=st.booleans(),
)
def test_random_forms_agree_with_the_engine(loss, rows, n, d, C, seed, duplicates, weighted, pairs):
    problem = random_problem(loss, rows, n, d, C, seed, duplicates, weighted, pairs)
    found = lowrank.solve(problem, Options(tol=1e-8))
    other = engine.solve(problem, tol=1e-9, time_limit=20)
    assert found.status == "solved", found.message
    assert violation(problem, found.theta) <= 1e-8
    size = max(1.0, abs(other.facts["value"]))
    assert value(problem, found.theta) - value(problem, other.theta) <= 2e-8 * size


# ------------------------------------------------------------------ large ones


def two_classes(n, d, seed=0):
    random = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return random.standard_normal((n, d)) + y[:, None] / np.sqrt(d), y


def large(loss, n=40_000, d=6, C=1.0):
    X, y = two_classes(n, d)
    response = X @ np.linspace(1, 2, d) + np.random.default_rng(1).standard_normal(n)
    signed = loss in ("hinge", "squared_hinge")
    template = [coordinate(loss, 0.0, C)] * n
    h = pieces(*template[:1])
    count = len(template[0])
    shift = np.zeros(n) if signed else response
    tiled = [np.tile(part, n) for part in (h.left, h.right, h.curvature, h.slope)]
    tiled[3] = tiled[3] - np.repeat(shift, count)
    value_of = np.tile(h.value, n).reshape(n, count)
    for p in range(1, count):  # continuous at the breaks
        b = h.left[p]
        value_of[:, p] = value_of[:, p - 1] + (
            (0.5 * h.curvature[p - 1] * b + tiled[3].reshape(n, count)[:, p - 1]) * b
            - (0.5 * h.curvature[p] * b + tiled[3].reshape(n, count)[:, p]) * b
        )
    separable = Separable(np.arange(n + 1) * count, *tiled, value_of.ravel())
    signs = y if signed else np.ones(n)
    atoms = sp.csc_array(sp.diags_array(signs))
    return NormalForm((HilbertBlock("w", LinearGram(X), atoms),), separable, make_rows(signs, 0.0))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "insensitive", "pinball", "huber", "user"])
def test_screening_ends_where_everything_at_once_does(loss, monkeypatch):
    problem = large(loss)
    found = lowrank.solve(problem, Options(tol=1e-8))
    assert found.status == "solved", found.message
    assert found.facts["strategy"] == "screening and interior point"
    assert found.facts["kept"] < problem.size / 3
    monkeypatch.setattr("kdsl.solving.screening.DIRECT", problem.size)
    whole = lowrank.solve(problem, Options(tol=1e-8))
    assert whole.facts["strategy"] == "interior point"
    assert found.facts["value"] == pytest.approx(whole.facts["value"], rel=2e-8)


def test_a_wrong_guess_costs_a_round_not_the_answer(monkeypatch):
    problem = large("hinge")
    honest = lowrank.solve(problem, Options(tol=1e-8))
    monkeypatch.setattr("kdsl.solving.screening.REACH", 0.05)
    misled = lowrank.solve(problem, Options(tol=1e-8))
    assert misled.status == "solved"
    assert misled.facts["rounds"] != 1
    assert misled.facts["value"] == pytest.approx(honest.facts["value"], rel=2e-8)


def test_rare_labels_and_sorted_data():
    """A sample may hold one class only, or none of the examples that matter."""
    X, y = two_classes(20_000, 3)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    y[:] = -1.0
    y[-3:] = 1.0
    h = Separable.single(np.zeros(len(y)), np.ones(len(y)), np.zeros(len(y)), -np.ones(len(y)))
    block = HilbertBlock("w", LinearGram(X), sp.csc_array(sp.diags_array(y)))
    found = lowrank.solve(NormalForm((block,), h, make_rows(y, 0.0)), Options(tol=1e-8))
    assert found.status == "solved", found.message
    assert found.facts["relative_gap"] <= 1e-8


def test_most_coordinates_end_on_their_bounds():
    problem = large("hinge")
    t = lowrank.solve(problem, Options(tol=1e-6)).theta
    inside = (t > 0) & (t < 1)
    assert inside.sum() < 0.02 * problem.size


# ------------------------------------------------------- kernels of small rank


def checkerboard(n, C, seed=0):
    random = np.random.default_rng(seed)
    X = random.uniform(0, 4, (n, 2))
    y = np.where((np.floor(X[:, 0]) + np.floor(X[:, 1])) % 2 == 0, 1.0, -1.0)
    y[random.random(n) < 0.05] *= -1
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    gram = KernelGram(NativeKernel("gaussian", X, 1 / (2 * X.var())))
    h = Separable.single(np.zeros(n), np.full(n, float(C)), np.zeros(n), -np.ones(n))
    return NormalForm((HilbertBlock("w", gram, sp.csc_array(sp.diags_array(y))),), h, make_rows(y, 0.0))


def test_a_gaussian_kernel_in_the_plane_has_a_small_rank():
    problem = checkerboard(800, 100.0)
    F, residual = pivoted_cholesky(problem.blocks[0].gram, 400, 1e9)
    assert F.shape[1] < 250
    assert np.abs(F @ F.T - problem.blocks[0].gram.K).max() < 1e-11
    assert residual < 1e-12
    found = lowrank.solve(problem, Options(tol=1e-6))
    assert found.status == "solved"
    assert found.facts["rank"] == F.shape[1]
    other = engine.solve(problem, tol=1e-7, time_limit=60)
    assert value(problem, found.theta) == pytest.approx(value(problem, other.theta), rel=2e-6)


def test_the_trace_left_out_is_measured():
    random = np.random.default_rng(0)
    G = random.standard_normal((50, 7))
    F, residual = pivoted_cholesky(MatrixGram(G @ G.T), 20, 1e9)
    assert F.shape[1] == 7
    assert residual < 1e-13
    assert pivoted_cholesky(MatrixGram(np.eye(50)), 20, 1e9) is None
    assert pivoted_cholesky(MatrixGram(np.zeros((5, 5))), 20, 1e9)[0].shape == (5, 0)


def test_the_engine_finishes_what_a_rough_factor_leaves(monkeypatch):
    monkeypatch.setattr("kdsl.solving.pivoted_cholesky.ENOUGH", 1e-2)
    problem = checkerboard(400, 100.0)
    found = lowrank.solve(problem, Options(tol=1e-7))
    assert found.status == "solved"
    assert found.message.startswith("finished by the engine")
    assert found.facts["rank"] < 60
    whole = engine.solve(problem, tol=1e-9, time_limit=60)
    assert value(problem, found.theta) == pytest.approx(value(problem, whole.theta), rel=2e-7)


def test_the_engine_solves_what_has_no_small_rank(monkeypatch):
    monkeypatch.setattr("kdsl.solving.backends.lowrank.MOST_COLUMNS", 20)
    found = lowrank.solve(checkerboard(200, 1.0), Options(tol=1e-7))
    assert found.status == "solved"
    assert found.message.startswith("the rank is not small")


# ------------------------------------------------------------ limits and parts


def test_limits_are_obeyed_and_named():
    problem = large("hinge")
    assert lowrank.solve(problem, Options(tol=1e-8, max_iterations=3)).status == "iteration_limit"
    assert lowrank.solve(problem, Options(tol=1e-8, time_limit=1e-6)).status == "time_limit"
    assert lowrank.solve(problem, Options(tol=1e-8), progress=lambda i, gap: True).status == "interrupted"


@pytest.mark.parametrize("blocks", [0, 1])
@pytest.mark.parametrize("rows", [no_rows(5), make_rows(np.ones(5), 2.0)], ids=["no row", "one row"])
def test_a_rank_of_zero_is_a_rank(blocks, rows):
    h = pieces(*[[(0.0, 1.0, 0.0, -1.0)]] * 5)
    block = HilbertBlock("w", MatrixGram(np.zeros((5, 5))), sp.csc_array(sp.eye_array(5)))
    found = lowrank.solve(NormalForm((block,) * blocks, h, rows), Options(tol=1e-8))
    assert found.status == "solved"
    assert found.theta.sum() == pytest.approx(2.0 if len(rows.target) else 5.0)


def test_points_that_are_there_need_no_memory():
    problem = large("hinge")
    assert lowrank.solve(problem, Options(tol=1e-6, memory=1e5)).facts["rounds"] >= 1
    gaussian = checkerboard(200, 1.0)
    assert lowrank.solve(gaussian, Options(tol=1e-6, memory=1e4)).message.startswith("the rank is not small")


def test_the_same_input_gives_the_same_bits():
    problem = large("insensitive", n=15_000)
    first, second = (lowrank.solve(problem, Options(tol=1e-6, threads=2)).theta for _ in range(2))
    assert np.array_equal(first, second)


@pytest.mark.parametrize("isa", ["portable", "avx2", "avx512", "amx"])
@pytest.mark.parametrize(("n", "d", "m"), [(1, 1, 0), (300, 5, 1), (9000, 21, 2), (130, 140, 0)])
def test_passes_are_products(isa, n, d, m, monkeypatch):
    with_isa(isa, monkeypatch)
    random = np.random.default_rng(n)
    X, c, A = random.standard_normal((n, d)), random.standard_normal(n), random.standard_normal((n, m))
    B = np.hstack([X * c[:, None], A])
    passes = _core.RowPass(X, c, A if m else None, 3)
    v, x, weight = random.standard_normal(d + m), random.standard_normal(n), random.random(n)
    np.testing.assert_allclose(passes.up(v), B @ v, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(passes.down(x), x @ B, rtol=1e-12, atol=1e-10)
    np.testing.assert_allclose(passes.squares(), (B * B).sum(axis=1), rtol=1e-12)
    weighed = passes.weigh(weight).reshape(d + m, d + m)
    np.testing.assert_allclose(weighed, (B * weight[:, None]).T @ B, rtol=1e-11, atol=1e-10)


def test_passes_refuse_arrays_that_do_not_fit():
    X = np.ones((4, 2))
    with pytest.raises(ValueError, match="differ in length"):
        _core.RowPass(X, np.ones(3), None, 1)
    passes = _core.RowPass(X, None, None, 1)
    with pytest.raises(ValueError, match="does not fit"):
        passes.up(np.ones(3))
    with pytest.raises(ValueError, match="do not fit together"):
        _core.Pieces(np.arange(4), *([np.zeros(4)] * 5))
    with pytest.raises(ValueError, match="a coordinate has no piece"):
        _core.Pieces(np.array([0, 2, 2, 4]), *([np.zeros(4)] * 5))
    with pytest.raises(ValueError, match="do not fit the rows"):
        passes.measure(_core.Pieces(np.arange(4), *([np.zeros(3)] * 5)), np.ones(2), np.zeros(4))


def test_decisions_are_those_that_hold_for_every_price():
    """What is decided within a reach agrees with the best t at random v within it."""
    problem = random_problem("user", "bias", 200, 3, 1.0, seed=4)
    rows = explicit_rows(problem, 10, 1e9)
    passes, random = rows.passes(2), np.random.default_rng(0)
    h = rows.h.for_core()
    v, reach = random.standard_normal(4) / 3, np.full(4, 0.05)
    found = passes.decide(h, v, reach)
    decided = np.isfinite(found["t"])
    open_ = np.zeros(200, bool)
    open_[found["undecided"]] = True
    assert decided.any()
    assert open_.any()
    curved = ~decided & ~open_
    for _ in range(20):
        step = random.standard_normal(4)
        near = v + 0.05 * step / np.linalg.norm(step)
        best = passes.measure(h, near, np.full(200, np.nan))["t"]
        assert np.array_equal(best[decided], found["t"][decided])
        ends = (best[curved][:, None] == rows.h.left.reshape(200, 3)[curved]).any(axis=1)
        assert not ends.any()
    points = rows.gathered(np.flatnonzero(decided).astype(np.int64))
    slopes = np.where(rows.h.curvature > 0, rows.h.slope / np.where(rows.h.curvature > 0, rows.h.curvature, 1), 0)
    bent = slopes.reshape(200, 3).sum(axis=1)[curved]
    inside = rows.gathered(np.flatnonzero(curved).astype(np.int64))
    np.testing.assert_allclose(found["image"], found["t"][decided] @ points - bent @ inside, atol=1e-12)


def test_segments_make_up_h():
    problem = random_problem("user", "none", 30, 2, 1.5, seed=1)
    segments = segments_of(problem.separable)
    t = segments.total(segments.lower)
    assert np.array_equal(t, problem.separable.lower)
    assert np.allclose(segments.total(segments.upper), problem.separable.upper)
    some = np.array([3, 17], dtype=np.int64)
    part = segments_of(problem.separable, some)
    assert np.array_equal(part.total(part.lower), problem.separable.lower[some])


def test_the_interior_point_method_keeps_its_best_point():
    problem = random_problem("hinge", "bias", 50, 3, 1.0, seed=2)
    rows = explicit_rows(problem, 10, 1e9)
    program = Program(rows.passes(1), segments_of(rows.h), np.diag(rows.metric), rows.e)
    errors: list[float] = []
    found = solve_interior(program, 0.0, watch=lambda i, error: errors.append(error) or False)
    assert found.error == min([*errors, found.error])
    assert found.error < 1e-11
    assert solve_rows(rows, 0, 1e-9, 1).error <= 1e-9


# --------------------------------------------------------------------- routing


def chosen_for(n: int, d: int, loss: str = "hinge") -> routing.Route:
    X, y = two_classes(n, d)
    C = np.ones(n)
    single = (np.full(n, -INF), np.full(n, INF), C, -y) if loss == "squared" else (0 * C, C, 0 * C, -C)
    block = HilbertBlock("w", LinearGram(X), sp.csc_array(sp.diags_array(y)))
    return routing.route(facts_of(NormalForm((block,), Separable.single(*single), make_rows(y, 0.0))))


def test_linear_kernels_of_few_features_are_routed_to_the_primal_side():
    chosen = chosen_for(2000, 5)
    assert chosen.backend.name == "lowrank"
    assert chosen.reason == (
        "one row and a box, 2,000 multipliers: an interior point method on the primal side, with 6 unknowns"
    )
    assert chosen.alternatives[0].name == "engine"
    assert chosen_for(500, 5).backend.name == "engine"
    assert chosen_for(2000, 400).backend.name == "engine"
    assert chosen_for(2000, 5, "squared").backend.name == "direct"
    assert chosen_for(6000, 5, "squared").reason.endswith("solved by Cholesky on the primal side, with 6 unknowns")


def test_the_engine_follows_where_no_optimum_is_found():
    """Hard margins that no plane meets: an interior point method ends nowhere, the engine says why."""
    random = np.random.default_rng(0)
    X, y = random.standard_normal((1500, 2)), np.where(random.random(1500) < 0.5, -1.0, 1.0)
    with pytest.raises(KdslError) as caught:
        api.solve("svm_hard", {"x": X, "y": y}, kernels={"k": "linear"})
    assert caught.value.diagnostics[0].code.startswith("K6")


@pytest.mark.parametrize("spec", ["svm_1norm", "svm_2norm"])
def test_the_steepest_descent_can_be_asked_for(spec):
    """m - M counts a coordinate a hair's breadth off its bound in full."""
    X, y = two_classes(3000, 4)
    solution = api.solve(spec, {"x": X, "y": y}, kernels={"k": "linear"}, kkt_tol=1e-7)
    assert solution.backend == "lowrank"
    assert solution.status == "optimal"
    assert solution.certificate.kkt_gap <= 1e-7


def test_a_spec_on_the_primal_side_is_certified():
    X, y = two_classes(20_000, 4)
    solution = api.solve("svm_1norm", {"x": X, "y": y}, kernels={"k": "linear"})
    assert solution.backend == "lowrank"
    assert solution.status == "optimal"
    assert solution.certificate.rel_gap <= 1e-6
    assert solution.support.free < 200
