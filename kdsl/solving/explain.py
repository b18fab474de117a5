"""Words for problems without a solution: the user's unknowns and parameters in place of rows and rays."""

from __future__ import annotations

import numpy as np

from kdsl.algebra.poly import Monomial, Poly
from kdsl.algebra.terms import Sym
from kdsl.language.diagnostics import Diagnostic
from kdsl.numerics.arrays import Floats
from kdsl.solving.infeasibility import Conflict, Crossing, NoSolution, Ray, measure_ray, recession_of
from kdsl.solving.lowering import Family, Lowered
from kdsl.solving.plain_contradiction import plain_contradiction
from kdsl.solving.posed import Posed

_SHOWN = 4  # multipliers that a message names
_CYCLE = 8  # members of a cycle that a message names
_KEPT = 50  # multipliers that a witness names
_ROUNDING = 1e-15  # of a sum whose parts cancel, as a share of them
_SMALL = 1e-9  # a share of the largest multiplier that counts as nothing

Place = tuple[str, tuple[int, ...]]  # a label and the place of a multiplier in its family, from 0


def explain_conflict(posed: Posed, lowered: Lowered, conflict: Conflict | Crossing) -> NoSolution:
    """The dual's rows and bounds cannot all hold: the primal falls without end."""
    if isinstance(conflict, Crossing):
        return _unbounded(posed, *_crossing_words(posed, lowered, conflict))
    witness = _witness(posed, conflict)
    along = ", ".join(f"{name} {weight:+.4g}" for name, weight in witness.items() if weight)
    allowed = f"at most {conflict.reachable:.6g}" if np.isfinite(conflict.reachable) else "any amount"
    why = (
        f"the multipliers would have to add up to {conflict.asked:.6g} (rows weighted by {along}) where their "
        f"bounds allow {allowed}; moving along these unknowns lowers the objective for ever"
    )
    changes = _parameter_changes(posed, lowered, conflict.factor)
    return _unbounded(posed, why, changes or "the penalties are too weak for what the objective rewards", witness)


def _unbounded(posed: Posed, why: str, remedy: str, witness: dict[str, float]) -> NoSolution:
    message = f"`{posed.derivation.model.name}` is unbounded on these data: its objective falls without end"
    return NoSolution("unbounded", Diagnostic("K620", message, (), why, remedy), witness)


def _crossing_words(posed: Posed, lowered: Lowered, crossing: Crossing) -> tuple[str, str, dict[str, float]]:
    """(why nothing lies between bounds that cross, what to change, by how much they cross at each multiplier)."""
    places = _places(lowered)
    crossed = [places[int(k)] for k in crossing.places]
    low, high = float(crossing.lower[0]), float(crossing.upper[0])
    more = f", and {len(crossed) - 1:,} more have no value either" if len(crossed) > 1 else ""
    why = (
        f"the multiplier `{_member(crossed[0], 1)}` would have to be at least {low:.6g} and at most {high:.6g}{more}: "
        "a penalty is negative, and a larger violation lowers the objective for ever"
    )
    families = [lowered.families[label] for label in {label for label, _ in crossed}]
    signs = _parameter_signs(posed, families) if len(crossed) == sum(f.count for f in families) else ""
    gaps = zip(crossed, crossing.lower - crossing.upper, strict=True)
    witness = {_member(place, 0): float(gap) for place, gap in list(gaps)[:_KEPT]}
    return why, signs or "let no product of parameters and data be negative where it is a penalty", witness


def _parameter_signs(posed: Posed, families: list[Family]) -> str:
    """The sign of a negative parameter that turns the bounds round, which cross at every member of the families."""
    pairs = [(family.variable.lower, family.variable.upper) for family in families]
    widths = [upper - lower for lower, upper in pairs if lower is not None and upper is not None]
    hints = []
    for name, value in posed.parameters.items():
        powers = {_power(width, name) for width in widths}
        if value < 0 and all(power % 2 for power in powers):
            hints.append(f"{name} {'>=' if min(powers) > 0 else '>'} 0")
    return f"it is bounded for {' or '.join(hints)}" if hints else ""


def _witness(posed: Posed, conflict: Conflict) -> dict[str, float]:
    """The weights of the rows by the unknown that each comes from, scaled to a largest size of 1."""
    names: list[str] = []
    for row in posed.energies.dual.rows:
        lengths = [posed.values.size(z) for z in row.sets]
        count = int(np.prod(lengths, dtype=int))
        names += [row.origin] if count == 1 else [f"{row.origin}[{n}]" for n in range(count)]
    size = float(np.abs(conflict.weights).max())
    pairs = zip(names, conflict.weights / size, strict=False)
    return {name: float(weight) for name, weight in pairs if abs(weight) > 1e-9}


def _parameter_changes(posed: Posed, lowered: Lowered, factor: float) -> str:
    """Which value of a parameter would be enough, where upper bounds and targets are powers of it.

    The upper bounds would have to be `factor` times larger beside what the rows ask for.
    """
    if not np.isfinite(factor):
        return "no penalty is high enough: examples that the rows need are absent (those of one class, for instance)"
    hints = []
    bounds = {family.variable.upper for family in lowered.families.values() if family.variable.upper is not None}
    targets = {row.body.split(lambda m: not _is_moving(m))[0] for row in posed.energies.dual.rows} - {Poly()}
    for name, value in posed.parameters.items():
        of_bounds = {_power(bound, name) for bound in bounds}
        of_targets = {_power(target, name) for target in targets}
        power = of_bounds.pop() - of_targets.pop() if len(of_bounds) == len(of_targets) == 1 else 0
        if power:
            hints.append(f"{name} {'>=' if power > 0 else '<='} {value * factor ** (1 / power):.6g}")
    return f"it is bounded for {' or '.join(hints)}" if hints else ""


