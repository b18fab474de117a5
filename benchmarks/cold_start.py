"""Prints how long `kdsl` takes to start, as ratios to `python -c pass`, and `import kdsl` as one to `import numpy`.

Builds a wheel, installs it (its own files only, compiled to bytecode) in an empty environment, then runs the programs
by turns and compares the fastest run of each: the fastest is the one least disturbed by whatever else the machine was
doing. numpy is that of the Python that runs this, lent to the environment for its own row. Exits with 1 if a ratio is
over its limit.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
EMPTY = "python -c pass"
NUMPY = 'python -c "import numpy"'


class Row(NamedTuple):
    """A program, what its fastest run is compared with, and the ratio that it may have."""

    name: str
    baseline: str
    limit: float


ROWS = (
    Row("kdsl", EMPTY, 8.0),
    Row("kdsl --help", EMPTY, 8.0),
    Row("kdsl check svm_1norm", EMPTY, 12.0),
    Row("kdsl fmt svm_1norm", EMPTY, 12.0),
    Row("kdsl derive svm_1norm", EMPTY, 14.0),
    Row('python -c "import kdsl"', NUMPY, 1.2),
)


def install(wheel: Path, folder: Path) -> Path:
    """Install the wheel without its dependencies in a new environment in `folder`; the environment's bin/."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(pip, check=True)
    subprocess.run([str(python), "-m", "compileall", "-q", str(folder / "lib")], check=False)
    return folder / "bin"


def build(folder: Path) -> Path:
    """Build a wheel of the checkout."""
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return next(folder.glob("kdsl-*.whl"))


def seconds(command: list[str], environment: dict[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    return time.perf_counter() - start


def environment_of(name: str) -> dict[str, str]:
    """The variables of a program; only what is compared with numpy may see where numpy is."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    found = find_spec("numpy") if name == NUMPY else None
    if found is not None and found.origin is not None:
        clean["PYTHONPATH"] = str(Path(found.origin).parent.parent)
    return clean


def measure(programs: Path, rounds: int) -> dict[str, float]:
    """The fastest time of each program in seconds."""
    names = list(dict.fromkeys([name for row in ROWS for name in (row.baseline, row.name)]))
    times: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(rounds):
        for name, measured in times.items():
            program, *arguments = shlex.split(name)
            measured.append(seconds([str(programs / program), *arguments], environment_of(name)))
    return {name: min(measured) for name, measured in times.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="runs of each command (default: 20)")
    parser.add_argument("--wheel", type=Path, help="measure this wheel instead of building one")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        wheel = arguments.wheel or build(Path(scratch, "wheel"))
        fastest = measure(install(wheel, Path(scratch, "venv")), arguments.rounds)
    worst = 0
    for row in ROWS:
        ratio = fastest[row.name] / fastest[row.baseline]
        worst = max(worst, int(ratio > row.limit))
        verdict = "ok" if ratio <= row.limit else "OVER"
        print(
            f"{row.name:<26}{1000 * fastest[row.name]:7.1f} ms {ratio:6.2f} x {row.baseline} "
            f"(limit {row.limit:g})  {verdict}"
        )
    return worst


if __name__ == "__main__":
    sys.exit(main())
