"""The primal as a conic program in coordinates of its Hilbert spaces, for what no dual quadratic program can say.

Every vector w of a space becomes F'w~ with K = F F', so that <w, phi(x_j)> = (F w~)_j and ||w|| = ||w~||; the
conditions are then affine in scalars, inner products, norms and squared norms.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from kdsl.algebra.numeric import Array, support_mask
from kdsl.algebra.poly import Poly, collect
from kdsl.algebra.primal import Condition
from kdsl.algebra.terms import Factor, Inner, Sym, Vec
from kdsl.language.diagnostics import Diagnostic, KdslError
from kdsl.numerics.arrays import Floats, Ints
from kdsl.solving.backends.explicit import remaining
from kdsl.solving.backends.interface import Options
from kdsl.solving.posed import Posed
from kdsl.solving.primal_point import without_vectors
from kdsl.solving.scalar_problem import ScalarProblem, scalar_problem
from kdsl.solving.scalar_program import conic_cost, solve_cones
from kdsl.solving.spaces import Space
from kdsl.solving.sparse_forms import linear_matrix
from kdsl.solving.unknowns import HilbertUnknown, with_unknowns

LIMIT = "user_limit"  # CVXPY's word for a limit of time or iterations
_NEAR = 1e3  # the size of an objective that may as well be 1
_RANK = 1e-13  # eigenvalues of K below this share of the largest are rounding
_PRODUCT, _SQUARE, _LENGTH, _OWN_SQUARE = "\x06product", "\x06square", "\x06length", "\x06own square"


@dataclass(frozen=True, eq=False)
class ConicAnswer:
    """status is CVXPY's; vectors are the coefficients of each Hilbert unknown, multipliers by label.

    Where there is no answer, there are neither.
    """

    status: str
    iterations: int
    vectors: Mapping[str, Floats]
    multipliers: Mapping[str, Array]


def solve_conic_primal(posed: Posed, accuracy: float, options: Options) -> ConicAnswer:
    """The optimum of the primal as written, with the multipliers of its conditions; `options` has the limits."""
    began = time.perf_counter()
    for condition in posed.derivation.primal.conditions:
        _with_columns(condition.body)
    columns = _Columns.of(posed)
    if time.perf_counter() - began >= options.time_limit:
        return ConicAnswer(LIMIT, 0, {}, {})
    import cvxpy as cp

    x, cost, constraints = conic_cost(columns.scalars)
    parts: dict[str, list[Any]] = {_PRODUCT: [], _SQUARE: [], _LENGTH: []}
    variables = {}
    for family in columns.families:
        w = variables[family.name] = cp.Variable((family.members, family.factor.shape[1]))
        parts[_PRODUCT].append(cp.vec(w @ family.factor.T, order="C"))
        parts[_SQUARE].append(cp.sum(cp.square(w), axis=1))
        parts[_LENGTH].append(cp.norm(w, 2, axis=1))
    everything = {kind: cp.hstack(found) if found else None for kind, found in parts.items()}
    scalars = x[: columns.scalars.size]
    everything[_OWN_SQUARE] = cp.square(scalars)

    def affine(matrix: sp.csr_array, offset: Floats) -> Any:
        total = matrix[:, : columns.scalars.size] @ scalars + offset
        for kind, part in everything.items():
            own = matrix[:, columns.slices[kind]]
            if own.nnz:
                total = total + own @ part
        return total

    matrix, _ = columns.matrix(posed.derivation.primal.objective, {}, posed, vectors_only=True)
    cost = cost + cp.sum(affine(matrix, np.zeros(1)))
    stated, multipliers = {}, {}
    for condition in posed.derivation.primal.conditions:
        matrix, offset, keep = columns.rows(condition, posed)
        multipliers[condition.label] = np.zeros(keep.shape)
        if len(offset):
            body = affine(matrix, offset)
            stated[condition.label] = (body == 0 if condition.equality else body <= 0, keep)
    unit = _unit_of(posed)  # tolerances of conic solvers are absolute
    problem = cp.Problem(cp.Minimize(cost / unit), [*constraints, *(c for c, _ in stated.values())])
    limits: dict[str, Any] = {}
    if options.max_iterations is not None:
        limits["max_iter"] = options.max_iterations
    if np.isfinite(options.time_limit):
        limits["time_limit"] = remaining(options, time.perf_counter() - began).time_limit
    try:
        solve_cones(problem, accuracy, **limits)
    except cp.error.SolverError as error:
        return ConicAnswer(str(error), 0, {}, {})
    if problem.status not in ("optimal", "optimal_inaccurate"):
        return ConicAnswer(str(problem.status), 0, {}, {})
    for label, (constraint, keep) in stated.items():
        multipliers[label][keep] = unit * np.asarray(constraint.dual_value).reshape(-1)
    vectors = {family.name: variables[family.name].value @ family.back for family in columns.families}
    iterations = int(getattr(problem.solver_stats, "num_iters", None) or 0)
    return ConicAnswer(str(problem.status), iterations, vectors, multipliers)


def _unit_of(posed: Posed) -> float:
    """What the objective is without vectors, 1 where that is near or the conditions do not allow it."""
    empty = without_vectors(posed)
    near = not np.isfinite(empty.value) or empty.value <= 0 or 1.0 / _NEAR <= empty.value <= _NEAR
    return 1.0 if near or not empty.meets(posed.derivation.primal.conditions) else empty.value


@dataclass(frozen=True, eq=False)
class _Family:
    """One Hilbert unknown: `factor` F with K = F F', and `back` from coordinates to coefficients at the points."""

    name: str
    shape: tuple[int, ...]
    space: Space
    factor: Floats
    back: Floats

    @property
    def members(self) -> int:
        return int(np.prod(self.shape, dtype=int))


