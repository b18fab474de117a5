"""The normal form of a posed problem, and the route that it takes, in words and numbers for a reader."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kdsl.numerics.arrays import Floats, Ints
from kdsl.solving.backends.registry import shipped
from kdsl.solving.facts import Facts
from kdsl.solving.lowering import BlockOrigin, Family, Lowered
from kdsl.solving.normal_form import HilbertBlock, Separable
from kdsl.solving.posed import Posed
from kdsl.solving.routing import Route, preferences

_MOST = 12  # rows, blocks or kinds of pieces that are listed


def normal_form_text(posed: Posed, lowered: Lowered) -> str:
    """Which number is which multiplier, the squared norms, h piece by piece, and the rows."""
    problem = lowered.problem
    squares = [_block(block, origin) for block, origin in zip(problem.blocks, lowered.origins, strict=True)]
    costs = [line for family in lowered.families.values() for line in _costs(family, problem.separable)]
    entropies = problem.entropies
    if entropies is not None:
        ends = np.count_nonzero(entropies.at_low), np.count_nonzero(entropies.at_high)
        costs.append(("entropies", f"{ends[0]:,} at a lower end, {ends[1]:,} at an upper end"))
    outer = posed.energies.outer
    kernels = [(name, kernel.description) for name, kernel in posed.kernels.items()]
    sections = (
        ("kernels", kernels),
        ("t", [(_name(family), _range(family)) for family in lowered.families.values()]),
        ("1/2 |S t + s|^2, a square for each unknown", _few(squares)),
        ("h(t), the sum of 1/2 c t^2 + s t over pieces", costs),
        ("A t = a", _few(list(_rows(lowered)))),
        ("constant", [] if problem.constant == 0 else [("", f"{problem.constant:.6g}")]),
        (f"the multiplier of `{outer}`", [] if outer is None else [("", "1 here; a search finds it")]),
    )
    terms = "what the cones of the dual make of t" if posed.energies.conic else "1/2 |S t + s|^2"
    terms += " + h(t)" + ("" if entropies is None else " + entropies")
    first = f"minimize {terms} subject to A t = a, over {problem.size:,} numbers t\n"
    return first + "".join(_section(title, lines) for title, lines in sections if lines)


def route_text(posed: Posed, facts: Facts, chosen: Route) -> str:
    """The facts by which the backend is chosen, the choice with its reason, and why it is no other."""
    lines = [("chosen", chosen.backend.name), ("", chosen.reason)]
    lines += [("", warning.message) for warning in chosen.warnings]
    if posed.energies.conic:
        return (_section("facts", [("", "no quadratic program")]) + _section("route", lines)).lstrip()
    order = {name: place for place, name in enumerate(preferences(facts))}
    others = []
    for backend in sorted(shipped(), key=lambda backend: order.get(backend.name, len(order))):
        refusal, here = backend.refusal(facts), "" if backend.installed() else "; not installed"
        may = "can, and follows in this order" if backend.name in order else "can, if it is asked for"
        if backend.name != chosen.backend.name:
            others.append((backend.name, f"cannot: {refusal}" if refusal else may + here))
    sections = (("facts", [("", facts.describe())]), ("route", lines), ("others", others))
    return "".join(_section(title, part) for title, part in sections).lstrip()


# ------------------------------------------------------------------- the parts


def _section(title: str, lines: list[tuple[str, str]]) -> str:
    width = max((len(name) for name, _ in lines), default=0)
    return f"\n{title}\n" + "".join(f"  {name:{width}}  {text}".rstrip() + "\n" for name, text in lines)


def _few(lines: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return lines if len(lines) <= _MOST else [*lines[:_MOST], ("...", f"{len(lines) - _MOST:,} more")]


def _name(family: Family) -> str:
    variable = family.variable
    letter = variable.letter + (f"[{', '.join(variable.indices)}]" if variable.indices else "")
    return f"{letter} of `{variable.label}`"


def _range(family: Family) -> str:
    if family.count == 0:
        return "none"
    first, last = family.start + 1, family.start + family.count
    return f"t[{first:,}]" if first == last else f"t[{first:,}] .. t[{last:,}]"


def _block(block: HilbertBlock, origin: BlockOrigin) -> tuple[str, str]:
    places = f"[{', '.join(str(place + 1) for place in origin.places)}]" if origin.places else ""
    entries = np.diff(block.atoms.indptr)
    used = entries[entries > 0]
    atoms = f"{len(used):,} columns of S"
    atoms += f" with {_between(used)} points each" if len(used) and used.max() > 1 else " with a point each"
    shift = "" if block.shift is None else f", s at {np.count_nonzero(block.shift):,} points"
    where = f"in the space of `{origin.space}`, {block.gram.size:,} points" if origin.space else "numbers"
    return f"{origin.unknown}{places}", f"{where}, {atoms}{shift}"


def _costs(family: Family, h: Separable) -> Iterator[tuple[str, str]]:
    """A line for each number of pieces that members of the family have."""
    members = np.sort(family.positions[family.positions >= 0])
    pieces = np.diff(h.offsets)[members]
    for count in np.unique(pieces):
        some = members[pieces == count]
        text = "; ".join(_piece(h, h.offsets[some] + number) for number in range(int(count)))
        many = "" if len(some) == family.count else f"{len(some):,} of them: "
        yield _name(family), many + text


def _piece(h: Separable, places: Ints) -> str:
    left, right = _between(h.left[places]), _between(h.right[places])
    opening, closing = "[("[left == "-inf"], ")]"[right != "inf"]
    return f"{opening}{left}, {right}{closing} c = {_between(h.curvature[places])}, s = {_between(h.slope[places])}"


def _rows(lowered: Lowered) -> Iterator[tuple[str, str]]:
    rows = lowered.problem.rows
    for number, target in enumerate(rows.target):
        entries = rows.matrix.data[rows.matrix.indptr[number] : rows.matrix.indptr[number + 1]]
        sign = "=" if rows.equality[number] else "<="
        yield f"row {number + 1}", f"{len(entries):,} entries of {_between(entries)}, {sign} {_shown(target)}"


def _between(numbers: Floats | Ints) -> str:
    """The least and the greatest of them."""
    if len(numbers) == 0:
        return "nothing"
    low, high = _shown(numbers.min()), _shown(numbers.max())
    return low if low == high else f"{low} .. {high}"


def _shown(number: float) -> str:
    return f"{number + 0.0:.6g}"  # -0 is 0 to a reader
