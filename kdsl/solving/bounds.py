"""Evaluates the generalisation theorems of the texts on a solution: which apply is read off the form of its primal."""

from __future__ import annotations

from collections.abc import Mapping
from math import floor, inf, isfinite, sqrt
from typing import Any, NamedTuple

import numpy as np

from kdsl.algebra.poly import Poly, derivative
from kdsl.algebra.terms import Sym
from kdsl.models.solution import Solution
from kdsl.solving import bounds_formulas as formulas
from kdsl.solving.bounds_form import Form, form_of

PROBABILITY = "the probability of an error"
IID = "the examples are drawn independently from one distribution"
IN_BALL = "the distribution lies in the ball of radius R about the origin of the feature space (R from the data)"
FIXED_GAMMA = "gamma is fixed before the data are seen (KM, remark 7.13, says what choosing it costs)"
FIXED_NORM = "B is fixed before the data are seen; here it is the norm of the solution"
UNIFORM = "kernel and parameters are fixed before the data are seen"
NO_MARGIN = "the margin is positive"
SUPPORT = 1e-9  # of the largest multiplier: what counts as a support vector


class Bound(NamedTuple):
    """One theorem on one solution.

    `bounds` says what is bounded, `value` by how much, `printed` what the printed formula gives where docs/errata.md
    shows a slip. `unmet` are conditions of the theorem that fail here: then nothing is bounded, and value is infinite.
    """

    name: str
    bounds: str
    value: float
    printed: float | None
    vacuous: bool
    inputs: Mapping[str, float]
    assumptions: tuple[str, ...]
    unmet: tuple[str, ...] = ()

    def entry(self) -> dict[str, Any]:
        """As plain values; null for a number that is infinite or not there."""

        def number(value: float | None) -> float | None:
            return float(value) if value is not None and isfinite(value) else None

        return {
            "name": self.name,
            "bounds": self.bounds,
            "value": number(self.value),
            "printed": number(self.printed),
            "vacuous": self.vacuous,
            "inputs": {name: number(value) for name, value in self.inputs.items()},
            "assumptions": list(self.assumptions),
            "unmet": list(self.unmet),
        }

    def describe(self) -> str:
        """One line for a report."""
        inputs = ", ".join(f"{name} = {value:.6g}" for name, value in self.inputs.items())
        if self.unmet:
            return f"{self.name}: does not apply ({'; '.join(self.unmet)} fails); {inputs}"
        slip = "" if self.printed is None else f" (as printed {self.printed:.6g}, see docs/errata.md)"
        empty = ", which is vacuous" if self.vacuous else ""
        return f"{self.name}: {self.bounds} is at most {self.value:.6g}{slip}{empty}; {inputs}"


def evaluate_bounds(solution: Solution, delta: float = 0.05, gamma: float | None = None) -> tuple[Bound, ...]:
    """Every theorem about a problem of this form; each holds with probability 1 - delta on its own.

    gamma is the width that the theorems on spheres and tubes leave open (beyond r^2, or |y - f|); without it, the
    one at which their first two terms are nu, or 1/2 where there is no nu (KM, corollary 7.14).
    """
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta is a probability between 0 and 1, not {delta}")
    form = form_of(solution.derivation)
    if form is None or solution.status not in ("optimal", "optimal_inaccurate"):
        return ()
    facts = _facts(solution, form)
    if form.kind == "sphere":
        return _sphere(form, facts, delta, gamma)
    if form.kind == "margin":
        return _margin(form, facts, delta)
    if form.kind == "tube":
        return _tube(facts, delta, gamma)
    return () if form.offset else _fit(facts, delta)


def bounds_text(bounds: tuple[Bound, ...]) -> str:
    """The bounds for people, each with its inputs, and under them the assumptions that they share."""
    if not bounds:
        return "bounds  none of the theorems is about a problem of this form\n"
    assumed = dict.fromkeys(line for bound in bounds for line in bound.assumptions)
    lines = [bound.describe() for bound in bounds] + [f"assumed: {line}" for line in assumed]
    return "".join(f"bounds  {line}\n" for line in lines)


class _Facts(NamedTuple):
    """What the formulas ask of a solution; `counted` is nu l in the forms that have a nu, else 0."""

    l: int
    trace: float
    radius: float  # of a ball about the origin
    spread: float  # of a ball about the mean, if that is smaller
    norm: float
    norm_bound: float
    slack: float
    errors: float  # sum of squared slacks
    target: float
    offset: float
    price: float
    counted: float
    multipliers: np.ndarray
    outside: int
    answers: np.ndarray
    penalty: float  # p in p/2 ||w||^2; in the unit form twice the multiplier of the norm


