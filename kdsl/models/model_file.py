"""What a model file holds: enough to predict, to show and to verify a solution without the program that found it.

The container (kdsl/models/container.py) holds a header with the spec's text, parameters, kernels with their numbers,
how the data were bound and their hash, feature and label maps, the certificate, scalars and versions; and as arrays
the expansion over the support points, the data that predict clauses speak of, the multipliers that are not zero, and
the dual point in the coordinates of the normal form, from which everything else can be computed again.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kdsl.algebra.numeric import Array
from kdsl.binding.binder import named_features
from kdsl.binding.bound import LabelMap, LabelSet
from kdsl.binding.faults import fault
from kdsl.binding.kernels import Kernel
from kdsl.binding.opening import read_bytes
from kdsl.binding.precomputed import Precomputed
from kdsl.binding.psd import PsdReport, Repair
from kdsl.binding.python_kernel import Function
from kdsl.binding.records import (
    functions_of,
    record_features,
    record_kernel,
    record_labels,
    restore_features,
    restore_kernel,
    restore_labels,
)
from kdsl.language.diagnostics import Diagnostic, KdslError
from kdsl.language.model import Model
from kdsl.models.container import AGAIN, Container, pack, unpack
from kdsl.models.fitted import Fitted
from kdsl.models.header_form import NOTHING, check_fit, check_form, try_out
from kdsl.models.kept import Kept
from kdsl.models.predictor import Expanded, Predictor
from kdsl.models.solution import Solution
from kdsl.models.unfinished import doubt_of, warn_once
from kdsl.models.voting import voting_of
from kdsl.numerics.arrays import Floats, Matrix
from kdsl.solving.certificate import Certificate, Residual
from kdsl.whole_file import replacing

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A solution as its file has it."""

    path: str
    header: Mapping[str, Any]
    certificate: Certificate | None  # None where the model was imported without one
    fitted: Fitted
    multipliers: Mapping[str, Array]
    theta: Floats
    damage: tuple[Any, ...] = ()

    @property
    def model(self) -> Model:
        return self.fitted.model

    @property
    def status(self) -> str:
        return str(self.header["status"])

    @property
    def scalars(self) -> dict[str, float]:
        return {name: float(value) for name, value in self.header["scalars"].items()}

    @property
    def doubt(self) -> Diagnostic | None:
        """The warning (K679) that goes with predictions where the model is not proven."""
        header = self.header
        return doubt_of(self.path, self.status, str(header["message"]), str(header["backend"]))

    def decision(
        self, points: object, extra: Mapping[str, Sequence[Any]] | None = None, clause: str | None = None
    ) -> Array:
        """The values that a predict clause is about, at new points in the units of the data.

        clause: its kind, such as "probability", where it is not the first.
        """
        warn_once(self)
        fitted = self.fitted.answering(clause)
        return fitted.predict_both(*fitted.from_points(points, extra))[1]

    def predict(
        self, points: object, extra: Mapping[str, Sequence[Any]] | None = None, clause: str | None = None
    ) -> Array:
        """What a predict clause says at new points, labels as the data spelt them; `clause` as for `decision`."""
        warn_once(self)
        fitted = self.fitted.answering(clause)
        return fitted.predict_both(*fitted.from_points(points, extra))[0]


# --------------------------------------------------------------------- writing


def save_model(solution: Solution, path: str) -> None:
    """Write the model file, whole or not at all."""
    content = pack(*contents(solution))
    with replacing(path) as file:
        file.write(content)


