"""Binds the data of a saved model as they were bound when it was solved, and refuses others (K656)."""

from __future__ import annotations

from typing import Any

from kdsl.binding.binder import as_table, bind, tables_from_data
from kdsl.binding.bound import Bound
from kdsl.language.diagnostics import Diagnostic, KdslError
from kdsl.models.model_file import LoadedModel

SOLVING = ("kernels", "psd", "seed")  # what the header keeps beside the binding


class OtherData(KdslError):
    """The data are not those that the model was fitted on."""


def other_data(why: str) -> OtherData:
    message, help = "these are not the data that the model was fitted on", "give the training data, unchanged"
    return OtherData((Diagnostic("K656", message, (), why, f"{help} and in the same order"),))


def binding_of(loaded: LoadedModel) -> dict[str, Any]:
    """What `bind` was asked for."""
    return {name: value for name, value in loaded.header["binding"].items() if name not in SOLVING}


def bound_as_then(loaded: LoadedModel, data: Any) -> Bound:
    """The data bound as then. Where that cannot be, or the values are others, OtherData says why."""
    tables = {key: as_table(loaded.model, value) for key, value in tables_from_data(loaded.model, data).items()}
    try:
        bound = bind(loaded.model, tables, **binding_of(loaded))
    except KdslError as error:
        raise other_data("; ".join(diagnostic.message for diagnostic in error.diagnostics)) from None
    then: dict[str, Any] = loaded.header["data"]
    if bound.data_hash != then["hash"]:
        sizes, before = (", ".join(f"{name} = {n}" for name, n in s.items()) for s in (bound.sizes, then["sizes"]))
        counted = f"{sizes} as then" if sizes == before else f"now {sizes}, then {before}"
        raise other_data(f"their hash is {bound.data_hash[:16]}, the file has {str(then['hash'])[:16]}; {counted}")
    return bound
