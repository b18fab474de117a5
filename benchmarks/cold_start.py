"""Prints how long `kdsl` takes to start, as ratios to `python -c pass` in the same run.

Builds a wheel, installs it (its own files only, compiled to bytecode) in an empty environment, then runs the
empty program and each command by turns and compares the fastest run of each: the fastest is the one least
disturbed by whatever else the machine was doing. Exits with 1 if a ratio is over its limit.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIMITS = {
    ("check", "svm_1norm"): 12.0,
    ("fmt", "svm_1norm"): 12.0,
    ("derive", "svm_1norm"): 14.0,
    ("--help",): 8.0,
}


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


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def measure(programs: Path, rounds: int) -> dict[tuple[str, ...], tuple[float, float]]:
    """For each command: its fastest time in seconds, and that as a multiple of the empty program's."""
    empty = [str(programs / "python"), "-c", "pass"]
    baseline = [seconds(empty)]
    times: dict[tuple[str, ...], list[float]] = {arguments: [] for arguments in LIMITS}
    for _ in range(rounds):
        for arguments, measured in times.items():
            baseline.append(seconds(empty))
            measured.append(seconds([str(programs / "kdsl"), *arguments]))
    return {arguments: (min(measured), min(measured) / min(baseline)) for arguments, measured in times.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20, help="runs of each command (default: 20)")
    parser.add_argument("--wheel", type=Path, help="measure this wheel instead of building one")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        wheel = arguments.wheel or build(Path(scratch, "wheel"))
        results = measure(install(wheel, Path(scratch, "venv")), arguments.rounds)
    worst = 0
    for command, (elapsed, ratio) in results.items():
        verdict = "ok" if ratio <= LIMITS[command] else "OVER"
        worst = max(worst, int(ratio > LIMITS[command]))
        name = " ".join(("kdsl", *command))
        print(
            f"{name:<24}{1000 * elapsed:7.1f} ms {ratio:6.1f} x python -c pass (limit {LIMITS[command]:g})  {verdict}"
        )
    return worst


if __name__ == "__main__":
    sys.exit(main())
