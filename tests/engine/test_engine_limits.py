"""What the engine may take and must bear: the memory it was given, and labels that are all but one-sided."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from kdsl.solving.api import solve

MEASURED = """
import resource
import numpy as np
from kdsl.solving.api import solve

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

spec, size, features, memory = {given}
rng = np.random.default_rng(0)
y = np.where(np.arange(size) % 2, 1.0, -1.0)
x = rng.normal(size=(size, features)) + 0.2 * y[:, None]
kernel = {{"k": f"rbf(gamma = {{1 / features}})"}}
solve(spec, {{"x": x[:100], "y": y[:100]}}, kernels=kernel)
before = peak()
solution = solve(spec, {{"x": x, "y": y}}, kernels=kernel, memory=memory)
print(solution.status, peak() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak of a process is counted in KiB on Linux")
@pytest.mark.parametrize(
    ("spec", "size", "features", "memory"),
    [("svm_1norm", 20_000, 20, 32_000_000), ("ridge", 4000, 100, 20_000_000), ("ridge_bias", 4000, 100, 50_000_000)],
)
def test_the_memory_that_is_allowed(spec: str, size: int, features: int, memory: int) -> None:
    """Gram matrices of 3.2 GB and of 128 MB: what is allowed for the solve, beside five copies of the data."""
    program = MEASURED.format(given=(spec, size, features, memory))
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    status, grown = ran.stdout.split()
    assert status == "optimal"
    assert int(grown) <= memory + 5 * size * features * 8


@pytest.mark.parametrize("rare", [1, 3])
def test_labels_one_in_ten_thousand(rare: int) -> None:
    """The few of one class are at their bound or carry the margin alone; the certificate knows."""
    rng = np.random.default_rng(rare)
    y = np.full(10_001, -1.0)
    y[:rare] = 1.0
    x = rng.normal(size=(10_001, 4)) + 2.0 * (y[:, None] > 0)
    for C in (1.0, 1000.0):
        solution = solve("svm_1norm", {"x": x, "y": y}, {"C": C}, {"k": "rbf(gamma = 0.25)"})
        assert solution.status == "optimal" and solution.certificate.rel_gap <= 1e-6
        alpha = solution.multipliers["margin"]
        assert alpha[:rare].sum() == pytest.approx(alpha[rare:].sum(), rel=1e-9)
        assert np.all(alpha[:rare] > 0)
