"""Solves every shipped spec on real data by every backend that takes it, and compares what is certified.

    python tests/campaigns/solve_rows.py [--minutes 10] [--sizes 50,200,2000] [ROW ...]

needs the shared data (KDSL_SHARED, default ../shared). Small sizes come first; what the time does not reach is
counted. Above the second size only the default backend is asked. One line a solve, then a summary.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kdsl.binding.reading import read_table
from kdsl.language.diagnostics import KdslError
from kdsl.solving.api import solve
from kdsl.solving.backends.registry import shipped

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("KDSL_SHARED", ROOT.parent / "shared"))
TWO_CLASSES = ("heart_scale.svm", "splice_scale.svm.gz", "keel_twonorm.dat.gz")
RESPONSES = ("housing_scale.svm", "abalone.csv.gz", "cal_housing.csv.gz")
CLASSES = ("satimage_train.csv.gz", "pendigits.tra.csv.gz")
SIGNED = ("svm", "loss_hinge", "loss_squared_hinge", "loss_huberized", "loss_perceptron", "loss_logistic", "monotone")
SEVERAL = ("multiclass_delta", "loss_multinomial")
CONIC = ("loss_logistic", "loss_multinomial")
LARGEST_CONIC, LARGEST_READABLE = 200, 50
PARAMETERS: dict[str, dict[str, float]] = {
    "svm_1norm_unit": {"C": 0.05},
    "svm_2norm_unit": {"C": 1.0},
    "svm_nu": {"nu": 0.3},
    "svm_nu_sum": {"nu": 0.3},
    "svm_no_bias": {"b0": 0.1},
    "sphere_soft": {"C": 0.1},
    "lasso": {"lambda": 5.0},
}


class Line(NamedTuple):
    row: str
    data: str
    size: int
    backend: str
    status: str
    value: float
    rel_gap: float
    seconds: float

    def show(self) -> str:
        return (
            f"{self.row:28s} {self.data:22s} {self.size:5d} {self.backend:18s} {self.status:18s} "
            f"{self.value:16.9g} {self.rel_gap:8.1e} {self.seconds:7.2f}"
        )


@cache
def table(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Scaled features and answers, in an order drawn at random once."""
    found = read_table(SHARED / "data" / name)
    answer = found.label or ("class" if "class" in found.order else found.order[-1])
    rest = [column for column in found.order if column != answer]
    features = np.column_stack([np.asarray(found.column(column), dtype=float) for column in rest])
    y = np.asarray(found.column(answer), dtype=object)
    order = np.random.default_rng(0).permutation(len(y))
    spread = features.std(axis=0)
    features = (features - features.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    _, first = np.unique(features[order], axis=0, return_index=True)  # equal points have no hard margin
    order = order[np.sort(first)]
    return features[order], y[order]


def problem(row: str, name: str, size: int) -> dict[str, Any]:
    """The data of a row: `size` examples of a table."""
    features, answers = table(name)
    x, y = features[:size], answers[:size]
    rng = np.random.default_rng(1)
    data: dict[str, Any] = {"x": x}
    if row.startswith(("sphere", "one_class")):
        return data
    if row.startswith(SIGNED):
        data["y"] = np.where(np.unique(y, return_inverse=True)[1] == 0, -1.0, 1.0)
    elif row in SEVERAL:
        data["y"] = np.unique(y, return_inverse=True)[1]
    else:
        target = y.astype(float)
        data["y"] = (target - target.mean()) / target.std()
    if row == "multiclass_delta":
        count = int(data["y"].max()) + 1
        data["delta"] = 1.0 - np.eye(count)
    if row == "rank_pairs":
        data["q"] = (np.arange(size) // 10).astype(float)
    if row in ("svm_weighted", "monotone_groups"):
        data["s"] = rng.uniform(0.0, 2.0, size)
    if row == "monotone_groups":
        data["group"] = np.arange(size) % 3
        data["lo"] = x[:8]
        data["hi"] = x[:8] + np.abs(rng.normal(size=x[:8].shape))
    return data


def tables(row: str) -> tuple[str, ...]:
    if row in SEVERAL:
        return CLASSES
    return TWO_CLASSES if row.startswith((*SIGNED, "sphere", "one_class")) else RESPONSES


def attempt(row: str, name: str, size: int, backend: str | None, tol: float) -> Line | None:
    """One solve; None where the backend does not take the problem."""
    kernels = {} if row in ("lasso", "elastic_net") else {"q" if row in SEVERAL else "k": "rbf(gamma = scale)"}
    began = time.perf_counter()
    data = problem(row, name, size)
    try:
        found = solve(row, data, PARAMETERS.get(row, {}), kernels, backend=backend, tol=tol, time_limit=20.0)
    except KdslError as error:
        code = error.diagnostics[0].code
        if code == "K601":
            return None
        status = f"{getattr(error, 'status', '')} {code}".strip()
        return Line(row, name, size, backend or "default", status, np.nan, np.nan, time.perf_counter() - began)
    used = backend or f"({found.backend})"
    gap = found.certificate.rel_gap
    return Line(row, name, size, used, found.status, found.value, gap, time.perf_counter() - began)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--sizes", default="50,200,2000")
    parser.add_argument("row", nargs="*")
    arguments = parser.parse_args()
    rows = arguments.row or sorted(path.stem for path in (ROOT / "specs").glob("*.kspec"))
    sizes = [int(word) for word in arguments.sizes.split(",")]
    names = [backend.name for backend in shipped() if backend.installed()]
    deadline = time.perf_counter() + 60 * arguments.minutes
    declared = {backend.name: backend.accuracy for backend in shipped()}
    lines: list[Line] = []
    missed = 0
    print("row, data, l, backend, status, value, rel_gap, seconds")
    for size in sizes:
        for row in rows:
            for name in tables(row):
                used = min(size, len(table(name)[1]))
                asked: list[str | None] = [None] if size > sizes[min(1, len(sizes) - 1)] else [None, *names]
                for backend in asked:
                    if row in CONIC and (backend is not None or used > LARGEST_CONIC):
                        continue
                    if backend == "reference" and used > LARGEST_READABLE:
                        continue
                    if time.perf_counter() > deadline:
                        missed += 1
                        continue
                    line = attempt(row, name, used, backend, max(1e-6, declared.get(backend or "", 0.0)))
                    if line is not None:
                        lines.append(line)
                        print(line.show(), flush=True)
    return summary(lines, missed)


def summary(lines: list[Line], missed: int) -> int:
    """Statuses by backend, and the spread of the certified values of each problem."""
    print(f"\n{len(lines)} solves, {missed} not reached")
    for name in sorted({line.backend for line in lines}):
        own = [line for line in lines if line.backend == name]
        statuses = ", ".join(
            f"{count} {status}" for status, count in Counter(line.status for line in own).most_common()
        )
        print(f"  {name:20s} {statuses}; {sum(line.seconds for line in own):.1f} s")
    worst, where = 0.0, ""
    problems = {line[:3] for line in lines}
    for key in problems:
        values = [line.value for line in lines if line[:3] == key and line.status == "optimal" and line.rel_gap <= 1e-6]
        if len(values) > 1:
            spread = (max(values) - min(values)) / max(1.0, abs(values[0]))
            worst, where = max((worst, where), (spread, " ".join(map(str, key))))
    print(f"  certified values agree to {worst:.1e} ({where}) on {len(problems)} problems")
    return 1 if worst > 2e-6 else 0


if __name__ == "__main__":
    sys.exit(main())
