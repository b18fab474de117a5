"""Solves a dual with a norm multiplier that does not fold away: an outer search over it, each step a normal form.

W(lambda) = max over the other multipliers is concave and W'(lambda) is the norm condition's body at w(lambda),
so the search is for its zero (Brent, on log lambda). A body below 0 for all lambda means lambda = 0: the bound
on the norm is not active, and a lambda so small that lambda times the slack is below the tolerance proves it.
"""

from __future__ import annotations

from dataclasses import replace

from kdsl.algebra.numeric import evaluate
from kdsl.solving.backends.interface import Options, Progress
from kdsl.solving.certificate import Products
from kdsl.solving.facts import facts_of
from kdsl.solving.lowering import lower
from kdsl.solving.normal_form import Floats
from kdsl.solving.posed import Posed
from kdsl.solving.raw_solution import RawSolution
from kdsl.solving.routing import Route, route
from kdsl.solving.unknowns import hilbert_unknowns, with_unknowns

_DOUBLINGS = 60


class _Search:
    def __init__(self, posed: Posed, options: Options, backend: str | None, progress: Progress | None) -> None:
        self._posed, self._backend, self._progress = posed, backend, progress
        self._options = replace(options, tol=min(options.tol * 1e-2, 1e-8))
        self._condition = posed.derivation.primal.condition(posed.energies.outer or "")
        self.raw: RawSolution | None = None
        self.route: Route | None = None
        self.seconds = 0.0
        self.iterations = 0

    def body(self, norm: float) -> float:
        """W'(norm): how far w(norm) is outside its ball."""
        lowered = lower(self._posed.energies, self._posed.values, self._posed.spaces, norm)
        if self.route is None:
            self.route = route(facts_of(lowered.problem), self._backend, self._options.tol)
        start: Floats | None = None if self.raw is None else self.raw.theta
        self.raw = self.route.backend.solve(lowered.problem, self._options, start, self._progress)
        self.seconds += self.raw.seconds
        self.iterations += self.raw.iterations
        products = Products.at(lowered.problem, self.raw.theta)
        unknowns = hilbert_unknowns(self._posed.derivation, lowered, products, self._posed.spaces, None)
        values = with_unknowns(self._posed.values, unknowns, self._posed.spaces)
        return float(evaluate(self._condition.body, values))


def search_norm(
    posed: Posed, options: Options, backend: str | None, progress: Progress | None
) -> tuple[RawSolution, Route, float]:
    """(the solution at the best multiplier, the route taken, the multiplier)."""
    from math import exp, log

    from scipy.optimize import brentq

    search = _Search(posed, options, backend, progress)
    low = high = 1.0
    inside = search.body(1.0)
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
            if low * abs(slack) <= 1e-3 * options.tol:
                return _result(search, low)
    best = exp(float(brentq(lambda s: search.body(exp(s)), log(low), log(high), xtol=1e-14, rtol=1e-13)))
    search.body(best)
    return _result(search, best)


def _result(search: _Search, norm: float) -> tuple[RawSolution, Route, float]:
    assert search.raw is not None and search.route is not None
    raw = replace(search.raw, seconds=search.seconds, iterations=search.iterations)
    reason = f"an outer search over the multiplier of the norm, each step: {search.route.reason}"
    return raw, replace(search.route, reason=reason), norm
