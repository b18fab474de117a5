"""A Dual with numbers as a CVXPY program: how evidence maximises it, and samples its feasible points."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np

from kdsl.algebra.dual import Cone, ConjugateTerm, Dual, DualVariable, EntropyTerm, Row
from kdsl.algebra.numeric import (
    Array,
    Values,
    evaluate,
    linear_coefficients,
    quadratic_coefficients,
    shape_of,
    support_mask,
)
from kdsl.algebra.numeric_quadratics import square_root
from kdsl.algebra.plq import Plq
from kdsl.algebra.poly import Monomial, Poly, collect
from kdsl.algebra.terms import Factor, Sym, bracket


class DualProgram:
    """The unknowns, the constraints and the objective of one dual on one instance."""

    def __init__(self, dual: Dual, values: Values) -> None:
        import cvxpy

        self._cp = cvxpy
        self._dual = dual
        self._shapes = {v.label: shape_of(v.sets, values) for v in dual.variables}
        zeros = {label: np.zeros(shape) for label, shape in self._shapes.items()}
        constants = tuple(d for d in dual.definitions if d.symbol.role == "param")
        self._values = values.with_multipliers(zeros).with_definitions(constants)
        self.unknowns = {label: cvxpy.Variable(int(np.prod(shape, dtype=int))) for label, shape in self._shapes.items()}
        self.constraints: list[Any] = []
        for variable in dual.variables:
            self._bound(variable)
        for row in dual.rows:
            self._row(row)
        for cone in dual.cones:
            self._cone(cone)

    # ------------------------------------------------------------ feasible set

    def _flat(self, poly: Poly, variable: DualVariable) -> Array:
        lengths = dict(zip(variable.indices, self._shapes[variable.label], strict=True))
        return evaluate(poly, self._values, lengths).reshape(-1)

    def _bound(self, variable: DualVariable) -> None:
        unknown = self.unknowns[variable.label]
        if variable.lower is not None:
            self.constraints.append(unknown >= self._flat(variable.lower, variable))
        if variable.upper is not None:
            self.constraints.append(unknown <= self._flat(variable.upper, variable))
        if variable.support:
            mask = support_mask(variable.support, variable.indices, variable.sets, self._values).reshape(-1)
            self.constraints.append(unknown[~mask] == 0)

    def _row(self, row: Row) -> None:
        lengths = dict(zip(row.indices, shape_of(row.sets, self._values), strict=True))
        count = int(np.prod(list(lengths.values()), dtype=int))
        total = self._affine(row.body, lengths, count)
        if row.support:
            mask = support_mask(row.support, row.indices, row.sets, self._values).reshape(-1)
            total = total[np.flatnonzero(mask)]
        self.constraints.append(total == 0 if row.equality else total <= 0)

    def _affine(self, body: Poly, lengths: Mapping[str, int], count: int) -> Any:
        """body, affine in the multipliers and their sizes, as a vector over the row's indices."""
        total: Any = self._cp.Constant(evaluate(body, self._values, lengths).reshape(-1))
        for variable in self._dual.variables:
            for role, transform in (("mult", lambda x: x), ("abs", self._cp.abs)):
                if body.mentions(variable.label, (role,)):
                    matrix = linear_coefficients(body, lengths, variable.symbol, variable.sets, self._values, role)
                    total = total + matrix.reshape(count, -1) @ transform(self.unknowns[variable.label])
        return total

    def _cone(self, cone: Cone) -> None:
        lengths = dict(zip(cone.indices, shape_of(cone.sets, self._values), strict=True))
        radii = evaluate(cone.radius, self._values, lengths).reshape(-1)
        for hessian, radius in zip(self._hessians(cone.body, lengths), radii, strict=True):
            self.constraints.append(self._cp.norm(square_root(hessian) @ self._stacked()) <= float(radius))

    # --------------------------------------------------------------- objective

    def objective(self) -> Any:
        """What is maximised, a concave expression: the value of the dual in the minimisation sense."""
        cp = self._cp
        if self._dual.squared:
            return -cp.norm(self._factor(-self._dual.objective) @ self._stacked())
        plain, fractional = self._dual.objective.split(lambda m: _denominator(m) is None)
        linear, quadratic = plain.split(lambda m: _degree(m) <= 1)
        total = cp.sum(self._affine(linear, {}, 1))
        if quadratic:
            total = total - cp.sum_squares(self._factor(-quadratic) @ self._stacked())
        for name in sorted({d.name for m in fractional.terms if (d := _denominator(m)) is not None}):
            total = total - self._fraction(fractional, name)
        for root in self._dual.roots:
            scale = float(evaluate(root.coefficient, self._values))
            total = total - scale * cp.norm(self._factor(root.radicand) @ self._stacked())
        for term in self._dual.conjugates:
            total = total - self._conjugate(term)
        for entropy in self._dual.entropies:
            total = total + self._entropy(entropy)
        return total

    def _fraction(self, fractional: Poly, name: str) -> Any:
        """The sum of quadratic forms, each over its member of the family `name`, with the sign turned."""
        part, _ = fractional.split(lambda m: (d := _denominator(m)) is not None and d.name == name)
        sets, divisors = self._divisors(name)
        places = tuple(f"{n}\x04" for n in range(len(sets)))
        lengths = {place: self._values.size(size) for place, size in zip(places, sets, strict=True)}
        hessians = self._hessians(-_numerator(part, name, places), lengths)
        terms = [
            self._cp.quad_over_lin(square_root(hessian) @ self._stacked(), divisors[n])
            for n, hessian in enumerate(hessians)
        ]
        return sum(terms)

    def _divisors(self, name: str) -> tuple[tuple[str, ...], Any]:
        """(the sets of the family, its members in a row)."""
        for definition in self._dual.definitions:
            if definition.symbol.name == name:
                names = tuple(n for n in definition.symbol.args if isinstance(n, str))
                lengths = {n: self._values.size(size) for n, size in zip(names, definition.sets, strict=True)}
                count = int(np.prod(list(lengths.values()), dtype=int))
                return definition.sets, self._affine(definition.value, lengths, count)
        return self._dual.variable(name).sets, self.unknowns[name]

    def _stacked(self) -> Any:
        """(1, theta): a quadratic function of the multipliers is a form in these."""
        return self._cp.hstack([np.ones(1), *(self.unknowns[v.label] for v in self._dual.variables)])

    def _factor(self, form: Poly) -> Array:
        """F with |F (1, theta)|^2 = form, a quadratic function of all multipliers together that is never negative."""
        (hessian,) = self._hessians(form, {})
        return square_root(hessian)

    def _hessians(self, form: Poly, row: Mapping[str, int]) -> Array:
        """d^2 form / d (1, theta)^2 with form made homogeneous, one matrix for each member of the row."""
        variables = self._dual.variables
        sizes = [1, *(int(np.prod(self._shapes[v.label], dtype=int)) for v in variables)]
        count = int(np.prod(list(row.values()), dtype=int))
        result = np.zeros((count, sum(sizes), sum(sizes)))
        ends = np.cumsum([0, *sizes])
        result[:, 0, 0] = 2 * evaluate(form, self._values, row).reshape(-1)
        for n, a in enumerate(variables, 1):
            slope = linear_coefficients(form, row, a.symbol, a.sets, self._values).reshape(count, sizes[n])
            result[:, 0, ends[n] : ends[n + 1]] = result[:, ends[n] : ends[n + 1], 0] = slope
            for m, b in enumerate(variables, 1):
                block = quadratic_coefficients(form, (a.symbol, a.sets), (b.symbol, b.sets), self._values, row)
                result[:, ends[n] : ends[n + 1], ends[m] : ends[m + 1]] = block.reshape(count, sizes[n], sizes[m])
        keep = np.concatenate([np.ones(1), *map(self._mask, variables)])
        return result * np.outer(keep, keep)

    def _mask(self, variable: DualVariable) -> Array:
        if not variable.support:
            return np.ones(int(np.prod(self._shapes[variable.label], dtype=int)))
        return support_mask(variable.support, variable.indices, variable.sets, self._values).reshape(-1).astype(float)

    def _conjugate(self, term: ConjugateTerm) -> Any:
        """sum h(theta): theta is split into the lengths it fills of the pieces, each with its own cost."""
        unknown = self.unknowns[term.label]
        lengths = dict(zip(term.indices, self._shapes[term.label], strict=True))
        total: Any = 0.0
        for place, at in enumerate(product(*(range(n) for n in lengths.values()))):
            index = dict(zip(term.indices, at, strict=True))
            function = numeric_plq(term.function, self._values, lengths, index)
            total = total + self._split(function, unknown[place])
        return total

    def _split(self, function: list[tuple[float, float, float, float, float]], theta: Any) -> Any:
        cp = self._cp
        anchor = next((n for n, piece in enumerate(function) if np.isfinite(piece[1])), None)
        if anchor is None:
            _, _, q, c, d = function[0]
            return 0.5 * q * cp.square(theta) + c * theta + d
        origin = function[anchor][1]
        value = 0.5 * function[anchor][2] * origin**2 + function[anchor][3] * origin + function[anchor][4]
        total: Any = value
        position: Any = origin
        for n, (left, right, q, c, _) in enumerate(function):
            step = cp.Variable(nonneg=True)
            start, sign = (left, 1.0) if n > anchor else (right, -1.0)
            if np.isfinite(right - left):
                self.constraints.append(step <= right - left)
            total = total + sign * (q * start + c) * step + 0.5 * q * cp.square(step)
            position = position + sign * step
        self.constraints.append(theta == position)
        return total

    def _entropy(self, term: EntropyTerm) -> Any:
        cp = self._cp
        unknown = self.unknowns[term.label]
        lengths = dict(zip(term.indices, shape_of(term.sets, self._values), strict=True))
        weight = evaluate(term.weight, self._values, lengths).reshape(-1)
        if term.kind == "binary":
            constant = float(np.sum(weight * np.log(weight)))
            return cp.sum(cp.entr(unknown)) + cp.sum(cp.entr(weight - unknown)) + constant
        variable = self._dual.variable(term.label)
        assert variable.upper is not None
        shares = self._flat(variable.upper, variable) - unknown  # u_k = w [k = target] - theta_k
        return cp.sum(cp.entr(shares)) + float(np.sum(weight * np.log(weight)))


