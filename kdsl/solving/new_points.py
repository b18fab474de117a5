"""Refuses predict clauses that pair a new point, which looks like those of the first input, with points that do not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kdsl.algebra.clauses import NEW
from kdsl.algebra.formula import polynomials_in
from kdsl.algebra.terms import Inner
from kdsl.binding.bound import Bound
from kdsl.binding.clauses import unpredictable
from kdsl.binding.faults import count, fault
from kdsl.language.model import Model, Prediction
from kdsl.models.predictor import clause_read
from kdsl.solving.spaces import Space


def check_new_points(model: Model, bound: Bound, spaces: Mapping[str, Space]) -> None:
    """K527 where a new point has other features than the points of a space that a clause takes it to."""
    first = next(iter(bound.feature_maps), "")
    for clause in model.predictions if first else ():
        for name in () if unpredictable(model, clause) else _spaces_of(model, clause):
            for other in spaces[name].inputs if name in spaces else ():
                seen, wanted = bound.feature_maps[other].names, bound.feature_maps[first].names
                if seen != wanted:
                    raise _other_features(clause, name, first, wanted, other, seen)


def _spaces_of(model: Model, clause: Prediction) -> Iterator[str]:
    """The spaces that the new point enters."""
    for polynomial in polynomials_in(clause_read(model, clause).formula):
        for factor in polynomial.factors():
            for vec in (factor.left, factor.right) if isinstance(factor, Inner) else ():
                if vec.feature and vec.name == NEW:
                    yield vec.space


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
