"""Computes a saved solution again from its file and the data, and says which stored figure no longer holds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kdsl.algebra.derivation import derive
from kdsl.algebra.energies import conic_form
from kdsl.algebra.numeric import Array
from kdsl.binding.bound import Bound
from kdsl.binding.distances import to_dense
from kdsl.binding.faults import fault
from kdsl.binding.kernels import DEFAULT_MEMORY
from kdsl.binding.parameters import bind_parameters
from kdsl.binding.python_kernel import Function
from kdsl.binding.records import record_features, record_labels
from kdsl.language.diagnostics import Diagnostic
from kdsl.models.model_file import LoadedModel, read_container, restore, slimmed
from kdsl.models.predictor import Predictor
from kdsl.models.training_data import OtherData, bound_as_then
from kdsl.solving.certificate import Certificate, relative_gap
from kdsl.solving.certify import certify
from kdsl.solving.conic_point import nothing
from kdsl.solving.lowering import lower
from kdsl.solving.posed import pose
from kdsl.solving.predicting import predictor_of
from kdsl.solving.summary import quantities_of, scalars_of, support_of
from kdsl.solving.watched import Step, watched

STATUSES = ("optimal", "optimal_inaccurate", "user_limit", "solver_error")
ACCURACY = 1e-9  # relative; what two computations of the same number may differ by


@dataclass(frozen=True, eq=False)
class Figure:
    """One figure of the certificate: as the file has it, and as it comes out now."""

    name: str
    stored: float | None
    computed: float | None
    holds: bool


@dataclass(frozen=True, eq=False)
class Verification:
    """`findings` is empty where everything holds."""

    loaded: LoadedModel
    figures: tuple[Figure, ...]
    findings: tuple[Diagnostic, ...]

    @property
    def holds(self) -> bool:
        return not self.findings


def verify_model(
    path: str,
    data: Any,
    functions: Mapping[str, Function] | None = None,
    memory: int = DEFAULT_MEMORY,
    step: Step | None = None,
) -> Verification:
    """Check the file's checksums, bind the data as then, and compute value, dual, gap and residuals again."""
    loaded = restore(read_container(path), path, functions)
    if loaded.certificate is None:
        raise fault(
            "K676",
            f"`{path}` has no certificate to check",
            str(loaded.header["message"]),
            "certify it with `kdsl import-libsvm --data FILE`, or solve its spec on the data",
        )
    findings: list[Diagnostic] = list(loaded.damage)
    try:
        bound = bound_as_then(loaded, data)
    except OtherData as other:
        return Verification(loaded, (), (*findings, *other.diagnostics))
    findings += data_findings(loaded, bound)
    asked = loaded.header["binding"]
    policy, seed = asked.get("psd", "refuse"), asked.get("seed", 0)
    predictor = loaded.fitted.predictor
    outer, support = loaded.header["outer"], loaded.header["support"]
    quantities = {name: float(value) for name, value in loaded.header["quantities"].items()}
    try:
        parameters = bind_parameters(loaded.model, predictor.parameters)
        known = {name: Fraction(value) for name, value in parameters.items()}
        outer = None if outer is None else float(outer)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        findings.append(differs("parameters", f"they do not fit the model: {error}"))
        return Verification(loaded, (), tuple(findings))
    posed = pose(derive(loaded.model, known), bound, parameters, predictor.kernels, memory, policy, seed)
    posed = posed if step is None else watched(posed, step)
    if outer is None and posed.energies.outer is not None:  # no search found the norm's multiplier
        posed = replace(posed, energies=conic_form(posed.derivation))
    if (outer is None) != (posed.energies.outer is None):
        findings.append(differs("theta", "it has a multiplier of the norm too many or too few"))
        return Verification(loaded, (), tuple(findings))
    lowered = lower(posed.energies, posed.values, posed.spaces, outer, posed.saturated)
    needed = len(nothing(posed, lowered))
    if len(loaded.theta) != needed or not np.isfinite(loaded.theta).all():
        findings.append(differs("theta", f"it is to be {needed:,} finite numbers"))
        return Verification(loaded, (), tuple(findings))
    point = certify(posed, loaded.theta, outer, lowered)
    figures = compared(loaded.certificate, point.certificate)
    findings += [
        differs(f.name, f"stored {words(f.stored)}, computed {words(f.computed)}") for f in figures if not f.holds
    ]
    findings += consistency(loaded.certificate)
    findings += array_findings("theta", loaded.theta, point.theta)
    findings += multiplier_findings(loaded, point.multipliers)
    findings += predictor_findings(predictor, predictor_of(posed, point))
    findings += status_findings(loaded, point.certificate)
    findings += [differs("support", words) for words in record_differences(asdict(support_of(point)), support)]
    findings += scalar_findings(quantities, quantities_of(posed, point))
    findings += scalar_findings(loaded.scalars, scalars_of(posed, point))
    return Verification(loaded, tuple(figures), tuple(findings))


