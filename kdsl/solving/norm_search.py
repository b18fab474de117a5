"""Solves a dual with a norm multiplier that does not fold away: an outer search over it, each step a normal form.

W(lambda) = max over the other multipliers is concave and W'(lambda) is the norm condition's body at w(lambda),
so the search is for its zero (Brent, on log lambda). Where w(lambda) is inside, lambda times the slack is what this
lambda adds to the gap: the search ends when that is a small share of the tolerance. So it does when the bound is not
active (a body below 0 for all lambda), at a lambda not smaller than need be: rounding grows as 1 / lambda, and where it
hides the norm, the search ends too.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace

import numpy as np

from kdsl.algebra.numeric import evaluate
from kdsl.numerics.arrays import Floats
from kdsl.numerics.grams import expanded
from kdsl.solving.backends.interface import Options, Progress
from kdsl.solving.certificate import Products
from kdsl.solving.conic_route import may_be_a_cone
from kdsl.solving.entropic_form import with_entropies
from kdsl.solving.facts import facts_of
from kdsl.solving.lowering import lower
from kdsl.solving.posed import Posed
from kdsl.solving.primal_point import ball_rounding, without_vectors
from kdsl.solving.raw_solution import RawSolution
from kdsl.solving.routing import EXPECTED, Route, route
from kdsl.solving.unknowns import hilbert_unknowns, with_unknowns

_DOUBLINGS = 60
_SHARE = 0.1  # of the tolerance that lambda times the slack may take
_FLOOR = 1e-2  # the same for a bound that is not active, at best: below it rounding costs more
_BLUR = 1e-7  # of the bound, that rounding may make of the norm
_FAR = 1e8  # a multiplier beside which penalties of the vector are little
_PROPORTIONAL = 1e-6  # of what is proportional to a multiplier, that they may be
_ROUNDING = 1e-15  # of a sum of products, as a share of their sizes


class _Enough(Exception):
    """The search ends at the last multiplier: it proves enough, or time is over for the search as a whole."""


class _Search:
    def __init__(self, posed: Posed, options: Options, backend: str | None, progress: Progress | None) -> None:
        self._posed, self._backend, self._progress = posed, backend, progress
        self._options = replace(options, tol=min(options.tol * 1e-2, 1e-8))
        self._condition = posed.derivation.primal.condition(posed.energies.outer or "")
        self.raw: RawSolution | None = None
        self.seen: dict[float, float] = {}
        self.route: Route | None = None
        self.norm = 1.0
        self.seconds = 0.0
        self.iterations = 0
        self._slack = _SHARE * options.tol
        self.floor = _FLOOR * options.tol
        self._other_way = backend is None and may_be_a_cone(posed)
        self._deadline = time.perf_counter() + options.time_limit

    def body(self, norm: float) -> float:
        """W'(norm): how far w(norm) is outside its ball."""
        lowered = lower(self._posed.energies, self._posed.values, self._posed.spaces, norm)
        problem = with_entropies(self._posed, lowered)
        if self.route is None:
            self.route = route(facts_of(problem, self._options.memory), self._backend, self._options.tol)
        start: Floats | None = None if self.raw is None else self.raw.theta
        left = self._deadline - time.perf_counter()
        if left <= 0 and self.raw is not None:
            self.raw = replace(self.raw, status="time_limit", message="the time limit was reached")
            raise _Enough
        options = replace(self._options, time_limit=max(left, 0.0), max_iterations=self._steps(problem.size))
        self.raw, self.norm = self.route.backend.answer(problem, options, start, self._progress), norm
        if self.raw.status == "interrupted":
            raise _Enough
        self.seconds += self.raw.seconds
        self.iterations += self.raw.iterations
        products = Products.at(lowered.problem, self.raw.theta)
        unknowns = hilbert_unknowns(
            self._posed.derivation, lowered, products, self._posed.spaces, None, self._posed.values
        )
        values = with_unknowns(self._posed.values, unknowns, self._posed.spaces)
        found = self.seen[norm] = float(evaluate(self._condition.body, values))
        if self._other_way and ball_rounding(self._posed, unknowns).share > _BLUR:
            self.raw = replace(self.raw, status="stalled", message="rounding hides how large the norm is")
            raise _Enough
        if self.raw.status == "iteration_limit" or (found <= 0 and norm * abs(found) <= self._slack):
            raise _Enough
        return found

    def _steps(self, size: int) -> int | None:
        """The steps that one multiplier may take: what is unusual where another way is open."""
        usual = EXPECTED[0] + EXPECTED[1] * size
        return usual if self._options.max_iterations is None and self._other_way else self._options.max_iterations

    def highest(self) -> float:
        """What the multiplier cannot exceed: what it costs to leave every vector at 0, for each unit of the bound."""
        nothing = without_vectors(self._posed)
        room = -float(evaluate(self._condition.body, nothing.values))
        possible = nothing.meets(self._posed.derivation.primal.conditions)
        cost = nothing.value if possible and nothing.value > 0 else 1.0
        return cost / room if room > 0 else 1.0


