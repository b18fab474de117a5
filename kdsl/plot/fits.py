"""What a picture needs of a solved problem, whether it was solved just now or comes from a model file and its data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kdsl.algebra.derivation import Derivation, derive
from kdsl.algebra.numeric import Array, Values
from kdsl.algebra.terms import Inner, Vec
from kdsl.binding.bound import Bound
from kdsl.binding.distances import to_dense
from kdsl.binding.faults import fault, listing, nearest
from kdsl.language import syntax as s
from kdsl.language.model import Datum, Model, Prediction
from kdsl.models.fitted import Fitted
from kdsl.models.model_file import LoadedModel
from kdsl.models.solution import Solution
from kdsl.models.training_data import binding_of, bound_as_then
from kdsl.numerics.arrays import Floats, Ints
from kdsl.plot.sheets import plain

if TYPE_CHECKING:
    from kdsl.models.predictor import Predictor

Mask = NDArray[np.bool_]
GRID = 241  # points along each axis of a surface


@dataclass(frozen=True, eq=False)
class Fit:
    """A solved problem with the data that it was solved on.

    at: the labels that a surface is drawn for, where the prediction takes some beside the point.
    """

    derivation: Derivation
    bound: Bound
    fitted: Fitted
    multipliers: Mapping[str, Array]
    scalars: Mapping[str, float]
    binding: Mapping[str, Any]
    at: Mapping[str, str] = field(default_factory=dict)

    @property
    def model(self) -> Model:
        return self.derivation.model

    @property
    def predictor(self) -> Predictor:
        return self.fitted.predictor

    @property
    def clause(self) -> Prediction:
        return self.fitted.clause

    @property
    def input(self) -> str:
        """The input whose points are shown: the first one."""
        return next(iter(self.fitted.feature_maps))

    @property
    def features(self) -> tuple[str, ...]:
        return self.fitted.feature_map.names

    @property
    def kind(self) -> str:
        """What the predict clause answers: "sign", "class", "novelty" or "value"."""
        body = self.clause.body
        if isinstance(body, s.Argmax):
            return "class"
        if isinstance(body, s.Call) and body.function.id == "sign":
            return "sign"
        return "novelty" if self.clause.kind == "novelty" else "value"

    def values(self) -> Values:
        """The numbers of the problem, for polynomials without vectors."""
        arrays: dict[str, Array] = {}
        labels = {}
        for name, value in self.bound.arrays.items():
            if np.issubdtype(value.dtype, np.integer):
                labels[name] = np.asarray(value, dtype=np.int64)
            else:
                arrays[name] = np.asarray(value, dtype=np.float64)
        for name, number in (*self.predictor.parameters.items(), *self.scalars.items()):
            arrays[name] = np.asarray(number, dtype=np.float64)
        arrays.update(self.predictor.scalars)
        return Values(self.bound.sizes, arrays, labels, {}, _no_products, _no_squares)

    def decision(self, raw: Floats) -> Floats:
        """The predict clause's expression at points in the units of the data."""
        labels = self.fitted.labels({formal: [label] * len(raw) for formal, label in self.at.items()}, len(raw))
        return np.asarray(self.predictor.decision(self.fitted.points(raw), extra=labels), dtype=np.float64)

    def training_decision(self) -> Floats:
        """The same at the training points, each with the labels that it has."""
        labels = {}
        for formal in self.clause.formals[1:]:
            if self.label_of(formal) is None:
                why = f"its decision depends on `{formal}`, and nothing says which one an example has"
                raise no_relation(self, why)
            labels[formal] = self.codes(formal)
        points = self.bound.points[self.input].features
        return np.asarray(self.predictor.decision(points, extra=labels), dtype=np.float64)

    def label_of(self, formal: str) -> Datum | None:
        """The datum that says which label `formal` is for each example; None where it is the number of an index."""
        return next((d for d in self.model.data if d.labels == self.fitted.set_of(formal)), None)

    def codes(self, formal: str) -> Ints:
        """The code of that label for every example."""
        label = self.label_of(formal)
        assert label is not None
        return np.asarray(self.bound.arrays[label.name], dtype=np.int64)

    def names(self, formal: str) -> tuple[str, ...]:
        """The labels or numbers that `formal` takes, by code."""
        return self.fitted.members(formal).names

    def shown(self) -> Mask:
        """The examples that have the labels that the surface is drawn for."""
        rows = np.ones(self.bound.points[self.input].size, dtype=bool)
        for formal, label in self.at.items():
            if self.label_of(formal) is not None:
                rows &= self.codes(formal) == self.names(formal).index(label)
        return rows

    def carried(self) -> Floats:
        """The largest multiplier of every example, over all conditions on it."""
        n = self.bound.points[self.input].size
        found = np.zeros(n)
        for condition in self.derivation.primal.conditions:
            multiplier = self.multipliers.get(condition.label)
            if condition.kind == "sign" or multiplier is None:
                continue
            for axis in (axis for axis, length in enumerate(multiplier.shape) if length == n):
                found = np.maximum(found, np.abs(np.moveaxis(multiplier, axis, 0)).reshape(n, -1).max(axis=1))
        return found

    def responses(self) -> dict[str, Floats]:
        """The numbers that conditions on the examples compare their decision with."""
        n = self.bound.points[self.input].size
        reals = [d.name for d in self.model.data if d.kind == "real" and len(d.sets) == 1]
        bodies = [
            c.body for c in self.derivation.primal.conditions if any(isinstance(f, Inner) for f in c.body.factors())
        ]
        used = {name for body in bodies for _, name in body.symbols()}
        known = {name: np.asarray(self.bound.arrays[name], dtype=np.float64) for name in reals if name in used}
        return {name: values for name, values in known.items() if len(values) == n}

    def column(self, datum: str) -> str:
        """What the data call a label or a response."""
        bound = self.binding.get("bindings", {}).get(datum)
        if bound is None and datum in self.bound.arrays and self.bound.arrays[datum].dtype.kind == "f":
            bound = self.binding.get("target")
        return bound if isinstance(bound, str) else datum

    def raw_points(self) -> Floats:
        """The training points in the units of the data."""
        scaled = to_dense(self.bound.points[self.input].features)
        scaling = self.fitted.feature_map.scaling
        return np.asarray(scaled / scaling.factor + scaling.offset, dtype=np.float64)