# ------------------------------------------------------------------- the parts


def data_findings(loaded: LoadedModel, bound: Bound) -> list[Diagnostic]:
    """The data as bound now against what the file says of them: sizes, features and labels."""
    header = loaded.header
    records = {
        "sizes": (dict(bound.sizes), header["data"]["sizes"]),
        "features": ({n: record_features(m) for n, m in bound.feature_maps.items()}, header["features"]),
        "labels": ({n: record_labels(m) for n, m in bound.label_maps.items()}, header["labels"]),
        "label sets": ({n: record_labels(m) for n, m in bound.label_sets.items()}, header["label_sets"]),
    }
    return [
        differs(what, place) for what, (now, stored) in records.items() for place in record_differences(now, stored)
    ]


def record_differences(now: Any, stored: Any, place: str = "") -> list[str]:
    """Where two plain values differ; numbers may differ by rounding."""
    if isinstance(now, Mapping) and isinstance(stored, Mapping):
        keys = sorted({*now, *stored})
        return [d for key in keys for d in record_differences(now.get(key), stored.get(key), f"{place}.{key}")]
    if isinstance(now, (list, tuple)) and isinstance(stored, (list, tuple)) and len(now) == len(stored):
        pairs = enumerate(zip(now, stored, strict=True))
        return [d for n, (a, b) in pairs for d in record_differences(a, b, f"{place}[{n}]")]
    if isinstance(now, float) and isinstance(stored, (int, float)) and close(now, float(stored), max(1.0, abs(now))):
        return []
    return [] if now == stored else [f"{place.lstrip('.')}: stored {stored!r}, computed {now!r}"]


def compared(stored: Certificate, now: Certificate) -> list[Figure]:
    """Every figure of the certificate, to 1e-9 of the size of the objective."""
    own = now.size if math.isfinite(now.value) else 1.0
    size = max(1.0, own)
    objective = (("value", stored.value, now.value), ("dual", stored.dual, now.dual), ("gap", stored.gap, now.gap))
    figures = [Figure(name, a, b, close(a, b, own)) for name, a, b in objective]
    figures += [
        Figure(name, a, b, close(a, b, size))
        for name, a, b in (
            ("rel_gap", stored.rel_gap, now.rel_gap),
            ("kkt_gap", stored.kkt_gap, now.kkt_gap),
            ("primal_residual", stored.primal_residual, now.primal_residual),
            ("dual_residual", stored.dual_residual, now.dual_residual),
        )
    ]
    then = {r.condition: r for r in stored.residuals}
    here = {r.condition: r for r in now.residuals}
    for name in {**then, **here}:
        a = then[name].value if name in then else None
        b = here[name].value if name in here else None
        figures.append(Figure(f"residual of {name}", a, b, close(a, b, size)))
    return figures


def close(a: float | None, b: float | None, size: float) -> bool:
    if a is None or b is None:
        return a is b
    return a == b or abs(a - b) <= ACCURACY * size or (math.isnan(a) and math.isnan(b))


def consistency(stored: Certificate) -> list[Diagnostic]:
    """The gap follows from value and dual to the last bit, whatever it was computed on."""
    found = []
    if math.isfinite(stored.value) and math.isfinite(stored.dual):
        if stored.gap != abs(stored.value - stored.dual):
            found.append(
                differs("gap", f"stored {stored.gap!r}, |value - dual| is {abs(stored.value - stored.dual)!r}")
            )
        expected = relative_gap(stored.value, stored.dual, stored.unit)
        if stored.rel_gap != expected:
            found.append(differs("rel_gap", f"stored {stored.rel_gap!r}, value and dual give {expected!r}"))
    return found


