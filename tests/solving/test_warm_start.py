"""A dual point is moved with the pieces that it lies on, and a solve that begins there has little left to do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from kdsl import Problem
from kdsl.api import inner, norm, phi, rbf, sum_over
from kdsl.binding.gram import DenseGram
from kdsl.solving.normal_form import HilbertBlock, NormalForm, Rows, Separable
from kdsl.solving.warm_start import moved, with_product

INF = np.inf


def pieces(*coordinates: list[float]) -> Separable:
    """Coordinates by the ends of their pieces, without cost."""
    offsets = np.r_[0, np.cumsum([len(ends) - 1 for ends in coordinates])].astype(np.int64)
    left = np.array([end for ends in coordinates for end in ends[:-1]], float)
    right = np.array([end for ends in coordinates for end in ends[1:]], float)
    nothing = np.zeros(len(left))
    return Separable(offsets, left, right, nothing, nothing, nothing)


@pytest.mark.parametrize(
    ("old", "new", "theta", "expected"),
    [
        pytest.param([0, 1], [0, 10], 1.0, 10.0, id="at the upper bound"),
        pytest.param([0, 1], [-2, 10], 0.0, -2.0, id="at the lower bound"),
        pytest.param([0, 1], [0, 10], 0.25, 2.5, id="inside"),
        pytest.param([-1, 0, 1], [-3, 0, 5], 0.0, 0.0, id="at a kink"),
        pytest.param([-1, 0, 1], [-3, 0, 5], -0.5, -1.5, id="in the first of two pieces"),
        pytest.param([-1, 0, 1], [-3, 0, 5], 0.5, 2.5, id="in the second"),
        pytest.param([0, INF], [0, INF], 7.0, 7.0, id="without a bound above"),
        pytest.param([0, INF], [0, 3], 7.0, 3.0, id="a bound that is new"),
        pytest.param([-INF, INF], [-INF, INF], -7.0, -7.0, id="without bounds"),
        pytest.param([2, 2], [3, 3], 2.0, 3.0, id="a piece that is a point"),
    ],
)
def test_a_coordinate_keeps_its_place(old: list[float], new: list[float], theta: float, expected: float) -> None:
    start = moved(np.array([theta]), pieces(old), pieces(new))
    assert start is not None
    assert start == pytest.approx([expected], abs=0)


def test_another_problem_has_no_start() -> None:
    assert moved(np.zeros(1), pieces([0, 1]), pieces([0, 1], [0, 1])) is None


def one_block(gram: object, weight: float = 1.0, shift: np.ndarray | None = None) -> NormalForm:
    atoms = sp.csc_array(np.diag([weight, 2.0]))
    block = HilbertBlock("w", gram, atoms, shift)  # type: ignore[arg-type]
    nothing = Rows(sp.csr_array((0, 2)), np.zeros(0), np.zeros(0, bool))
    return NormalForm((block,), pieces([0, 1], [0, 1]), nothing)


def test_a_product_is_carried_to_where_the_kernels_and_their_atoms_are_the_same() -> None:
    gram = DenseGram(np.array([[2.0, 1.0], [1.0, 3.0]]))
    problem = one_block(gram)
    theta = np.array([1.0, 0.5])
    images = (gram.matvec(problem.blocks[0].atoms @ theta),)
    known = with_product(one_block(gram), theta, problem.blocks, images).known
    assert known is not None
    assert known.gradient == pytest.approx([2 * 1 + 1 * 1, 2 * (1 * 1 + 3 * 1)])
    for other in (
        one_block(DenseGram(gram.matrix.copy())),  # it may be another kernel: nobody compares entries
        one_block(gram, weight=1.5),
        one_block(gram, shift=np.ones(2)),
    ):
        assert with_product(other, theta, problem.blocks, images).known is None
    assert with_product(problem, theta, problem.blocks, ()).known is None


def test_a_balance_is_kept_when_the_box_grows() -> None:
    random = np.random.default_rng(0)
    old = pieces(*[[0.0, 0.7]] * 50)
    theta, sign = np.repeat(random.uniform(0, 0.7, 25), 2), np.tile([1.0, -1.0], 25)  # sum_i y_i alpha_i = 0
    new = replace(old, right=old.right * 13)
    start = moved(theta, old, new)
    assert start is not None
    assert abs(sign @ start) <= 1e-12


def test_the_next_value_of_a_parameter_takes_less_work() -> None:
    random = np.random.default_rng(1)
    y = np.tile([1.0, -1.0], 750)
    X = random.normal(size=(1500, 4)) + y[:, None] / 3

    def machine() -> tuple[Problem, object]:
        p = Problem("path")
        i = p.index("i", 1, "l")
        x, sign = p.data("x", i, kind="input"), p.data("y", i, values=(-1, 1))
        C = p.param("C", lower=0, open=True, default=1)
        w, b, xi = p.hilbert("w", p.kernel("k", rbf(gamma=0.2))), p.real("b"), p.real("xi", i, lower=0)
        p.minimize(norm(w) ** 2 / 2 + C * sum_over(i)(xi[i]))
        p.subject_to("margin", i, sign[i] * (inner(w, phi(x[i])) + b) >= 1 - xi[i])
        return p, C

    warm, price = machine()
    price.value = 1.0  # type: ignore[attr-defined]
    warm.solve({"x": X, "y": y}, kkt_tol=1e-3)
    price.value = 1.5  # type: ignore[attr-defined]
    after = warm.solve(None, kkt_tol=1e-3)
    cold, price = machine()
    price.value = 1.5  # type: ignore[attr-defined]
    before = cold.solve({"x": X, "y": y}, kkt_tol=1e-3)
    assert after.status == before.status == "optimal"
    assert after.value == pytest.approx(before.value, rel=1e-5)
    assert after.facts["entries"] < 0.5 * before.facts["entries"]
    assert after.iterations < 0.7 * before.iterations


def weighed(lam: float, low: float) -> tuple[Problem, dict[str, object]]:
    """Least absolute deviations, with parameters that the blocks and the rows depend on."""
    p = Problem("weighed")
    i = p.index("i", 1, "l")
    x, y = p.data("x", i, kind="input"), p.data("y", i)
    C = p.param("C", lower=0, open=True, default=1)
    weight = p.param("lam", lower=0, open=True, default=lam)
    least = p.param("low", default=low)
    w, b, s = p.hilbert("w", p.kernel("k", rbf(gamma=0.2))), p.real("b"), p.real("s", i, lower=0)
    p.minimize(weight * norm(w) ** 2 / 2 + C * sum_over(i)(s[i]))
    p.subject_to("above", i, inner(w, phi(x[i])) + b - y[i] <= s[i])
    p.subject_to("below", i, y[i] - inner(w, phi(x[i])) - b <= s[i])
    p.subject_to("floor", b >= least)
    return p, {"C": C, "lam": weight, "low": least}


@pytest.mark.parametrize("name", ["C", "lam", "low"])
def test_what_depends_on_a_parameter_is_lowered_again(name: str) -> None:
    """Costs depend on C and low, the block's atoms on lam: the answer is that of a problem that knows no other."""
    random = np.random.default_rng(2)
    X = random.normal(size=(120, 2))
    data = {"x": X, "y": np.sin(X[:, 0]) + random.normal(size=120)}
    new = {"C": 1.0, "lam": 1.0, "low": -1.0, name: 2.5}
    again, parameters = weighed(1.0, -1.0)
    again.solve(data)
    parameters[name].value = new[name]  # type: ignore[attr-defined]
    second = again.solve(None)
    fresh, parameters = weighed(1.0, -1.0)
    parameters[name].value = new[name]  # type: ignore[attr-defined]
    first = fresh.solve(data)
    assert second.status == first.status == "optimal"
    assert second.value == pytest.approx(first.value, rel=1e-6)


def test_blocks_and_rows_are_kept_where_only_costs_change() -> None:
    random = np.random.default_rng(3)
    X = random.normal(size=(60, 2))
    p, parameters = weighed(1.0, -1.0)
    p.solve({"x": X, "y": X[:, 0]})
    session = p._session
    assert session is not None
    assert session._kept is not None
    trail, posed = session._kept.trail, session._kept.posed
    with_new = {name: replace(posed, parameters={**posed.parameters, name: 2.5}) for name in parameters}
    assert trail.lowered_alike(with_new["C"]) is not None
    assert trail.lowered_alike(with_new["low"]) is not None
    assert trail.lowered_alike(with_new["lam"]) is None
    assert trail.lowered_alike(replace(posed, bound=replace(posed.bound))) is None