def _facts(solution: Solution, form: Form) -> _Facts:
    primal = solution.derivation.primal
    space = primal.unknown(form.vector).space or ""
    points = solution.bound.points[form.point].features
    kernel = solution.predictor.kernels[space]
    diagonal = np.asarray(kernel.diagonal(points), dtype=np.float64)
    count = len(diagonal)
    radius = sqrt(max(float(diagonal.max()), 0.0))
    mean = kernel.expansion(points, np.full((count, 1), 1.0 / count), points).reshape(-1)
    centred = float((diagonal - 2.0 * mean).max() + mean.mean())
    slacks = [np.asarray(solution.slacks[name]) for name in form.slacks]
    if form.residual:
        slacks = [np.maximum(form.constant - r, 0.0) for r in slacks]
    known = {**solution.parameters, **solution.scalars}
    norm = sqrt(max(solution.quantities[f"||{form.vector}||^2"], 0.0))
    price = _number(form.price, solution)
    norm_bound = norm
    if form.ball:
        body = primal.condition(form.ball).body
        norm_bound = sqrt(-_number(body.split(lambda m: not _has_vectors(m.factors))[0], solution))
    reward = 1.0
    if form.scalar and any(u.name == form.scalar for u in primal.unknowns):
        reward = abs(_number(derivative(primal.objective, Sym(form.scalar, (), "var")), solution))
    multipliers = np.abs(np.asarray(solution.multipliers[form.label]).reshape(-1))
    labels = solution.bound.arrays.get(form.answer, np.zeros(0))
    return _Facts(
        count,
        float(diagonal.sum()),
        radius,
        min(radius, sqrt(max(centred, 0.0))),
        norm,
        norm_bound,
        float(sum(np.maximum(slack, 0.0).sum() for slack in slacks)),
        float(sum((slack**2).sum() for slack in slacks)),
        float(known[form.scalar]) if form.scalar in known else form.constant,
        float(known.get(form.offset, 0.0)),
        price,
        reward / price if form.shared and price > 0 else 0.0,
        multipliers,
        int(sum(np.count_nonzero(slack > 1e-6 * max(1.0, abs(float(slack.max())))) for slack in slacks)),
        np.asarray(labels, dtype=np.float64),
        2.0 * float(solution.multipliers[form.unit])
        if form.unit in solution.multipliers
        else _number(form.penalty, solution),
    )


def _has_vectors(factors: tuple[tuple[object, int], ...]) -> bool:
    return any(not isinstance(f, Sym) for f, _ in factors)


def _number(poly: Poly, solution: Solution) -> float:
    """A polynomial in parameters and sizes; not a number where data occur in it."""
    total = 0.0
    for monomial, coefficient in poly.terms.items():
        value = float(coefficient)
        for factor, power in monomial.factors:
            if not isinstance(factor, Sym) or factor.args or factor.role not in ("param", "size"):
                return float("nan")
            known = solution.parameters if factor.role == "param" else solution.bound.sizes
            if factor.whole is not None:
                base = _number(factor.whole, solution)
            else:
                base = float(known.get(factor.name, factor.name))
            value *= base**power
        total += value
    return total


def _bound(
    name: str,
    what: str,
    value: float,
    inputs: Mapping[str, float],
    assumptions: tuple[str, ...],
    *,
    printed: float | None = None,
    trivial: float = 1.0,
    unmet: tuple[str, ...] = (),
) -> Bound:
    value = inf if unmet or not isfinite(value) else value
    return Bound(name, what, value, printed, not value < trivial, dict(inputs), assumptions, unmet)


# ----------------------------------------------------------------------- spheres


def _sphere(form: Form, facts: _Facts, delta: float, gamma: float | None) -> tuple[Bound, ...]:
    l, radius, slack = facts.l, facts.radius, facts.slack
    share = min(facts.counted / l, 1.0) if facts.counted else 0.5
    width = formulas.sphere_width(l, share, radius, slack) if gamma is None else gamma
    inputs = {"l": l, "delta": delta, "R": radius, "gamma": width, "sum xi": slack, "r^2": facts.target}
    if facts.counted:
        not_inside = np.count_nonzero(facts.multipliers > SUPPORT * facts.multipliers.max(initial=0.0))
        inputs |= {"nu l": facts.counted, "outside": facts.outside, "not inside": int(not_inside)}
    name = "KM 7.5" if form.power == 0 else "KM 7.12" if facts.counted else "KM 7.9"
    found = [
        _bound(
            name,
            "the probability of a point with |phi - c|^2 > r^2 + gamma",
            formulas.sphere(l, delta, radius, width, slack),
            inputs,
            (IID, IN_BALL, UNIFORM, FIXED_GAMMA),
            printed=formulas.sphere(l, delta, radius, width, slack, formulas.SPHERE_PRINTED),
        )
    ]
    if facts.counted:
        least = formulas.sphere_width(l, share, radius, slack)
        printed = (slack / l + formulas.SPHERE_PRINTED * radius**2 / sqrt(l)) / share
        found.append(
            _bound(
                "KM 7.14",
                "the probability of a point outside the smallest test sphere",
                share + formulas.confidence(l, delta),
                {
                    "l": l,
                    "delta": delta,
                    "p = nu": share,
                    "test radius^2": facts.target + least,
                    "test radius^2 as printed": facts.target + printed,
                },
                (IID, IN_BALL, UNIFORM, "gamma may be chosen by the data (the cost of that is left out in the text)"),
            )
        )
    return tuple(found)


