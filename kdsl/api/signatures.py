"""Functions that answer a keyword that they do not have with the nearest one that they have."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import ParamSpec, TypeVar

from kdsl.binding.faults import nearest

P = ParamSpec("P")
R = TypeVar("R")


def suggesting(function: Callable[P, R]) -> Callable[P, R]:
    """The function, whose TypeError for an unknown keyword says which one was probably meant."""
    known = tuple(signature(function).parameters)

    @wraps(function)
    def checked(*arguments: P.args, **named: P.kwargs) -> R:
        for word in named:
            if word not in known:
                raise TypeError(f"{function.__name__}(...) has no argument `{word}`: {nearest(word, known)}")
        return function(*arguments, **named)

    return checked