@dataclass(frozen=True, eq=False)
class _Columns:
    """Where scalars, inner products, squared norms, norms and squares of scalars stand in one long vector."""

    scalars: ScalarProblem
    families: tuple[_Family, ...]
    slices: Mapping[str, slice]
    starts: Mapping[tuple[str, str], int]
    size: int

    @staticmethod
    def of(posed: Posed) -> _Columns:
        factors = {name: _factor(space) for name, space in posed.spaces.items()}
        families = []
        for unknown in posed.derivation.primal.unknowns:
            space = posed.spaces.get(unknown.space or "")
            if space is not None:
                shape = tuple(posed.values.size(z) for z in unknown.sets)
                families.append(_Family(unknown.name, shape, space, *factors[space.name]))
        nothing = {
            f.name: HilbertUnknown(f.name, f.space.name, f.shape, *2 * (np.zeros((f.members, f.space.size)),))
            for f in families
        }
        scalars = scalar_problem(posed.derivation, with_unknowns(posed.values, nothing, posed.spaces))
        starts, slices, size = {}, {}, scalars.size
        for kind in (_PRODUCT, _SQUARE, _LENGTH):
            begin = size
            for family in families:
                starts[kind, family.name] = size
                size += family.members * (family.space.size if kind == _PRODUCT else 1)
            slices[kind] = slice(begin, size)
        slices[_OWN_SQUARE] = slice(size, size + scalars.size)
        return _Columns(scalars, tuple(families), slices, starts, size + scalars.size)

    def rows(self, condition: Condition, posed: Posed) -> tuple[sp.csr_array, Floats, Array]:
        """(matrix, offset, which members of the condition have a row)."""
        values = posed.values
        lengths = {name: values.size(z) for name, z in zip(condition.indices, condition.sets, strict=True)}
        keep = np.ones(tuple(lengths.values()), dtype=bool)
        if condition.support:
            keep = support_mask(condition.support, condition.indices, condition.sets, values)
        matrix, offset = self.matrix(condition.body, lengths, posed)
        chosen = np.flatnonzero(keep.reshape(-1))
        return sp.csr_array(matrix[chosen]), offset[chosen], keep

    def matrix(
        self, body: Poly, lengths: Mapping[str, int], posed: Posed, vectors_only: bool = False
    ) -> tuple[sp.csr_array, Floats]:
        """body, affine in what has a column, as a matrix and an offset; with `vectors_only`, its terms with vectors."""
        opened = _with_columns(body, vectors_only)
        scalars = self.scalars.families
        by_name = {family.name: family for family in self.families}

        def column_of(symbol: Sym, places: tuple[Ints, ...]) -> Ints:
            if symbol.name in scalars:
                return scalars[symbol.name].at(places)
            kind, name, *point = symbol.name.split("\x07")
            if kind == _OWN_SQUARE:
                column = scalars[name].at(places)
                return np.where(column >= 0, self.slices[_OWN_SQUARE].start + column, column)
            family = by_name[name]
            own, rest = places[: len(family.shape)], places[len(family.shape) :]
            member: Any = np.ravel_multi_index(own, family.shape) if own else 0
            if kind == _PRODUCT:
                at = family.space.position(Vec(family.space.name, point[0], (), True), rest)
                member = member * family.space.size + at
            return np.asarray(self.starts[kind, name] + member)

        found, offset = linear_matrix(opened, lengths, self.size, column_of, posed.values, roles=("var",))
        return found.by_row(), offset


