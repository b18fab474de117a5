"""Whole fits and predictions of estimators on few examples, where what surrounds a solve is most of it.

    python benchmarks/small_fits.py

KernelClassifier and KernelRegressor, with their checks and their certificate, against SVC, SVR and KernelRidge of
scikit-learn at the same parameters: by turns, the least of many of each. Data: two overlapping classes, or a curve, in
five dimensions, seed 0. `times` is scikit-learn's time over kdsl's: below 1 kdsl takes longer.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC, SVR

from kdsl.sklearn import KernelClassifier, KernelRegressor

SIZES = (50, 100, 300, 1000, 3000)
SECONDS = 2.0  # for each row
KERNEL = "rbf(gamma = 0.2)"
PAIRS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "SVC": (lambda: KernelClassifier(kernel=KERNEL, C=1.0), lambda: SVC(gamma=0.2, tol=1e-4)),
    "SVR": (lambda: KernelRegressor(kernel=KERNEL, C=1.0, eps=0.1), lambda: SVR(gamma=0.2, tol=1e-4)),
    "KernelRidge": (
        lambda: KernelRegressor("ridge", kernel=KERNEL, lambda_=1.0),
        lambda: KernelRidge(kernel="rbf", gamma=0.2),
    ),
}


def least(ours: Callable[[], Any], theirs: Callable[[], Any]) -> tuple[float, float]:
    """The least seconds of each, by turns."""
    best = [np.inf, np.inf]
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        for n, run in enumerate((ours, theirs)):
            began = time.perf_counter()
            run()
            best[n] = min(best[n], time.perf_counter() - began)
    return best[0], best[1]


def main() -> None:
    rng = np.random.default_rng(0)
    print(f"{'':14}{'examples':>9}{'fit, ms':>10}{'times':>7}{'predict, ms':>13}{'times':>7}")
    for name, (ours, theirs) in PAIRS.items():
        for size in SIZES:
            X = rng.normal(size=(size, 5))
            curve = X[:, 0] + np.sin(2 * X[:, 1])
            y = np.where(curve + 0.5 * rng.normal(size=size) > 0, 1, -1) if name == "SVC" else curve
            mine, other = least(lambda: ours().fit(X, y), lambda: theirs().fit(X, y))  # noqa: B023 - called here
            fitted, known = ours().fit(X, y), theirs().fit(X, y)
            said, told = least(lambda: fitted.predict(X), lambda: known.predict(X))  # noqa: B023 - called here
            print(f"{name:14}{size:9,}{1e3 * mine:10.2f}{other / mine:7.2f}{1e3 * said:13.2f}{told / said:7.2f}")


if __name__ == "__main__":
    main()
