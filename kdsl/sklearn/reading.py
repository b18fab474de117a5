"""What a spec offers an estimator: its input, its target, its weights, its predict clause and its parameters."""

from __future__ import annotations

import keyword
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from kdsl.binding.binder import uses_precomputed
from kdsl.binding.faults import listing, nearest
from kdsl.binding.sources import feature_data, first_size, target_datum
from kdsl.binding.weights import weights_of
from kdsl.language.diagnostics import KdslError
from kdsl.language.model import Datum, IndexSet, Model, Prediction
from kdsl.language.parser import parse_kernel
from kdsl.language.syntax import Call, Expr, Item, Name
from kdsl.language.walk import walk
from kdsl.sklearn.errors import FitError, as_value_errors, refusal


class Reading(NamedTuple):
    """A model as an estimator sees it; "" where the model has no such datum. `total` is the sum of the weights."""

    model: Model
    clause: Prediction
    input: str
    target: str
    weight: str
    total: str = ""

    @property
    def native(self) -> bool:
        """Whether the spec tells any number of classes apart by itself."""
        return self.clause.kind == "class"

    def datum(self, name: str) -> Datum:
        return next(datum for datum in self.model.data if datum.name == name)


def model_of(spec: Any) -> Model:
    """The model of a path, of a shipped spec's name, or of an object that is one or carries one as `model`."""
    if isinstance(spec, Model):
        return spec
    with as_value_errors():
        carried = getattr(spec, "model", None)
    if isinstance(carried, Model):
        return carried
    if not isinstance(spec, str | os.PathLike):
        raise TypeError(
            f"spec must be a shipped spec's name, a path or a kdsl Model, not {spec!r} of type {type(spec).__name__}"
        )
    from kdsl import resources

    path = os.fspath(spec)
    if not os.path.isfile(path):
        shipped = resources.spec_path(path)
        if shipped is None:
            raise ValueError(f"there is no spec {path!r}: no file, and {nearest(path, resources.spec_names())}")
        path = shipped
    return _read(path, os.stat(path).st_mtime_ns)


@lru_cache(maxsize=64)
def _read(path: str, changed: int) -> Model:
    from kdsl.pipeline import read_spec

    try:
        return read_spec(path)
    except KdslError as error:
        raise FitError(error.diagnostics) from error


def may_be_keyword(name: str, taken: frozenset[str]) -> bool:
    """Whether some spec's parameter may have this keyword: results of `fit`, which end in an underscore, have not."""
    hidden = name.endswith("_") and not _gets_underscore(name[:-1], taken)
    return not name.startswith("_") and not hidden


def _gets_underscore(name: str, taken: frozenset[str]) -> bool:
    return keyword.iskeyword(name) or name in taken


@lru_cache(maxsize=64)
def keywords_of(model: Model, taken: frozenset[str]) -> Mapping[str, str]:
    """Parameter of the spec by the keyword that stands for it.

    A name that Python or the estimator has already taken gets an underscore: `lambda_`, `tol_`.
    """
    result = {}
    for parameter in model.parameters:
        name = parameter.name
        if name.endswith("_") or "__" in name:
            raise refusal(
                "K551",
                f"the parameter `{name}` of `{model.name}` cannot be a parameter of an estimator",
                "scikit-learn gives a meaning of its own to names that end in an underscore or have two in a row",
                "rename it in the spec",
            )
        result[f"{name}_" if _gets_underscore(name, taken) else name] = name
    return result