# ----------------------------------------------------------------------- margins


def _margin(form: Form, facts: _Facts, delta: float) -> tuple[Bound, ...]:
    if facts.norm <= 0.0 or facts.target <= 0.0:
        inputs = {"l": facts.l, "delta": delta, "gamma": 0.0}
        return (_bound(_margin_name(form), PROBABILITY, inf, inputs, (IID, UNIFORM), unmet=(NO_MARGIN,)),)
    if form.power == 2:
        return (*_margin_squared(facts, delta), _dimension(facts))
    gamma, slack = facts.target / facts.norm, facts.slack / facts.norm
    inputs = {"l": facts.l, "delta": delta, "gamma": gamma, "tr K": facts.trace}
    assumptions = [IID, UNIFORM]
    if form.power:
        inputs |= {"sum xi": slack}
        smaller = min(int(np.count_nonzero(facts.answers > 0)), int(np.count_nonzero(facts.answers < 0)))
        least = 0.5 / smaller if smaller else inf
        if form.unit and not facts.counted:
            inputs |= {"C": facts.price, "least C": least}
            assumptions.append("C >= 1 / (2 min(l+, l-)) (printed: C >= 1/l, see docs/errata.md)")
        if facts.counted:
            not_beyond = np.count_nonzero(facts.multipliers > SUPPORT * facts.multipliers.max(initial=0.0))
            inputs |= {"nu l": facts.counted, "margin errors": facts.outside, "support": int(not_beyond)}
    first = _bound(
        _margin_name(form),
        PROBABILITY,
        formulas.margin(facts.l, delta, facts.trace, gamma, slack),
        inputs,
        tuple(assumptions),
    )
    return (first, _dimension(facts), *(() if form.power else _separated(form, facts, delta, gamma)))


def _margin_name(form: Form) -> str:
    if form.power == 0:
        return "KM 7.22" if form.unit else "KM 7.27"
    return "KM 7.38" if form.power == 2 else "KM 7.33" if form.shared else "KM 7.30"


def _margin_squared(facts: _Facts, delta: float) -> tuple[Bound, ...]:
    """The hard margin for kappa + mu delta: p w = sum alpha y phi and alpha = 2 price xi give mu = p / (2 price)."""
    total = float(facts.multipliers.sum())
    if not isfinite(facts.price) or not isfinite(facts.penalty) or total <= 0:
        return ()
    mu = facts.penalty / (2.0 * facts.price)
    alpha = facts.multipliers / total
    square = float(alpha @ alpha)
    gamma = sqrt((facts.norm * facts.penalty / total) ** 2 + mu * square)
    unmet = () if mu > 0 else ("the norm is tight",)
    arguments = (facts.l, delta, facts.trace, gamma, mu, square)
    return (
        _bound(
            "KM 7.38",
            PROBABILITY,
            formulas.margin_squared(*arguments),
            {"l": facts.l, "delta": delta, "gamma": gamma, "mu": mu, "||alpha||^2": square, "tr K": facts.trace},
            (IID, UNIFORM),
            printed=formulas.margin_squared(*arguments, printed=True),
            unmet=unmet,
        ),
    )


def _dimension(facts: _Facts) -> Bound:
    norm = facts.norm / facts.target if facts.target > 0 else inf
    value = formulas.dimension(facts.spread, norm)
    inputs = {"R": facts.spread, "A": norm}
    assumptions = ("the data lie in a ball of radius R that does not depend on them",)
    return _bound("ES 12.50", "the VC dimension of {sign f : ||w|| <= A}", value, inputs, assumptions, trivial=inf)


