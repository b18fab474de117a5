"""Finds the training data that a predict clause speaks of, which a new point does not bring with it."""

from __future__ import annotations

from kdsl.binding.faults import fault, listing, warning
from kdsl.language.diagnostics import Diagnostic, KdslError
from kdsl.language.model import Model, Prediction
from kdsl.language.syntax import Call, Item, Name
from kdsl.language.walk import walk

WHY = "a prediction is made from a new point, the expansions and the scalars; the training data are not kept"
HELP = "write the clause without them: what is one number for all examples can be declared as a `param`"


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


def clause_warnings(model: Model) -> list[Diagnostic]:
    """Said while solving, so that nobody learns it from a saved model."""
    return [
        warning("K548", f"`predict {clause.kind}` speaks of {listing(names)} and cannot be evaluated", WHY, HELP)
        for clause in model.predictions
        if (names := data_of_clause(model, clause))
    ]


def unpredictable(model: Model, clause: Prediction) -> KdslError | None:
    """The error of predicting with such a clause."""
    names = data_of_clause(model, clause)
    message = f"`predict {clause.kind}` of `{model.name}` speaks of {listing(names)}, data of the training"
    return fault("K548", message, WHY, HELP) if names else None
