"""Entropies beside slacks, bounds, kinks, inequalities: held near points that follow, by the same Newton method."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import kdsl
from kdsl.solving.api import prepare, solve
from kdsl.solving.backends import newton
from kdsl.solving.entropic_form import with_entropies
from kdsl.solving.equations import with_equations
from kdsl.solving.held_pieces import HeldPieces
from kdsl.solving.infeasibility import NoSolution
from kdsl.solving.lowering import lower
from kdsl.solving.normal_form import Separable

TEXT = """model beside
index  i in 1..l{index}
data   x[i] : input, y[i] : {{-1, 1}}{data}
kernel k = rbf(gamma = 0.1)
var    w : H(k), {scalars}
minimize 1/2 ||w||^2 + sum[i] {weight}logistic(y[i] * (<w, phi(x[i])> + b)){more}
{rows}predict label(t) = sign(<w, phi(t)> + b)
"""
PLAIN = {"index": "", "data": "", "scalars": "b : real", "weight": "", "more": "", "rows": ""}
SUBJECT = "subject to\n  "


def text(**parts: str) -> str:
    return TEXT.format(**{**PLAIN, **parts})


MODELS = {
    "a bound on the difference of two averages": text(
        data=", g[i] : real",
        rows=SUBJECT + "over: sum[i] g[i] * <w, phi(x[i])> <= 0.1\n  under: sum[i] g[i] * <w, phi(x[i])> >= -0.1\n",
    ),
    "monotone pairs": text(
        index=", j in 1..m",
        data=", lo[j] : input, hi[j] : input",
        rows=SUBJECT + "mono[j]: <w, phi(hi[j]) - phi(lo[j])> >= 0\n",
    ),
    "a hinge too": text(
        data=", s[i] : real >= 0, u[i] : real >= 0",
        weight="s[i] * ",
        more=" + sum[i] u[i] * hinge(y[i] * (<w, phi(x[i])> + b))",
    ),
    "a bias that is not negative": text(scalars="b : real >= 0"),
    "a slack with a square": text(
        scalars="b : real, xi : real >= 0", more=" + xi^2", rows=SUBJECT + "low: b >= 1 - xi\n"
    ),
    "an insensitive tube": text(
        data=", v[i] : real", more=" + sum[i] eps_insensitive(v[i] - (<w, phi(x[i])> + b); 0.3)"
    ),
}


def data(name: str, n: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    y = np.where(np.arange(n) % 3 == 0, 1.0, -1.0)
    X = rng.normal(size=(n, 4)) + 0.5 * y[:, None]
    found: dict[str, Any] = {"x": X, "y": y}
    if "averages" in name:
        first = X[:, 0] > 0
        found["g"] = np.where(first, 1.0 / first.sum(), -1.0 / (~first).sum())
    if "pairs" in name:
        found["lo"] = X[:20]
        found["hi"] = X[:20] + np.eye(4)[1]
    if "hinge" in name:
        found |= {"s": rng.uniform(size=n), "u": np.where(np.arange(n) % 4, rng.uniform(size=n), 0.0)}
    if "tube" in name:
        found["v"] = np.sin(X[:, 0]) + 0.2 * rng.normal(size=n)
    return found


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("tol", [1e-6, 1e-9])
def test_the_same_optimum_as_a_conic_solver(name: str, tol: float) -> None:
    model, given_data = kdsl.parse_spec(MODELS[name]), data(name, 90)
    own = solve(model, given_data, tol=tol)
    conic = solve(model, given_data, backend="cvxpy")
    assert (own.backend, own.status, conic.status) == ("newton", "optimal", "optimal"), own.message
    assert own.certificate.rel_gap <= tol and own.certificate.primal_residual <= tol
    assert own.value == pytest.approx(conic.value, rel=3e-6 if tol > 1e-8 else 1e-7)


@pytest.mark.parametrize("name", [name for name in MODELS if "hinge" not in name and "tube" not in name])
def test_more_examples_than_a_conic_solver_takes(name: str) -> None:
    solution = solve(kdsl.parse_spec(MODELS[name]), data(name, 3_500))
    assert (solution.backend, solution.status) == ("newton", "optimal")
    assert not any(warning.code == "K608" for warning in solution.warnings)


def test_bounds_of_every_size() -> None:
    name = "a bound on the difference of two averages"
    for bound in ("0", "1e-6", "10"):
        model = kdsl.parse_spec(MODELS[name].replace("0.1\n", f"{bound}\n"))
        solution = solve(model, data(name, 300), tol=1e-7)
        assert solution.status == "optimal"
        difference = float(data(name, 300)["g"] @ solution.decision(data(name, 300)["x"]))
        assert abs(difference) <= float(bound) + 1e-6


def test_conditions_that_contradict_each_other_have_no_solution() -> None:
    rows = SUBJECT + "up[i]: <w, phi(x[i])> >= 1\n  down[i]: <w, phi(x[i])> <= -1\n"
    with pytest.raises(NoSolution) as told:
        solve(kdsl.parse_spec(text(rows=rows)), data("", 20))
    assert [said.code for said in told.value.diagnostics] == ["K621"]


def test_what_never_settles_is_not_called_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(newton, "_RELEASES", 0)
    name = "monotone pairs"
    alone = solve(kdsl.parse_spec(MODELS[name]), data(name, 90), backend="newton")
    assert alone.status != "optimal"
    together = solve(kdsl.parse_spec(MODELS[name]), data(name, 90))
    assert (together.backend, together.status) == ("cvxpy", "optimal")


# ------------------------------------------------------------------ the pieces


def pieces_of(rng: np.random.Generator, count: int) -> Separable:
    """Convex functions of one to four pieces, some unbounded at an end."""
    parts: list[list[tuple[float, float, float, float, float]]] = []
    for _ in range(count):
        number = int(rng.integers(1, 5))
        ends = np.sort(rng.normal(size=number + 1))
        ends[0] = -np.inf if rng.random() < 0.3 else ends[0]
        ends[-1] = np.inf if rng.random() < 0.3 else ends[-1]
        own, slope, value = [], float(rng.normal()), 0.0
        for n in range(number):
            left, right = float(ends[n]), float(ends[n + 1])
            bend = float(rng.uniform(0.0, 2.0)) if rng.random() < 0.5 else 0.0
            at = left if np.isfinite(left) else min(right, 0.0)
            own.append((left, right, bend, slope - bend * at, value - (slope - bend * at) * at - 0.5 * bend * at**2))
            if np.isfinite(right):
                _, _, q, c, d = own[-1]
                value, slope = 0.5 * q * right**2 + c * right + d, q * right + c + float(rng.uniform(0.1, 1.0))
        parts.append(own)
    offsets = np.concatenate([[0], np.cumsum([len(own) for own in parts])]).astype(np.int64)
    table = np.array([piece for own in parts for piece in own]).T
    return Separable(offsets, *table)


@given(st.integers(0, 2**32 - 1))
def test_what_is_held_has_its_slopes_and_no_point_does_better(seed: int) -> None:
    rng = np.random.default_rng(seed)
    h = pieces_of(rng, 9)
    held = HeldPieces.of(h, np.arange(9), np.arange(9), 0.7)
    held = held._replace(centre=np.clip(rng.normal(size=9), h.lower, h.upper))
    v = rng.normal(0.0, 3.0, 9)
    t, conjugate, weight = held.reflect(v)
    assert ((h.lower <= t) & (t <= h.upper)).all()
    for _ in range(10):
        other = np.clip(t + rng.normal(0.0, rng.choice([1e-3, 1.0]), 9), h.lower, h.upper)
        assert v @ other - held.cost(other) <= conjugate + 1e-9
    nudged = held.reflect(v + 1e-7)[0]
    assert ((nudged - t >= -1e-12) & (nudged - t <= 1e-7 / 0.7 + 1e-12)).all()
    flat = np.abs((nudged - t) / 1e-7 - weight) > 1e-3  # but where a piece ends between
    assert flat.sum() <= 2


def test_inequalities_get_a_slack_each() -> None:
    posed = prepare(kdsl.parse_spec(MODELS["a bias that is not negative"]), data("", 12)).posed
    problem = with_entropies(posed, lower(posed.energies, posed.values, posed.spaces))
    wider = with_equations(problem)
    assert problem.rows.equality.tolist() == [False] and wider.rows.equality.all()
    assert (wider.size, wider.separable.lower[-1], wider.separable.upper[-1]) == (13, 0.0, np.inf)
    assert wider.rows.matrix.toarray()[0, -1] == 1.0
    assert wider.blocks[0].atoms.shape == (12, 13) and wider.blocks[0].atoms[:, [12]].nnz == 0
    assert wider.entropies is not None and not wider.entropies.at_low[-1]
    assert with_equations(wider) is wider
    assert sp.issparse(wider.rows.matrix)
