"""Which multiplier an example may have at its margin or residual: the slopes of its loss, read off the problem.

A condition `g - slack <= 0` whose slack costs c s + q/2 s^2, and a loss of the objective, are the same thing here: a
convex piecewise quadratic L of u, the margin y f(x), the residual y - f(x) or the novelty of the example. KKT says that
the force, the multiplier with the sign of u in its condition, is a slope of L at u.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from kdsl.algebra.clauses import decision_of
from kdsl.algebra.derivation import Derivation
from kdsl.algebra.numeric import Values, evaluate, support_mask
from kdsl.algebra.plq import Plq
from kdsl.algebra.poly import Poly, derivative, substitute
from kdsl.algebra.primal import Condition, Logistic, LossTerm, Primal
from kdsl.algebra.terms import At, Factor, Inner, Sym, Vec
from kdsl.algebra.translate import Point, Translator, Value
from kdsl.binding.faults import listing
from kdsl.language.diagnostics import KdslError
from kdsl.numerics.arrays import Floats
from kdsl.plot.fits import Fit, Mask, no_relation

AGREE = 1e-9  # relative; how far the same number may differ between two examples


@dataclass(frozen=True, eq=False)
class Law:
    """L'(u) = curvature u + slope between the breaks; arrays over (piece or break, example).

    An infinite slope is a wall. `logistic` weighs log(1 + exp(-u)), where the loss is that one.
    """

    breaks: Floats
    curvature: Floats
    slope: Floats
    logistic: Floats | None = None

    def stretched(self, scale: Floats, shift: Floats) -> Law:
        """The law of force / scale as a function of u - shift."""
        moved = self.slope + np.where(self.curvature > 0, self.curvature * shift, 0.0)
        weight = None if self.logistic is None else self.logistic / scale
        return Law(self.breaks - shift, self.curvature / scale, moved / scale, weight)

    def kept(self, rows: Mask) -> Law:
        weight = None if self.logistic is None else self.logistic[rows]
        return Law(self.breaks[:, rows], self.curvature[:, rows], self.slope[:, rows], weight)

    def force(self, u: Floats, right: bool) -> Floats:
        """The slope of the first example's L at each u, from the right or from the left of a break."""
        if self.logistic is not None:
            return np.asarray(-self.logistic[0] / (1.0 + np.exp(np.minimum(u, 700.0))))
        piece = np.searchsorted(self.breaks[:, 0], u, side="right" if right else "left")
        return np.asarray(self.curvature[piece, 0] * u + self.slope[piece, 0])


@dataclass(frozen=True, eq=False)
class Relation:
    """A family of conditions or losses on the examples: its force is `direction` times its multiplier."""

    label: str
    letter: str
    direction: float
    force: Floats
    members: Mask
    law: Law

    def kept(self, rows: Mask) -> Relation:
        return replace(self, force=self.force[rows], members=self.members[rows], law=self.law.kept(rows))


@dataclass(frozen=True, eq=False)
class Laws:
    """Every relation on the examples, u, and the label or response that it is measured by ("" and 1 where none is)."""

    kind: str  # "sign", "value" or "novelty"
    target: str
    u: Floats
    measure: Floats
    relations: tuple[Relation, ...]

    def kept(self, rows: Mask) -> Laws:
        """The laws of some of the examples."""
        return Laws(
            self.kind, self.target, self.u[rows], self.measure[rows], tuple(r.kept(rows) for r in self.relations)
        )

    @property
    def force(self) -> Floats:
        return np.asarray(sum(relation.force for relation in self.relations))

    @property
    def active(self) -> Mask:
        """The support vectors: whose force is not zero."""
        size = max(1.0, float(np.abs(self.force).max(initial=0.0)))
        return np.asarray(np.abs(self.force) > AGREE * size)

    @property
    def at_bound(self) -> Mask:
        """The support vectors whose force cannot grow."""
        size = max(1.0, float(np.abs(self.force).max(initial=0.0)))
        found = np.zeros(len(self.u), dtype=bool)
        for relation in self.relations:
            law = relation.law
            if law.logistic is not None:
                continue
            for end in (0, -1):
                last = np.where(law.curvature[end] == 0, law.slope[end], np.inf)
                near = np.abs(relation.force - np.where(np.isfinite(last), last, 0.0)) <= AGREE * size
                found |= np.isfinite(last) & near & (np.abs(relation.force) > AGREE * size)
        return found

    @property
    def bounded(self) -> bool:
        """Whether some force has a largest value."""
        laws = [r.law for r in self.relations if r.law.logistic is None]
        ends = [(law.curvature[end], law.slope[end]) for law in laws for end in (0, -1)]
        return any(((q == 0) & np.isfinite(slope) & (slope != 0)).any() for q, slope in ends)

    def levels(self) -> list[float]:
        """The breaks of L in u that all examples share, in order; [] where they do not share them."""
        found: list[float] = []
        for relation in self.relations:
            for row in relation.law.breaks:
                if not constant(row[relation.members]):
                    return []
                found.append(float(row[relation.members][0]))
        return sorted(set(found))

    def costless(self) -> tuple[float, float]:
        """Between which two levels no example has a force; (0, 0) where there is no such interval."""
        levels = self.levels()
        for low, high in pairwise(levels):
            middle = np.array([(low + high) / 2])
            if all(float(relation.law.force(middle, True)[0]) == 0.0 for relation in self.relations):
                return low, high
        return 0.0, 0.0


