"""General formulations by the engine: each variant's time as a multiple of the time of the same model without it.

    python benchmarks/engine_rows.py [--quick] [--size N] [--repeat 3] [--threads N] [--tol 1e-6] [--only WORD] [--peer]

Composite atoms and further rows (a bound on the averages of two groups, 200 monotone pairs, a bias for each of 8
groups, a part that is linear in 5 features and costs nothing) against the 1-norm soft margin; losses against the
hinge. Data: two Gaussians, d = 10, seed 0, standardised, gamma = 1 / (d var), C = 1 (lambda = 1). Every figure is for
the whole road from data to certificate, as `kdsl solve` goes it after reading the spec and the data; `engine` is the
part inside the engine. Times are the best of `repeat` runs: processor time of all threads, which other load disturbs
less, and in brackets wall clock. The gap is the certificate's. `--peer` asks CVXPY with each of its installed QP
solvers for the duals of these variants.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kdsl.bench.own import SPECS, margins
from kdsl.language.model import Model
from kdsl.pipeline import parse_spec
from kdsl.solving.api import Prepared, prepare
from kdsl.solving.backends import engine
from kdsl.solving.backends.interface import Options
from kdsl.solving.lowering import lower
from kdsl.solving.normal_form import NormalForm

Floats = NDArray[np.float64]

PEERS = ("OSQP", "CLARABEL", "PIQP", "PROXQP", "DAQP", "SCS", "HIGHS")
PATIENCE = 20.0  # times our own a peer may take, relative to the ratio of 100 that is asked for

LOSS = """
model {name}
{own}
index  i in 1..l
data   x[i] : input, y[i] : real
param  lambda : in (0, inf) = 1
kernel k = rbf(gamma = 1)
var    w : H(k), b : real
let    f(t) = <w, phi(t)> + b
minimize sum[i] {loss} + lambda/2 * ||w||^2
predict value(t) = f(t)
"""


class Variant(NamedTuple):
    """A model, the data it asks for beside x and y, and the name of the model it is compared with."""

    name: str
    text: str
    base: str
    more: Callable[[Floats, Floats, np.random.Generator], Mapping[str, Any]] = lambda X, y, rng: {}


def loss(name: str, term: str, own: str = "") -> str:
    return LOSS.format(name=name, loss=term, own=own)


def averages(X: Floats, y: Floats, rng: np.random.Generator) -> Mapping[str, Any]:
    """Weights whose sum with f is the difference of f's averages over two groups: the halves of the first feature."""
    first = X[:, 0] > 0
    return {"g": np.where(first, 1 / first.sum(), -1 / (~first).sum())}


def monotone_pairs(X: Floats, y: Floats, rng: np.random.Generator) -> Mapping[str, Any]:
    """200 examples and the same with one feature raised."""
    low = X[rng.choice(len(X), 200, replace=False)]
    high = low.copy()
    high[np.arange(200), rng.integers(X.shape[1], size=200)] += 1.0
    return {"lo": low, "hi": high}


def groups(X: Floats, y: Floats, rng: np.random.Generator) -> Mapping[str, Any]:
    return {"group": [f"g{n}" for n in rng.integers(8, size=len(X))]}


def features(X: Floats, y: Floats, rng: np.random.Generator) -> Mapping[str, Any]:
    return {f"z{p}": X[:, p] + rng.normal(size=len(X)) for p in range(5)}


OWN = "loss own(r) = max(max(-2 * r, -r / 2), max(r / 4, r - 1))"
VARIANTS = (
    Variant("C-SVC", SPECS["c-svc"], ""),
    Variant(
        "averages of two groups",
        margins(
            data=", g[i] : real",
            more="  over: sum[i] g[i] * (<w, phi(x[i])> + b) <= 0.1\n"
            "  under: sum[i] g[i] * (<w, phi(x[i])> + b) >= -0.1\n",
        ),
        "C-SVC",
        averages,
    ),
    Variant("200 monotone pairs", SPECS["pairs"], "C-SVC", monotone_pairs),
    Variant("a bias for each of 8 groups", SPECS["biases"], "C-SVC", groups),
    Variant(
        "an unpenalised part in 5 features",
        margins(
            data="".join(f", z{p}[i] : real" for p in range(5)),
            bias="b : real, " + ", ".join(f"c{p} : real" for p in range(5)),
            bias_of_i="b" + "".join(f" + c{p} * z{p}[i]" for p in range(5)),
        ),
        "C-SVC",
        features,
    ),
    Variant("hinge", loss("hinge_loss", "hinge(y[i] * f(x[i]))"), ""),
    Variant("Huber", loss("huber_loss", "huber(y[i] - f(x[i]); 1.345)"), "hinge"),
    Variant("pinball", loss("pinball_loss", "pinball(y[i] - f(x[i]); 0.5)"), "hinge"),
    Variant("squared hinge", loss("squared_hinge_loss", "squared_hinge(y[i] * f(x[i]))"), "hinge"),
    Variant("own loss of 4 pieces", loss("own_loss", "own(y[i] - f(x[i]))", OWN), "hinge"),
)


