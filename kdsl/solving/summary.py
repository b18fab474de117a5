"""The figures of a solved point that people read: its support, its scalars, its norms and its totals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kdsl.models.solution import Support
from kdsl.numerics.arrays import Floats
from kdsl.solving.certify import Point
from kdsl.solving.posed import Posed
from kdsl.solving.scalar_problem import Columns
from kdsl.solving.unknowns import as_declared

_LISTED = 12  # members of a family of scalars that are shown one by one


def support_of(point: Point) -> Support:
    """How many multipliers carry something, and how many of these sit at a bound."""
    h = point.lowered.problem.separable
    theta = point.theta[: h.size]
    size = max(1.0, float(np.abs(theta).max(initial=0.0)))
    active = np.abs(theta) > 1e-9 * size
    at_bound = active & (_near(theta, h.lower, size) | _near(theta, h.upper, size))
    return Support(int(active.sum()), int(at_bound.sum()), int(active.sum() - at_bound.sum()))


def _near(theta: Floats, bound: Floats, size: float) -> NDArray[np.bool_]:
    finite = np.isfinite(bound)
    return np.asarray(finite & (np.abs(theta - np.where(finite, bound, 0.0)) <= 1e-9 * size))


def scalars_of(posed: Posed, point: Point) -> dict[str, float]:
    """Every scalar of the primal, and the members of every small family that has either sign, by the data's labels."""
    found = {}
    for name, family in point.scalar_problem.families.items():
        values = family.read(point.scalars.z)
        if not family.unknown.indices and family.unknown.origin != "residual":
            found[name] = float(values)
        elif _is_listed(posed, family):
            for place in np.ndindex(values.shape):
                found[f"{name}[{_member(posed, family, place)}]"] = float(values[place])
    return found


def quantities_of(posed: Posed, point: Point) -> dict[str, float]:
    """Squared norms of the Hilbert unknowns, the radii that they shifted, and the total of every family of slacks."""
    result = {}
    for name, unknown in point.unknowns.items():
        norms = unknown.squared_norms()
        if norms.size == 1:
            result[f"||{name}||^2"] = float(norms.reshape(-1)[0])
    for name, family in point.scalar_problem.families.items():
        if family.unknown.origin == "shifted" and not family.unknown.indices:
            radius = as_declared(family.unknown, family.read(point.scalars.z), point.unknowns)
            result[family.unknown.shown] = float(radius)
        if family.unknown.indices and family.unknown.origin == "declared" and not _is_listed(posed, family):
            result[f"sum {name}"] = float(family.read(point.scalars.z).sum())
    return result


def _is_listed(posed: Posed, family: Columns) -> bool:
    """Whether the members mean something one by one: a bias for each group, but no slacks."""
    unknown = family.unknown
    if not unknown.indices or unknown.origin != "declared" or family.positions.size > _LISTED:
        return False
    declared = next(v for v in posed.derivation.model.variables if v.name == unknown.name)
    return declared.interval.lower is None and declared.interval.upper is None


def _member(posed: Posed, family: Columns, place: tuple[int, ...]) -> str:
    """The labels of an index set that the data name, and numbers from 1 elsewhere."""
    labels = posed.bound.label_sets
    words = (
        labels[size].names[n] if size in labels else str(n + 1)
        for n, size in zip(place, family.unknown.sets, strict=True)
    )
    return ", ".join(words)
