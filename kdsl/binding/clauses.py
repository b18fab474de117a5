"""Finds the training data that a predict clause speaks of, which a solution keeps for it."""

from __future__ import annotations

from kdsl.binding.faults import fault
from kdsl.language.diagnostics import KdslError
from kdsl.language.model import Model, Prediction
from kdsl.language.syntax import Call, Item, Name
from kdsl.language.walk import walk


def data_of_clause(model: Model, clause: Prediction) -> list[str]:
    """The data that the clause mentions, itself or through an abbreviation."""
    bodies = {a.name: a.body for a in model.abbreviations}
    found: set[str] = set()
    pending = [clause.body]
    while pending:
        for part in walk(pending.pop()):
            name = part.id if isinstance(part, Name) else part.base.id if isinstance(part, Item) else None
            name = part.function.id if isinstance(part, Call) else name
            if name is not None:
                found.add(name)
                body = bodies.pop(name, None)
                pending += [] if body is None else [body]
    return [datum.name for datum in model.data if datum.name in found and datum.name not in clause.formals]


def points_elsewhere(clause: Prediction, point: str, space: str) -> KdslError:
    """The error where a solution has no such points in a space."""
    return fault(
        "K548",
        f"`predict {clause.kind}` takes `{point}` to the space of `{space}`, to which the problem takes other points "
        "or none",
        "a solution has what its objective and its constraints speak of",
        "use a kernel and inputs there that stand together in the problem",
    )
