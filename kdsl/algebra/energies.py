"""Reads a dual as energies: 1/2 |S theta + s|^2 in a Hilbert space for each unknown, plus a separable part."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import NamedTuple, TypeGuard

from kdsl.algebra.derivation import Derivation
from kdsl.algebra.dual import Dual, DualVariable, Expansion, FoldedNorm, MergedPair
from kdsl.algebra.fold_norms import fold_norms
from kdsl.algebra.folding import Folding
from kdsl.algebra.merge_pairs import Pair, is_diagonal
from kdsl.algebra.plq import HALF
from kdsl.algebra.poly import Monomial, Poly, derivative, dot, place_support
from kdsl.algebra.primal import Unknown
from kdsl.algebra.terms import Factor, Sym, Vec


class Energy(NamedTuple):
    """1/2 sum |vector|^2 / curvature over the members of a family of unknowns, vector affine in the multipliers.

    The unknown is vector / curvature, plus whatever its expansion has of unknowns that were minimised out later:
    completing the square leaves no product of the two.
    """

    unknown: Unknown
    vector: Poly
    curvature: Poly
    unfolded: Poly


class Cost(NamedTuple):
    """What `separable` is in one family of multipliers: slope t + 1/2 curvature t^2 + kink |t|, slope taken at 0."""

    slope: Poly
    curvature: Poly
    kink: Poly


class Energies(NamedTuple):
    """`dual` in the form that is solved; its objective is `separable` minus the energies.

    separable: constant, linear (in multipliers and their sizes) and diagonal quadratic terms; `constant` is the
    first of these, and `costs` the others by the label of the multipliers.
    norm: the norm multiplier that was folded away, where the energies stand under a root or for a square.
    outer: the norm multiplier that is kept, over which a search runs.
    conic: whether the quadratic part is no sum of energies; there are none then, and `separable` is 0.
    """

    dual: Dual
    folding: Folding
    energies: tuple[Energy, ...]
    constant: Poly
    costs: Mapping[str, Cost]
    norm: FoldedNorm | None
    outer: str | None
    conic: bool = False


def conic_form(derivation: Derivation) -> Energies:
    """The exact dual, of which only the bounds, the rows and the conjugates are read."""
    return Energies(
        derivation.exact,
        Folding(derivation.exact),
        (),
        *_by_family(Poly(), derivation.exact.variables),
        None,
        None,
        True,
    )


def energies_of(derivation: Derivation) -> Energies | None:
    """The dual as energies; None where its quadratic part is not a sum of them: a conic dual."""
    if derivation.exact.cones:
        return None
    merged = derivation.folding
    sized_rows = any(_has_size(row.body) for row in merged.dual.rows)
    folding = fold_norms(Folding(derivation.exact), derivation.primal.domains) if sized_rows else merged
    norm = next((n for n in folding.norms if n.whole), None)
    balls = [v for v in derivation.exact.variables if _is_ball(derivation, v.label)]
    if len(balls) > 1 or any(ball.indices for ball in balls):
        return None
    outer = balls[0].label if balls and norm is None else None
    pairs = () if sized_rows else folding.pairs
    known = {v.label for v in derivation.exact.variables}
    energies = []
    total = Poly()
    for expansion in derivation.expansions:
        energy = _energy(derivation, expansion)
        if not _multipliers(energy.vector) <= known:
            continue  # its sign multiplier is maximised out: the conjugate of its cost has the whole of it
        own = _value(energy)
        if not all(_is_own(monomial, pairs) for monomial in own.terms):
            energies.append(energy)
            total = total + own
    fixed = {norm.label} if norm is not None else {outer} if outer is not None else set()
    if not all(_is_form(energy, fixed, derivation.exact) for energy in energies):
        return None
    if not all(map(_is_simple, derivation.expansions)):
        return None
    separable = derivation.exact.objective + total
    if norm is not None:
        separable = Poly()  # the objective is the root alone
    elif any(not _is_separable(monomial, pairs) for monomial in separable.terms):
        return None
    for merged_pair in pairs:
        labels = (merged_pair.plus, merged_pair.minus, merged_pair.label)
        pair = Pair(*(_variable(derivation, folding, label) for label in labels))
        rewritten = pair.rewritten(separable)
        if rewritten is None:
            return None
        separable = rewritten
        changed = []
        for energy in energies:
            vector = pair.rewritten(energy.vector)
            if vector is None or _has_size(vector):
                return None
            changed.append(energy._replace(vector=vector))
        energies = changed
    kept = [v for v in folding.dual.variables if v.label != outer]
    return Energies(folding.dual, folding, tuple(energies), *_by_family(separable, kept), norm, outer)


def _by_family(separable: Poly, variables: Sequence[DualVariable]) -> tuple[Poly, dict[str, Cost]]:
    """(the terms without these multipliers, the cost of each family)."""
    costs = {}
    for variable in variables:
        slope = derivative(separable, variable.symbol)
        kink = derivative(separable, variable.symbol._replace(role="abs"))
        costs[variable.label] = Cost(slope, derivative(slope, variable.symbol), kink)
    constant, _ = separable.split(lambda monomial: _degree(monomial, costs) == 0)
    return constant, costs


def _degree(monomial: Monomial, labels: Container[str]) -> int:
    return sum(p for f, p in monomial.factors if isinstance(f, Sym) and f.role in ("mult", "abs") and f.name in labels)


def _variable(derivation: Derivation, folding: Folding, label: str) -> DualVariable:
    variables = (*derivation.exact.variables, *folding.dual.variables)
    return next(v for v in variables if v.label == label)


def _energy(derivation: Derivation, expansion: Expansion) -> Energy:
    unknown = derivation.primal.unknown(expansion.unknown.name)
    own, _ = expansion.value.split(lambda m: later_unknown(m) is None)
    return Energy(unknown, own * expansion.curvature, expansion.curvature, expansion.unfolded)


def later_unknown(monomial: Monomial) -> Vec | Sym | None:
    """The unknown vector or scalar in a term of an expansion."""
    return next((f for f, _ in monomial.factors if _is_unknown(f)), None)


def _is_unknown(factor: Factor) -> TypeGuard[Vec | Sym]:
    return not factor.feature if isinstance(factor, Vec) else isinstance(factor, Sym) and factor.role == "var"


def _is_simple(expansion: Expansion) -> bool:
    """Whether the unknown vectors in it stand at its own indices, so that they can be added member by member.

    Scalars need not be added: they are the best ones for the vectors, whatever their expansion says.
    """
    found = [(monomial, later_unknown(monomial)) for monomial in expansion.value.terms]
    return all(
        not isinstance(vec, Vec) or (not monomial.binders and all(isinstance(arg, str) for arg in vec.args))
        for monomial, vec in found
    )


def _value(energy: Energy) -> Poly:
    """1/2 <vector, vector> / curvature, summed over the family."""
    unknown = energy.unknown
    square = dot(energy.vector, energy.vector) if isinstance(unknown.symbol, Vec) else energy.vector * energy.vector
    value = (square * energy.curvature.inverse()).scale(HALF)
    return value.sum(unknown.indices, unknown.sets, place_support(unknown.support, unknown.indices))


def _is_ball(derivation: Derivation, label: str) -> bool:
    return any(m.label == label and m.kind == "ball" for m in derivation.lagrangian.multipliers)


def _has_size(poly: Poly) -> bool:
    return any(isinstance(f, Sym) and f.role == "abs" for f in poly.factors())


def _multipliers(poly: Poly) -> set[str]:
    return {f.name for f in poly.factors() if isinstance(f, Sym) and f.role in ("mult", "abs")}


def _is_form(energy: Energy, fixed: set[str], dual: Dual) -> bool:
    """Whether it is quadratic in the multipliers: no curvature but of `fixed` ones, no scalar unknowns."""
    stood_for = {d.symbol.name: _multipliers(d.value) for d in dual.definitions}
    moving = {name for found in _multipliers(energy.curvature) for name in stood_for.get(found, {found})}
    indexed = any(isinstance(f, Sym) and f.name in fixed and f.args for f in energy.curvature.factors())
    foreign = any(role in ("vector", "var") for role, _ in energy.vector.symbols())
    return moving <= fixed and not (indexed or foreign)


def _is_own(monomial: Monomial, pairs: Sequence[MergedPair]) -> bool:
    """Whether it is the cost of a single multiplier, or of a pair that becomes one."""
    names = {f.name for f, _ in monomial.factors if isinstance(f, Sym) and f.role == "mult"}
    one = len(names) == 1 or any(names <= {pair.plus, pair.minus} for pair in pairs)
    return one and is_diagonal(monomial)


def _is_separable(monomial: Monomial, pairs: Sequence[MergedPair]) -> bool:
    degree = sum(p for f, p in monomial.factors if isinstance(f, Sym) and f.role in ("mult", "abs"))
    return degree < 2 or _is_own(monomial, pairs)
