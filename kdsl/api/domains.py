"""What a datum, a parameter or an unknown may be, from the keywords of its declaration."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

from kdsl.api.expressions import number_node
from kdsl.api.places import Site, Sources
from kdsl.language.syntax import Domain, Expr, Name, Neg, Number

Bound: TypeAlias = float | Fraction
Open: TypeAlias = bool | str

_WORDS = ("kind", "values", "labels", "lower", "upper", "open")


def real_domain(site: Site, sources: Sources, lower: Bound | None, upper: Bound | None, open: Open = False) -> Domain:
    """`real`, `real >= 0` or an interval; `open` excludes its finite ends, or only its "lower" or its "upper" one."""
    if open not in (True, False, "lower", "upper"):
        raise ValueError(f"`open` is True, False, 'lower' or 'upper', not {open!r}")
    span = site.keywords(*_WORDS)

    def end(word: str, value: Bound) -> Expr:
        return number_node(value, site.keyword(word), sources)

    if lower is None and upper is None:
        return Domain("real", span=span)
    if open is False and upper is None and lower is not None:
        return Domain("real", ">=", end("lower", lower), span=span)
    if open is False and lower is None and upper is not None:
        return Domain("real", "<=", end("upper", upper), span=span)
    infinite = Number("inf", span)
    return Domain(
        "interval",
        lower=Neg(infinite, span) if lower is None else end("lower", lower),
        upper=infinite if upper is None else end("upper", upper),
        lower_open=open in (True, "lower") or lower is None,
        upper_open=open in (True, "upper") or upper is None,
        span=span,
    )


def finite_domain(site: Site, sources: Sources, values: Sequence[Bound]) -> Domain:
    span = site.keywords("values")
    return Domain("finite", values=tuple(number_node(value, span, sources) for value in values), span=span)


def set_domain(site: Site, name: str) -> Domain:
    return Domain("set", name=Name(name, site.keyword("labels")), span=site.keywords("labels"))
