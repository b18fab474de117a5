"""Turns what kdsl has to say into what scikit-learn expects: ValueErrors and warnings, with their reasons in them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from kdsl.language.diagnostics import Diagnostic, KdslError
from kdsl.language.python_words import worded
from kdsl.models.solution import Solution

MAY_STOP_SHORT = "K605"  # said before the solve; after it the status tells
UNEVEN = 10.0  # a ratio of standard deviations between features from which scaling is said to be the likely cause


class FitError(KdslError, ValueError):
    """A KdslError that scikit-learn takes for the ValueError that it waits for.

    The spec's parameters are the estimator's own, so that a remedy sets one by its name.
    """

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__([d._replace(help=re.sub(r"`-D (\w+)=", r"`\1=", d.help)) for d in diagnostics])


def refusal(code: str, message: str, why: str = "", help: str = "") -> FitError:
    return FitError([Diagnostic(code, message, (), why, help)])


@contextmanager
def as_value_errors() -> Iterator[None]:
    """Inside, a KdslError leaves as a FitError."""
    try:
        yield
    except FitError:
        raise
    except KdslError as error:
        raise FitError(error.diagnostics) from error


def warn_of_doubts(solutions: Sequence[Solution], names: Sequence[str], tol: float, X: Any) -> None:
    """A ConvergenceWarning for every solution that is not optimal; remarks on it and its kernel as UserWarnings."""
    for solution, name in zip(solutions, names, strict=True):
        which = f"`{solution.derivation.model.name}`{name and f' ({name})'}"
        if solution.status != "optimal":
            certificate = solution.certificate
            detail = f": {solution.message}" if solution.message else ""
            text = (
                f"{which} is {solution.status} after {solution.iterations:,} iterations{detail}. Its relative duality "
                f"gap is {certificate.rel_gap:.2g} where tol={tol:g}; the worst primal residual is "
                f"{certificate.primal_residual:.2g}. {scaling_hint(X)}"
            )
            warnings.warn(text, ConvergenceWarning, stacklevel=4)
        for note in solution.warnings:
            if note.code >= "K570" and note.code != MAY_STOP_SHORT:
                warnings.warn(f"{which}: {worded(note)}", UserWarning, stacklevel=4)


def scaling_hint(X: Any) -> str:
    """What helps most often, with the reason where the features themselves show it."""
    remedy = "Scale the features (StandardScaler in a Pipeline), raise max_iter, or ask for less with a larger tol"
    if sp.issparse(X) or X.ndim != 2 or not X.size:
        return remedy
    spread = np.std(X, axis=0)
    spread = spread[spread > 0]
    if len(spread) > 1 and spread.max() > UNEVEN * spread.min():
        return (
            f"The standard deviations of the features go from {spread.min():.2g} to {spread.max():.2g}: no one kernel "
            f"width suits them all. {remedy}"
        )
    return remedy
