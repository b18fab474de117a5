"""Says, where a model predicts or is exported, that it was not proven to be the answer."""

from __future__ import annotations

import warnings
from typing import Protocol

from kdsl.language.diagnostics import Diagnostic
from kdsl.language.python_words import worded

STATUSES = ("optimal_inaccurate", "user_limit", "solver_error")
ELSEWHERE = "libsvm"  # the backend of what another program has solved, which says so itself
TOLD = "_told"


class Model(Protocol):
    """A solution, or what its file has of it."""

    @property
    def doubt(self) -> Diagnostic | None: ...


def doubt_of(name: str, status: str, message: str, backend: str) -> Diagnostic | None:
    """The warning that goes with what the model says; None where there is nothing to warn of."""
    if status not in STATUSES or backend == ELSEWHERE:
        return None
    return Diagnostic(
        "K679",
        f"`{name}` is {status}, not optimal: what it says may be far from the answer",
        (),
        message,
        "solve it again, with higher limits or another backend",
        "warning",
    )


def warn_once(model: Model) -> None:
    """A Python warning at the caller of the caller, the first time that the model is asked."""
    if TOLD not in model.__dict__ and (doubt := model.doubt) is not None:
        model.__dict__[TOLD] = True
        warnings.warn(worded(doubt), UserWarning, stacklevel=3)
