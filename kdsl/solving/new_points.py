"""Refuses predict clauses that take points to spaces where the solution has none, or none with their features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kdsl.algebra.clauses import NEW
from kdsl.algebra.formula import polynomials_in
from kdsl.algebra.terms import Inner, Vec
from kdsl.binding.bound import Bound
from kdsl.binding.clauses import points_elsewhere
from kdsl.binding.faults import count, fault
from kdsl.language.model import Model, Prediction
from kdsl.models.predictor import clause_read
from kdsl.solving.spaces import Space


def check_new_points(model: Model, bound: Bound, spaces: Mapping[str, Space]) -> None:
    """K548 for points that the problem does not take to a space; K527 where a new point has other features there.

    New points look like those of the first input.
    """
    first = next(iter(bound.feature_maps), "")
    for clause in model.predictions if first else ():
        for vec in _points_of(model, clause):
            inputs = spaces[vec.space].inputs if vec.space in spaces else ()
            if not inputs or (vec.name != NEW and vec.name not in inputs):
                raise points_elsewhere(clause, clause.formals[0] if vec.name == NEW else vec.name, vec.space)
            for other in inputs if vec.name == NEW else ():
                seen, wanted = bound.feature_maps[other].names, bound.feature_maps[first].names
                if seen != wanted:
                    raise _other_features(clause, vec.space, first, wanted, other, seen)


def _points_of(model: Model, clause: Prediction) -> Iterator[Vec]:
    """The points whose features a clause takes, the new one and those of the training."""
    for polynomial in polynomials_in(clause_read(model, clause).formula):
        for factor in polynomial.factors():
            if isinstance(factor, Inner):
                yield from (vec for vec in factor if vec.feature)


def _other_features(
    clause: Prediction, space: str, first: str, wanted: tuple[str, ...], other: str, seen: tuple[str, ...]
) -> Exception:
    point, strangers = clause.formals[0], [name for name in seen if name not in wanted]
    lacking = strangers or [name for name in wanted if name not in seen]
    return fault(
        "K527",
        f"`predict {clause.kind}` takes the new point `{point}` to the space of `{space}`, whose points `{other}` have "
        f"{count(len(seen), 'feature')}; those of `{point}` are the {len(wanted)} of `{first}`"
        + (f", {'without' if strangers else 'with'} `{lacking[0]}`" if lacking else ", in another order"),
        "one kernel compares points feature by feature",
        "declare two views of an example as one input, and kernels `on` the columns of each; or leave the clause out",
    )
