"""Logistic and multinomial regression against scikit-learn and CVXPY, alternating, the best of three.

    python benchmarks/entropies.py [--quick] [--only WORD]

Kernel logistic regression without a bias is what GaussianProcessClassifier computes for a fixed kernel (Laplace's
approximation), and with a linear kernel what LogisticRegression does, which does not penalise its bias either; the
conic program is what CVXPY hands to Clarabel for the primal as written. Data: two Gaussians, d = 10, seed 0,
standardised, gamma = 1 / (d var), lambda = 1; classes are drawn around corners. Beside several classes stands what
10,000 predictions take, and what they take with every class by itself. Seconds are wall clock, of kdsl with its
certificate. `above` is by how much a primal value exceeds the dual value that kdsl has certified, as a part of it:
that is where every answer is judged.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kdsl.bench.contender import settle
from kdsl.language.model import Model
from kdsl.models.solution import Solution
from kdsl.pipeline import parse_spec
from kdsl.solving.api import solve

Floats = NDArray[np.float64]
Answer = tuple[float, float, str]  # seconds, primal value, what is told beside them

TEXT = """model entropies
index  i in 1..l{index}
data   x[i] : input, y[i] : {label}
kernel k = rbf(gamma = 1)
var    {unknowns}
minimize 1/2 {norm} + sum[i] {loss}
predict {predict}
"""
SCORE = "score(t) = <w, phi(t)>"
BINARY = {"index": "", "label": "{-1, 1}", "norm": "||w||^2"}
PLAIN = TEXT.format(**BINARY, unknowns="w : H(k)", loss="logistic(y[i] * <w, phi(x[i])>)", predict=SCORE)
BIASED = TEXT.format(
    **BINARY,
    unknowns="w : H(k), b : real",
    loss="logistic(y[i] * (<w, phi(x[i])> + b))",
    predict=SCORE + " + b",
)
SEVERAL = TEXT.format(
    index=", c in classes",
    label="classes",
    unknowns="w[c] : H(k)",
    norm="sum[c] ||w[c]||^2",
    loss="multinomial(<w[c], phi(x[i])>; c, y[i])",
    predict="class(t) = argmax[c] <w[c], phi(t)>",
)
FAIR = BIASED.replace(" : {-1, 1}\n", " : {-1, 1}, g[i] : real\n").replace(
    "predict",
    "subject to\n  over: sum[i] g[i] * <w, phi(x[i])> <= 0.1\n  under: sum[i] g[i] * <w, phi(x[i])> >= -0.1\npredict",
)
MONOTONE = (
    BIASED.replace("1..l\n", "1..l, j in 1..m\n")
    .replace(" : {-1, 1}\n", " : {-1, 1}, lo[j] : input, hi[j] : input\n")
    .replace("predict", "subject to\n  mono[j]: <w, phi(hi[j]) - phi(lo[j])> >= 0\npredict")
)
REPEAT = 3


class Row(NamedTuple):
    name: str
    text: str
    size: int
    kernel: str  # "" for a Gaussian
    peers: tuple[str, ...]
    classes: int = 2


ROWS = (
    Row("kernel, no bias", PLAIN, 1_000, "", ("GaussianProcessClassifier", "CVXPY")),
    Row("kernel, no bias", PLAIN, 4_000, "", ("GaussianProcessClassifier",)),
    Row("kernel", BIASED, 10_000, "", ()),
    Row("kernel", BIASED, 50_000, "", ()),
    Row("bounded averages", FAIR, 1_000, "", ("CVXPY",)),
    Row("bounded averages", FAIR, 10_000, "", ()),
    Row("100 monotone pairs", MONOTONE, 10_000, "", ()),
    Row("linear", BIASED, 100_000, "linear", ("LogisticRegression",)),
    Row("kernel, 3 classes", SEVERAL, 500, "", ("CVXPY",), 3),
    Row("kernel, 3 classes", SEVERAL, 3_000, "", (), 3),
    Row("kernel, 10 classes", SEVERAL, 3_000, "", (), 10),
)


def points(row: Row) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(row.size, 10)), np.arange(row.size) % row.classes
    if row.classes == 2:
        y = np.where(y, 1, -1)
        X = X + y[:, None] / np.sqrt(10)
    else:
        X[np.arange(row.size), y] += 2.0
    return np.asarray((X - X.mean(axis=0)) / X.std(axis=0)), y.astype(np.float64)


def data(row: Row, X: Floats, y: Floats) -> dict[str, Floats]:
    """With the halves of the first feature for averages, and examples with the second one raised for pairs."""
    given = {"x": X, "y": y}
    if row.text == FAIR:
        first = X[:, 0] > 0
        given["g"] = np.where(first, 1.0 / first.sum(), -1.0 / (~first).sum())
    if row.text == MONOTONE:
        given |= {"lo": X[:100], "hi": X[:100] + np.eye(X.shape[1])[1]}
    return given


def own(row: Row, model: Model, X: Floats, y: Floats, gamma: float) -> tuple[Answer, float]:
    kernel = row.kernel or f"rbf(gamma = {gamma!r})"
    solution = solve(model, data(row, X, y), {}, {"k": kernel})
    facts = solution.facts
    told = ", ".join(f"{facts[name]} {name.replace('_', ' ')}" for name in ("single_products", "products"))
    told = f"{solution.status}, {solution.iterations} steps, {told}"
    if row.classes > 2:
        told += ", predictions {:.4f} s together, {:.4f} s one by one".format(*predictions(solution))
    return (solution.seconds["total"], solution.value, told), solution.certificate.dual


def predictions(solution: Solution) -> tuple[float, float]:
    """Seconds of 10,000 decision values of all classes, sharing kernel values and not; the best of three."""
    new = np.random.default_rng(1).normal(size=(10_000, 10))
    family = solution.predictor.vectors["w"]
    kernel, support = solution.predictor.kernels[family.space], solution.predictor.support[family.space]
    alone = [kernel.expanding(support, weights) for weights in family.coefficients]
    together = kernel.expanding(support, family.coefficients.T)
    best = [np.inf, np.inf]
    for _ in range(REPEAT):
        for n, chosen in enumerate(([together], alone)):
            began = time.perf_counter()
            for expansion in chosen:
                expansion(new)
            best[n] = min(best[n], time.perf_counter() - began)
    return best[0], best[1]


def gaussian_process(row: Row, X: Floats, y: Floats, gamma: float) -> Answer:
    from sklearn.gaussian_process import GaussianProcessClassifier
    from sklearn.gaussian_process.kernels import RBF

    model = GaussianProcessClassifier(RBF(1.0 / np.sqrt(2.0 * gamma)), optimizer=None)
    began = time.perf_counter()
    fitted = model.fit(X, y).base_estimator_
    seconds = time.perf_counter() - began
    weights = fitted.y_train_ - fitted.pi_
    f = fitted.kernel_(X) @ weights
    return seconds, float(np.logaddexp(0.0, -y * f).sum() + 0.5 * weights @ f), ""


def logistic_regression(row: Row, X: Floats, y: Floats, gamma: float) -> Answer:
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=1.0, tol=1e-6, max_iter=1000)
    began = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - began
    w, b = model.coef_[0], float(model.intercept_[0])
    return seconds, float(np.logaddexp(0.0, -y * (X @ w + b)).sum() + 0.5 * w @ w), "lbfgs, tol 1e-6"


def cvxpy(row: Row, X: Floats, y: Floats, gamma: float) -> Answer:
    kernel = {"k": f"rbf(gamma = {gamma!r})"}
    solution = solve(parse_spec(row.text), data(row, X, y), {}, kernel, backend="cvxpy")
    return solution.seconds["total"], solution.value, "Clarabel"


PEERS: dict[str, Callable[[Row, Floats, Floats, float], Answer]] = {
    "GaussianProcessClassifier": gaussian_process,
    "LogisticRegression": logistic_regression,
    "CVXPY": cvxpy,
}


def told(row: Row, quick: bool) -> Iterator[str]:
    """A line for kdsl and for each peer."""
    X, y = points(row)
    gamma, model = float(1.0 / (X.shape[1] * X.var())), parse_spec(row.text)
    best: dict[str, Answer] = {}
    bound = -np.inf
    for _ in range(1 if quick else REPEAT):
        settle()
        answer, certified = own(row, model, X, y, gamma)
        bound = max(bound, certified)
        answers: dict[str, Any] = {"kdsl": answer}
        for name in row.peers:
            try:
                answers[name] = PEERS[name](row, X, y, gamma)
            except ImportError as absent:
                yield f"{row.name:20s} {row.size:>7,} {name:26s} not installed: {absent.name}"
        best = {name: min(found, best.get(name, found), key=lambda a: a[0]) for name, found in answers.items()}
    for name, (seconds, value, more) in best.items():
        ratio = f"{seconds / best['kdsl'][0]:7.1f} times" if name != "kdsl" else ""
        above = max(value - bound, 0.0) / max(1.0, abs(bound))
        yield f"{row.name:20s} {row.size:>7,} {name:26s} {seconds:9.4f} s {ratio:13s} above {above:.1e}  {more}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one run, up to 3,000 examples")
    parser.add_argument("--only", default="", help="rows whose name contains this")
    arguments = parser.parse_args()
    for row in ROWS:
        if arguments.only in row.name and (not arguments.quick or row.size <= 3_000):
            for line in told(row, arguments.quick):
                print(line, flush=True)


if __name__ == "__main__":
    main()
