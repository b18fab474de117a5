"""What the models that were solved last become: it depends on the model, and on data never."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache

from kdsl.algebra.derivation import Derivation, derive
from kdsl.algebra.energies import Energies, conic_form, energies_of
from kdsl.language.diagnostics import KdslError
from kdsl.language.model import Model
from kdsl.pipeline import parse_spec

_KEPT = 64
Known = tuple[tuple[str, Fraction], ...]


@lru_cache(maxsize=_KEPT)
def model_of(text: str, name: str) -> Model:
    """The checked model of a text."""
    return parse_spec(text, name)


def derivation_of(model: Model, parameters: Mapping[str, float]) -> Derivation:
    """The derivation for known parameters, which matter only where they order the break points of a loss."""
    known = {name: Fraction(value) for name, value in parameters.items()}
    try:
        general = _derived(model, ())
    except KdslError:
        return derive(model, known)
    if not general.primal.known:
        return general
    return _derived(model, tuple((name, known[name]) for name, _ in general.primal.known))


@lru_cache(maxsize=_KEPT)
def _derived(model: Model, known: Known) -> Derivation:
    return derive(model, dict(known) or None)


@lru_cache(maxsize=_KEPT)
def energies_for(derivation: Derivation) -> Energies:
    """The dual of a derivation in the form that is solved."""
    return energies_of(derivation) or conic_form(derivation)