def search_norm(
    posed: Posed, options: Options, backend: str | None, progress: Progress | None
) -> tuple[RawSolution, Route, float]:
    """(the solution at the best multiplier, the route taken, the multiplier)."""
    search = _Search(posed, options, backend, progress)
    try:
        norm = _best_norm(search)
    except _Enough:
        norm = search.norm
    assert search.raw is not None and search.route is not None
    raw = replace(search.raw, seconds=search.seconds, iterations=search.iterations)
    reason = f"an outer search over the multiplier of the norm, each step: {search.route.reason}"
    return raw, replace(search.route, reason=reason), norm


def _best_norm(search: _Search) -> float:
    """The multiplier at which W' changes sign, solved for last."""
    from math import exp, log

    from scipy.optimize import brentq

    low = high = search.highest()
    inside = search.body(high)
    if inside > 0:
        for _ in range(_DOUBLINGS):
            low, high = high, high * 8.0
            if search.body(high) <= 0:
                break
    else:
        for _ in range(_DOUBLINGS):
            high, low = low, low / 8.0
            slack = search.body(low)
            if slack > 0:
                break
            if low * abs(slack) <= search.floor:
                return low
    ends = {log(low): search.seen[low], log(high): search.seen[high]}  # asked again, rounding might turn a sign
    if ends[log(low)] * ends[log(high)] >= 0:
        return high

    def body(s: float) -> float:
        return ends[s] if s in ends else search.body(exp(s))

    best = exp(float(brentq(body, *ends, xtol=1e-14, rtol=1e-13)))
    search.body(best)
    return best


def reach_within(posed: Posed, direction: Floats) -> float:
    """The most that the bound on the norm lets multipliers make of what they ask for: |v| times the bound.

    With the multiplier lambda of the bound the dual of s d is s (gain - E / lambda - lambda c), where E / lambda is the
    energy of d for large lambda and lambda c what the bound costs: at best gain - 2 sqrt(E c). Infinite where a vector
    without a bound takes part.
    """
    at, twice = (lower(posed.energies, posed.values, posed.spaces, norm) for norm in (_FAR, 2.0 * _FAR))
    cost = (twice.problem.constant - at.problem.constant) / _FAR
    total = 0.0
    for block, again in zip(at.problem.blocks, twice.problem.blocks, strict=True):
        v, half = (np.asarray(part.atoms @ direction) for part in (block, again))
        image = expanded(block.gram, v)
        energy = 0.5 * float(v @ image)
        if energy > 0 and abs(float(half @ half) / float(v @ v) - 0.5) > _PROPORTIONAL:
            return math.inf
        rounding = float(np.abs(v) @ np.sqrt(np.maximum(block.gram.diagonal(), 0.0))) ** 2
        total += _FAR * (max(energy, 0.0) + _ROUNDING * rounding)
    return 2.0 * math.sqrt(total * max(cost, 0.0)) * (1.0 + _PROPORTIONAL)