def two_gaussians(n: int, d: int = 10) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(0)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    X = rng.normal(size=(n, d)) + y[:, None] / np.sqrt(d)
    return np.asarray((X - X.mean(axis=0)) / X.std(axis=0), np.float64), y


def prepared(variant: Variant, n: int) -> Prepared:
    X, y = two_gaussians(n)
    model: Model = parse_spec(variant.text)
    data = {"x": X, "y": y, **variant.more(X, y, np.random.default_rng(1))}
    gamma = float(1.0 / (X.shape[1] * X.var()))
    return prepare(model, data, kernels={"k": f"rbf(gamma = {gamma!r})"})


def normal_form(problem: Prepared) -> NormalForm:
    posed = problem.posed
    return lower(posed.energies, posed.values, posed.spaces, saturated=posed.saturated).problem


class Best(NamedTuple):
    """The least processor and wall-clock seconds of several runs, those inside the engine, and the gap."""

    processor: float
    wall: float
    engine: float
    gap: float
    facts: str


def measured(variant: Variant, n: int, repeat: int, options: Options) -> Best:
    problem = prepared(variant, n)
    form = normal_form(problem)
    best = Best(np.inf, np.inf, np.inf, np.nan, "")
    for _ in range(repeat):
        wall, processor = time.perf_counter(), time.process_time()
        solution = problem.solve(options)
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
        inside = time.process_time()
        raw = engine.solve(form, tol=options.tol, threads=options.threads)
        inside = time.process_time() - inside
        told = f"{raw.iterations:,} steps, {raw.facts['outer']} sets, {float(raw.facts['entries']) / n**2:.2f} l^2"
        gap = solution.certificate.rel_gap
        support = f"{solution.support.total:,} active of which {solution.support.free:,} free"
        facts = f"{told}, {support}, {solution.status} by {solution.backend}"
        best = Best(min(processor, best.processor), min(wall, best.wall), min(inside, best.engine), gap, facts)
    return best


def cvxpy_seconds(form: NormalForm, solver: str, limit: float) -> tuple[float, float]:
    """Processor seconds of CVXPY from a dense Q to its answer, and the value that it found."""
    import cvxpy as cp

    Q = np.zeros((form.size, form.size))
    for block in form.blocks:
        Q += block.atoms.T @ block.gram.rows(np.arange(block.gram.size)) @ block.atoms
    began = time.process_time()
    t = cp.Variable(form.size)
    rows, h = form.rows, form.separable
    conditions = [t >= h.lower, t[np.isfinite(h.upper)] <= h.upper[np.isfinite(h.upper)]]
    if rows.equality.any():
        conditions.append(rows.matrix[rows.equality] @ t == rows.target[rows.equality])
    if not rows.equality.all():
        conditions.append(rows.matrix[~rows.equality] @ t <= rows.target[~rows.equality])
    problem = cp.Problem(cp.Minimize(0.5 * cp.quad_form(t, cp.psd_wrap(Q)) + h.slope @ t + form.constant), conditions)
    value = problem.solve(solver=solver)
    return time.process_time() - began, float(value)


def peers(variant: Variant, n: int, ours: Best, options: Options) -> None:
    import cvxpy as cp

    form = normal_form(prepared(variant, n))
    reached = float(engine.solve(form, tol=1e-9).facts["value"])
    for solver in (name for name in PEERS if name in cp.installed_solvers()):
        try:
            seconds, value = cvxpy_seconds(form, solver, PATIENCE)
        except (cp.SolverError, ValueError) as error:
            print(f"    CVXPY {solver:9s} {str(error).splitlines()[0][:80]}", flush=True)
            continue
        gap = abs(value - reached) / max(1.0, abs(reached))
        print(f"    CVXPY {solver:9s} {seconds:9.3f} s, {seconds / ours.processor:8.1f} times, value off by {gap:.1e}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="2,000 examples and one run")
    parser.add_argument("--size", type=int, default=None)
    parser.add_argument("--repeat", type=int, default=None)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--only", default="", help="variants whose name contains this, and their bases")
    parser.add_argument("--peer", action="store_true")
    arguments = parser.parse_args()
    n = arguments.size or (2000 if arguments.quick else 10000)
    repeat = arguments.repeat or (1 if arguments.quick else 3)
    options = Options(tol=arguments.tol, threads=arguments.threads)
    bases: dict[str, Best] = {}
    wanted = [v for v in VARIANTS if arguments.only in v.name]
    for variant in VARIANTS:
        if variant not in wanted and not any(variant.name == other.base for other in wanted):
            continue
        best = measured(variant, n, repeat, options)
        bases[variant.name] = best
        base = bases.get(variant.base, best)
        print(
            f"{variant.name:33s} {best.processor:8.3f} ({best.wall:7.3f}) s, engine {best.engine:8.3f} s, "
            f"gap {best.gap:7.1e}, ratio {best.processor / base.processor:6.2f}, engine "
            f"{best.engine / base.engine:6.2f}   {best.facts}",
            flush=True,
        )
        if arguments.peer and variant.base == "C-SVC":
            peers(variant, n, best, options)


if __name__ == "__main__":
    main()
