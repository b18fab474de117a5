"""What the header of a model file must look like, and how its arrays must fit, before anything relies on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from kdsl.binding.bound import LabelMap, LabelSet
from kdsl.binding.kernels import Gaussian, Laplacian, Linear, Polynomial, Sigmoid
from kdsl.binding.psd import POLICIES
from kdsl.binding.python_kernel import calls_python
from kdsl.models.fitted import Fitted

Check = Callable[[Any, str], None]
IMPORTED = "imported"  # the status of a model that another program solved, and that has no certificate


def text(value: Any, place: str) -> None:
    expect(isinstance(value, str), place, "text")


def flag(value: Any, place: str) -> None:
    expect(isinstance(value, bool), place, "true or false")


def whole(value: Any, place: str) -> None:
    expect(isinstance(value, int) and not isinstance(value, bool) and value >= 0, place, "a whole number")


def real(value: Any, place: str) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    expect(number or value in ("inf", "-inf", "nan"), place, "a number")


def finite(value: Any, place: str) -> None:
    expect(isinstance(value, (int, float)) and not isinstance(value, bool), place, "a finite number")


def maybe(check: Check) -> Check:
    return lambda value, place: None if value is None else check(value, place)


def one_of(words: tuple[str, ...]) -> Check:
    return lambda value, place: expect(value in words, place, f"one of {', '.join(words)}")


def each(check: Check) -> Check:
    def listed(value: Any, place: str) -> None:
        expect(isinstance(value, list), place, "a list")
        for number, part in enumerate(value):
            check(part, f"{place}[{number}]")

    return listed


def named(check: Check) -> Check:
    def mapped(value: Any, place: str) -> None:
        expect(isinstance(value, dict), place, "an object")
        for name, part in value.items():
            check(part, f"{place}.{name}")

    return mapped


def form(**members: Check) -> Check:
    def shaped(value: Any, place: str) -> None:
        expect(isinstance(value, dict), place or "the header", "an object")
        for name, check in members.items():
            inside = f"{place}.{name}" if place else name
            expect(name in value, inside, "there")
            check(value[name], inside)

    return shaped


def kernel(value: Any, place: str) -> None:
    """A record of a kernel: numbers where its parameters stand, records where its parts do."""
    expect(isinstance(value, dict) and isinstance(value.get("kind"), str), place, "a kernel")
    for name, part in value.items():
        KERNEL_FIELDS.get(name, text)(part, f"{place}.{name}")


KERNEL_FIELDS: Mapping[str, Check] = {
    "degree": whole,
    **dict.fromkeys(("gamma", "coef0", "factor", "level"), finite),
    **dict.fromkeys(("terms", "factors"), each(kernel)),
    "kernel": kernel,
    "columns": each(whole),
    "names": each(text),
}


def residual(value: Any, place: str) -> None:
    expect(isinstance(value, list) and len(value) == 3, place, "a condition, a number and a place")
    text(value[0], place)
    real(value[1], place)
    each(whole)(value[2], place)


REPORT = form(size=whole, exact=flag, at_least=real, at_most=real, rounding=real, by_formula=flag)
HEADER = form(
    model=text,
    spec=text,
    parameters=named(real),
    kernels=named(kernel),
    binding=form(kernels=named(text), psd=one_of(POLICIES), seed=whole),
    data=form(hash=text, sizes=named(whole), sources=named(text)),
    features=named(
        form(
            columns=each(text),
            names=each(text),
            categories=named(each(text)),
            precomputed=flag,
            scaling=text,
            offset=each(finite),
            factor=each(finite),
        )
    ),
    labels=named(form(negative=text, positive=text, low=finite, high=finite, numeric=flag)),
    label_sets=named(form(names=each(text), numeric=flag)),
    asked=form(tol=real, kkt_tol=maybe(real)),
    status=text,
    message=text,
    backend=text,
    reason=text,
    iterations=whole,
    certificate=maybe(
        form(
            value=real,
            dual=real,
            gap=real,
            rel_gap=real,
            kkt_gap=maybe(real),
            primal_residual=real,
            dual_residual=real,
            residuals=each(residual),
        )
    ),
    scalars=named(real),
    intervals=named(each(real)),
    support=form(total=whole, bound=whole, free=whole),
    quantities=named(real),
    outer=maybe(real),
    grams=named(REPORT),
    vectors=named(form(space=text, shape=each(whole))),
    unknowns=named(text),
    repairs=named(form(policy=text, shift=real, report=REPORT)),
    points=named(each(whole)),
    multipliers=named(each(whole)),
    theta=each(whole),
    versions=named(text),
)


NOTHING: Mapping[str, Any] = {"places": {}, "numbers": {}, "labels": {}}


def expect(holds: bool, place: str, what: str) -> None:
    if not holds:
        raise ValueError(f"{place} is not {what}")


def check_form(header: Any) -> None:
    """A ValueError that names the member that is not what it should be."""
    HEADER(header, "")
    expect((header["certificate"] is None) == (header["status"] == IMPORTED), "the certificate", "there")
    each(text)(header.get("voting", []), "voting")
    finite(header.get("unit", 1.0), "unit")
    finite((header["certificate"] or {}).get("unit", 1.0), "certificate.unit")
    kept = form(places=named(named(each(whole))), numbers=named(each(whole)), labels=named(each(whole)))
    kept(header.get("kept", NOTHING), "kept")


def check_fit(fitted: Fitted) -> None:
    """A ValueError where the arrays of a predictor do not fit each other or its model."""
    predictor = fitted.predictor
    for name, vector in predictor.vectors.items():
        expect(vector.space in predictor.support, f"the space of {name}", "one with points")
        members = int(np.prod(vector.shape, dtype=int))
        expected = (members, predictor.support[vector.space].shape[0])
        expect(vector.coefficients.shape == expected, f"the expansion of {name}", f"of shape {expected}")
        expect(vector.squared_norms.shape == vector.shape, f"||{name}||^2", f"of shape {vector.shape}")
    plain = (Linear, Polynomial, Gaussian, Laplacian, Sigmoid)
    names = {len(m.names) for m in fitted.feature_maps.values()}
    for space, points in predictor.support.items():
        expect(space in predictor.kernels, f"the kernel of {space}", "there")
        if isinstance(predictor.kernels[space], plain):
            expect(points.ndim == 2 and points.shape[1] in names, f"the points of {space}", "of the features")
    for space, kept in predictor.kept.places.items():
        for name, place in kept.items():
            inside = (place >= 0) & (place < predictor.support[space].shape[0])
            expect(bool(inside.all()), f"the places of {name}", f"among the points of {space}")
    indices = {v.name: len(v.indices) for v in predictor.model.variables}
    for name, value in predictor.scalars.items():
        expect(value.ndim == indices.get(name, 0), f"the unknown {name}", "of the shape that the spec gives it")
    for clause in predictor.model.predictions:
        check_labels(fitted, clause.kind)
    for name, feature_map in fitted.feature_maps.items():
        count = len(feature_map.names)
        sizes = {len(feature_map.scaling.offset), len(feature_map.scaling.factor)}
        expanded = sum(len(feature_map.categories.get(column, ("",))) for column in feature_map.columns)
        expect(sizes == {count} and expanded == count, f"the features of {name}", "as many everywhere")
    vectors = {v.name for v in predictor.model.variables if v.kernel is not None}
    expect(set(predictor.vectors) == vectors, "the list of expansions", "that of the spec")
    expect(set(predictor.parameters) == {p.name for p in predictor.model.parameters}, "the parameters", "the spec's")


def check_labels(fitted: Fitted, kind: str) -> None:
    """Labels that are numbers are numbers."""
    maps: list[LabelMap | LabelSet] = [*fitted.label_maps.values(), *fitted.label_sets.values()]
    for labels in maps:
        words = labels.names if isinstance(labels, LabelSet) else (labels.negative, labels.positive)
        if labels.numeric:
            for word in words:
                float(word)
    expect(kind != "class" or bool(fitted.label_sets), "the label set of the classes", "there")


def try_out(fitted: Fitted) -> None:
    """Predict the point 0: what does not fit fails here and not in the middle of somebody's table.

    A model without an input has no points; a Python kernel is not called before there is a point to call it on.
    """
    kernels = fitted.predictor.kernels.values()
    if not (fitted.model.predictions and fitted.feature_maps) or any(calls_python(kernel) for kernel in kernels):
        return
    point = fitted.points(np.zeros((1, len(fitted.feature_map.names))), np.zeros(1))
    for clause in fitted.model.predictions:
        codes = {formal: np.zeros(1, dtype=np.int64) for formal in clause.formals[1:]}
        fitted.answering(clause.kind).predict_both(point, codes)
