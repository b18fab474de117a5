"""`kdsl solve`, `verify` and `predict` at n = 20,000: each within 1 GB of memory, with progress.

Run it as `python tests/campaigns/verify_large.py [n]`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

LIMIT = 1 << 20  # kB
PROGRAM = (
    "import sys; from kdsl.cli.main import main; code = main(sys.argv[1:]);"
    "peak = [line for line in open('/proc/self/status') if line.startswith('VmHWM')];"
    "sys.stderr.write(peak[0]); sys.exit(code)"
)


def run(*arguments: str) -> bool:
    """One command, with its time, its peak of memory and its lines of progress; whether all is as it should be."""
    began = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True)
    lines = done.stderr.splitlines()
    peak = int(lines[-1].split()[1])
    progress = sum(line.endswith(" s") for line in lines)
    holds = done.returncode == 0 and peak < LIMIT
    print(
        f"{arguments[0]:8s} exit {done.returncode}, {time.perf_counter() - began:.1f} s, {peak / 1024:.0f} MB, "
        f"{progress} lines of progress {'ok' if holds else 'OFF'}",
        flush=True,
    )
    return holds


def main() -> int:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    random = np.random.default_rng(0)
    x = random.normal(size=(n, 20))
    y = np.where(x[:, 0] + x[:, 1] ** 2 - 1 + 0.3 * random.normal(size=n) > 0, 1, -1)
    with tempfile.TemporaryDirectory() as folder:
        table, model = str(Path(folder) / "t.csv"), str(Path(folder) / "m.kdsl")
        header = ",".join([*(f"x{column}" for column in range(20)), "y"])
        np.savetxt(table, np.column_stack([x, y]), delimiter=",", header=header, comments="", fmt="%.10g")
        holds = run("solve", "svm_1norm", "--data", table, "--kernel", "k = rbf(gamma = 0.05)", "-o", model)
        holds &= run("verify", model, "--data", table)
        holds &= run("predict", model, table)
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
