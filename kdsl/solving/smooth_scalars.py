"""Minimises a scalar problem with logistic or multinomial losses: by bisection along one scalar, or by Newton.

They go through tails where a loss is flat but for rounding: bisection brackets the change of sign of the derivative,
Newton's method bounds its steps by a curvature that the losses have nowhere (Levenberg-Marquardt in that metric), so
that every step descends at the latest when it is as short as that. Among slacks and conditions a step is a quadratic
program.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from scipy.optimize import brentq

from kdsl.solving.normal_form import Floats
from kdsl.solving.quiet_products import dot
from kdsl.solving.scalar_problem import ScalarProblem
from kdsl.solving.scalar_program import least_scalars

_STEPS = 200
_FLAT = 1e-16  # of the sizes of its terms where they are largest: a derivative that rounding cannot tell from 0
_FARTHEST = 1e300
_FIRST, _LEAST = 1e-3, 1e-12  # share of the largest curvature that is added to the one there
_LEVEL = 1e-16  # of the value: a decrease below it is none
_PROGRAMS, _LEAST_OF_PROGRAM, _LEVEL_OF_PROGRAM = 60, 1e-6, 1e-11  # the same for steps that are programs


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
    most = own + sum(loss.most_curvature(d) for loss, d in zip(problem.smooth, at, strict=True))
    u, added = np.zeros(directions.shape[1]), _FIRST
    z = base
    value = problem.value(z)
    for _ in range(_STEPS):
        gradient = directions.T @ (problem.linear + problem.quadratic @ z)
        hessian = own.copy()
        for loss, d in zip(problem.smooth, at, strict=True):
            gradient += np.einsum("ik,ikm->m", loss.slopes(z), d)
            hessian += loss.curvature(z, d)
        step = -np.linalg.lstsq(hessian + added * most, gradient, rcond=1e-14)[0]
        decrease = dot(gradient, step)
        if decrease >= -_LEVEL * max(1.0, abs(value)):
            if added <= _LEAST:
                break
            added = _LEAST
            continue
        ahead = base + directions @ (u + step)
        level = problem.value(ahead)
        if level <= value + 1e-4 * decrease:
            u, z, value, added = u + step, ahead, level, 0.1 * added
        elif added >= 1.0:
            break  # what is left is rounding
        else:
            added = min(1.0, max(10.0 * added, _FIRST))
    return z


def by_programs(problem: ScalarProblem) -> Floats:
    """The least point among slacks, kinks and conditions: every step minimises all but a model of the smooth losses."""
    z, added = least_scalars(_model(problem, np.zeros(problem.size), 1.0)), _FIRST
    value = problem.value(z)
    for _ in range(_PROGRAMS):
        model = _model(problem, z, added)
        ahead = least_scalars(model)
        decrease = model.value(ahead) - model.value(z)
        if decrease >= -_LEVEL_OF_PROGRAM * max(1.0, abs(value)):
            if added <= _LEAST_OF_PROGRAM:
                break
            added = _LEAST_OF_PROGRAM
            continue
        level = problem.value(ahead)
        if level <= value + 1e-4 * decrease:
            z, value, added = ahead, level, 0.1 * added
        elif added >= 1.0:
            break  # what is left is rounding
        else:
            added = min(1.0, max(10.0 * added, _FIRST))
    return z


def _model(problem: ScalarProblem, z: Floats, added: float) -> ScalarProblem:
    """The same with the smooth losses to the second order at z, that share of their largest curvature added."""
    linear, quadratic = problem.linear.copy(), problem.quadratic
    for loss in problem.smooth:
        rows, columns, entries = loss.hessian(z, added)
        hessian = sp.csc_array((entries, (rows, columns)), quadratic.shape)
        np.add.at(linear, loss.columns, loss.slopes(z))
        linear -= hessian @ z
        quadratic = sp.csc_array(quadratic + hessian)
    return replace(problem, linear=linear, quadratic=quadratic, smooth=())
