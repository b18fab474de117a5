"""Newton's method on duals whose every multiplier has an entropy: logistic and multinomial regression.

minimise  1/2 t'Qt + c't + sum e(t - low) + sum e(high - t)  subject to  A t = a,   e(x) = x log x

The entropies are barriers of their own box, so the boxes need no other care (Boyd and Vandenberghe 2004, section 10.3).
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from numpy.typing import NDArray

from kdsl.algebra.dual import Dual
from kdsl.algebra.numeric import evaluate
from kdsl.solving.backends.interface import Backend, Options, Progress, always, own_version
from kdsl.solving.lowering import Lowered
from kdsl.solving.normal_form import Floats, NormalForm
from kdsl.solving.posed import Posed
from kdsl.solving.raw_solution import RawSolution, Status

LARGEST = 8000  # coordinates beyond which the dense Hessian is not formed
_STEPS = 100
_REDUNDANT = 1e-13
_INSIDE = 0.99  # of the way to the nearest end of the box


@dataclass(frozen=True, eq=False)
class _Barriers:
    """Which coordinates have an entropy at which end; those of no weight are fixed at 0."""

    low: Floats
    high: Floats
    at_low: NDArray[np.bool_]
    at_high: NDArray[np.bool_]
    start: Floats

    def on(self, places: NDArray[np.int64]) -> _Barriers:
        return _Barriers(
            self.low[places], self.high[places], self.at_low[places], self.at_high[places], self.start[places]
        )

    def slope(self, t: Floats) -> Floats:
        below = np.where(self.at_low, np.log(np.where(self.at_low, t - self.low, 1.0)) + 1.0, 0.0)
        above = np.where(self.at_high, np.log(np.where(self.at_high, self.high - t, 1.0)) + 1.0, 0.0)
        return np.asarray(below - above)

    def curvature(self, t: Floats) -> Floats:
        below = np.where(self.at_low, 1.0 / np.where(self.at_low, t - self.low, 1.0), 0.0)
        above = np.where(self.at_high, 1.0 / np.where(self.at_high, self.high - t, 1.0), 0.0)
        return np.asarray(below + above)

    def longest(self, t: Floats, step: Floats) -> float:
        """The longest step of at most 1 that stays inside."""
        down = self.at_low & (step < 0)
        up = self.at_high & (step > 0)
        room = np.concatenate([(self.low - t)[down] / step[down], (self.high - t)[up] / step[up]])
        return min(1.0, _INSIDE * float(room.min(initial=np.inf)))


def solve_entropies(
    posed: Posed, lowered: Lowered, options: Options, progress: Progress | None = None
) -> RawSolution | None:
    """The optimum; None where the dual has other terms, conditions or sizes, or Newton's method does not get there."""
    problem = lowered.problem
    barriers = _barriers(posed.energies.dual, lowered, posed)
    free = np.zeros(0, dtype=np.int64) if barriers is None else np.flatnonzero(barriers.at_low | barriers.at_high)
    if barriers is None or not 0 < len(free) <= LARGEST:
        return None
    began = time.perf_counter()
    hessian = _hessian(problem)[np.ix_(free, free)]
    rows = sp.csr_array(sp.csc_array(problem.rows.matrix)[:, free])
    held = np.flatnonzero(np.diff(rows.indptr) > 0)
    rows, target = rows[held].toarray(), problem.rows.target[held]
    kept = barriers.on(free)
    linear = _linear(problem)[free]
    t, nu = kept.start.copy(), np.zeros(len(target))
    status: Status = "stalled"
    iterations = 0

    def residual(t: Floats, nu: Floats) -> tuple[Floats, Floats]:
        return hessian @ t + linear + kept.slope(t) + rows.T @ nu, rows @ t - target

    dual, primal = residual(t, nu)
    size = _size(dual, primal)
    for iterations in range(1, _STEPS + 1):
        try:
            step, moved = _newton_step(hessian, kept.curvature(t), rows, dual, primal)
        except la.LinAlgError:  # kernel values so large that rounding makes the matrix indefinite
            return None
        length = kept.longest(t, step)
        while True:
            ahead, price = t + length * step, nu + length * moved
            dual, primal = residual(ahead, price)
            if _size(dual, primal) <= (1.0 - 0.01 * length) * size or length < 1e-10:
                break
            length *= 0.5
        before, size = size, _size(dual, primal)
        t, nu = ahead, price
        decrement = abs(float(step @ (kept.curvature(t) * step + hessian @ step)))
        if length == 1.0 and decrement <= 1e-3 * options.tol * max(1.0, abs(float(linear @ t))):
            status = "solved"
            if decrement <= 1e-20 or size >= 0.5 * before:
                break
        if progress is not None and progress(iterations, decrement):
            status = "interrupted"
            break
        if time.perf_counter() - began > options.time_limit:
            status = "time_limit"
            break
    if status == "stalled":
        return None
    theta = np.clip(np.zeros(problem.size), problem.separable.lower, problem.separable.upper)
    theta[free] = t
    return RawSolution(
        theta, iterations, status, "the Newton decrement is within the tolerance", time.perf_counter() - began
    )