def reading_of(model: Model, kinds: Sequence[str], estimator: str) -> Reading:
    """The model's parts, or the reason why this kind of estimator has no use for it."""
    clause = next((p for kind in kinds for p in model.predictions if p.kind == kind), None)
    if clause is None:
        found = [f"predict {p.kind}" for p in model.predictions]
        raise refusal(
            "K650",
            f"{estimator} needs a spec with a clause {' or '.join(f'`predict {kind}`' for kind in kinds)}; "
            f"`{model.name}` has {listing(found) if found else 'no predict clause'}",
            help="add the clause to the spec, or take the estimator that goes with it",
        )
    if len(clause.formals) > 1:
        raise refusal(
            "K651",
            f"`predict {clause.kind}` of `{model.name}` takes `{clause.formals[1]}` beside the new point",
            "scikit-learn's predict has the points only",
            "solve it with `kdsl.solve`, whose solution predicts with `extra={...}`",
        )
    size = first_size(model)
    features = feature_data(model)
    inputs = [d.name for d in model.data if d.name in features and d.sets and d.sets[0].size == size]
    if not inputs:
        raise refusal(
            "K521", f"`{model.name}` has no input with one point for each example", help="declare x[i] : input"
        )
    weights = [d.name for d in weights_of(model) if d.sets[0].size == size]
    weight = "s" if "s" in weights else (weights[0] if len(weights) == 1 else "")
    return Reading(model, clause, inputs[0], _target(model, clause), weight)


def probability_clause(reading: Reading) -> Prediction | None:
    """The clause that tells how probable the second of two labels is, or any of the classes; None where there is none.

    For classes it takes the class beside the point: `predict probability(t, k)`.
    """
    found = next((p for p in reading.model.predictions if p.kind == "probability"), None)
    wanted: list[IndexSet | None] = [reading.datum(reading.target).labels] if reading.native else []
    return found if found is not None and list(found.sets[1:]) == wanted else None


def _target(model: Model, clause: Prediction) -> str:
    """The datum that `y` is, which for labels has two values and for classes a set of them."""
    name = target_datum(model)
    datum = next((d for d in model.data if d.name == name), None)
    fits = {"label": "finite", "class": "set", "value": "real", "score": "real"}.get(clause.kind)
    if fits is None:
        return name
    if datum is None or datum.kind != fits or (fits == "finite" and len(datum.values) != 2):
        wanted = {"label": "y[i] : {-1, 1}", "class": "y[i] : classes"}.get(clause.kind, "y[i] : real")
        raise refusal(
            "K521",
            f"`predict {clause.kind}` of `{model.name}` has no target to learn from",
            f"its target is {f'`{name}`, of another kind' if name else 'missing'}",
            f"declare {wanted}",
        )
    return name


# --------------------------------------------------------------------- kernels


def kernel_choices(model: Model, kernel: Any) -> dict[str, Any]:
    """The kernels to put in the place of the spec's own: one for all of them, or one by name."""
    if kernel is None:
        return {}
    if isinstance(kernel, dict):
        return dict(kernel)
    if not isinstance(kernel, str) and not callable(kernel):
        raise TypeError(
            f"kernel must be a kernel expression, a function of two matrices or a dict of these by name, not {kernel!r}"
        )
    if isinstance(kernel, str):
        name, mark, expression = kernel.partition("=")
        if mark and name.strip().isidentifier():  # `k = rbf(gamma = 1)`, as the command line has it
            return {name.strip(): expression.strip()}
    return {declared.name: kernel for declared in model.kernels}


def is_pairwise(model: Model, choices: dict[str, Any]) -> bool:
    """Whether X is to be kernel values with the training points instead of features."""
    for declared in model.kernels:
        given = choices.get(declared.name, declared.expression)
        with as_value_errors():
            expression = parse_kernel(f"{declared.name} = {given}")[0].kernel if isinstance(given, str) else given
        if not callable(expression) and uses_precomputed(expression):
            return True
    return False


# ---------------------------------------------------------------- the clause


def mentioned(reading: Reading) -> Iterator[Expr]:
    """Every part of the predict clause, with the abbreviations that it uses written out."""
    bodies = {a.name: a.body for a in reading.model.abbreviations}
    pending = [reading.clause.body]
    while pending:
        for part in walk(pending.pop()):
            yield part
            if isinstance(part, Call | Name):
                body = bodies.pop(part.function.id if isinstance(part, Call) else part.id, None)
                pending += [] if body is None else [body]


def names_in(reading: Reading) -> set[str]:
    """Whatever the clause mentions."""
    parts = list(mentioned(reading))
    return {p.id for p in parts if isinstance(p, Name)} | {p.base.id for p in parts if isinstance(p, Item)}