def contents(solution: Solution) -> tuple[dict[str, Any], Arrays]:
    """The header and the arrays of a solution's file."""
    from importlib.metadata import version

    bound, predictor = solution.bound, solution.predictor
    arrays: Arrays = {}
    header: dict[str, Any] = {
        "model": solution.derivation.model.name,
        "spec": solution.derivation.model.source,
        "parameters": reals(solution.parameters),
        "kernels": {name: record_kernel(kernel) for name, kernel in predictor.kernels.items()},
        "binding": plain(solution.binding),
        "data": {"hash": bound.data_hash, "sizes": dict(bound.sizes), "sources": dict(bound.sources)},
        "features": {name: record_features(m) for name, m in bound.feature_maps.items()},
        "labels": {name: record_labels(m) for name, m in bound.label_maps.items()},
        "label_sets": {name: record_labels(m) for name, m in bound.label_sets.items()},
        "asked": dict(solution.asked),
        "status": solution.status,
        "message": solution.message,
        "backend": solution.backend,
        "reason": solution.reason,
        "certificate": record_certificate(solution.certificate),
        "scalars": reals(solution.scalars),
        "intervals": {name: [real(low), real(high)] for name, (low, high) in solution.intervals.items()},
        "support": asdict(solution.support),
        "quantities": reals(solution.quantities),
        "iterations": solution.iterations,
        "outer": solution.outer,
        "grams": {name: {**asdict(g), **reals(bounds_of(g))} for name, g in solution.grams.items()},
        "vectors": {},
        "unknowns": {},
        "repairs": {},
        "points": {},
        "kept": {"places": {}},
        "multipliers": {},
        "theta": put_sparse("theta", solution.theta, arrays),
        "versions": {"kdsl": version("kdsl"), "numpy": version("numpy"), "scipy": version("scipy")},
    }
    for name, vector in predictor.vectors.items():
        arrays[f"vectors/{name}/coefficients"] = vector.coefficients
        arrays[f"vectors/{name}/squared_norms"] = np.asarray(vector.squared_norms, dtype=np.float64)
        header["vectors"][name] = {"space": vector.space, "shape": list(vector.shape)}
    for name, points in predictor.support.items():
        header["points"][name] = put_points(f"points/{name}", slimmed(points, predictor.kernels[name]), arrays)
    for name, value in predictor.scalars.items():
        arrays[f"unknowns/{name}"] = np.asarray(value, dtype=np.float64)
        header["unknowns"][name] = f"unknowns/{name}"
    for name, repair in predictor.repairs.items():
        header["repairs"][name] = {"policy": repair.policy, "shift": repair.shift, "report": asdict(repair.report)}
        if repair.vectors is not None and repair.eigenvalues is not None:
            arrays[f"repairs/{name}/vectors"] = repair.vectors
            arrays[f"repairs/{name}/eigenvalues"] = repair.eigenvalues
    for space, kept in predictor.kept.places.items():
        header["kept"]["places"][space] = put_all(f"kept/{space}", kept, arrays)
    header["kept"]["numbers"] = put_all("kept", predictor.kept.numbers, arrays)
    header["kept"]["labels"] = put_all("kept", predictor.kept.labels, arrays)
    for name, value in solution.multipliers.items():
        header["multipliers"][name] = put_sparse(f"multipliers/{name}", np.asarray(value, dtype=np.float64), arrays)
    return header, arrays


def slimmed(points: Matrix, kernel: Kernel) -> Matrix:
    """Of a training point of a precomputed kernel only its self-kernel and its place are needed."""
    return points[:, -2:] if isinstance(kernel, Precomputed) else points


def put_sparse(name: str, value: Array, arrays: Arrays) -> list[int]:
    """Store what is not zero; the shape goes into the header."""
    flat = value.ravel()
    places = np.flatnonzero(flat)
    arrays[f"{name}/places"], arrays[f"{name}/values"] = places.astype(np.int64), flat[places]
    return list(value.shape)


def put_all(folder: str, values: Mapping[str, NDArray[Any]], arrays: Arrays) -> dict[str, list[int]]:
    """Store arrays as they are; their shapes go into the header."""
    arrays.update({f"{folder}/{name}": value for name, value in values.items()})
    return {name: list(value.shape) for name, value in values.items()}


def put_points(name: str, points: Matrix, arrays: Arrays) -> list[int]:
    if sp.issparse(points):
        rows = sp.csr_array(points)
        arrays[f"{name}/values"] = np.asarray(rows.data, dtype=np.float64)
        arrays[f"{name}/columns"] = rows.indices.astype(np.int64)
        arrays[f"{name}/starts"] = rows.indptr.astype(np.int64)
    else:
        arrays[name] = np.asarray(points, dtype=np.float64)
    return [int(n) for n in points.shape]


def record_certificate(certificate: Certificate) -> dict[str, Any]:
    figures = {name: real(value) for name, value in asdict(certificate).items() if name != "residuals"}
    worst = [[r.condition, real(r.value), list(r.index)] for r in certificate.residuals]
    return {**figures, "residuals": worst}


def bounds_of(report: PsdReport) -> dict[str, float]:
    return {"at_least": report.at_least, "at_most": report.at_most, "rounding": report.rounding}


def plain(value: Any) -> Any:
    """What `bind` was asked for, in the types that JSON has."""
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(part) for part in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def reals(values: Mapping[str, float]) -> dict[str, float | str | None]:
    return {name: real(value) for name, value in values.items()}


def real(value: float | None) -> float | str | None:
    """A float for JSON, which has no word for infinity: `float` reads it back."""
    if value is None or math.isfinite(value):
        return None if value is None else float(value)
    return repr(float(value))


# --------------------------------------------------------------------- reading


def load_model(path: str | os.PathLike[str], functions: Mapping[str, Function] | None = None) -> LoadedModel:
    """The model of a file, which must be as it was written; `functions` are its Python kernels, by name."""
    container = read_container(os.fspath(path))
    if container.damage:
        raise KdslError(container.damage)
    return restore(container, os.fspath(path), functions)


def read_container(path: str) -> Container:
    """The parts of a file, and which of them are damaged."""
    return unpack(read_bytes(path), path)


