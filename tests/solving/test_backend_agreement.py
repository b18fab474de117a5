"""Every installed backend against CVXPY on random normal forms of every kind, at tight tolerances."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from random_forms import KINDS, Kind, objective, optimum, random_form, violation

from kdsl.binding.gram import DenseGram
from kdsl.solving.api import solve
from kdsl.solving.backends import reference
from kdsl.solving.backends.coordinate import at, duality_gaps
from kdsl.solving.backends.direct import solve_system
from kdsl.solving.backends.interface import Backend, Options
from kdsl.solving.backends.registry import shipped
from kdsl.solving.expand import expand
from kdsl.solving.factors import low_rank
from kdsl.solving.facts import facts_of
from kdsl.solving.normal_form import HilbertBlock, NormalForm, Rows, Separable

INSTALLED = [backend for backend in shipped() if backend.installed()]


@cache
def reference_optimum(kind: Kind) -> float:
    return optimum(random_form(kind))


@pytest.mark.parametrize(
    ("backend", "kind"),
    [
        pytest.param(backend, kind, id=f"{backend.name}-{kind.name}")
        for backend in INSTALLED
        for kind in KINDS
        if backend.accepts(facts_of(random_form(kind))) is None
    ],
)
def test_every_backend_reaches_the_optimum_that_it_declares(backend: Backend, kind: Kind) -> None:
    problem = random_form(kind)
    tol = max(backend.accuracy, 1e-8)
    found = backend.solve(problem, Options(tol=tol))
    best = reference_optimum(kind)
    assert found.status == "solved", found.message
    assert abs(objective(problem, found.theta) - best) <= tol * max(1.0, abs(best))
    assert violation(problem, found.theta) <= tol
    assert found.seconds > 0


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_segments_cost_what_h_costs(kind: Kind) -> None:
    """At any t within the bounds, the best segments make the explicit program's value the normal form's."""
    problem = random_form(kind)
    program, h, n = expand(problem), problem.separable, problem.size
    random = np.random.default_rng(5)
    for _ in range(5):
        t = np.clip(random.uniform(-2, 3, n), h.lower, h.upper)
        x = np.r_[t, np.zeros(program.size - n)]
        column = n
        for k in np.flatnonzero(np.diff(h.offsets) > 1):
            for p in range(h.offsets[k], h.offsets[k + 1]):
                b = h.right[p] if p == h.offsets[k] else h.left[p]
                x[column] = np.clip(t[k], h.left[p], h.right[p]) - b
                column += 1
        low = low_rank(problem)
        if low is not None:
            x[column:] = low.F.T @ t + low.e
        assert column + (0 if low is None else len(low.e)) == program.size
        assert (low is not None) == kind.linear
        assert program.value(x) == pytest.approx(objective(problem, t), rel=1e-12)
        assert (x >= program.lower - 1e-15).all() and (x <= program.upper + 1e-15).all()
        extra = slice(len(problem.rows.target), None)
        np.testing.assert_allclose((program.A @ x)[extra], program.l[extra], atol=1e-14)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_gap_of_a_coordinate_is_what_it_can_still_gain(kind: Kind) -> None:
    h = random_form(kind).separable
    random = np.random.default_rng(6)
    t, gradient = np.clip(random.uniform(-1, 2, h.size), h.lower, h.upper), random.standard_normal(h.size)
    gaps = duality_gaps(h, t, gradient)

    def value(points: np.ndarray) -> np.ndarray:
        return np.array([at_one(h, k, float(s)) + s * gradient[k] for k, s in enumerate(points)])

    assert at(h, t) == pytest.approx(sum(at_one(h, k, float(s)) for k, s in enumerate(t)))
    grid = [np.clip(np.full(h.size, s), h.lower, h.upper) for s in np.linspace(-6, 6, 241)]
    least = np.min([value(points) for points in grid], axis=0)
    finite = np.isfinite(gaps)
    assert (gaps[finite] >= (value(t) - least - 1e-12)[finite]).all()
    assert (gaps[finite] <= (value(t) - least + 2e-2)[finite]).all()


def at_one(h, k: int, s: float) -> float:  # type: ignore[no-untyped-def]
    """h_k(s), from the definition."""
    return next(
        0.5 * h.curvature[p] * s**2 + h.slope[p] * s + h.value[p]
        for p in range(h.offsets[k], h.offsets[k + 1])
        if h.left[p] <= s <= h.right[p]
    )


@settings(max_examples=40, deadline=None)
@given(n=st.integers(1, 12), rank=st.integers(0, 12), rows=st.integers(0, 4), seed=st.integers(0, 10**6))
@example(n=6, rank=5, rows=3, seed=131)  # regular by rounding: its inverse says nothing of the rows
def test_linear_systems_of_any_rank(n: int, rank: int, rows: int, seed: int) -> None:
    """Regular or singular: a consistent system is solved, and its multipliers satisfy both equations."""
    random = np.random.default_rng(seed)
    root = random.standard_normal((n, min(rank, n)))
    H, A = root @ root.T, random.standard_normal((min(rows, n), n))
    truth, m = random.standard_normal(n), random.standard_normal(len(A))
    p, a = -(H @ truth + A.T @ m), A @ truth
    found = solve_system(H, p, A, a)
    assert found.status == "solved", found.message
    size = 1 + np.abs(p).max()
    assert np.abs(H @ found.t + A.T @ found.m + p).max() <= 1e-7 * size
    assert np.abs(A @ found.t - a).max(initial=0.0) <= 1e-7 * size


def test_a_direction_that_falls_for_ever_is_shown() -> None:
    H, p = np.diag([1.0, 0.0]), np.array([1.0, -1.0])
    found = solve_system(H, p, np.zeros((0, 2)), np.zeros(0))
    assert found.status == "unbounded"
    assert found.ray is not None
    np.testing.assert_allclose(H @ found.ray, 0.0, atol=1e-12)
    assert p @ found.ray < 0


def test_rows_that_contradict_each_other_are_infeasible() -> None:
    A, a = np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([1.0, 2.0])
    for H in (np.eye(2), np.zeros((2, 2))):
        assert solve_system(H, np.zeros(2), A, a).status == "infeasible"


@pytest.mark.parametrize("name", ["coordinate", "osqp", "qpsolvers:clarabel", "cvxpy", "cg", "engine", "reference"])
def test_iteration_limits_are_obeyed(name: str) -> None:
    backend = next(backend for backend in shipped() if backend.name == name)
    if not backend.installed():
        pytest.skip("not installed")
    kind = {"cg": "ridge_with_bias", "coordinate": "regression_without_bias"}.get(name, "regression")
    problem = random_form(next(k for k in KINDS if k.name == kind), size=60)
    found = backend.solve(problem, Options(tol=1e-12, max_iterations=3))
    assert found.status in ("iteration_limit", "stalled")
    assert found.theta.shape == (60,)
    assert (found.theta >= problem.separable.lower).all() and (found.theta <= problem.separable.upper).all()


@pytest.mark.parametrize("name", ["coordinate", "reference", "cg"])
def test_time_limits_and_callbacks_stop_our_own_solvers(name: str) -> None:
    backend = next(backend for backend in shipped() if backend.name == name)
    kind = "ridge_with_bias" if name == "cg" else "regression_without_bias"
    problem = random_form(next(k for k in KINDS if k.name == kind), size=80)
    assert backend.solve(problem, Options(tol=1e-14, time_limit=0.0)).status == "time_limit"
    seen: list[tuple[int, float]] = []

    def stop(iterations: int, gap: float) -> bool:
        seen.append((iterations, gap))
        return True

    assert backend.solve(problem, Options(tol=1e-14), progress=stop).status == "interrupted"
    assert len(seen) == 1


@pytest.mark.parametrize("backend", INSTALLED, ids=lambda backend: backend.name)
def test_nothing_is_printed_on_standard_output(backend: Backend, capfd: pytest.CaptureFixture[str]) -> None:
    for kind in (KINDS[1], KINDS[11], KINDS[12]):
        problem = random_form(kind)
        if backend.accepts(facts_of(problem)) is None:
            backend.solve(problem, Options())
    assert capfd.readouterr().out == ""


def test_coordinates_move_together_where_one_at_a_time_would_crawl() -> None:
    """A smooth kernel and wide boxes: condition 1e9; the gap is judged by the sum of the coordinates' own gaps."""
    points = np.linspace(0, 1, 60)[:, None]
    gram = np.exp(-((points - points.T) ** 2)) + 1e-9 * np.eye(60)
    y = np.sign(np.sin(9 * points[:, 0]))
    block = HilbertBlock("w", DenseGram(gram), sp.csc_array(sp.diags_array(y)))
    h = Separable.single(np.zeros(60), np.full(60, 1e4), np.zeros(60), -np.ones(60))
    problem = NormalForm((block,), h, Rows(sp.csr_array((0, 60)), np.zeros(0), np.zeros(0, bool)))
    coordinate = next(backend for backend in shipped() if backend.name == "coordinate")
    found = coordinate.solve(problem, Options(tol=1e-9))
    assert found.status == "solved"
    gaps = duality_gaps(h, found.theta, y * (gram @ (y * found.theta)))
    assert gaps.sum() <= 1e-9 * abs(objective(problem, found.theta))
    assert found.iterations < 20_000


