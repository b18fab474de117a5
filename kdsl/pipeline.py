"""The pass list: text -> Syntax -> Model -> Derivation; with data -> Prepared -> NormalForm -> Route, Solution."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from kdsl.language.diagnostics import Diagnostic, KdslError
from kdsl.language.model import Model
from kdsl.language.syntax import Spec

if TYPE_CHECKING:
    from kdsl.algebra.derivation import Derivation
    from kdsl.algebra.evidence import Evidence
    from kdsl.models.solution import Solution
    from kdsl.solving.api import Prepared
    from kdsl.solving.backends.interface import Options, Progress
    from kdsl.solving.lowering import Lowered
    from kdsl.solving.routing import Route
    from kdsl.solving.watched import Step


class Checked(NamedTuple):
    """What the checker says: a model unless there are errors, and every diagnostic, warnings included."""

    model: Model | None
    diagnostics: tuple[Diagnostic, ...]


def syntax(text: str) -> Spec:
    """text -> Syntax."""
    from kdsl.language.parser import parse_spec_text

    return parse_spec_text(text)


def check(spec: Spec, text: str, name: str, functions: Collection[str] = ()) -> Checked:
    """Syntax -> Model; `name` is the model's where the spec gives none, `functions` are kernels written in Python."""
    from kdsl.language.checker import check_spec

    return Checked(*check_spec(spec, text, name, functions))


def derive(model: Model) -> Derivation:
    """Model -> Primal -> Lagrangian -> Dual, with every step."""
    from kdsl.algebra.derivation import derive as derive_model

    return derive_model(model)


def verify(derivation: Derivation, seed: int = 0, time_limit: float = 20.0) -> Evidence:
    """Derivation -> Evidence: what random small instances, solved without the dual, say about it."""
    from kdsl.algebra.evidence import verify as verify_derivation

    return verify_derivation(derivation, seed=seed, time_limit=time_limit)


def prepare(
    model: Model,
    data: Any,
    params: Mapping[str, float] | None = None,
    kernels: Mapping[str, Any] | None = None,
    **given: Any,
) -> Prepared:
    """Model + data -> Prepared: derived, bound and audited; `given` is what `kdsl.solve` takes besides."""
    from kdsl.solving.api import prepare as prepare_model

    return prepare_model(model, data, params, kernels, **given)


def lower(prepared: Prepared) -> Lowered:
    """Prepared -> NormalForm, with the way back to the multipliers."""
    from kdsl.solving.planning import normal_form

    return normal_form(prepared.posed)


def route(prepared: Prepared, lowered: Lowered, options: Options, backend: str | None = None) -> Route:
    """NormalForm -> Route: the backend, by facts, with its reason."""
    from kdsl.solving.planning import chosen_route

    return chosen_route(prepared.posed, lowered, options, backend)


def solve(
    prepared: Prepared,
    options: Options,
    backend: str | None = None,
    progress: Progress | None = None,
    step: Step | None = None,
) -> Solution:
    """Prepared -> Solution: lowered, routed, solved by a backend, and certified without it."""
    return prepared.solve(options, backend, progress, step)


def parse_spec(text: str, name: str = "model", functions: Collection[str] = ()) -> Model:
    """The model that the text of a spec declares; KdslError carries every mistake in it."""
    checked = check(syntax(text), text, name, functions)
    if checked.model is None:
        raise KdslError(checked.diagnostics)
    return checked.model


def read_spec(path: str) -> Model:
    """The model in a file, or the shipped one of that name; where the file names none, its stem does."""
    return parse_spec(*read_text(path))


def read_text(path: str) -> tuple[str, str]:
    """The text of the spec in a file, and the name of its model where the text gives none."""
    from os.path import basename

    from kdsl.language.source import decode_source
    from kdsl.spec_file import find_spec

    found = find_spec(path)
    with open(found, "rb") as file:
        return decode_source(file.read()), basename(found).removesuffix(".kspec")