def restore(container: Container, path: str, functions: Mapping[str, Function] | None = None) -> LoadedModel:
    """The model of a container; whatever a damaged header lacks is a K655, with the damage if the checksums show it."""
    try:
        return restored(container, path, functions)
    except KdslError:
        if container.damage:
            raise KdslError(container.damage) from None
        raise
    except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as error:
        if container.damage:
            raise KdslError(container.damage) from None
        what = f"{type(error).__name__}: {error}"
        raise fault("K655", f"`{path}` is damaged: its header does not make sense", what, AGAIN) from None


def restored(container: Container, path: str, functions: Mapping[str, Function] | None) -> LoadedModel:
    header, arrays = container.header, container.arrays
    check_form(header)
    kernels = {name: restore_kernel(record, functions) for name, record in header["kernels"].items()}
    predictor = Predictor(
        restore_spec(header),
        kernels,
        {name: get_points(f"points/{name}", shape, arrays) for name, shape in header["points"].items()},
        {
            name: Expanded(
                name,
                about["space"],
                tuple(about["shape"]),
                arrays[f"vectors/{name}/coefficients"],
                arrays[f"vectors/{name}/squared_norms"],
            )
            for name, about in header["vectors"].items()
        },
        {name: arrays[place] for name, place in header["unknowns"].items()},
        {name: float(value) for name, value in header["parameters"].items()},
        {name: int(value) for name, value in header["data"]["sizes"].items()},
        {name: restore_repair(name, record, arrays) for name, record in header["repairs"].items()},
        kept=restore_kept(header.get("kept", NOTHING), arrays),
    )
    chosen = named_features(header["binding"].get("features"))
    label_maps = {name: restore_labels(record) for name, record in header["labels"].items()}
    label_sets = {name: restore_labels(record) for name, record in header["label_sets"].items()}
    fitted = Fitted(
        predictor,
        {name: restore_features(record, name in chosen or "" in chosen) for name, record in header["features"].items()},
        {name: m for name, m in label_maps.items() if isinstance(m, LabelMap)},
        {name: m for name, m in label_sets.items() if isinstance(m, LabelSet)},
        dict(header["binding"].get("bindings", {})),
    )
    if "voting" in header:
        fitted = voting_of(fitted, header["voting"])
    check_fit(fitted)
    try_out(fitted)
    return LoadedModel(
        path,
        header,
        restore_certificate(header["certificate"]),
        fitted,
        {name: get_sparse(f"multipliers/{name}", shape, arrays) for name, shape in header["multipliers"].items()},
        get_sparse("theta", header["theta"], arrays),
        container.damage,
    )


def restore_spec(header: Mapping[str, Any]) -> Model:
    """The checked model, with the kernels that were given in the place of its own."""
    from kdsl.pipeline import parse_spec
    from kdsl.solving.api import with_kernels

    functions = {name for record in header["kernels"].values() for name in functions_of(record)}
    model = parse_spec(header["spec"], header["model"], functions)
    if model.name != header["model"]:
        raise ValueError(f"model is {header['model']}, the spec is that of {model.name}")
    return with_kernels(model, header["binding"].get("kernels", {}))[0]


def restore_kept(record: Mapping[str, Any], arrays: Arrays) -> Kept:
    places = {space: get_all(f"kept/{space}", kept, arrays) for space, kept in record["places"].items()}
    return Kept(places, get_all("kept", record["numbers"], arrays), get_all("kept", record["labels"], arrays))


def restore_certificate(record: Mapping[str, Any] | None) -> Certificate | None:
    if record is None:
        return None
    figures = {name: None if value is None else float(value) for name, value in record.items() if name != "residuals"}
    worst = tuple(Residual(name, float(value), tuple(index)) for name, value, index in record["residuals"])
    return Certificate(residuals=worst, **figures)  # type: ignore[arg-type]


def restore_repair(name: str, record: Mapping[str, Any], arrays: Arrays) -> Repair:
    """Without its Gram oracle, which prediction does not need."""
    report = PsdReport(**record["report"])
    vectors = arrays.get(f"repairs/{name}/vectors")
    nothing: Any = None
    return Repair(
        record["policy"], report, nothing, record["shift"], vectors, arrays.get(f"repairs/{name}/eigenvalues")
    )


def get_sparse(name: str, shape: Sequence[int], arrays: Arrays) -> Array:
    result = np.zeros(int(np.prod(shape, dtype=int)))
    result[arrays[f"{name}/places"]] = arrays[f"{name}/values"]
    return result.reshape(tuple(shape))


def get_all(folder: str, shapes: Mapping[str, Sequence[int]], arrays: Arrays) -> dict[str, NDArray[Any]]:
    return {name: arrays[f"{folder}/{name}"].reshape(tuple(shape)) for name, shape in shapes.items()}


def get_points(name: str, shape: Sequence[int], arrays: Arrays) -> Matrix:
    if name in arrays:
        if arrays[name].shape != tuple(shape):
            raise ValueError(f"{name} has not the shape {shape}")
        return arrays[name]
    parts = (arrays[f"{name}/values"], arrays[f"{name}/columns"], arrays[f"{name}/starts"])
    return sp.csr_array(parts, shape=tuple(shape))
