"""Bounds on a norm that are meant to be equations, and that an answer stays clear of."""

from __future__ import annotations

from kdsl.algebra.numeric import evaluate
from kdsl.algebra.primal import Condition
from kdsl.solving.certify import Point
from kdsl.solving.posed import Posed
from kdsl.solving.unknowns import with_unknowns

NOT_TIGHT = "the bound on the norm is not tight"
_LOOSE = 1e-3  # of the bound on a norm, left unused where it is called loose


def loose_norms(posed: Posed, point: Point) -> list[Condition]:
    """The bounds on a norm that are meant to be equations, and that the answer stays clear of."""
    bounds = (c for c in posed.derivation.primal.conditions if c.kind == "ball" and c.tight)
    return [condition for condition in bounds if _is_loose(condition, posed, point)]


def _is_loose(condition: Condition, posed: Posed, point: Point) -> bool:
    """Whether the unknowns stay clear of the norm that the condition asks for."""
    without = {name: unknown.scaled(0.0) for name, unknown in point.unknowns.items()}
    body, bound = (
        float(evaluate(condition.body, with_unknowns(posed.values, unknowns, posed.spaces)))
        for unknowns in (point.unknowns, without)
    )
    return body < _LOOSE * bound
