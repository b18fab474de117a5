"""What a backend hands back: a point of the normal form and how it was reached, trusted by nobody."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from kdsl.numerics.arrays import Floats

Status = Literal[
    "solved", "stalled", "iteration_limit", "time_limit", "interrupted", "infeasible", "unbounded", "solver_error"
]
Fact = float | int | str


@dataclass(frozen=True, eq=False)
class RawSolution:
    """theta in the coordinates of the NormalForm.

    `solved` is the backend's own opinion; `stalled` means that rounding stopped progress before the tolerance.
    `ray` accompanies `unbounded`: a direction that keeps the rows and along which the objective falls for ever.
    """

    theta: Floats
    iterations: int
    status: Status
    message: str
    seconds: float
    facts: Mapping[str, Fact] = field(default_factory=dict)
    ray: Floats | None = None
