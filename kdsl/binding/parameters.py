"""bind_parameters: the values of a model's parameters, from defaults and the user, checked against their domains."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real

import numpy as np

from kdsl.binding.faults import fault, join, nearest
from kdsl.binding.values import inside, interval_words
from kdsl.language.diagnostics import KdslError
from kdsl.language.lexer import canonical_name
from kdsl.language.model import Model, Parameter


def bind_parameters(model: Model, overrides: Mapping[str, float]) -> dict[str, float]:
    """Every parameter with its value, in the order of declaration, by its ASCII or Greek name; all errors at once."""
    overrides = {canonical_name(name): value for name, value in overrides.items()}
    names = [parameter.name for parameter in model.parameters]
    errors: list[KdslError] = []
    for name in overrides:
        if name not in names:
            message = f"the model `{model.name}` has no parameter `{name}`"
            errors.append(fault("K551", message, help=nearest(name, names)))
    values: dict[str, float] = {}
    for parameter in model.parameters:
        try:
            values[parameter.name] = bind_parameter(parameter, overrides)
        except KdslError as error:
            errors.append(error)
    if errors:
        raise join(errors)
    return values


def bind_parameter(parameter: Parameter, overrides: Mapping[str, float]) -> float:
    if parameter.name not in overrides:
        if parameter.default is None:
            raise fault(
                "K552",
                f"the parameter `{parameter.name}` has no value",
                f"the spec declares {parameter.name} : {interval_words(parameter.interval)} without a default",
                f"say `-D {parameter.name}=...`",
            )
        return float(parameter.default)
    given = overrides[parameter.name]
    value = number(given)
    if not inside(np.array([value]), parameter.interval)[0]:
        shown = f"{value:.6g}" if isinstance(given, Real) else repr(given)
        raise fault(
            "K550",
            f"the parameter `{parameter.name}` is {shown}",
            f"the spec declares {parameter.name} : {interval_words(parameter.interval)}",
            "choose another value",
        )
    return value


def number(given: object) -> float:
    """What was given as a number, NaN where it is none."""
    try:
        return math.nan if isinstance(given, complex) else float(given)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return math.nan
