"""Solves every Maros-Meszaros problem and every file of peers/qp, and compares with the published optima.

    python tests/campaigns/general_qp.py [--backend NAME] [--tol 1e-6] [FILE ...]

needs the shared data (KDSL_SHARED, default ../shared). Prints one line a problem, and how many are within 1e-5.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
from pathlib import Path

from kdsl.language.diagnostics import KdslError
from kdsl.solving.backends.interface import Options
from kdsl.solving.general_qp import QPSolution, solve_qp
from kdsl.solving.qp_files import read_qp

CLOSE = 1e-5
SHARED = Path(os.environ.get("KDSL_SHARED", Path(__file__).resolve().parents[3] / "shared"))


def published(peers: Path) -> dict[Path, float]:
    """Each file with its published optimum."""
    with open(peers / "maros_meszaros" / "OPT.csv", newline="") as file:
        optima = {
            peers / "maros_meszaros" / f"{row['name']}.mat": float(row["OPT_BPMPD"]) for row in csv.DictReader(file)
        }
    with open(peers / "qp" / "free_for_all_mpc_OBJ.csv", newline="") as file:
        for row in csv.DictReader(file):
            optima[peers / "qp" / row["file"].rpartition("/")[2]] = float(row["obj(clarabel 1e-9)"])
    return optima


def attempt(path: Path, backend: str | None, tol: float) -> tuple[QPSolution, str]:
    """Solve a file; one that the audit refuses is solved under `accept`, and said to be."""
    program = read_qp(str(path))
    options = Options(tol=tol, time_limit=120.0)
    try:
        return solve_qp(program, backend, options=options), ""
    except KdslError as error:
        note = error.diagnostics[0].code
    return solve_qp(program, backend, "accept", options), f"{note}, then --psd accept"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend")
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("file", nargs="*", type=Path)
    arguments = parser.parse_args()
    optima = published(SHARED / "peers")
    wanted = {path.name for path in arguments.file}
    chosen = {p: optima[p] for p in optima if p.exists() and (not wanted or p.name in wanted)}
    close, certified = 0, 0
    for path, optimum in chosen.items():
        began = time.perf_counter()
        found, note = attempt(path, arguments.backend, arguments.tol)
        c = found.certificate
        error = abs(c.value - optimum) / max(1.0, abs(optimum))
        close += error <= CLOSE
        certified += found.status == "optimal"
        steps = " ".join(warning.code for warning in found.warnings)
        print(
            f"{path.name:<16} {found.status:<18} {c.value: .9e} error {error:.1e} rel_gap {c.rel_gap:.1e} "
            f"primal {c.relative_primal:.1e} dual {c.relative_dual:.1e} {found.backend} "
            f"{time.perf_counter() - began:.2f}s {steps} {note}".rstrip(),
            flush=True,
        )
    print(f"{close} of {len(chosen)} within {CLOSE:g} of the published optimum, {certified} certified optimal")
    return 0 if close == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