def _no_products(first: Vec, second: Vec) -> Array:
    raise KeyError(f"<{first.name}, {second.name}>")


def _no_squares(vec: Vec) -> Array:
    raise KeyError(vec.name)


Solved = Solution | Fit


def with_data(loaded: LoadedModel, data: Any) -> Fit:
    """A saved model with the data that it was fitted on, bound as then; K656 for other data."""
    bound, binding = bound_as_then(loaded, data), binding_of(loaded)
    known = {name: Fraction(value) for name, value in loaded.fitted.predictor.parameters.items()}
    return Fit(derive(loaded.model, known), bound, loaded.fitted, loaded.multipliers, loaded.scalars, binding)


def fit_of(solved: Solved) -> Fit:
    """A solution as pictures take it; K665 where no examples have a place in it."""
    fit = solved
    if isinstance(fit, Solution):
        fit = Fit(fit.derivation, fit.bound, fit.fitted, fit.multipliers, fit.scalars, fit.binding)
    if not fit.fitted.feature_maps:
        raise fault("K665", f"`{fit.model.name}` has no input, so there are no points to be drawn")
    return fit


def placed(fit: Fit, at: Mapping[str, str] | None) -> Fit:
    """The fit for a surface, with a label for every formal beside the point; K665 where it has none."""
    if fit.fitted.feature_map.precomputed:
        raise fault(
            "K665",
            "the kernel is precomputed: the points have no coordinates to be drawn at",
            help="draw `margins`, or solve with a kernel of the features",
        )
    chosen = dict(at or {})
    formals = fit.clause.formals[1:]
    for formal in formals:
        if formal not in chosen:
            raise fault(
                "K665",
                f"`{fit.clause.kind}` depends on `{formal}` beside the point: every `{formal}` has a surface",
                help=f"choose one: `--at {formal}={fit.names(formal)[0]}`, of {listing(fit.names(formal))}",
            )
    for formal, label in chosen.items():
        if formal not in formals:
            what = f"`{fit.clause.kind}` depends on nothing called `{formal}` beside the point"
            raise fault("K665", what, help=nearest(formal, formals) if formals else f"leave out `--at {formal}=...`")
        if label not in fit.names(formal):
            raise fault("K665", f"`{formal}` is never `{label}`", help=nearest(label, fit.names(formal)))
    return replace(fit, at=chosen)