def _newton_step(
    hessian: Floats, curvature: Floats, rows: Floats, dual: Floats, primal: Floats
) -> tuple[Floats, Floats]:
    """The step of t and of the multipliers of the rows."""
    matrix = hessian.copy()
    matrix[np.diag_indices_from(matrix)] += curvature
    factor = la.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    direct = la.cho_solve(factor, dual, check_finite=False)
    if not len(rows):
        return -direct, np.zeros(0)
    through = la.cho_solve(factor, rows.T, check_finite=False)
    schur = rows @ through
    schur[np.diag_indices_from(schur)] *= 1.0 + _REDUNDANT  # rows that depend on one another leave it singular
    moved = la.solve(schur, primal - rows @ direct, assume_a="pos", check_finite=False)
    return -direct - through @ moved, np.asarray(moved)


def _size(dual: Floats, primal: Floats) -> float:
    return float(np.sqrt(dual @ dual + primal @ primal))


def _hessian(problem: NormalForm) -> Floats:
    total = np.zeros((problem.size, problem.size))
    for block in problem.blocks:
        atoms = sp.csc_array(block.atoms)
        used = np.flatnonzero(np.diff(sp.csr_array(atoms).indptr) > 0).astype(np.int64)
        gram = np.asarray(block.gram.rows(used))[:, used]
        inside = sp.csc_array(sp.csr_array(atoms)[used])
        total += inside.T @ (inside.T @ gram.T).T
    h = problem.separable
    total[np.diag_indices_from(total)] += h.curvature[h.offsets[:-1]]
    return total


def _linear(problem: NormalForm) -> Floats:
    h = problem.separable
    total = h.slope[h.offsets[:-1]].copy()
    for block in problem.blocks:
        if block.shift is not None:
            total += block.atoms.T @ block.gram.matvec(block.shift)
    return total


def _barriers(dual: Dual, lowered: Lowered, posed: Posed) -> _Barriers | None:
    """None where a multiplier has no entropy, or anything but equations and one smooth piece stands beside."""
    problem = lowered.problem
    h = problem.separable
    terms = {term.label: term for term in dual.entropies}
    if set(terms) != set(lowered.families) or h.size != len(h.left) or not problem.rows.equality.all():
        return None
    low, high = h.lower.copy(), h.upper.copy()
    at_low, at_high = np.zeros(h.size, dtype=bool), np.zeros(h.size, dtype=bool)
    start = np.zeros(h.size)
    for label, family in lowered.families.items():
        term = terms[label]
        places = family.positions[family.positions >= 0]
        weight = evaluate(
            term.weight, posed.values, {n: posed.values.size(z) for n, z in zip(term.indices, term.sets, strict=True)}
        )
        if term.kind == "binary":
            free = places[high[places] > low[places]]
            at_low[free] = at_high[free] = True
            start[free] = 0.5 * (low[free] + high[free])
        else:
            share = np.broadcast_to(np.asarray(weight)[..., None] / family.shape[-1], family.shape)
            each = share[family.positions >= 0]
            wide = each > 0
            at_high[places[wide]] = True
            start[places] = high[places] - each
    return _Barriers(low, high, at_low, at_high, start)


def _without_entropies(
    problem: NormalForm, options: Options, start: Floats | None = None, progress: Progress | None = None
) -> RawSolution:
    return RawSolution(np.zeros(problem.size), 0, "solver_error", "a normal form has no entropies", 0.0)


BACKEND = Backend(
    name="newton",
    takes=f"duals of up to {LARGEST:,} coordinates that each have an entropy: logistic and multinomial losses",
    accuracy=1e-12,
    licence="BSD-3-Clause",
    package="",
    accepts=lambda facts: "it takes duals whose every multiplier has an entropy",
    installed=always,
    version=own_version,
    solve=_without_entropies,
)
