"""A Solution: the certified answer to a bound problem, in the user's units, names and sense."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kdsl.algebra.derivation import Derivation
from kdsl.algebra.numeric import Array
from kdsl.binding.bound import Bound
from kdsl.binding.faults import nearest
from kdsl.binding.psd import PsdReport
from kdsl.language.diagnostics import Diagnostic
from kdsl.models.fitted import Fitted
from kdsl.models.predictor import Predictor
from kdsl.models.unfinished import doubt_of, warn_once
from kdsl.numerics.arrays import Floats
from kdsl.solving.certificate import Certificate


@dataclass(frozen=True)
class Support:
    """How many multipliers are not zero, and of these how many sit at a bound and how many are free."""

    total: int
    bound: int
    free: int


@dataclass(frozen=True, eq=False)
class Solution:
    """status is one of CVXPY's words; nothing is called optimal that the certificate does not prove.

    multipliers are those of the Lagrangian by the label of their constraint, slacks and scalars the primal
    unknowns by name; interval is where a scalar that is not unique may lie. theta and outer are the dual point in
    the coordinates of the normal form, grams what the audit found, binding what `bind` was asked for and
    asked the tolerances: enough to compute everything again from the data. facts is what the backend's last call
    says of itself, such as the engine's kernel `entries`.
    """

    status: str
    message: str
    backend: str
    reason: str
    certificate: Certificate
    scalars: Mapping[str, float]
    slacks: Mapping[str, Array]
    multipliers: Mapping[str, Array]
    intervals: Mapping[str, tuple[float, float]]
    support: Support
    quantities: Mapping[str, float]
    parameters: Mapping[str, float]
    iterations: int
    seconds: Mapping[str, float]
    warnings: tuple[Diagnostic, ...]
    derivation: Derivation
    bound: Bound
    predictor: Predictor
    theta: Floats
    outer: float | None = None
    grams: Mapping[str, PsdReport] = field(default_factory=dict)
    binding: Mapping[str, Any] = field(default_factory=dict)
    asked: Mapping[str, float | None] = field(default_factory=dict)
    facts: Mapping[str, float | int | str] = field(default_factory=dict)

    @property
    def value(self) -> float:
        return self.certificate.value

    @property
    def dual(self) -> float:
        return self.certificate.dual

    @property
    def gap(self) -> float:
        return self.certificate.gap

    def is_optimal(self, tol: float = 1e-6) -> bool:
        """Whether the certificate proves it at `tol`, and nothing else speaks against it (K572, K623, K624)."""
        asked = self.certificate.status(self.asked.get("tol") or 1e-6, self.asked.get("kkt_tol"))
        doubted = self.status != "optimal" and asked == "optimal"
        return self.certificate.status(tol) == "optimal" and not doubted and self.status != "solver_error"

    @property
    def fitted(self) -> Fitted:
        """What remains of the solution when it is only to predict."""
        bound = self.bound
        columns = dict(self.binding.get("bindings", {}))
        return Fitted(self.predictor, bound.feature_maps, bound.label_maps, bound.label_sets, columns)

    @property
    def doubt(self) -> Diagnostic | None:
        """The warning (K679) that goes with predictions where the solution is not proven."""
        return doubt_of(self.derivation.model.name, self.status, self.message, self.backend)

    def decision(
        self, points: object, extra: Mapping[str, Sequence[Any]] | None = None, clause: str | None = None
    ) -> Array:
        """The values that a predict clause is about, at new points in the units of the data.

        clause: its kind, such as "probability", where it is not the first.
        """
        warn_once(self)
        fitted = self.fitted.answering(clause)
        features, labels = fitted.from_points(points, extra)
        return self.predictor.decision(features, fitted.clause, labels)

    def predict(
        self, points: object, extra: Mapping[str, Sequence[Any]] | None = None, clause: str | None = None
    ) -> Array:
        """What a predict clause says at new points, labels as the data spelt them; `clause` as for `decision`."""
        warn_once(self)
        fitted = self.fitted.answering(clause)
        return fitted.predict_both(*fitted.from_points(points, extra))[0]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model file, whole or not at all."""
        from kdsl.models.model_file import save_model

        save_model(self, os.fspath(path))

    def report(self, path: str | os.PathLike[str], bounds: Mapping[str, float] | None = None) -> None:
        """Write one HTML page that holds everything; `bounds` are what `evaluate_bounds` takes, such as delta=0.05."""
        from kdsl.report.account import account_of
        from kdsl.report.writing import write_report
        from kdsl.solving.bounds import evaluate_bounds

        for name in bounds or ():
            if name not in ("delta", "gamma"):
                raise TypeError(f"bounds has no `{name}`: {nearest(str(name), ('delta', 'gamma'))}")
        theorems = None if bounds is None else evaluate_bounds(self, **bounds)
        write_report(replace(account_of(self), bounds=theorems), path)