@pytest.mark.parametrize("name", ["osqp", "qpsolvers:clarabel", "cvxpy"])
def test_memory_is_obeyed_before_a_matrix_is_formed(name: str) -> None:
    problem = random_form(KINDS[0], size=50)
    backend = next(backend for backend in shipped() if backend.name == name)
    found = backend.solve(problem, Options(memory=4 * 8 * 50 * 50 - 1))
    assert found.status == "solver_error"
    assert found.message == "4 matrices of 50 rows take 8e-05 GB, and 8e-05 are allowed"
    assert backend.solve(problem, Options(memory=4 * 8 * 50 * 50)).status == "solved"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("cvxpy", "CVXPY with Clarabel: user_limit"),
        ("osqp", "OSQP: maximum iterations reached"),
        ("qpsolvers:clarabel", "clarabel: MaxIterations"),
        ("qpsolvers:daqp", "daqp: gave up, with 1 as the limit of its iterations"),
        ("qpsolvers:highs", "highs: gave up, with 1 as the limit of its iterations"),
        ("qpsolvers:piqp", "piqp: Status.PIQP_MAX_ITER_REACHED"),
    ],
)
def test_a_limit_of_iterations_is_no_error(name: str, message: str) -> None:
    backend = next(backend for backend in shipped() if backend.name == name)
    if not backend.installed():
        pytest.skip(f"{name} is not installed")
    found = backend.solve(random_form(KINDS[0], size=50), Options(max_iterations=1))
    assert (found.status, found.message) == ("iteration_limit", message)


