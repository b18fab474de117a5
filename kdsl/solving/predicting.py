"""Cuts a certified point down to what predicts: the points that carry the expansions, and the scalars."""

from __future__ import annotations

import numpy as np

from kdsl.algebra.numeric import Array
from kdsl.binding.clauses import data_of_clause
from kdsl.language.model import Model
from kdsl.language.syntax import Name
from kdsl.models.kept import Kept
from kdsl.models.predictor import Expanded, Predictor
from kdsl.numerics.arrays import Floats, Ints, Matrix
from kdsl.solving.certify import Point
from kdsl.solving.posed import Posed
from kdsl.solving.spaces import Space
from kdsl.solving.unknowns import HilbertUnknown, as_declared


def predictor_of(posed: Posed, point: Point) -> Predictor:
    """The expansions cut down to the points that carry them."""
    model = posed.derivation.model
    coefficients = {name: _as_predicted(posed.spaces[u.space], u) for name, u in point.unknowns.items()}
    repairs = {name: space.repair for name, space in posed.spaces.items() if space.repair is not None}
    repairs = {name: r for name, r in repairs.items() if r.shift or r.vectors is not None}
    used: dict[str, np.ndarray] = {}
    for name, unknown in point.unknowns.items():
        clipped = unknown.space in repairs and repairs[unknown.space].vectors is not None
        carrying = np.any(coefficients[name] != 0, axis=0) | clipped
        used[unknown.space] = used.get(unknown.space, np.zeros(len(carrying), dtype=bool)) | carrying
    speaking = {name for clause in model.predictions for name in data_of_clause(model, clause)}
    inputs = {name: [i for i in space.inputs if i in speaking] for name, space in posed.spaces.items()}
    for space, names in inputs.items():
        for name in names:
            mask = used.setdefault(space, np.zeros(posed.spaces[space].size, dtype=bool))
            mask[posed.spaces[space].slice(name)] = True
    support: dict[str, Matrix] = {}
    places = {name: np.flatnonzero(mask).astype(np.int64) for name, mask in used.items()}
    for name, place in places.items():
        points = posed.spaces[name].points
        assert points is not None
        support[name] = points[place]
    vectors = {
        name: Expanded(name, u.space, u.shape, coefficients[name][:, used[u.space]], u.squared_norms())
        for name, u in point.unknowns.items()
    }
    mentioned = _mentioned(model)
    scalars: dict[str, Array] = {}
    for name, family in point.scalar_problem.families.items():
        if family.unknown.origin in ("square", "shifted"):
            scalars[family.unknown.shown] = as_declared(family.unknown, family.read(point.scalars.z), point.unknowns)
        elif family.unknown.origin == "declared" and name in mentioned:
            scalars[name] = family.read(point.scalars.z)
    parameters, sizes, kernels = dict(posed.parameters), posed.bound.sizes, posed.kernels
    kept = Kept(
        {s: {i: _places(posed.spaces[s], i, places[s]) for i in names} for s, names in inputs.items() if names},
        {name: value for name, value in posed.values.arrays.items() if name in speaking},
        {name: value for name, value in posed.values.labels.items() if name in speaking},
    )
    return Predictor(model, kernels, support, vectors, scalars, parameters, sizes, repairs, places, kept)


def _places(space: Space, name: str, support: Ints) -> Ints:
    """Where the points of an input stand among the support points."""
    own = space.slice(name)
    return np.searchsorted(support, np.arange(own.start, own.stop)).reshape(space.shapes[name])


def _mentioned(model: Model) -> set[str]:
    """The names that the predict clauses and the abbreviations they may use speak of."""
    found: set[str] = set()
    pending: list[object] = [*(p.body for p in model.predictions), *(a.body for a in model.abbreviations)]
    while pending:
        node = pending.pop()
        if isinstance(node, Name):
            found.add(node.id)
        elif isinstance(node, tuple):
            pending.extend(node)
    return found


def _as_predicted(space: Space, unknown: HilbertUnknown) -> Floats:
    """The coefficients for the original kernel at new points."""
    if space.repair is None:
        return unknown.coefficients
    return np.stack([space.repair.coefficients(row) for row in unknown.coefficients])
