"""What a picture needs of a solved problem, whether it was solved just now or comes from a model file and its data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from kdsl.algebra.derivation import Derivation, derive
from kdsl.algebra.numeric import Array, Values
from kdsl.algebra.terms import Vec
from kdsl.binding.binder import bind, tables_from_data
from kdsl.binding.bound import Bound
from kdsl.binding.distances import to_dense
from kdsl.binding.faults import fault, listing, nearest
from kdsl.binding.table import Floats
from kdsl.language import syntax as s
from kdsl.language.model import Model, Prediction
from kdsl.models.fitted import Fitted
from kdsl.models.model_file import LoadedModel
from kdsl.models.solution import Solution
from kdsl.plot.sheets import plain

if TYPE_CHECKING:
    from kdsl.models.predictor import Predictor

GRID = 241  # points along each axis of a surface


@dataclass(frozen=True, eq=False)
class Fit:
    """A solved problem with the data that it was solved on."""

    derivation: Derivation
    bound: Bound
    fitted: Fitted
    multipliers: Mapping[str, Array]
    scalars: Mapping[str, float]
    binding: Mapping[str, Any]

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
        return np.asarray(self.predictor.decision(self.fitted.points(raw)), dtype=np.float64)

    def training_decision(self) -> Floats:
        """The same at the training points."""
        return np.asarray(self.predictor.decision(self.bound.points[self.input].features), dtype=np.float64)

    def column(self, datum: str) -> str:
        """What the data call a label or a response."""
        bound = self.binding.get("bindings", {}).get(datum, self.binding.get("target"))
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
    binding = {
        name: value for name, value in loaded.header["binding"].items() if name not in ("kernels", "psd", "seed")
    }
    bound = bind(loaded.model, tables_from_data(loaded.model, data), **binding)
    if bound.data_hash != loaded.header["data"]["hash"]:
        raise fault(
            "K656",
            "these are not the data that the model was fitted on",
            f"their hash is {bound.data_hash[:16]}, the file has {str(loaded.header['data']['hash'])[:16]}",
            "give the training data, unchanged and in the same order",
        )
    known = {name: Fraction(value) for name, value in loaded.fitted.predictor.parameters.items()}
    return Fit(derive(loaded.model, known), bound, loaded.fitted, loaded.multipliers, loaded.scalars, binding)


def fit_of(solved: Solved) -> Fit:
    """A solution as pictures take it; K665 where its points have no coordinates."""
    fit = solved
    if isinstance(fit, Solution):
        fit = Fit(fit.derivation, fit.bound, fit.fitted, fit.multipliers, fit.scalars, fit.binding)
    if not fit.fitted.feature_maps:
        raise fault("K665", f"`{fit.model.name}` has no input, so there are no points to be drawn")
    if fit.fitted.feature_map.precomputed:
        raise fault(
            "K665",
            "the kernel is precomputed: the points have no coordinates to be drawn at",
            help="solve with a kernel of the features",
        )
    if len(fit.clause.formals) > 1:
        extra = fit.clause.formals[1]
        raise fault(
            "K665",
            f"`{fit.clause.kind}` depends on `{extra}` beside the point, so there is a picture for each `{extra}`",
            help="draw the model of one group: solve on its rows alone",
        )
    return fit


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
    """The remark on the features that are not shown."""
    others = [name for place, name in enumerate(fit.features) if place not in shown]
    if not others:
        return ""
    return (
        f"{plain(others[0])} at its median"
        if len(others) == 1
        else f"the other {len(others)} features at their medians"
    )


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
