"""Solves the shipped specs by every backend that takes them, and compares the certified values.

    python tests/campaigns/every_backend.py [--sizes 2,20,200] [--tol 1e-6] [--kernel linear] [SPEC ...]

Prints a line for each solve that is not optimal though its backend declares the tolerance, or whose value differs from
the others' by more than 1e-6; then how many solves there were, and how many of each status.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

import numpy as np

import kdsl
from kdsl.language.diagnostics import KdslError
from kdsl.solving.backends.registry import shipped

CLASSES = "svm_1norm svm_2norm svm_hard svm_nu_sum svm_nu svm_no_bias svm_1norm_unit svm_2norm_unit svm_hard_unit"
LOSSES = "loss_hinge loss_squared_hinge loss_perceptron loss_huberized_squared_hinge"
RESPONSES = (
    "ridge ridge_bias svr_linear_eps svr_quadratic_eps svr_nu loss_absolute loss_eps_insensitive "
    "loss_eps_insensitive_squared loss_huber loss_pinball loss_squared"
)
ALONE = "one_class sphere_hard sphere_nu sphere_soft"
SAME = 1e-6


def table(spec: str, size: int, seed: int) -> dict[str, object]:
    """Points, and what the spec wants beside them; separable labels for hard margins."""
    random = np.random.default_rng([size, seed])
    x = random.standard_normal((size, 3))
    if spec in ALONE.split():
        return {"x": x}
    if spec in RESPONSES.split():
        return {"x": x, "y": np.sin(2 * x[:, 0]) + 0.2 * random.standard_normal(size)}
    hard = "hard" in spec
    score = x[:, 0] + x[:, 1] if hard else x[:, 0] + x[:, 1] ** 2 - 1 + 0.5 * random.standard_normal(size)
    y = np.where(score > np.median(score) - 1e-9, 1.0, -1.0)
    return {"x": x, "y": y if len(set(y)) == 2 else np.where(np.arange(size) % 2, 1.0, -1.0)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="2,20,200")
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--backend", nargs="*")
    parser.add_argument("--kernel", default="rbf(gamma = 0.5)")
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("spec", nargs="*")
    arguments = parser.parse_args()
    specs = arguments.spec or f"{CLASSES} {LOSSES} {RESPONSES} {ALONE}".split()
    installed = [b for b in shipped() if b.installed() and (not arguments.backend or b.name in arguments.backend)]
    counts: Counter[str] = Counter()
    bad = 0
    for spec in specs:
        for size in map(int, arguments.sizes.split(",")):
            values: dict[str, float] = {}
            for backend in [None, *installed]:
                name = backend.name if backend else "default"
                began = time.perf_counter()
                try:
                    found = kdsl.solve(
                        spec,
                        data=table(spec, size, 0),
                        kernels={"k": arguments.kernel},
                        backend=backend.name if backend else None,
                        tol=arguments.tol,
                        time_limit=arguments.time_limit,
                    )
                    status, value, gap = found.status, found.value, found.certificate.rel_gap
                    told = found.backend
                except KdslError as error:
                    if error.diagnostics[0].code == "K601":
                        continue
                    status, value, gap, told = error.diagnostics[0].code, np.nan, np.nan, error.diagnostics[0].message
                counts[f"{name} {status}"] += 1
                declared = backend is None or backend.accuracy <= arguments.tol
                if status == "optimal":
                    values[name] = value
                elif declared:
                    bad += 1
                    seconds = time.perf_counter() - began
                    print(f"{spec} l={size} {name}: {status} rel_gap {gap:.1e} {seconds:.1f}s {told}", flush=True)
            spread = max(values.values()) - min(values.values()) if values else 0.0
            if spread > SAME * max([1.0, *map(abs, values.values())]):
                bad += 1
                print(f"{spec} l={size}: certified values differ by {spread:.1e}: {values}", flush=True)
    for line, count in sorted(counts.items()):
        print(f"{count:5} {line}")
    print(f"{sum(counts.values())} solves, {bad} to look at")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