def _is_vector(factor: Factor) -> bool:
    """Whether it is an inner product with an unknown, or the norm of one."""
    if isinstance(factor, Inner):
        return not (factor.left.feature and factor.right.feature)
    return isinstance(factor, Sym) and factor.role == "norm"


def _with_columns(body: Poly, vectors_only: bool = False) -> Poly:
    """body with a symbol for whatever has a column: affine in these, or no program that can be posed."""
    opened = collect(
        [
            (monomial.binders, tuple(_opened(factor, power) for factor, power in monomial.factors), coefficient)
            for monomial, coefficient in body.terms.items()
            if not vectors_only or any(_is_vector(f) for f, _ in monomial.factors)
        ]
    )
    if any(sum(isinstance(f, Sym) and f.role == "var" for f, _ in m.factors) > 1 for m in opened.terms):
        raise _not_conic()
    return opened


def _opened(factor: Factor, power: int) -> tuple[Factor, int]:
    """An inner product, a norm or the square of a scalar as a symbol with a column of its own."""
    if isinstance(factor, Sym) and factor.role == "var" and power != 1:
        if power != 2:
            raise _not_conic()
        return Sym(f"{_OWN_SQUARE}\x07{factor.name}", factor.args, "var"), 1
    if not _is_vector(factor):
        return factor, power
    if power != 1:
        raise _not_conic()
    if isinstance(factor, Sym):
        return Sym(f"{_LENGTH}\x07{factor.name}", factor.args, "var"), 1
    assert isinstance(factor, Inner)
    left, right = factor.left, factor.right
    if left.feature or right.feature:
        unknown, point = (right, left) if left.feature else (left, right)
        return Sym(f"{_PRODUCT}\x07{unknown.name}\x07{point.name}", (*unknown.args, *point.args), "var"), 1
    if left != right:
        raise _not_conic()
    return Sym(f"{_SQUARE}\x07{left.name}", left.args, "var"), 1


def _not_conic() -> KdslError:
    return KdslError(
        [
            Diagnostic(
                "K614",
                "the problem is neither a quadratic program nor a conic one that kdsl can pose",
                why="unknowns multiply each other, or inner products with them",
                help="give a sum or a difference that is squared an unknown of its own; `kdsl derive --verify` still "
                "derives and checks the dual",
            )
        ]
    )


def _factor(space: Space) -> tuple[Floats, Floats]:
    """(F, B) with K = F F' and w = sum_j (w~ B)_j phi(x_j) for coordinates w~."""
    gram = np.asarray(space.oracle.rows(np.arange(space.size)))
    eigenvalues, vectors = np.linalg.eigh((gram + gram.T) / 2)
    kept = eigenvalues > _RANK * max(float(eigenvalues[-1]), 1e-300)
    root = np.sqrt(eigenvalues[kept])
    return vectors[:, kept] * root, (vectors[:, kept] / root).T
