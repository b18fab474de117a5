"""kdsl as a contender: the spec of every kind of problem, solved as a user of Python solves it.

The seconds that are compared are those of lowering and solving; reading the data and the certificate are told apart.
Processor seconds are those of the whole call, certificate included.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kdsl.bench.contender import OWN, Answer, Timed, settle, timed, timed_in_a_turn
from kdsl.bench.judge import measure_of, price_path
from kdsl.bench.problems import BOUND, GENERAL, HUBER_C, PINBALL_TAU, Kind, Problem, Task
from kdsl.numerics.arrays import Floats

if TYPE_CHECKING:
    from kdsl.models.solution import Solution

MARGINS = """\
model bench
index  i in 1..l{indices}
data   x[i] : input, y[i] : {{-1, 1}}{data}
param  C : in (0, inf) = 1
kernel k = {kernel}
var    w : H(k), {bias}, xi[i] : real >= 0
minimize 1/2 ||w||^2 + C * sum[i] xi[i]
subject to
  margin[i]: y[i] * (<w, phi(x[i])> + {bias_of_i}) >= 1 - xi[i]
{more}predict score({formals}) = <w, phi(t)> + {bias_of_t}
"""
WEIGHED_LOSS = """\
model bench
{loss}index  i in 1..l
data   x[i] : input, y[i] : real
kernel k = rbf(gamma = 1)
var    w : H(k), b : real
minimize sum[i] {term} + 1/2 ||w||^2
predict value(t) = <w, phi(t)> + b
"""
# The two nu forms in LIBSVM's units: boxes [0, 1], multipliers that sum to nu times their number.
NU = """\
model bench
index  i in 1..l
data   x[i] : input, y[i] : {-1, 1}
param  nu : in (0, 1] = 0.5
kernel k = rbf(gamma = 1)
var    w : H(k), b : real, rho : real, xi[i] : real >= 0
minimize 1/2 ||w||^2 - nu * l * rho + sum[i] xi[i]
subject to
  margin[i]: y[i] * (<w, phi(x[i])> + b) >= rho - xi[i]
predict label(t) = sign(<w, phi(t)> + b)
"""
ONE_CLASS = """\
model bench
index  i in 1..l
data   x[i] : input
param  nu : in (0, 1] = 0.5
kernel k = rbf(gamma = 1)
var    w : H(k), rho : real, xi[i] : real >= 0
minimize 1/2 ||w||^2 - nu * l * rho + sum[i] xi[i]
subject to
  margin[i]: <w, phi(x[i])> >= rho - xi[i]
predict novelty(t) = rho - <w, phi(t)>
"""
BIASES: Mapping[str, str] = {
    "indices": ", g in groups",
    "data": ", group[i] : groups",
    "bias": "b[g] : real",
    "bias_of_i": "b[group[i]]",
    "formals": "t, g",
    "bias_of_t": "b[g]",
}
OWN_LOSS = "loss own(r) = max(max(-2 * r - 1, -r / 2), max(r / 4, r - 1))\n"


def margins(**parts: str) -> str:
    """C-SVC, with whatever `parts` add to it."""
    blank = {"indices": "", "data": "", "kernel": "rbf(gamma = 1)", "bias": "b : real", "bias_of_i": "b", "more": ""}
    return MARGINS.format(**{**blank, "formals": "t", "bias_of_t": "b", **parts})


def weighed(term: str, loss: str = "") -> str:
    return WEIGHED_LOSS.format(term=term, loss=loss)


SPECS: Mapping[Kind, str] = {
    "c-svc": margins(),
    "predict": margins(),
    "plain": margins(),
    "linear": margins(kernel="linear"),
    "averages": margins(
        data=", g[i] : real",
        more=f"  over: sum[i] g[i] * <w, phi(x[i])> <= {BOUND}\n  under: sum[i] g[i] * <w, phi(x[i])> >= -{BOUND}\n",
    ),
    "pairs": margins(
        indices=", j in 1..m",
        data=", lo[j] : input, hi[j] : input",
        more="  mono[j]: <w, phi(hi[j]) - phi(lo[j])> >= 0\n",
    ),
    "biases": margins(**BIASES),
    "nu-svc": NU,
    "one-class": ONE_CLASS,
    "huber": weighed(f"huber(y[i] - (<w, phi(x[i])> + b); {HUBER_C})"),
    "pinball": weighed(f"pinball(y[i] - (<w, phi(x[i])> + b); {PINBALL_TAU})"),
    "squared hinge": weighed("squared_hinge(y[i] * (<w, phi(x[i])> + b))"),
    "own loss": weighed("own(y[i] - (<w, phi(x[i])> + b))", OWN_LOSS),
}
PHASES = ("read", "lower", "solve", "certify")
SHIPPED: Mapping[Kind, str] = {"svr": "svr_linear_eps", "ridge": "ridge"}


class Kdsl(NamedTuple):
    """Every task; `single`: prediction at points in float32, which are evaluated in single precision."""

    name: str = OWN
    package: str = "kdsl"
    single: bool = False

    def accepts(self, task: Task, tol: float) -> bool:
        return not self.single or task.kind == "predict"

    def run(self, problem: Problem, tol: float) -> Answer:
        kind = problem.task.kind
        if kind == "qp":
            return _program(problem, tol)
        if kind == "path":
            return _path(problem, tol)
        solution, whole = timed(lambda: _solve(problem, tol))
        if kind == "predict":
            new = problem.more["new"].astype(np.float32 if self.single else np.float64)
            settle()
            values, spent = timed_in_a_turn(lambda: solution.decision(new))
            arrays = {"values": values, "beta": expansion(solution, len(problem.y)), "b": solution.scalars["b"]}
            support = _support(solution)
            return Answer(*spent, arrays, {"support": support, "entries": float(support * len(new))})
        return Answer(_compared(solution), whole.processor, _arrays(problem, solution), _facts(solution))


def _solve(problem: Problem, tol: float) -> Solution:
    from kdsl.pipeline import parse_spec
    from kdsl.solving.api import read_model, solve

    task = problem.task
    model = read_model(SHIPPED[task.kind]) if task.kind in SHIPPED else parse_spec(SPECS[task.kind])
    names = {parameter.name for parameter in model.parameters}
    params = {name: value for name, value in task.values if name in names}
    kernels = {} if task.kind == "linear" else {"k": f"rbf(gamma = {problem.gamma!r})"}
    return solve(model, _data(problem), params, kernels, **_tolerances(problem, tol))


def _tolerances(problem: Problem, tol: float) -> dict[str, Any]:
    """kkt_tol where that is what is judged; it is the largest residual where the dual has neither rows nor bounds."""
    measure = measure_of(problem.task.kind)
    if measure == "residual":
        return {"kkt_tol": tol * float(np.abs(problem.y).max())}
    return {"tol": tol} if measure == "rel_gap" else {"kkt_tol": tol}


def _data(problem: Problem) -> dict[str, Any]:
    data: dict[str, Any] = {"x": problem.X}
    if problem.task.kind != "one-class":
        data["y"] = problem.y
    if problem.task.kind in ("averages", "pairs"):
        data.update(problem.more)
    if problem.task.kind == "biases":
        data["group"] = [f"g{g}" for g in problem.more["group"]]
    return data


def expansion(solution: Solution, n: int) -> Floats:
    """w's coefficients at all n points of its space."""
    w = solution.predictor.vectors["w"]
    beta = np.zeros(n)
    beta[solution.predictor.places[w.space]] = w.coefficients[0]
    return beta


