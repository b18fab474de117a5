"""Finds what is bound twice: a target that is also a feature, a feature named twice, a column that is two data."""

from __future__ import annotations

from collections.abc import Mapping

from kdsl.binding.faults import cite, fault, join, listing, warning
from kdsl.binding.sources import FromArray, FromColumn, FromFeatures, Request, Source, target_datum
from kdsl.language.diagnostics import Diagnostic, KdslError
from kdsl.language.model import Model


def check_target(model: Model, request: Request) -> None:
    """`--target` and `--bind` must not disagree."""
    target = target_datum(model)
    bound = request.bindings.get(target)
    if request.target is not None and bound is not None and bound != request.target:
        raise fault(
            "K529",
            f"`{target}` is bound twice: to `{request.target}` as the target, and to `{bound}` by name",
            "it has one value for each example",
            "give one of the two",
        )


def bound_twice(model: Model, sources: Mapping[str, Source]) -> list[Diagnostic]:
    """Errors where an answer would mean nothing; warnings where somebody may want it so."""
    target = target_datum(model)
    errors: list[KdslError] = []
    notes: list[Diagnostic] = []
    for source in sources.values():
        if not isinstance(source, FromFeatures):
            continue
        repeated = [name for name in dict.fromkeys(source.names) if source.names.count(name) > 1]
        if repeated:
            errors.append(
                fault(
                    "K529",
                    f"the features of `{source.datum.name}` name {listing(repeated)} more than once",
                    "a feature that counts twice weighs twice in every distance and inner product",
                    "name it once, or scale it if that is meant",
                )
            )
        columns = {source.prefix + name for name in source.names}
        for other in sources.values():
            if not isinstance(other, FromColumn) or other.table is not source.table or other.column not in columns:
                continue
            if other.datum.name == target:
                errors.append(target_as_feature(other, source))
            else:
                notes.append(two_uses(other.datum.name, source.datum.name, f"the column `{other.column}`"))
    plain = [source for source in sources.values() if isinstance(source, FromColumn | FromArray)]
    for place, first in enumerate(plain):
        for second in plain[place + 1 :]:
            what = shared(first, second)
            notes += [two_uses(first.datum.name, second.datum.name, what)] if what else []
    if errors:
        raise join(errors)
    return notes


def target_as_feature(target: FromColumn, features: FromFeatures) -> KdslError:
    return fault(
        "K529",
        f"{cite(target.table.source)}: the column `{target.column}` is the target `{target.datum.name}` and a feature "
        f"of `{features.datum.name}`",
        "what is to be predicted would be given away by the example itself",
        "leave it out of `--features`",
    )


def shared(first: FromColumn | FromArray, second: FromColumn | FromArray) -> str:
    """What both data are, "" if they are not the same column or array."""
    if isinstance(first, FromColumn) and isinstance(second, FromColumn):
        same = first.table is second.table and first.column == second.column
        return f"the column `{first.column}`" if same else ""
    if isinstance(first, FromArray) and isinstance(second, FromArray):
        return first.source if first.array is second.array else ""
    return ""


def two_uses(first: str, second: str, what: str) -> Diagnostic:
    return warning(
        "K545",
        f"{what} is bound both to `{first}` and to `{second}`",
        "most often one of the two was meant to be another column",
        "check `--target`, `--bind` and `--features`",
    )
