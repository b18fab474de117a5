"""Skin of the orange (ES, table 12.2): test errors of support vector machines with polynomial kernels.

50 simulations of 100 training and 1000 test points, kernel (1 + <x, z>)^d, C chosen on the test error, as the book
did. Prints each setting beside the book's figure; run it as `python tests/campaigns/skin_of_the_orange.py`, with
KDSL_SHARED where the data are.
"""

from __future__ import annotations

import gzip
import os
import sys
import time
from pathlib import Path

import numpy as np

import kdsl

BOOK = {
    (4, 1): (0.450, 0.448),
    (4, 2): (0.078, 0.078),
    (4, 5): (0.180, 0.182),
    (4, 10): (0.230, 0.229),
    (10, 1): (0.472, 0.469),
    (10, 2): (0.152, 0.152),
    (10, 5): (0.370, 0.376),
    (10, 10): (0.434, 0.434),
}
COSTS = tuple(10.0**power for power in range(-4, 5))


def table(shared: Path, features: int, part: str) -> np.ndarray:
    """Columns: simulation, class, features."""
    with gzip.open(shared / "data" / f"esl_orange{features}_{part}.csv.gz", "rt") as file:
        return np.loadtxt(file, delimiter=",", skiprows=1)


def mean_error(shared: Path, features: int, degree: int, costs: tuple[float, ...] = COSTS) -> float:
    """The mean over the simulations of the least test error over `costs`."""
    training, test = table(shared, features, "train"), table(shared, features, "test")
    kernels = {"k": f"poly(degree = {degree}, gamma = 1, coef0 = 1)"}
    least = []
    for simulation in np.unique(training[:, 0]):
        a, b = training[training[:, 0] == simulation], test[test[:, 0] == simulation]
        errors = []
        for cost in costs:
            found = kdsl.solve("svm_1norm", {"x": a[:, 2:], "y": a[:, 1]}, {"C": cost}, kernels, tol=1e-4)
            errors.append(np.mean(found.predict(b[:, 2:]) != b[:, 1]))
        least.append(min(errors))
    return float(np.mean(least))


def main() -> int:
    shared = Path(os.environ.get("KDSL_SHARED", Path(__file__).resolve().parents[3] / "shared"))
    failures = 0
    for (features, degree), (book, reproduced) in BOOK.items():
        began = time.perf_counter()
        error = mean_error(shared, features, degree)
        holds = abs(error - reproduced) <= 0.01
        failures += not holds
        print(
            f"{features:2d} features, degree {degree:2d}: {error:.3f} (book {book:.3f}, reproduced {reproduced:.3f}) "
            f"{'ok' if holds else 'OFF'} {time.perf_counter() - began:.0f} s",
            flush=True,
        )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