def _arrays(problem: Problem, solution: Solution) -> dict[str, Any]:
    """What the judge wants of this kind."""
    kind, multipliers = problem.task.kind, solution.multipliers
    if kind == "linear":
        alpha = multipliers["margin"]
        return {"w": problem.X.T @ (alpha * problem.y), "b": solution.scalars["b"], "alpha": alpha}
    if kind in GENERAL:
        extra = [np.ravel(multipliers[name]) for name in ("over", "under", "mono") if name in multipliers]
        return {"alpha": multipliers["margin"], "extra": np.concatenate(extra) if extra else np.zeros(0)}
    return {"beta": expansion(solution, len(problem.y))}


def _compared(solution: Solution) -> float:
    return float(solution.seconds["lower"] + solution.seconds["solve"])


def _support(solution: Solution) -> int:
    return int(solution.predictor.vectors["w"].coefficients.shape[1])


def _facts(solution: Solution) -> dict[str, float | int | str]:
    kept = ("entries", "strategy", "refinements", "residual", "products", "single_products")
    return {
        "status": solution.status,
        "backend": solution.backend,
        "iterations": solution.iterations,
        "support": _support(solution),
        **{name: solution.seconds[name] for name in PHASES},
        **{name: solution.facts[name] for name in kept if name in solution.facts},
    }


def _path(problem: Problem, tol: float) -> Answer:
    """The 1-norm soft margin for rising C, each solve from where the one before it ended."""
    from kdsl import Problem as Formulation
    from kdsl.api import inner, norm, phi, rbf, sum_over

    p = Formulation("bench")
    i = p.index("i", 1, "l")
    x, y = p.data("x", i, kind="input"), p.data("y", i, values=(-1, 1))
    C = p.param("C", lower=0, open=True, default=1)
    w, b, xi = p.hilbert("w", p.kernel("k", rbf(gamma=problem.gamma))), p.real("b"), p.real("xi", i, lower=0)
    p.minimize(norm(w) ** 2 / 2 + C * sum_over(i)(xi[i]))
    p.subject_to("margin", i, y[i] * (inner(w, phi(x[i])) + b) >= 1 - xi[i])
    p.predict("score", lambda t: inner(w, phi(t)) + b)
    data: dict[str, Any] | None = {"x": problem.X, "y": problem.y}
    betas, solutions = [], []
    spent = Timed(0.0, 0.0)
    for price in price_path(problem):
        C.value = float(price)
        solution, whole = timed(lambda given=data: p.solve(given, kkt_tol=tol))  # type: ignore[misc]
        spent = Timed(spent.seconds + _compared(solution), spent.processor + whole.processor)
        betas.append(expansion(solution, len(problem.y)))
        solutions.append(_facts(solution))
        data = None
    facts = {name: float(sum(float(one.get(name, 0)) for one in solutions)) for name in (*PHASES, "entries")}
    status = "optimal" if all(one["status"] == "optimal" for one in solutions) else "not all optimal"
    support = sum(int(one["support"]) for one in solutions)
    return Answer(*spent, {"beta": np.array(betas)}, {**facts, "status": status, "support": support})


def _program(problem: Problem, tol: float) -> Answer:
    from kdsl.solving.backends.interface import Options
    from kdsl.solving.general_qp import solve_qp

    found, whole = timed(lambda: solve_qp(problem.more["program"], None, "accept", Options(tol)))
    seconds = found.seconds["audit"] + found.seconds["solve"]
    facts: dict[str, float | int | str] = {"status": found.status, "backend": found.backend}
    facts["certify"] = found.seconds["certify"]
    facts["iterations"] = found.iterations
    return Answer(seconds, whole.processor, {"x": found.x, "y": found.y, "z": found.z}, facts)
