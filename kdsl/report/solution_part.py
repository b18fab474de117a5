"""What a report says of the route and the solution: how it was found, scalars, support, slacks, bounds, warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kdsl.models.report import range_words
from kdsl.report.parts import (
    Html,
    code,
    described,
    figure,
    listed,
    paragraph,
    prose,
    safe,
    section,
    tabulated,
    together,
)

if TYPE_CHECKING:
    from kdsl.algebra.numeric import Array
    from kdsl.language.diagnostics import Diagnostic
    from kdsl.report.account import Account
    from kdsl.solving.bounds import Bound

SUPPORT = 1e-9  # of the largest: what counts as not zero
PARTS = {"read": "reading the data", "lower": "setting up", "solve": "solving", "certify": "certifying"}


def route_section(account: Account) -> Html:
    pairs: list[tuple[str, str]] = [("chosen", safe(account.reason)), ("solver", code(account.backend))]
    pairs += [(f"kernel {name}", code(description)) for name, description in account.kernels.items()]
    pairs += [(f"parameter {name}", figure(value, 6)) for name, value in account.parameters.items()]
    if account.asked.get("tol") is not None:
        pairs.append(("relative gap asked for", figure(account.asked["tol"] or 0.0, 6)))
    pairs.append(("iterations", f"{account.iterations:,}"))
    if account.seconds:
        parts = "; ".join(f"{words} {account.seconds[name]:.2g} s" for name, words in PARTS.items())
        pairs.append(("time", f"{account.seconds['total']:.2g} s: {parts}"))
    return section("route", "The route", described(pairs))


def settings_section(account: Account) -> Html:
    """Kernels and parameters of a problem for which no route was needed."""
    pairs: list[tuple[str, str]] = [(f"kernel {name}", code(text)) for name, text in account.kernels.items()]
    pairs += [(f"parameter {name}", figure(value, 6)) for name, value in account.parameters.items()]
    return section("route", "The settings", described(pairs)) if pairs else Html("")


def solution_section(account: Account) -> Html:
    blocks: list[str] = []
    rows: list[tuple[str, str, str]] = []
    for name, value in account.scalars.items():
        interval = account.intervals.get(name)
        remark = Html("")
        if interval is not None:
            remark = together(range_words(interval), " is as good")
        rows.append((code(name), figure(value), remark))
    rows += [(code(name), figure(value), "") for name, value in account.quantities.items()]
    if rows:
        blocks.append(tabulated("Scalars, norms and totals", ("name", "value", "remark"), rows, frozenset({1})))
    support = account.support
    if support is not None:
        held = f"{support.free:,} free and {support.bound:,} at a bound"
        blocks.append(paragraph(f"Of the solver’s multipliers {support.total:,} are not 0: {held}."))
    rows = [_family(name, values, account) for name, values in account.multipliers.items()]
    if rows:
        header = ("condition", "not 0", "largest in size")
        blocks.append(tabulated("The multipliers of each condition", header, rows, frozenset({1})))
    rows = [_family(name, values, account) for name, values in account.slacks.items() if np.size(values)]
    if rows:
        header = ("unknown", "not 0", "largest in size")
        blocks.append(tabulated("The families of unknowns", header, rows, frozenset({1})))
    return section("solution", "The solution", *blocks)


def _family(name: str, given: Array, account: Account) -> tuple[str, str, str]:
    """How many there are, how many are not 0, and the largest with its place, counted from 1."""
    values = np.asarray(given)
    members = account.members.get(name, np.ones(values.shape, dtype=bool))
    sizes = np.where(members, np.abs(values), 0.0)
    top, total = float(sizes.max(initial=0.0)), int(np.count_nonzero(members))
    if not top:
        return code(name), f"0 of {total:,}", ""
    place = np.unravel_index(int(np.argmax(sizes)), values.shape)
    at = f" at [{', '.join(str(int(n) + 1) for n in place)}]" if values.shape else ""
    active = int(np.count_nonzero(sizes > SUPPORT * top))
    return code(name), f"{active:,} of {total:,}", together(figure(float(values[place]), 6), at)


def bounds_section(bounds: tuple[Bound, ...]) -> Html:
    """The theorems that were asked for."""
    if not bounds:
        return section("bounds", "Bounds", paragraph("None of the theorems is about a problem of this form."))
    rows = [_bound(bound) for bound in bounds]
    header = ("theorem", "bounds", "by", "with", "remark")
    blocks = [tabulated("What the texts prove about a solution like this", header, rows, frozenset({2}))]
    assumed = dict.fromkeys(line for bound in bounds for line in bound.assumptions)
    return section("bounds", "Bounds", *blocks, paragraph("They assume:"), listed(assumed))


def _bound(bound: Bound) -> tuple[str, str, str, str, str]:
    inputs = ", ".join(f"{name} = {value:.6g}" for name, value in bound.inputs.items())
    name = Html(safe(bound.name).replace(" ", "&#160;"))
    if bound.unmet:
        return name, bound.bounds, "", inputs, f"does not apply: {'; '.join(bound.unmet)} fails"
    remarks = ["vacuous"] if bound.vacuous else []
    if bound.printed is not None:
        remarks.append(f"as printed {bound.printed:.6g}; docs/errata.md shows the slip")
    return name, bound.bounds, figure(bound.value, 6), inputs, "; ".join(remarks)


def warnings_section(warnings: tuple[Diagnostic, ...]) -> Html:
    """Every warning with its code, its reason and its remedy."""
    items = []
    for warning in warnings:
        why = together(" ", prose(_sentence(warning.why))) if warning.why else ""
        remedy = together(" What helps: ", prose(_sentence(warning.help, capital=False))) if warning.help else ""
        items.append(together(code(warning.code), " ", prose(_sentence(warning.message)), why, remedy))
    told = together("More about each is told by ", code(f"kdsl explain {warnings[0].code}"), ".")
    return section("warnings", "Warnings", listed(items), paragraph(told))


def _sentence(text: str, capital: bool = True) -> str:
    """A message as a sentence, with a capital letter and a full stop."""
    begun = text[:1].upper() + text[1:] if capital else text
    return begun if begun.endswith((".", "?", "!")) else f"{begun}."
