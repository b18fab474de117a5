"""A Solution as one JSON object for programs (the contract of `kdsl solve --json`) and as a compact text for people."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from kdsl.binding.bound import Bound
from kdsl.binding.faults import count
from kdsl.binding.psd import PsdReport
from kdsl.language.diagnostics import Diagnostic
from kdsl.language.model import Model
from kdsl.models.solution import Solution
from kdsl.solving.certificate import Certificate, Residual
from kdsl.solving.infeasibility import NoSolution
from kdsl.solving.posed import Posed

SCHEMA = 1
WORST = 3  # residuals that the text shows
SMALL = 1e-12  # residuals below this are rounding


def solution_entry(solution: Solution) -> dict[str, Any]:
    """Everything that the contract promises, as plain values."""
    return {
        **problem_entry(solution.derivation.model, solution.bound, solution.parameters),
        "status": solution.status,
        "message": solution.message,
        "backend": solution.backend,
        "reason": solution.reason,
        "kernels": {name: kernel.description for name, kernel in solution.predictor.kernels.items()},
        **certificate_entry(solution.certificate),
        "iterations": solution.iterations,
        "seconds": dict(solution.seconds),
        "scalars": {name: number(value) for name, value in solution.scalars.items()},
        "intervals": {name: [number(low), number(high)] for name, (low, high) in solution.intervals.items()},
        "support": asdict(solution.support),
        "quantities": {name: number(value) for name, value in quantities(solution).items()},
        "psd": {name: psd_entry(report) for name, report in solution.grams.items()},
        "witness": {},
        "warnings": [warning_entry(w) for w in solution.warnings],
    }


def no_solution_entry(posed: Posed, error: NoSolution, seconds: Mapping[str, float]) -> dict[str, Any]:
    """The same object where there is no solution: what has no value is null, and the witness is there."""
    nothing = dict.fromkeys(("backend", "value", "dual", "gap", "rel_gap", "sv_gap", "kkt_gap"))
    diagnostic = error.diagnostics[0]
    return {
        **problem_entry(posed.derivation.model, posed.bound, posed.parameters),
        "status": error.status,
        "message": f"{diagnostic.code}: {diagnostic.message}",
        **nothing,
        "reason": diagnostic.why,
        "kernels": {name: kernel.description for name, kernel in posed.kernels.items()},
        "primal_residual": None,
        "dual_residual": None,
        "iterations": 0,
        "seconds": {"read": 0.0, "lower": 0.0, "solve": 0.0, "certify": 0.0, "total": 0.0, **seconds},
        "scalars": {},
        "intervals": {},
        "residuals": [],
        "support": {"total": 0, "bound": 0, "free": 0},
        "quantities": {},
        "psd": {},
        "witness": {name: number(weight) for name, weight in error.witness.items()},
        "warnings": [warning_entry(w) for w in posed.bound.warnings],
        "diagnostics": [warning_entry(d) for d in error.diagnostics],
    }


def problem_entry(model: Model, bound: Bound, parameters: Mapping[str, float]) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "model": model.name,
        "n": examples(model, bound),
        "d": features(bound),
        "params": dict(parameters),
        "labels": {name: label_map.describe() for name, label_map in bound.label_maps.items()},
        "data": {"hash": bound.data_hash, "sources": dict(bound.sources), "dropped": dict(bound.dropped)},
    }


def certificate_entry(certificate: Certificate) -> dict[str, Any]:
    return {
        "value": number(certificate.value),
        "dual": number(certificate.dual),
        "gap": number(certificate.gap),
        "rel_gap": number(certificate.rel_gap),
        "sv_gap": number(certificate.sv_gap),
        "kkt_gap": None if certificate.kkt_gap is None else number(certificate.kkt_gap),
        "primal_residual": number(certificate.primal_residual),
        "dual_residual": number(certificate.dual_residual),
        "residuals": [
            {"condition": r.condition, "value": number(r.value), "index": list(r.index)} for r in certificate.residuals
        ],
    }


def psd_entry(report: PsdReport) -> dict[str, Any]:
    return {
        "verdict": report.verdict,
        "exact": report.exact,
        "at_least": number(report.at_least),
        "at_most": number(report.at_most),
    }


def warning_entry(warning: Diagnostic) -> dict[str, str]:
    return {"code": warning.code, "message": warning.message, "why": warning.why, "help": warning.help}


def number(value: float) -> float | None:
    """JSON has neither infinities nor NaN; zero has no sign."""
    return float(value) + 0.0 if math.isfinite(value) else None


def examples(model: Model, bound: Bound) -> int:
    """The size of the first index set; 0 where the model has none."""
    if not model.indices:
        return 0
    size = model.indices[0].sets[0].size
    return int(size) if size.isdigit() else bound.sizes[size]


def features(bound: Bound) -> int:
    return len(next(iter(bound.feature_maps.values())).names) if bound.feature_maps else 0


def quantities(solution: Solution) -> dict[str, float]:
    """What is worth knowing besides the scalars; the smallest eigenvalue where a Gram matrix was audited."""
    audited = {f"lambda_min({name})": report.at_most for name, report in solution.grams.items()}
    return {**solution.quantities, **audited}


def solution_text(solution: Solution) -> str:
    """A few aligned lines: the problem, the route, the status, the certificate, and what was found."""
    model, bound = solution.derivation.model, solution.bound
    lines = [("problem", f"{model.name}: {count(examples(model, bound), 'example')}, {features_words(bound)}")]
    lines += [("labels", f"{name}: {m.describe()}") for name, m in bound.label_maps.items()]
    if bound.feature_maps and bound.scaling.kind != "none":
        lines.append(("units", f"of features scaled ({bound.scaling.kind}), here and below"))
    lines += [("kernel", f"{name} = {kernel.description}") for name, kernel in solution.predictor.kernels.items()]
    lines += [("audit", f"{name}: {report.describe()}") for name, report in solution.grams.items()]
    if solution.parameters:
        lines.append(("parameters", ", ".join(f"{name} = {value:.6g}" for name, value in solution.parameters.items())))
    lines.append(("route", solution.reason))
    if solution.facts.get("how"):
        lines.append(("strategy", str(solution.facts["how"])))
    stopped = "" if solution.status == "optimal" else f" ({solution.message})"
    lines.append(("status", solution.status + stopped))
    lines += certificate_lines(solution.certificate)
    support = solution.support
    lines.append(("support", f"{support.total:,} nonzero: {support.free:,} free, {support.bound:,} at a bound"))
    for name, value in solution.scalars.items():
        interval = solution.intervals.get(name)
        unique = "" if interval is None else f" ({range_words(interval)} is as good)"
        lines.append((name, f"{figure(value)}{unique}"))
    lines += [(name, figure(value)) for name, value in quantities(solution).items()]
    seconds = solution.seconds
    parts = ", ".join(f"{name} {seconds[name]:.2g}" for name in ("read", "lower", "solve", "certify"))
    lines.append(("effort", f"{count(solution.iterations, 'iteration')}, {seconds['total']:.2g} s ({parts})"))
    return aligned(lines)


def certificate_lines(certificate: Certificate) -> list[tuple[str, str]]:
    lines = [
        ("value", figure(certificate.value)),
        ("dual", figure(certificate.dual)),
        ("gap", f"{certificate.gap:.2g} (relative {certificate.rel_gap:.2g}; (7.3) of SV {certificate.sv_gap:.2g})"),
    ]
    if certificate.kkt_gap is not None:
        lines.append(("m - M", f"{certificate.kkt_gap:.2g}"))
    worst = sorted((r for r in certificate.residuals if r.value > SMALL), key=lambda r: -r.value)[:WORST]
    return lines + [("residual", residual_words(r)) for r in worst]


def range_words(interval: tuple[float, float]) -> str:
    """Where a scalar may lie, whose ends may be infinite."""
    low, high = interval
    if math.isinf(low):
        return "any value" if math.isinf(high) else f"any value up to {figure(high)}"
    return f"any value from {figure(low)} on" if math.isinf(high) else f"any value of [{figure(low)}, {figure(high)}]"


def figure(value: float) -> str:
    """A number in nine digits; zero has no sign."""
    return f"{value + 0.0:.9g}"


def residual_words(residual: Residual) -> str:
    place = f" at [{', '.join(str(n + 1) for n in residual.index)}]" if residual.index else ""
    return f"{residual.value:.2g} in {residual.condition}{place}"


def features_words(bound: Bound) -> str:
    return count(features(bound), "feature")


def aligned(lines: list[tuple[str, str]]) -> str:
    width = max(len(name) for name, _ in lines)
    return "".join(f"{name.ljust(width)}  {value}\n" for name, value in lines)
