"""Times linear machines by `kdsl.solve` against LinearSVC and snapml: seconds, processor seconds, and the gap of each.

    python benchmarks/linear.py [examples] [text documents]

The gap of every answer is the same: of the problem with an unpenalised bias, at the (w, b) that the solver returns,
against the dual value that kdsl proves. Peers penalise the bias, so theirs does not close.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Floats = NDArray[Any]


class Data(NamedTuple):
    name: str
    X: Any
    y: Floats
    C: float


class Measured(NamedTuple):
    who: str
    seconds: float
    processor: float
    value: float


def two_gaussians(n: int, d: int = 20) -> Data:
    random = np.random.default_rng(0)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    X = random.standard_normal((n, d), dtype=np.float32) + (y / np.sqrt(d)).astype(np.float32)[:, None]
    return Data(f"two Gaussians {n:,} x {d}, C=1", X, y, 1.0)


def documents(n: int, d: int = 20_000, C: float = 1.0) -> Data:
    """Documents of 60 words, rare words rarer, rows of length 1."""
    random = np.random.default_rng(0)
    share = 1 / np.arange(1, d + 1)
    columns = random.choice(d, size=(n, 60), p=share / share.sum())
    X = sp.csr_array((random.exponential(1, n * 60), (np.repeat(np.arange(n), 60), columns.ravel())), (n, d))
    X.sum_duplicates()
    X = sp.csr_array(sp.diags_array(1 / np.sqrt((X * X).sum(axis=1))) @ X)
    told = X @ random.standard_normal(d)
    y = np.where(told + 0.3 * told.std() * random.standard_normal(n) > 0, 1.0, -1.0)
    return Data(f"documents {n:,} x {d:,}, C={C:g}", X, y, C)


def primal(data: Data, w: Floats, b: float) -> float:
    margins = data.y * (data.X @ np.asarray(w, np.float64) + b)
    return float(0.5 * w @ w + data.C * np.maximum(1 - margins, 0).sum())


def timed(who: str, run: Callable[[], float]) -> Measured:
    began, spent = time.perf_counter(), time.process_time()
    value = run()
    return Measured(who, time.perf_counter() - began, time.process_time() - spent, value)


def by_kdsl(data: Data) -> tuple[list[Measured], float]:
    """The whole of `solve`, its solver alone, and the dual value that it proves."""
    from kdsl.solving.api import solve

    began, spent = time.perf_counter(), time.process_time()
    found = solve("svm_1norm", {"x": data.X, "y": data.y}, {"C": data.C}, {"k": "linear"})
    seconds, processor = time.perf_counter() - began, time.process_time() - spent
    value = found.certificate.value
    print("  " + ", ".join(f"{stage} {spent:.2f} s" for stage, spent in found.seconds.items()))
    whole = Measured(f"kdsl ({found.backend})", seconds, processor, value)
    return [whole, Measured("of which lowered and solved", _solver(found.seconds), 0.0, value)], found.certificate.dual


def _solver(seconds: Any) -> float:
    return float(seconds["lower"] + seconds["solve"])


def peers(data: Data) -> list[Measured]:
    found = []
    X = data.X
    if sp.issparse(X):
        X = sp.csr_matrix((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), X.shape)
    try:
        from sklearn.svm import LinearSVC

        def fit_sklearn() -> float:
            machine = LinearSVC(C=data.C, loss="hinge", tol=1e-4, max_iter=10_000).fit(X, data.y)
            return primal(data, machine.coef_.ravel().astype(np.float64), float(machine.intercept_[0]))

        found.append(timed("LinearSVC", fit_sklearn))
    except ImportError:
        print("  LinearSVC: scikit-learn is not installed")
    try:
        from snapml import SupportVectorMachine

        def fit_snapml() -> float:
            machine = SupportVectorMachine(
                fit_intercept=True, regularizer=1 / data.C, max_iter=1000, tol=1e-5, n_jobs=2, kernel="linear"
            ).fit(X, data.y)
            coefficients = np.asarray(machine.coef_, np.float64).ravel()
            return primal(data, coefficients, float(np.ravel(machine.intercept_)[0]))

        found.append(timed("snapml", fit_snapml))
    except ImportError:
        print("  snapml is not installed")
    return found


def main() -> None:
    examples = int(float(sys.argv[1])) if len(sys.argv) > 1 else 1_000_000
    texts = int(float(sys.argv[2])) if len(sys.argv) > 2 else 20_000
    for data in (two_gaussians(examples), documents(texts), documents(texts, C=100.0)):
        print(data.name)
        ours, dual = by_kdsl(data)
        for row in (*ours, *peers(data)):
            gap = (row.value - dual) / max(1.0, abs(dual))
            processor = f"{row.processor:8.2f}" if row.processor else " " * 8
            print(f"  {row.who:30} {row.seconds:8.2f} s {processor} s of processors, gap {gap:.1e}")


if __name__ == "__main__":
    main()
