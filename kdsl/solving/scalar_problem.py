"""The primal with its Hilbert unknowns fixed: a small convex program in the scalars and their slacks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from kdsl.algebra.derivation import Derivation
from kdsl.algebra.numeric import Array, Values, evaluate, label_values, support_mask
from kdsl.algebra.plq import Plq
from kdsl.algebra.poly import Factors, Monomial, Poly, collect, derivative
from kdsl.algebra.primal import Condition, LossTerm, Multinomial, Primal, Unknown
from kdsl.algebra.terms import Sym
from kdsl.numerics.arrays import Floats, Ints
from kdsl.numerics.quiet_products import dot
from kdsl.solving.smooth_losses import SmoothLoss
from kdsl.solving.sparse_forms import Column, Entries, linear_matrix, stacked, summed


@dataclass(frozen=True, eq=False)
class Columns:
    """Where the members of one family of scalars stand; -1 outside its support."""

    unknown: Unknown
    shape: tuple[int, ...]
    positions: NDArray[np.int64]

    @property
    def members(self) -> NDArray[np.int64]:
        return self.positions[self.positions >= 0]

    def at(self, places: tuple[Ints, ...]) -> Ints:
        """The columns of some members."""
        return np.asarray(self.positions[places] if places else self.positions.reshape(-1)[0])

    def read(self, z: Floats) -> Array:
        inside = self.positions >= 0
        result = np.zeros(self.shape)
        result[inside] = z[self.positions[inside]]
        return result


@dataclass(frozen=True, eq=False)
class LossColumns:
    """weight * function(z[column]) for each member: pieces (left, right, curvature, slope, value) by member."""

    columns: NDArray[np.int64]
    pieces: tuple[tuple[Floats, Floats, Floats, Floats, Floats], ...]


@dataclass(frozen=True, eq=False)
class ScalarProblem:
    """minimise q'z + 1/2 z'Pz + losses(z) + constant subject to S z^2 + A z + a <= 0 (= 0 where `equality`).

    z^2 are the squares of the scalars one by one; where S has no entry there is none (None).
    """

    families: Mapping[str, Columns]
    linear: Floats
    quadratic: sp.csc_array
    constant: float
    losses: tuple[LossColumns, ...]
    smooth: tuple[SmoothLoss, ...]
    matrix: sp.csr_array
    offset: Floats
    equality: NDArray[np.bool_]
    squares: sp.csr_array | None = None

    @property
    def size(self) -> int:
        return len(self.linear)

    @property
    def diagonal(self) -> bool:
        """Whether no square couples two scalars."""
        own = np.repeat(np.arange(self.size), np.diff(self.quadratic.indptr))
        return bool(np.all(self.quadratic.indices == own))

    def value(self, z: Floats) -> float:
        total = self.constant + dot(self.linear, z) + 0.5 * dot(z, np.asarray(self.quadratic @ z))
        for loss in self.losses:
            r = z[loss.columns]
            cost = np.full(len(r), np.inf)
            for left, right, q, c, d in loss.pieces:
                inside = (r >= left) & (r <= right)
                cost[inside] = (0.5 * q * r**2 + c * r + d)[inside]
            total += float(cost.sum())
        return total + sum(loss.value(z) for loss in self.smooth)

    def slope(self, z: Floats, along: Floats) -> tuple[float, float]:
        """(the derivative of the value along a direction, at most how large it can be by its terms' sizes)."""
        parts = [(self.linear + self.quadratic @ z) * along]
        for loss in self.losses:
            r, slopes = z[loss.columns], np.zeros(len(loss.columns))
            for left, right, q, c, _ in loss.pieces:
                inside = (r >= left) & (r <= right)
                slopes[inside] = (q * r + c)[inside]
            parts.append(slopes * along[loss.columns])
        parts += [(loss.slopes(z) * along[loss.columns]).reshape(-1) for loss in self.smooth]
        return float(sum(part.sum() for part in parts)), float(sum(np.abs(part).sum() for part in parts))

    def slack(self, z: Floats) -> Floats:
        """S z^2 + A z + a, which is to be <= 0 or = 0."""
        slack = np.asarray(self.matrix @ z + self.offset)
        return slack if self.squares is None else np.asarray(slack + self.squares @ z**2)


class ScalarForm(NamedTuple):
    """The objective of a primal in its scalars: what of it does not depend on data."""

    constant: Poly
    linear: Poly
    gradients: Mapping[str, Poly]  # of the quadratic part, by the families of scalars that it sees
    weights: Mapping[str, Poly]  # of the losses, by their labels
    conditions: tuple[tuple[Condition, Poly, Poly], ...]  # linear in scalars, and in their squares


@lru_cache(maxsize=64)
def scalar_form(primal: Primal) -> ScalarForm:
    """The parts of the objective, each loss a letter in it, and those of the conditions."""
    plain, _ = primal.objective.split(lambda m: not any(isinstance(f, Sym) and f.role == "loss" for f, _ in m.factors))
    constant, moving = plain.split(lambda m: _degree(m.factors) == 0)
    linear, _ = moving.split(lambda m: _degree(m.factors) == 1)
    quadratic, _ = moving.split(lambda m: _degree(m.factors) == 2)
    scalars = [unknown for unknown in primal.unknowns if unknown.space is None]
    gradients = {unknown.name: derivative(quadratic, unknown.symbol) for unknown in scalars}
    squared = {name: gradient for name, gradient in gradients.items() if gradient}
    letters = {term.label: Sym(term.label, term.indices, "loss", term.support) for term in primal.losses}
    weights = {label: derivative(primal.objective, letter) for label, letter in letters.items()}
    seen = [c for c in primal.conditions if any(role == "var" for role, _ in c.body.symbols())]
    conditions = tuple((condition, *_squares_apart(condition.body)) for condition in seen)
    return ScalarForm(constant, linear, squared, weights, conditions)


def scalar_problem(derivation: Derivation, values: Values) -> ScalarProblem:
    """What is left of the primal when `values` knows the inner products with its Hilbert unknowns."""
    primal = derivation.primal
    families: dict[str, Columns] = {}
    start = 0
    for unknown in primal.unknowns:
        if unknown.space is not None:
            continue
        shape = tuple(values.size(z) for z in unknown.sets)
        inside = np.ones(shape, dtype=bool)
        if unknown.support:
            inside = support_mask(unknown.support, unknown.indices, unknown.sets, values)
        positions = np.full(shape, -1, dtype=np.int64)
        positions[inside] = np.arange(start, start + int(inside.sum()))
        start += int(inside.sum())
        families[unknown.name] = Columns(unknown, shape, positions)

    def column_of(symbol: Sym, places: tuple[Ints, ...]) -> Ints:
        return families[symbol.name].at(places)

    form = scalar_form(primal)
    linear, _ = linear_matrix(form.linear, {}, start, column_of, values, roles=("var",))
    return ScalarProblem(
        families,
        np.bincount(linear.columns, linear.data, start).astype(np.float64, copy=False),
        _hessian(form, families, column_of, start, values),
        float(evaluate(form.constant, values)),
        tuple(_loss(form, t, t.function, families, values) for t in primal.losses if isinstance(t.function, Plq)),
        tuple(_smooth(form, t, families, values) for t in primal.losses if not isinstance(t.function, Plq)),
        *_conditions(form, start, column_of, values),
    )


def _degree(factors: Factors) -> int:
    return sum(p for f, p in factors if isinstance(f, Sym) and f.role == "var")


def _hessian(
    form: ScalarForm, families: Mapping[str, Columns], column_of: Column, size: int, values: Values
) -> sp.csc_array:
    parts: list[Entries] = []
    for name, gradient in form.gradients.items():
        columns = families[name]
        lengths = dict(zip(columns.unknown.indices, columns.shape, strict=True))
        found, _ = linear_matrix(gradient, lengths, size, column_of, values, roles=("var",))
        inside = found.only(columns.positions.reshape(-1) >= 0)
        parts.append(inside._replace(rows=columns.members[inside.rows]))
    return summed(parts, (size, size)).by_column()


def _smooth(form: ScalarForm, term: LossTerm, families: Mapping[str, Columns], values: Values) -> SmoothLoss:
    lengths = {name: values.size(z) for name, z in zip(term.indices, term.sets, strict=True)}
    weight = evaluate(form.weights[term.label], values, lengths).reshape(-1)
    columns = families[term.residual].positions.reshape(len(weight), -1)
    there = (columns >= 0).all(axis=1)
    target = None
    if isinstance(term.function, Multinomial):
        target = label_values(term.function.target, lengths, values).reshape(-1)[there]
    return SmoothLoss(columns[there], weight[there], target)


def _loss(
    form: ScalarForm, term: LossTerm, function: Plq, families: Mapping[str, Columns], values: Values
) -> LossColumns:
    columns = families[term.residual]
    lengths = dict(zip(term.indices, columns.shape, strict=True))
    inside = columns.positions >= 0

    def members(poly: Poly) -> Floats:
        return np.ascontiguousarray(evaluate(poly, values, lengths)[inside])

    scale = members(form.weights[term.label])
    pieces = []
    for n, piece in enumerate(function.pieces):
        left, right = function.ends(n)
        pieces.append(
            (
                np.full_like(scale, -np.inf) if left is None else members(left),
                np.full_like(scale, np.inf) if right is None else members(right),
                scale * members(piece.curvature),
                scale * members(piece.slope),
                scale * members(piece.value),
            )
        )
    return LossColumns(columns.members, tuple(pieces))


def _conditions(
    form: ScalarForm, size: int, column_of: Column, values: Values
) -> tuple[sp.csr_array, Floats, NDArray[np.bool_], sp.csr_array | None]:
    matrices: list[Entries] = []
    squares: list[Entries] = []
    offsets: list[Floats] = [np.zeros(0)]
    equality: list[NDArray[np.bool_]] = [np.zeros(0, dtype=bool)]
    for condition, plain, squared in form.conditions:
        lengths = {name: values.size(z) for name, z in zip(condition.indices, condition.sets, strict=True)}
        entries, constant = linear_matrix(plain, lengths, size, column_of, values, roles=("var",))
        bends, _ = linear_matrix(squared, lengths, size, column_of, values, roles=("var",))
        if condition.support:
            keep = support_mask(condition.support, condition.indices, condition.sets, values).reshape(-1)
            entries, bends, constant = entries.only(keep), bends.only(keep), constant[keep]
        matrices.append(entries)
        squares.append(bends)
        offsets.append(constant)
        equality.append(np.full(len(constant), condition.equality))
    quadratic = stacked(squares, size).by_row() if any(len(part.data) for part in squares) else None
    return stacked(matrices, size).by_row(), np.concatenate(offsets), np.concatenate(equality), quadratic


def _squares_apart(body: Poly) -> tuple[Poly, Poly]:
    """(the terms without, and those with the square of a scalar, which stands for itself there)."""

    def is_square(monomial: Monomial) -> bool:
        return any(p == 2 and isinstance(f, Sym) and f.role == "var" for f, p in monomial.factors)

    squared, plain = body.split(is_square)
    once = collect(
        (m.binders, tuple((f, 1 if isinstance(f, Sym) and f.role == "var" else p) for f, p in m.factors), c)
        for m, c in squared.terms.items()
    )
    return plain, once
