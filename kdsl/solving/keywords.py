"""The keywords of a solve: what is none of them is refused with what was meant."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from inspect import signature
from typing import Any

from kdsl.binding.binder import bind
from kdsl.binding.faults import nearest
from kdsl.language.lexer import canonical_name
from kdsl.language.model import Model


def check_keywords(model: Model, given: Iterable[str], solve: Callable[..., Any]) -> None:
    """A TypeError for a keyword that `bind` does not take; `solve` has those that were taken before."""
    for word in given:
        binding = _of_binding()
        if word not in binding:
            own = [name for name, p in signature(solve).parameters.items() if p.kind is not p.VAR_KEYWORD]
            raise TypeError(f"solve(...) has no argument `{word}`: {_meant(model, word, [*own, *binding])}")


@cache
def _of_binding() -> list[str]:
    return [word for word, p in signature(bind).parameters.items() if p.kind is p.KEYWORD_ONLY]


def _meant(model: Model, word: str, known: Iterable[str]) -> str:
    """Where a name of the spec is given, or the keyword that resembles it."""
    declared = {
        "params": ("parameter", [parameter.name for parameter in model.parameters]),
        "kernels": ("kernel", [kernel.name for kernel in model.kernels]),
        "data": ("datum", [datum.name for datum in model.data]),
    }
    for keyword, (what, names) in declared.items():
        if canonical_name(word) in names:
            return f"it is a {what} of `{model.name}`, so write {keyword}={{{word!r}: ...}}"
    return nearest(word, known)
