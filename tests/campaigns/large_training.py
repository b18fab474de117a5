"""C-SVC on 200,000 points of 20 features, trained and certified: its time, and its peak of memory against 2 GB.

Run it as `python tests/campaigns/large_training.py [n]`.
"""

from __future__ import annotations

import resource
import sys

import numpy as np

from kdsl.solving.api import solve

LIMIT = 2e9


def main(count: int) -> int:
    rng = np.random.default_rng(0)
    y = np.where(np.arange(count) % 2, 1.0, -1.0)
    x = rng.normal(size=(count, 20)) + y[:, None] / np.sqrt(20)
    kernel = {"k": f"rbf(gamma = {1 / (20 * x.var()):.17g})"}
    solution = solve("svm_1norm", {"x": x, "y": y}, kernels=kernel, tol=1e-3)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    seconds = ", ".join(f"{name} {taken:.1f} s" for name, taken in solution.seconds.items())
    print(f"{count:,} points: {solution.status}, relative gap {solution.certificate.rel_gap:.1e}; {seconds}")
    print(f"{solution.support.total:,} support vectors; peak of memory {peak / 1e6:,.0f} MB")
    return 0 if solution.status == "optimal" and peak <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000))