def numeric_plq(
    function: Plq, values: Values, lengths: Mapping[str, int], at: Mapping[str, int]
) -> list[tuple[float, float, float, float, float]]:
    """The pieces (left, right, curvature, slope, value) of a symbolic function at one member of its family."""

    def number(poly: Poly) -> float:
        needed = {name: length for name, length in lengths.items() if name in poly.free_indices()}
        table = evaluate(poly, values, needed)
        return float(table[tuple(at[name] for name in needed)])

    pieces = []
    for n, piece in enumerate(function.pieces):
        left, right = function.ends(n)
        pieces.append(
            (
                -np.inf if left is None else number(left),
                np.inf if right is None else number(right),
                number(piece.curvature),
                number(piece.slope),
                number(piece.value),
            )
        )
    return pieces


def _numerator(part: Poly, name: str, places: tuple[str, ...]) -> Poly:
    """part with 1/name[i] replaced by [i = place], for the member of the family at `places`."""
    pieces = []
    for monomial, coefficient in part.terms.items():
        factors: list[tuple[Factor, int]] = []
        for factor, power in monomial.factors:
            if isinstance(factor, Sym) and factor.name == name and factor.role == "mult":
                factors += [(bracket("=", place, arg), 1) for place, arg in zip(places, factor.args, strict=True)]
            else:
                factors.append((factor, power))
        pieces.append((monomial.binders, tuple(factors), coefficient))
    return collect(pieces)


def _denominator(monomial: Monomial) -> Sym | None:
    return next((f for f, p in monomial.factors if p < 0 and isinstance(f, Sym) and f.role == "mult"), None)


def _degree(monomial: Monomial) -> int:
    return sum(p for f, p in monomial.factors if isinstance(f, Sym) and f.role in ("mult", "abs") and p > 0)
