"""Minimises a scalar problem with logistic or multinomial losses: by bisection along one scalar, or by Newton.

They go through tails where a loss is flat but for rounding: bisection brackets the change of sign of the derivative,
Newton's method bounds its steps by a curvature that the losses have nowhere (Levenberg-Marquardt in that metric), so
that every step descends at the latest when it is as short as that. Among slacks and conditions a step is a quadratic
program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import brentq

from kdsl.numerics.arrays import Floats
from kdsl.numerics.quiet_products import dot
from kdsl.solving.scalar_problem import ScalarProblem
from kdsl.solving.scalar_program import least_scalars

_FLAT = 1e-16  # of the sizes of its terms where they are largest: a derivative that rounding cannot tell from 0
_FARTHEST = 1e300
_FIRST = 1e-3  # share of the largest curvature that is added to the one there


class _Effort(NamedTuple):
    """Steps at most; the share that is added for the last look; of the value, a decrease that is none."""

    steps: int
    least: float
    level: float


_NEWTON, _PROGRAMS = _Effort(200, 1e-12, 1e-16), _Effort(60, 1e-6, 1e-11)


def along_one(problem: ScalarProblem, line: Callable[[float], tuple[Floats, Floats]], low: float, high: float) -> float:
    """Where the value is least for `low` <= v <= `high`; line(v) is the point z and its derivative by v."""
    start = float(np.clip(0.0, low, high))
    slope, largest = problem.slope(*line(start))
    towards = -np.sign(slope)
    if slope == 0 or start == (high if towards > 0 else low):
        return start
    near, width = start, 1.0
    while True:
        far = float(np.clip(near + towards * width, low, high))
        there, size = problem.slope(*line(far))
        largest = max(largest, size)
        if there * towards >= -_FLAT * largest:
            break
        if far in (low, high) or abs(far) > _FARTHEST:
            return far
        near, width = far, 4.0 * width
    level = -towards * _FLAT * largest  # of a tail that ends nowhere, where it is as good as flat
    ends = [problem.slope(*line(v))[0] - level for v in (near, far)]
    if ends[0] * ends[1] >= 0:
        return near if abs(ends[0]) <= abs(ends[1]) else far
    return float(brentq(lambda v: problem.slope(*line(v))[0] - level, near, far, xtol=1e-300, rtol=1e-15, maxiter=500))


def along_several(problem: ScalarProblem, base: Floats, directions: Floats) -> Floats:
    """The least point base + directions u, where the value has no kinks on it."""
    at = [directions[loss.columns] for loss in problem.smooth]
    own = directions.T @ (problem.quadratic @ directions)

    def ahead(z: Floats, added: float) -> tuple[Floats, float]:
        gradient = directions.T @ (problem.linear + problem.quadratic @ z)
        hessian = (1.0 + added) * own
        for loss, d in zip(problem.smooth, at, strict=True):
            gradient += np.einsum("ik,ikm->m", loss.slopes(z), d)
            hessian += np.einsum("ikm,ikl,iln->mn", d, loss.second_derivatives(z, added), d, optimize=True)
        step = -np.linalg.lstsq(hessian, gradient, rcond=1e-14)[0]
        return z + directions @ step, dot(gradient, step)

    return _descent(problem, base, ahead, _NEWTON)


def by_programs(problem: ScalarProblem) -> Floats:
    """The least point among slacks, kinks and conditions: every step minimises all but a model of the smooth losses."""

    def ahead(z: Floats, added: float) -> tuple[Floats, float]:
        model = _model(problem, z, added)
        found = least_scalars(model)
        return found, model.value(found) - model.value(z)

    feasible, _ = ahead(np.zeros(problem.size), 1.0)
    return _descent(problem, feasible, ahead, _PROGRAMS)


def _descent(
    problem: ScalarProblem, z: Floats, ahead: Callable[[Floats, float], tuple[Floats, float]], effort: _Effort
) -> Floats:
    """Where steps no longer descend; ahead(z, added) is the point after one and the decrease that it promises."""
    value, added = problem.value(z), _FIRST
    for _ in range(effort.steps):
        there, decrease = ahead(z, added)
        if decrease >= -effort.level * max(1.0, abs(value)):
            if added <= effort.least:
                break
            added = effort.least
            continue
        level = problem.value(there)
        if level <= value + 1e-4 * decrease:
            z, value, added = there, level, 0.1 * added
        elif added >= 1.0:
            break  # what is left is rounding
        else:
            added = min(1.0, max(10.0 * added, _FIRST))
    return z


def _model(problem: ScalarProblem, z: Floats, added: float) -> ScalarProblem:
    """The same with the smooth losses to the second order at z, that share of their largest curvature added."""
    linear, quadratic = problem.linear.copy(), problem.quadratic
    for loss in problem.smooth:
        blocks, columns = loss.second_derivatives(z, added), loss.columns[:, None, :]
        rows = np.broadcast_to(loss.columns[:, :, None], blocks.shape).reshape(-1)
        places = (rows, np.broadcast_to(columns, blocks.shape).reshape(-1))
        hessian = sp.csc_array((blocks.reshape(-1), places), quadratic.shape)
        np.add.at(linear, loss.columns, loss.slopes(z))
        linear -= hessian @ z
        quadratic = sp.csc_array(quadratic + hessian)
    return replace(problem, linear=linear, quadratic=quadratic, smooth=())