def constant(values: Floats) -> bool:
    return bool(len(values)) and float(np.ptp(values)) <= AGREE * max(1.0, float(np.abs(values).max()))


def laws_of(fit: Fit) -> Laws:
    """The relations on the decision value of one example; K663 where there are none."""
    if fit.kind == "class":
        raise no_relation(fit, "its decision has a value for every class")
    values = fit.values()
    u, relations = fit.training_decision(), []
    targets: set[str] = set()
    for condition in fit.derivation.primal.conditions:
        if len(condition.indices) != 1 or condition.kind in ("sign", "ball") or condition.label not in fit.multipliers:
            continue
        sizes = dict(zip(condition.indices, (values.size(z) for z in condition.sets), strict=True))
        if tuple(sizes.values()) != u.shape:
            continue
        argument, slack, term = _argument(fit.derivation, condition)
        found = _matched(fit, argument, condition.indices[0])
        if found is None or not _priced_alone(fit.derivation, slack, term):
            continue
        turn, rest, name = found
        targets.add(name)
        offset = evaluate(rest, values, sizes)
        law, sense = _law(fit.derivation, condition, slack, term, values, sizes)
        alpha = np.asarray(fit.multipliers[condition.label], dtype=np.float64)
        members = support_mask(condition.support, condition.indices, condition.sets, values)
        letter = fit.derivation.lagrangian.multiplier(condition.label).letter
        relations.append(
            Relation(condition.label, letter, turn * sense, turn * sense * alpha, members, _in_u(law, turn, offset))
        )
    if not relations:
        raise no_relation(fit, "no condition and no loss is about the decision value of one example")
    if len(targets) > 1:
        raise no_relation(fit, f"its conditions measure it by {listing(sorted(targets))}")
    (target,) = targets
    measure = np.asarray(values.arrays[target], dtype=np.float64) if target else np.ones(len(u))
    u = measure - u if fit.kind == "value" else measure * u
    return Laws(fit.kind, target, u, measure, tuple(relations))


def marks_of(fit: Fit) -> Laws:
    """The laws, or where examples have none in common, which examples have a multiplier at all: enough for surfaces."""
    try:
        return laws_of(fit)
    except KdslError:
        n = fit.bound.points[fit.input].size
        target = next((d.name for d in fit.model.data if d.kind == "finite" and len(d.sets) == 1), "")
        measure = fit.values().arrays[target] if target else np.ones(n)
        if len(measure) != n or (fit.kind == "sign" and not target):
            raise
        law = Law(np.empty((0, n)), np.ones((1, n)), np.zeros((1, n)))
        carried = Relation("", "", 1.0, fit.carried(), np.ones(n, dtype=bool), law)
        return Laws(fit.kind, target, np.zeros(n), measure, (carried,))


def _argument(derivation: Derivation, condition: Condition) -> tuple[Poly, Sym | None, LossTerm | None]:
    """(t, slack, loss): the condition reads t - a slack <= 0, or it says that t is the argument of the loss."""
    if condition.kind == "residual":
        term = next(t for t in derivation.primal.losses if t.label == condition.label)
        residual = derivation.primal.unknown(term.residual).symbol
        turned = condition.body.scale(term.orientation)
        assert isinstance(residual, Sym)
        return turned + Poly.of(residual), residual, term
    for unknown in derivation.primal.unknowns:
        symbol = unknown.symbol
        if isinstance(symbol, Sym) and unknown.indices == condition.indices and symbol in condition.body.factors():
            moving, rest = condition.body.split(lambda m, s=symbol: any(f == s for f, _ in m.factors))  # type: ignore[misc]
            if derivative(moving, symbol).as_number() is not None:
                return rest, symbol, None
    return condition.body, None, None