def no_relation(fit: Fit, why: str) -> Exception:
    """The examples have no margin each, against which multipliers could be drawn."""
    return fault(
        "K663", f"`{fit.model.name}` has no margin of each example for its multipliers to be drawn against", why
    )


def refuse_kind(fit: Fit, picture: str, wanted: str) -> Exception:
    """The predict clause does not answer what the picture shows."""
    answers = {"sign": ["decision", "margins"], "class": ["decision"], "value": ["tube", "margins"]}
    return fault(
        "K661",
        f"`{picture}` shows {wanted}, and `{fit.model.name}` predicts `{fit.clause.kind}`",
        help=f"draw {listing(answers.get(fit.kind, ['novelty', 'margins']))}",
    )


# -------------------------------------------------------------------- features


def chosen_features(fit: Fit, names: tuple[str, ...] | None, wanted: int) -> tuple[int, ...]:
    """The places of the features that the axes show."""
    known = fit.features
    if names is None:
        if len(known) == wanted:
            return tuple(range(wanted))
        if len(known) < wanted:
            raise fault(
                "K662",
                f"a plane needs two features, and `{fit.input}` has one, `{known[0]}`",
                help="draw `margins`",
            )
        word = "pair of features" if wanted == 2 else "feature"
        option = "pair" if wanted == 2 else "feature"
        example = ",".join(known[:wanted])
        raise fault(
            "K662",
            f"`{fit.input}` has {len(known)} features: choose the {word} to be shown",
            "the others are held at their medians",
            f"such as `--{option} {example}`, of {listing(known)}",
        )
    if len(names) != wanted or len(set(names)) != wanted:
        given = listing(names)
        raise fault("K662", f"{given} is not a choice of {wanted} different features", help=nearest("", known))
    for name in names:
        if name not in known:
            raise fault("K662", f"`{fit.input}` has no feature `{name}`", help=nearest(name, known))
    return tuple(known.index(name) for name in names)


def held(fit: Fit, shown: tuple[int, ...]) -> str:
    """The remark on the labels that are chosen and the features that are not shown."""
    labels = {formal: fit.label_of(formal) for formal in fit.at}
    named = {formal: formal if datum is None else fit.column(datum.name) for formal, datum in labels.items()}
    parts = [plain(f"{named[formal]} = {label}") for formal, label in fit.at.items()]
    others = [name for place, name in enumerate(fit.features) if place not in shown]
    if len(others) == 1:
        parts.append(f"{plain(others[0])} at its median")
    elif others:
        parts.append(f"the other {len(others)} features at their medians")
    return ", ".join(parts)


def slice_points(fit: Fit, shown: tuple[int, ...], coordinates: Floats) -> Floats:
    """Points with the given values of the shown features and the medians of all others."""
    points = np.tile(np.median(fit.raw_points(), axis=0), (len(coordinates), 1))
    points[:, list(shown)] = coordinates
    return points


def grid_over(fit: Fit, shown: tuple[int, ...], raw: Floats) -> tuple[Floats, Floats, Floats]:
    """(x, y, the decision values over the grid) in a frame around the points."""
    x, y = (np.linspace(*framed(raw[:, k]), GRID) for k in (0, 1))
    grid = np.stack([np.tile(x, GRID), np.repeat(y, GRID)], axis=1)
    values = fit.decision(slice_points(fit, shown, grid))
    return x, y, values.reshape(GRID, GRID, *values.shape[1:])


def framed(values: Floats, share: float = 0.06) -> tuple[float, float]:
    """The range of the values with a margin."""
    low, high = float(values.min()), float(values.max())
    margin = share * (high - low) or 0.5 * max(1.0, abs(low))
    return low - margin, high + margin
