"""The judge of the benchmark: its gaps are those of the certificate, and nothing that is not optimal passes it."""

from __future__ import annotations

import numpy as np
import pytest

from kdsl.bench.judge import Judge, best_bias, kkt_gap, measure_of
from kdsl.bench.own import Kdsl, _solve
from kdsl.bench.problems import LOSSES, Task, make

N = 120
TASKS = [
    Task("c-svc", "two Gaussians", N, 10),
    Task("c-svc", "checkerboard", N, 2, (("C", 100.0),)),
    Task("c-svc", "exclusive or", N, 10),
    Task("svr", "friedman1", N, 10, (("C", 10.0), ("eps", 0.5))),
    Task("nu-svc", "two Gaussians", N, 10, (("nu", 0.3),)),
    Task("one-class", "two Gaussians", N, 10, (("nu", 0.1),)),
    *(Task(kind, "two Gaussians", N, 10, ()) for kind in LOSSES),
]
OTHERS = [
    Task("path", "two Gaussians", N, 10, (("C", 1.0), ("steps", 4.0))),
    Task("ridge", "friedman1", N, 10, (("lambda", 1.0),)),
    Task("predict", "two Gaussians", N, 10),
    Task("linear", "two Gaussians, raw", N, 20),
    Task("plain", "two Gaussians", N, 10),
    Task("averages", "two Gaussians", N, 10),
    Task("pairs", "two Gaussians", 60, 10),
    Task("biases", "two Gaussians", N, 10),
    Task("qp", "random, dense", 20, 0, ()),
    Task("qp", "random, sparse", 30, 0, ()),
]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: f"{task.kind}-{task.data}")
def test_its_m_minus_M_is_the_certificates(task: Task) -> None:
    problem = make(task)
    for tol in (1e-2, 1e-6):
        certificate = _solve(problem, tol).certificate
        judged = Judge(problem)(Kdsl().run(problem, tol).arrays)
        assert certificate.kkt_gap is not None and judged <= 1.01 * tol
        assert judged == pytest.approx(certificate.kkt_gap, rel=1e-3, abs=1e-9)


@pytest.mark.parametrize("task", OTHERS, ids=lambda task: f"{task.kind}-{task.data}")
def test_what_is_optimal_passes_and_what_is_disturbed_does_not(task: Task) -> None:
    problem, tol = make(task), 1e-9 if measure_of(task.kind) == "residual" else 1e-6
    answer = Kdsl().run(problem, tol)
    assert Judge(problem)(answer.arrays) <= tol
    name = next(name for name in ("w", "values", "x", "alpha", "beta") if name in answer.arrays)
    moved = np.array(answer.arrays[name]) * (1 + 0.05 * np.random.default_rng(0).random(np.shape(answer.arrays[name])))
    assert Judge(problem)({**answer.arrays, name: moved}) > 10 * tol


def test_it_takes_no_point_outside_its_box_or_off_its_row() -> None:
    problem = make(TASKS[0])
    beta = Kdsl().run(problem, 1e-6).arrays["beta"]
    assert kkt_gap(problem, beta) <= 1e-6
    assert kkt_gap(problem, 2 * beta) == np.inf
    assert kkt_gap(problem, np.where(np.arange(N) == np.argmax(beta), 0.0, beta)) == np.inf
    assert Judge(problem)({"beta": np.full(N, np.nan)}) == np.inf


def test_a_primal_value_is_held_to_the_best_dual_value_known() -> None:
    problem = make(Task("linear", "two Gaussians, raw", N, 20))
    arrays = dict(Kdsl().run(problem, 1e-6).arrays)
    alpha, judge = arrays.pop("alpha"), Judge(problem)
    assert judge(arrays) == np.inf  # no bound is known yet
    assert judge({**arrays, "alpha": alpha}) <= 1e-6
    assert Judge(problem)({**arrays, "alpha": 0.5 * alpha}) > 1e-3


@pytest.mark.parametrize("seed", range(5))
def test_best_bias_is_the_best_of_all_break_points(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y, f = np.sign(rng.normal(size=41)), rng.normal(size=41)

    def slack(b: float) -> float:
        return float(np.maximum(0.0, 1.0 - y * (f + b)).sum())

    assert slack(best_bias(y, f)) == pytest.approx(min(slack(b) for b in y - f), abs=1e-12)