def _is_moving(monomial: Monomial) -> bool:
    return any(isinstance(f, Sym) and f.role in ("mult", "abs") for f, _ in monomial.factors)


def _power(bound: Poly, name: str) -> int:
    """The power of a parameter in a bound that is one monomial; 0 where it has no single one."""
    if len(bound.terms) != 1:
        return 0
    ((monomial, _),) = bound.terms.items()
    return next((p for f, p in monomial.factors if isinstance(f, Sym) and (f.role, f.name) == ("param", name)), 0)


def explain_ray(posed: Posed, lowered: Lowered, ray: Ray) -> NoSolution:
    """The dual grows without end: no point satisfies the constraints."""
    ray, plain = _plainer(posed, lowered, ray)
    margin = float(np.sqrt(ray.energy + _ROUNDING * ray.scale))
    some, witness = _told(_members(lowered, ray.direction))
    return NoSolution(
        "infeasible",
        Diagnostic(
            "K621",
            f"`{posed.derivation.model.name}` is infeasible on these data: no point satisfies {_stated(posed)}",
            (),
            f"{plain}there are multipliers of total gain 1 ({some}) whose expansion has a norm of at "
            f"most {margin:.3g}, nothing but rounding beside {np.sqrt(ray.scale):.3g}: the constraints contradict each "
            f"other, and no margin above {margin:.3g} can be had",
            "add slacks with a penalty (a soft margin), use a kernel that separates, or look for equal examples with "
            "opposite demands",
        ),
        {"energy": ray.energy, "scale": ray.scale, "residual": ray.residual, **witness},
    )


def explain_reach(posed: Posed, lowered: Lowered, direction: Floats, reach: float) -> NoSolution:
    """Constraints that ask for more than a bound on the norm allows: multipliers that show it."""
    ball, (some, witness) = posed.energies.outer, _told(_members(lowered, direction))
    name = posed.derivation.model.name
    return NoSolution(
        "infeasible",
        Diagnostic(
            "K621",
            f"`{name}` is infeasible on these data: no point satisfies {_stated(posed)} and `{ball}`",
            (),
            f"there are multipliers of total gain 1 ({some}), of which `{ball}` allows at most {reach:.6g}: the "
            "constraints ask for more",
            f"allow more by `{ball}`, or add slacks with a penalty",
        ),
        {"reach": reach, **witness},
    )


def _plainer(posed: Posed, lowered: Lowered, ray: Ray) -> tuple[Ray, str]:
    """A ray of few members where equal points or a cycle make one, and what to say of it before the numbers."""
    recession = recession_of(lowered.problem)
    if recession is None or len(recession.falling):
        return ray, ""
    found = plain_contradiction(lowered, posed.spaces, recession.problem)
    if found is None:
        return ray, ""
    measured = measure_ray(recession.problem, found.direction)
    if not measured.proves:
        return ray, ""
    places = _places(lowered)
    names = [f"`{_member(places[k], 1)}`" for k in found.members]
    if found.kind == "nothing":
        return measured, f"{names[0]} asks for a difference between equal points; "
    if found.kind == "opposite":
        return measured, f"{names[0]} and {names[1]} ask opposite things of equal points; "
    shown = ", ".join(names[:_CYCLE]) + (" and so on" if len(names) > _CYCLE else "")
    return measured, f"{shown} form a cycle: each asks for more than the one before, and the last leads to the first; "


def _places(lowered: Lowered) -> dict[int, Place]:
    """Label and place of every coordinate."""
    return {
        int(family.positions[tuple(places)]): (label, tuple(int(n) for n in places))
        for label, family in lowered.families.items()
        for places in np.argwhere(family.positions >= 0)
    }


def _members(lowered: Lowered, direction: Floats) -> dict[Place, float]:
    """The largest multipliers of a direction by label and place in the data."""
    found: dict[Place, float] = {}
    size = float(np.abs(direction).max(initial=0.0))
    for label, family in lowered.families.items():
        for places in np.argwhere(family.positions >= 0):
            weight = float(direction[family.positions[tuple(places)]])
            if abs(weight) > _SMALL * size:
                found[label, tuple(int(n) for n in places)] = weight
    return dict(sorted(found.items(), key=lambda item: -abs(item[1]))[:_KEPT])


def _told(members: dict[Place, float]) -> tuple[str, dict[str, float]]:
    """The heaviest members for a person, and all of them for a program."""
    some = ", ".join(f"{_member(place, 1)} {weight:.3g}" for place, weight in list(members.items())[:_SHOWN])
    return some + (" and others" if len(members) > _SHOWN else ""), {_member(p, 0): w for p, w in members.items()}


def _stated(posed: Posed) -> str:
    """The labels of the conditions that the user stated."""
    return ", ".join(f"`{c.label}`" for c in posed.derivation.primal.conditions if c.kind == "stated")


def _member(place: Place, first: int) -> str:
    """The name of a multiplier, examples counted from `first`: 1 for people, as in reports, and 0 for programs."""
    label, places = place
    return f"{label}[{', '.join(str(n + first) for n in places)}]" if places else label