def status_findings(loaded: LoadedModel, now: Certificate) -> list[Diagnostic]:
    """Nothing is called optimal that the certificate does not prove at the tolerances asked for."""
    asked, stored = loaded.header["asked"], loaded.status
    kkt_tol = None if asked["kkt_tol"] is None else float(asked["kkt_tol"])
    proven = now.status(float(asked["tol"]), kkt_tol)
    if stored not in STATUSES or (stored == "optimal" and proven != "optimal"):
        return [differs("status", f"stored {stored}, the certificate proves {proven or 'nothing'}")]
    return []


def multiplier_findings(loaded: LoadedModel, now: Mapping[str, Array]) -> list[Diagnostic]:
    found = []
    for name in {**loaded.multipliers, **now}:
        a, b = loaded.multipliers.get(name), now.get(name)
        if a is None or b is None:
            found.append(differs(f"multiplier {name}", "it is there on one side only"))
        else:
            found += array_findings(f"multiplier {name}", a, np.asarray(b))
    return found


def predictor_findings(stored: Predictor, now: Predictor) -> list[Diagnostic]:
    """Expansions, support points and scalars that predict."""
    found = []
    for name, vector in now.vectors.items():
        then = stored.vectors.get(name)
        if then is None:
            found.append(differs(f"expansion of {name}", "it is missing"))
            continue
        found += array_findings(f"expansion of {name}", then.coefficients, vector.coefficients)
        found += array_findings(f"||{name}||^2", np.asarray(then.squared_norms), np.asarray(vector.squared_norms))
    for name, points in now.support.items():
        here = to_dense(slimmed(points, now.kernels[name]))
        there = to_dense(stored.support[name]) if name in stored.support else np.empty((0, 0))
        found += array_findings(f"support points of {name}", there, here)
    for space, kept in now.kept.places.items():
        found += kept_findings(f" in {space}", stored.kept.places.get(space, {}), kept)
    found += kept_findings("", stored.kept.numbers, now.kept.numbers)
    found += kept_findings("", stored.kept.labels, now.kept.labels)
    for name, value in now.scalars.items():
        found += array_findings(f"scalar {name}", np.asarray(stored.scalars.get(name, math.nan)), np.asarray(value))
    return found


def kept_findings(where: str, stored: Mapping[str, NDArray[Any]], now: Mapping[str, NDArray[Any]]) -> list[Diagnostic]:
    """The data that predict clauses speak of."""
    pairs = {name: (np.asarray(stored.get(name, math.nan), float), value.astype(float)) for name, value in now.items()}
    return [d for name, (there, here) in pairs.items() for d in array_findings(f"data {name}{where}", there, here)]


def scalar_findings(stored: Mapping[str, float], now: Mapping[str, float]) -> list[Diagnostic]:
    found = []
    for name in {**stored, **now}:
        a, b = stored.get(name), now.get(name)
        if not close(a, b, 1.0 if b is None else max(1.0, abs(b))):
            found.append(differs(f"scalar {name}", f"stored {words(a)}, computed {words(b)}"))
    return found


def array_findings(name: str, stored: Array, now: Array) -> list[Diagnostic]:
    """The worst entry that differs by more than 1e-9 of the largest."""
    if stored.shape != now.shape:
        return [differs(name, f"stored with shape {stored.shape}, computed with shape {now.shape}")]
    if now.size == 0:
        return []
    error = np.where(np.isnan(stored) & np.isnan(now), 0.0, np.abs(stored - now))
    largest = float(np.abs(now[np.isfinite(now)]).max(initial=0.0))
    place = np.unravel_index(int(np.argmax(np.where(np.isnan(error), np.inf, error))), now.shape)
    if error[place] <= ACCURACY * max(largest, 1e-300) or (stored[place] == now[place]):
        return []
    at = f"[{', '.join(str(int(n) + 1) for n in place)}]" if place else ""
    return [differs(name + at, f"stored {float(stored[place])!r}, computed {float(now[place])!r}")]


def differs(name: str, why: str) -> Diagnostic:
    return Diagnostic("K657", f"`{name}` is not what the data and the dual point give", (), why, HELP)


HELP = "the file was changed, or it was written by a kdsl that computes otherwise: solve again"


def words(value: float | None) -> str:
    return "nothing" if value is None else f"{value:.17g}"
