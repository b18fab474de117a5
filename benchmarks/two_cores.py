"""Prints how the compiled cores of two revisions compare: both in one process, in turns, on the benchmark's problems.

Two processes differ by more than most changes to the core are worth (what the machine does beside, where memory
lies); two cores that are asked by turns meet the same. The ratio is the median, over the turns, of the new core's time
over the old one's, of lowering and solving; "steps" are the engine's, before and after. A revision's core is compiled
from its own sources with the tools that CONTRIBUTING.md installs; the Python around both is this checkout's, so that a
core whose interface has changed since cannot be compared.

    python benchmarks/two_cores.py HEAD~3 --only "l=5,000"
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import kdsl
from kdsl.bench.own import Kdsl
from kdsl.bench.problems import Problem, make
from kdsl.bench.rows import Row, rows_of

ROOT = Path(__file__).resolve().parent.parent
GROUPS = ("engine", "path")


class Turns(NamedTuple):
    """Seconds of each turn, and the engine's steps in the last, where they are told."""

    seconds: list[float]
    steps: list[float]


def compiled(sources: Path, folder: Path, name: str) -> ModuleType:
    """The core of a checkout, in a domain of its own: two that shared one would register each type twice."""
    asked = [sys.executable, "-m", "nanobind", "--cmake_dir"]
    nanobind = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
    configure = [
        *("cmake", "-S", str(sources), "-B", str(folder), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release"),
        *("-DSKBUILD_PROJECT_NAME=kdsl", f"-DSKBUILD_PROJECT_VERSION={kdsl.__version__}"),
        *(f"-Dnanobind_DIR={nanobind}", f"-DPython_EXECUTABLE={sys.executable}"),
        f"-DCMAKE_CXX_FLAGS=-DNB_DOMAIN={name}",
    ]
    for command in (configure, ["cmake", "--build", str(folder), "--target", "_core"]):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    spec = importlib.util.spec_from_file_location("kdsl._core", next(folder.glob("_core*.so")))
    assert spec is not None and spec.loader is not None
    core = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(core)
    return core


def use(core: ModuleType) -> None:
    """Whatever of kdsl has been imported speaks to this core from now on."""
    sys.modules["kdsl._core"] = core
    for name, module in list(sys.modules.items()):
        if (name == "kdsl" or name.startswith("kdsl.")) and hasattr(module, "_core"):
            setattr(module, "_core", core)  # noqa: B010 - assigning an attribute of a module is no more typed


def turn(problem: Problem, row: Row, core: ModuleType, turns: Turns) -> None:
    use(core)
    answer = Kdsl().run(problem, row.tol)
    turns.seconds.append(answer.seconds)
    turns.steps[:] = [float(answer.facts["iterations"])] if "iterations" in answer.facts else []


def compare(row: Row, old: ModuleType, new: ModuleType, seconds: float) -> str:
    problem, before, after = make(row.task), Turns([], []), Turns([], [])
    pair = [(old, before), (new, after)]
    for core, _ in pair:
        turn(problem, row, core, Turns([], []))  # memory and derivations are there for those that count
    end = time.monotonic() + seconds
    while time.monotonic() < end or len(after.seconds) < 3:
        for core, turns in pair:
            turn(problem, row, core, turns)
        pair.reverse()
    ratio = statistics.median(b / a for a, b in zip(before.seconds, after.seconds, strict=True))
    steps = " -> ".join(f"{turns.steps[0]:,.0f}" if turns.steps else "?" for turns in (before, after))
    asked = f"{row.title}, {row.tol:g}"
    return f"{asked:66}  {ratio:6.3f}  of {len(after.seconds):3} turns; steps {steps}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", help="a revision of this repository")
    parser.add_argument("new", nargs="?", help="another; without it this checkout as it is")
    parser.add_argument("--only", default="", help="rows of the benchmark whose name contains this")
    parser.add_argument("--seconds", type=float, default=10, help="for each row")
    asked = parser.parse_args()
    rows = [row for group in GROUPS for row in rows_of(group, False) if asked.only in row.title and row.tol >= 1e-6]
    with tempfile.TemporaryDirectory() as scratch:
        cores = []
        for name, revision in (("old_core", asked.old), ("new_core", asked.new)):
            sources = ROOT
            if revision is not None:
                sources = Path(scratch, name)
                sources.mkdir()
                archive = subprocess.run(["git", "-C", str(ROOT), "archive", revision], check=True, capture_output=True)
                subprocess.run(["tar", "-x", "-C", str(sources)], check=True, input=archive.stdout)
            cores.append(compiled(sources, Path(scratch, name + "_build"), name))
        for row in rows:
            print(compare(row, cores[0], cores[1], asked.seconds), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
