"""Solve a general quadratic program from a .mat or .npz file, and certify the answer."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from kdsl.cli.binding_options import tolerance, whole
from kdsl.cli.sources import Source, SpecError, report
from kdsl.cli.terminal import Console
from kdsl.cli.values import seconds
from kdsl.language.diagnostics import KdslError

if TYPE_CHECKING:
    from kdsl.solving.expand import ExplicitQP
    from kdsl.solving.general_qp import QPSolution

SCHEMA = 1
EXIT = {"optimal": 0, "infeasible": 1, "unbounded": 1, "infeasible_or_unbounded": 1}
OTHERWISE = 3


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "file", help="P, q, A, l, u (and r) in a .mat file; the same or P, q, G, h, A, b in an .npz file"
    )
    parser.add_argument("--psd", choices=("refuse", "accept"), default="refuse", help="a P with a negative eigenvalue")
    parser.add_argument("--backend", metavar="NAME", help="a backend that `kdsl backends` lists")
    parser.add_argument("--tol", type=tolerance, default=1e-6, help="relative gap and infeasibility allowed (1e-6)")
    parser.add_argument("--time-limit", type=seconds, metavar="SECONDS", default=float("inf"), help="of the solver")
    parser.add_argument("--max-iterations", type=whole, metavar="N", help="of the solver")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("-o", dest="output", metavar="FILE", help="write x, y and z to an .npz file")


def run(arguments: Namespace, console: Console) -> int:
    from time import perf_counter

    from kdsl.solving.backends.interface import Options
    from kdsl.solving.general_qp import solve_qp

    began = perf_counter()
    source = Source("", "", arguments.file)
    try:
        program = _read(arguments.file)
        read = perf_counter() - began
        options = Options(arguments.tol, max_iterations=arguments.max_iterations, time_limit=arguments.time_limit)
        found = solve_qp(program, arguments.backend, arguments.psd, options)
    except KdslError as error:
        raise SpecError(error.diagnostics, source) from None
    if arguments.json:
        import json

        console.out_file(
            json.dumps(_entry(arguments.file, program, found, read), indent=2, ensure_ascii=False, allow_nan=False)
            + "\n"
        )
    else:
        report(found.warnings, source, console)
        console.out(_text(arguments.file, program, found))
    if arguments.output is not None:
        _write(arguments.output, found)
    return EXIT.get(found.status, OTHERWISE)


def _read(path: str) -> ExplicitQP:
    from kdsl.binding.opening import missing_file
    from kdsl.solving.qp_files import read_qp

    try:
        return read_qp(path)
    except FileNotFoundError:
        raise missing_file(path) from None


def _write(path: str, found: QPSolution) -> None:
    """The whole file or the old one."""
    import io

    import numpy as np

    from kdsl.whole_file import replacing

    content = io.BytesIO()  # savez goes back in its file, which a pipe or a device cannot
    np.savez(content, x=found.x, y=found.y, z=found.z)
    with replacing(path) as file:
        file.write(content.getbuffer())


def _text(path: str, program: ExplicitQP, found: QPSolution) -> str:
    from kdsl.binding.faults import count

    c = found.certificate
    lines = [
        ("problem", f"{path}: {count(program.size, 'variable')}, {count(len(program.l), 'row')}"),
        ("P", found.psd.describe()),
        ("route", found.reason),
        ("status", f"{found.status}, by {found.backend}"),
    ]
    if found.witness is None:
        lines += [
            ("value", f"{c.value:.9g}"),
            ("dual", f"{c.dual:.9g}"),
            ("gap", f"{c.gap:.2g} (relative {c.rel_gap:.2g})"),
            ("primal residual", f"{c.primal_residual:.2g} (relative {c.relative_primal:.2g})"),
            ("dual residual", f"{c.dual_residual:.2g} (relative {c.relative_dual:.2g})"),
        ]
    elif found.status == "infeasible":
        lines.append(("witness", "multipliers of rows and bounds that no point can satisfy were found and checked"))
    else:
        lines.append(("witness", "a direction along which the value falls for ever was found and checked"))
    lines.append(("seconds", f"{found.seconds['total']:.2g}"))
    return "".join(f"{name:<16} {value}\n" for name, value in lines)


def _entry(path: str, program: ExplicitQP, found: QPSolution, read: float) -> dict[str, object]:
    c = found.certificate
    return {
        "schema": SCHEMA,
        "status": found.status,
        "file": path,
        "n": program.size,
        "rows": len(program.l),
        "backend": found.backend,
        "reason": found.reason,
        "value": _number(c.value),
        "dual": _number(c.dual),
        "gap": _number(c.gap),
        "rel_gap": _number(c.rel_gap),
        "primal_residual": _number(c.primal_residual),
        "dual_residual": _number(c.dual_residual),
        "relative_residuals": {"primal": _number(c.relative_primal), "dual": _number(c.relative_dual)},
        "psd": {
            "verdict": found.psd.verdict,
            "exact": found.psd.exact,
            "at_least": _number(found.psd.at_least),
            "at_most": _number(found.psd.at_most),
        },
        "iterations": found.iterations,
        "seconds": {"read": read, **found.seconds, "total": read + found.seconds["total"]},
        "witness": None if found.witness is None else found.witness.tolist(),
        "warnings": [{"code": w.code, "message": w.message, "why": w.why, "help": w.help} for w in found.warnings],
    }


def _number(value: float) -> float | None:
    """JSON has no infinities."""
    return value if abs(value) < float("inf") else None
