"""A Solution: the certified answer to a bound problem, in the user's units, names and sense."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kdsl.algebra.derivation import Derivation
from kdsl.algebra.numeric import Array
from kdsl.binding.bound import Bound
from kdsl.language.diagnostics import Diagnostic
from kdsl.models.predictor import Predictor
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
    unknowns by name; interval is where a scalar that is not unique may lie.
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
        return self.certificate.status(tol) == "optimal" and self.status != "solver_error"

    def decision(self, points: object, extra: Mapping[str, Array] | None = None) -> Array:
        """The values that the predict clause is about, at new points in the units of the data."""
        return self.predictor.decision(self._prepared(points), extra=extra)

    def predict(self, points: object, extra: Mapping[str, Array] | None = None) -> Array:
        """What the predict clause says at new points, labels as the data spelt them."""
        raw = self.predictor.predict(self._prepared(points), extra=extra)
        model = self.derivation.model
        if not model.predictions:
            return raw
        if model.predictions[0].kind == "label":
            for label_map in self.bound.label_maps.values():
                return label_map.decode(raw)
        if model.predictions[0].kind == "class":
            for label_set in self.bound.label_sets.values():
                return label_set.decode(raw.astype(int))
        return raw

    def _prepared(self, points: object):  # type: ignore[no-untyped-def]
        """New points through the scaling and the column order of training."""
        import numpy as np
        import scipy.sparse as sp

        feature_map = next(iter(self.bound.feature_maps.values()))
        array = points if sp.issparse(points) else np.atleast_2d(np.asarray(points, dtype=np.float64))
        return feature_map.apply_array(array, "the new points").features