def _matched(fit: Fit, argument: Poly, index: str) -> tuple[float, Poly, str] | None:
    """(turn, rest, target) with argument = turn u + rest, where u is y d, y - d, or d itself.

    A novelty is d, or y d where some examples are labelled as novel.
    """
    scope: dict[str, Value] = {fit.clause.formals[0]: Point(fit.input, (index,))}
    beside = {formal: fit.label_of(formal) for formal in fit.clause.formals[1:]}
    scope.update({formal: At(label.name, (index,)) for formal, label in beside.items() if label is not None})
    formula = decision_of(Translator(fit.model), fit.clause, scope).formula
    if not isinstance(formula, Poly):
        return None
    decision = in_shifted(fit.derivation.primal, formula)
    signs = [d.name for d in fit.model.data if d.kind == "finite" and len(d.sets) == 1]
    reals = [d.name for d in fit.model.data if d.kind == "real" and len(d.sets) == 1]
    measures = {"sign": signs, "novelty": ["", *signs]}.get(fit.kind, [""])
    for measure in measures:
        factor = Poly.of(Sym(measure, (index,), "sign")) if measure else Poly.number(1)
        for turn in (1, -1):
            rest = argument - (factor * decision).scale(turn)
            if any(isinstance(f, (Vec, Inner)) or _of_each(f) for f in rest.factors()):
                continue
            if fit.kind != "value":
                return float(turn), rest, measure
            for name in reals:
                beyond = rest + Poly.of(Sym(name, (index,), "data")).scale(turn)
                if not beyond.mentions(name, ("data",)):
                    return float(-turn), beyond, name
    return None


def in_shifted(primal: Primal, decision: Poly) -> Poly:
    """The decision in the unknowns of the primal: R = rho + ||c||^2 where rho has taken the place of R."""
    for unknown in primal.unknowns:
        if unknown.origin == "shifted":
            centre = primal.unknown(unknown.centre).at(unknown.indices)
            declared, standing = unknown._replace(name=unknown.shown).symbol, unknown.symbol
            assert isinstance(centre, Vec) and isinstance(declared, Sym) and isinstance(standing, Sym)
            decision = substitute(decision, declared, Poly.of(standing) + Poly.of(Inner(centre, centre)))
    return decision


def _of_each(factor: Factor) -> bool:
    """Whether it is an unknown that every example has for itself."""
    return isinstance(factor, Sym) and factor.role == "var" and bool(factor.args)


def _priced_alone(derivation: Derivation, slack: Sym | None, term: LossTerm | None) -> bool:
    """Whether what a slack costs depends on this slack alone."""
    if slack is None or term is not None:
        return True
    price = derivative(derivation.primal.objective, slack)
    others = [f for f in price.factors() if isinstance(f, Sym) and f.role in ("var", "loss", "norm") and f != slack]
    inside = [c for c in derivation.primal.conditions if c.kind == "residual" and c.body.mentions(slack.name, ("var",))]
    return not others and not inside


def _law(
    derivation: Derivation,
    condition: Condition,
    slack: Sym | None,
    term: LossTerm | None,
    values: Values,
    sizes: dict[str, int],
) -> tuple[Law, float]:
    """(L as a function of t, the sign with which the multiplier is its slope)."""
    (n,) = sizes.values()
    objective = derivation.primal.objective
    if term is not None:
        weight = evaluate(derivative(objective, Sym(term.label, term.indices, "loss", term.support)), values, sizes)
        nothing = np.empty((0, n))
        if isinstance(term.function, Logistic):
            return Law(nothing, np.zeros((1, n)), np.zeros((1, n)), weight), float(term.orientation)
        assert isinstance(term.function, Plq)
        breaks = [evaluate(b, values, sizes) for b in term.function.breaks]
        curvature = [weight * evaluate(p.curvature, values, sizes) for p in term.function.pieces]
        slope = [weight * evaluate(p.slope, values, sizes) for p in term.function.pieces]
        return Law(np.array(breaks).reshape(-1, n), np.array(curvature), np.array(slope)), float(term.orientation)
    zero = np.zeros(n)
    if slack is None:
        walls = (np.full(n, -np.inf) if condition.equality else zero, np.full(n, np.inf))
        return Law(np.array([zero]), np.array([zero, zero]), np.array(walls)), 1.0
    price = -float(derivative(condition.body, slack).as_number() or 0)
    cost = derivative(objective, slack)
    moving, constant_part = cost.split(lambda m: any(f == slack for f, _ in m.factors))
    linear = evaluate(constant_part, values, sizes) / price
    quadratic = evaluate(derivative(moving, slack), values, sizes) / price**2
    if condition.equality:
        return Law(np.empty((0, n)), np.array([quadratic]), np.array([linear])), 1.0
    signed = any(c.kind == "sign" and slack in c.body.factors() for c in derivation.primal.conditions)
    start = zero if signed else np.where(quadratic > 0, -linear / np.where(quadratic > 0, quadratic, 1.0), -np.inf)
    return Law(np.array([start]), np.array([zero, quadratic]), np.array([zero, linear])), 1.0


def _in_u(law: Law, turn: float, offset: Floats) -> Law:
    """L(turn u + offset) as a function of u."""
    order = slice(None) if turn > 0 else slice(None, None, -1)
    moved = np.where(law.curvature > 0, law.curvature * offset, 0.0) + law.slope
    weight = law.logistic
    return Law(turn * (law.breaks - offset)[order], law.curvature[order], turn * moved[order], weight)