@pytest.mark.parametrize(
    ("spec", "seed"), [("svm_1norm", 1), ("svm_1norm", 9), ("sphere_nu", 19), ("sphere_nu", 24), ("one_class", 25)]
)
def test_daqp_takes_no_flat_problem_for_an_infeasible_one(spec: str, seed: int) -> None:
    """Gaussians in the plane: Gram matrices singular to rounding, which a factorisation takes for definite."""
    pytest.importorskip("daqp")
    random = np.random.default_rng(seed)
    size = int(random.integers(40, 100))
    data = {"x": random.normal(size=(size, 2))}
    params = {"C": 0.3} if spec == "svm_1norm" else {"nu": 0.9}
    if spec == "svm_1norm":
        data["y"] = np.where(np.arange(size) % 2, 1.0, -1.0)
    found = solve(spec, data, params, {"k": "rbf(gamma = 0.5)"}, backend="qpsolvers:daqp")
    ours = solve(spec, data, params, {"k": "rbf(gamma = 0.5)"}, backend="engine", tol=1e-8)
    assert found.status == "optimal", found.message
    assert found.value == pytest.approx(ours.value, rel=2e-6)


@pytest.mark.parametrize("size", [1.0, 1e-4, 1e-8, 1e4])
def test_the_reference_finds_a_descent_however_small_the_slopes(size: float) -> None:
    """Two rows: its linear programs are judged in absolute terms by their solver."""
    random = np.random.default_rng(2)
    slopes, A = random.normal(size=12), np.vstack([np.ones(12), random.choice([-1.0, 1.0], 12)])
    free = Separable.single(np.full(12, -np.inf), np.full(12, np.inf), np.zeros(12), np.zeros(12))
    dense = reference.Dense(np.eye(12), np.zeros(12), free, A, np.zeros(2))
    _, speed, descent = reference.steepest(size * slopes, size * slopes, dense)
    assert descent == pytest.approx(size * reference.steepest(slopes, slopes, dense)[2], rel=1e-6)
    assert descent > 0.5 * size and len(speed) <= 3


def test_many_examples_with_few_features_are_solved_through_their_factor() -> None:
    """6,000 coordinates: above the limit of dense Hessians, and nothing of that size is formed."""
    problem = random_form(Kind("long", rows=1, linear=True), size=6000)
    clarabel = next(backend for backend in shipped() if backend.name == "qpsolvers:clarabel")
    daqp = next(backend for backend in shipped() if backend.name == "qpsolvers:daqp")
    facts = facts_of(problem)
    assert facts.gram_rank == 4
    assert clarabel.accepts(facts) is None
    assert "dense" in (daqp.accepts(facts) or "")
    found = clarabel.solve(problem, Options(tol=1e-6, memory=1e7))
    assert found.status == "solved"
    block = problem.blocks[0]
    gradient = block.atoms.T @ block.gram.matvec(block.atoms @ found.theta)
    gap = min(
        duality_gaps(problem.separable, found.theta, gradient + m * problem.rows.matrix[[0]].toarray().ravel()).sum()
        for m in np.linspace(*bracket(problem, gradient, found.theta), 201)
    )
    assert gap <= 1e-5 * abs(objective(problem, found.theta))


def bracket(problem: NormalForm, gradient: np.ndarray, t: np.ndarray) -> tuple[float, float]:
    """Where the row's multiplier lies: the coordinates inside their box say it, up to their accuracy."""
    h = problem.separable
    inside = (t > h.lower + 1e-4) & (t < h.upper - 1e-4)
    row = problem.rows.matrix[[0]].toarray().ravel()
    estimates = -(gradient + h.slope)[inside] / row[inside]
    return float(np.median(estimates)) - 1e-6, float(np.median(estimates)) + 1e-6