def _separated(form: Form, facts: _Facts, delta: float, gamma: float) -> tuple[Bound, ...]:
    """The theorems about separated data."""
    l, radius = facts.l, facts.radius
    support = int(np.count_nonzero(facts.multipliers > SUPPORT * facts.multipliers.max(initial=0.0)))
    # with a bias: the hyperplane without one in the space with one more feature, R for every example
    lifted = sqrt(facts.norm**2 + (facts.offset / radius) ** 2) if form.offset and radius > 0 else facts.norm
    reach, lifted_gamma = (radius * sqrt(2.0) if form.offset else radius), facts.target / lifted
    mistakes = formulas.updates(reach, lifted_gamma)
    k = floor(mistakes)
    perceptron = {"l": l, "delta": delta, "R": reach, "gamma": lifted_gamma, "R^2/gamma^2": mistakes}
    bias = ("the bias is a further feature of size R",) if form.offset else ()
    few = () if mistakes <= l / 2 else ("R^2/gamma^2 <= l/2",)
    compressed = {"l": l, "delta": delta, "support vectors": support}
    fat = {"l": l, "delta": delta, "R": radius, "gamma": gamma}
    crowded = 64.0 * radius**2 / gamma**2 < l
    epsilon = formulas.fat_shattering(l, delta, radius, gamma) if crowded else inf
    fat_unmet = () if crowded else ("64 R^2/gamma^2 < l",)
    if crowded and not l > 2.0 / epsilon:
        fat_unmet = ("l > 2/epsilon",)
    h = formulas.dimension(facts.spread, facts.norm / facts.target)
    return (
        _bound("KM 7.53", "the updates of the perceptron", mistakes, perceptron, (IN_BALL, *bias), trivial=inf),
        _bound(
            "KM 7.54",
            "the probability of an error of the perceptron",
            formulas.compression(l, delta, max(k, 1)),
            perceptron | {"k": max(k, 1)},
            (IID, IN_BALL, UNIFORM, *bias),
            unmet=few,
        ),
        _bound(
            "KM 7.55",
            "the probability of an error of the perceptron",
            formulas.perceptron(l, delta, mistakes),
            perceptron,
            (IID, IN_BALL, UNIFORM, *bias),
            unmet=few,
        ),
        _bound("KM 7.56", PROBABILITY, formulas.sparseness(l, delta, support), compressed, (IID, UNIFORM)),
        _bound(
            "KM 7.57",
            "the expected probability of an error",
            support / l,
            {"l": l, "support vectors": support},
            (IID, UNIFORM, "an expectation over training sets: nothing is said of this one"),
        ),
        _bound("HB 5.2", PROBABILITY, epsilon, fat, (IID, IN_BALL, UNIFORM, FIXED_GAMMA), unmet=fat_unmet),
        _bound("HB 5.5", PROBABILITY, formulas.sparseness(l, delta, support), compressed, (IID, UNIFORM)),
        _bound(
            "ES 12.51",
            PROBABILITY,
            formulas.vapnik(l, delta, h),
            {"l": l, "delta": delta, "h": h},
            (IID, UNIFORM, "the bound h on the VC dimension is fixed before the data are seen"),
            unmet=() if h <= 2 * l else ("h <= 2 l",),
        ),
    )


# -------------------------------------------------------------------- regression


def _fit(facts: _Facts, delta: float) -> tuple[Bound, ...]:
    size = float(np.linalg.norm(facts.answers))
    reach = facts.radius * facts.norm_bound
    unmet = () if float(np.abs(facts.answers).max(initial=0.0)) <= reach else ("|y| <= B R",)
    return (
        _bound(
            "KM 7.39",
            "the expected squared error",
            formulas.squared_error(facts.l, delta, facts.trace, facts.radius, facts.norm_bound, facts.errors, size),
            {
                "l": facts.l,
                "delta": delta,
                "B": facts.norm_bound,
                "R": facts.radius,
                "tr K": facts.trace,
                "sum xi^2": facts.errors,
                "||y||": size,
            },
            (IID, IN_BALL, UNIFORM, FIXED_NORM, "y lies in [-BR, BR]"),
            trivial=4.0 * reach**2,
            unmet=unmet,
        ),
    )


def _tube(facts: _Facts, delta: float, gamma: float | None) -> tuple[Bound, ...]:
    epsilon = facts.target
    width = (
        formulas.tube_width(facts.l, 0.5, facts.trace, facts.norm, facts.slack) if gamma is None else gamma - epsilon
    )
    unmet = () if width > 0 else ("gamma > eps",)
    return (
        _bound(
            "KM 7.49",
            "the probability of |y - f| > gamma",
            formulas.tube(facts.l, delta, facts.trace, facts.norm, facts.slack, width) if width > 0 else inf,
            {
                "l": facts.l,
                "delta": delta,
                "gamma": epsilon + width,
                "eps": epsilon,
                "B": facts.norm,
                "tr K": facts.trace,
                "sum xi": facts.slack,
            },
            (IID, UNIFORM, FIXED_NORM, FIXED_GAMMA, "the bias, if there is one, is fixed before the data are seen"),
            unmet=unmet,
        ),
    )
