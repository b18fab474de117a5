"""The letters of the algebra: index terms, scalar symbols, Hilbert vectors and their inner products, Iverson brackets.

An index term is an `int` (a bound index: its place among the binders of its monomial, so bound indices
have no names), a `str` (a free index), or an `At` (a label found in the data, such as y[i]).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kdsl.algebra.poly import Poly


class At(NamedTuple):
    """The label that datum `name` holds at `args`, used as an index: the y[i] of w[y[i]]."""

    name: str
    args: tuple[Index, ...]


Index = int | str | At
Rename = Callable[[Index], Index]


class Bracket(NamedTuple):
    """[left relation right]: 1 where it holds, else 0. A Kronecker delta is the bracket with "="."""

    relation: str  # "=", "!=", "<", "<=", ">", ">="
    left: Index | Sym
    right: Index | Sym


class Sym(NamedTuple):
    """A scalar symbol with its indices.

    role: "size" (l), "param", "data", "sign" (data in {-1, 1}: its square is 1), "var", "mult", "abs" (the
    absolute value of a multiplier), "loss" (the value of a loss term), "norm" (an unsquared norm), "number" (that of a
    filter, as its name).
    support: where the family lives, as brackets over positions 0, 1, ... of `args`; outside it the symbol is 0.
    whole: what a composite parameter stands for, the sum 1 - tau that is one factor.
    """

    name: str
    args: tuple[Index, ...] = ()
    role: str = "param"
    support: tuple[Bracket, ...] = ()
    whole: Poly | None = None


class Vec(NamedTuple):
    """A vector of the Hilbert space of kernel `space`: a variable, or the feature phi(name[args]) of a point."""

    space: str
    name: str
    args: tuple[Index, ...] = ()
    feature: bool = False


class Inner(NamedTuple):
    """<left, right>, with left and right in canonical order; between two features it is the kernel."""

    left: Vec
    right: Vec


Factor = Sym | Vec | Inner | Bracket


def index_key(term: Index) -> tuple[object, ...]:
    """A key by which index terms of different kinds can be sorted."""
    if isinstance(term, int):
        return (0, term)
    if isinstance(term, str):
        return (1, term)
    return (2, term.name, *map(index_key, term.args))


def factor_key(factor: Factor) -> tuple[object, ...]:
    """A key by which factors of different kinds can be sorted, in the order in which they are printed."""
    if isinstance(factor, Sym):
        rank = _ROLES.index(factor.role)
        return (rank, factor.name, tuple(map(index_key, factor.args)))
    if isinstance(factor, Bracket):
        return (len(_ROLES), factor.relation, _side_key(factor.left), _side_key(factor.right))
    if isinstance(factor, Inner):
        return (len(_ROLES) + 1, factor_key(factor.left), factor_key(factor.right))
    return (len(_ROLES) + 2, factor.space, factor.feature, factor.name, tuple(map(index_key, factor.args)))


_ROLES = ("number", "size", "param", "mult", "abs", "var", "loss", "norm", "sign", "data")


def _side_key(side: Index | Sym) -> tuple[object, ...]:
    return (1, factor_key(side)) if isinstance(side, Sym) else (0, index_key(side))


def inner(left: Vec, right: Vec) -> Inner:
    """<left, right> in canonical order."""
    return Inner(left, right) if factor_key(left) <= factor_key(right) else Inner(right, left)


def bracket(relation: str, left: Index | Sym, right: Index | Sym) -> Bracket:
    """[left relation right] in canonical order: > and >= turn round, = and != sort their sides."""
    if relation in (">", ">="):
        relation, left, right = "<" + relation[1:], right, left
    if relation in ("=", "!=") and _side_key(right) < _side_key(left):
        left, right = right, left
    return Bracket(relation, left, right)


def reindex_index(term: Index, rename: Rename) -> Index:
    """rename() of the term; where that leaves a label as it is, of the indices inside the label."""
    renamed = rename(term)
    if isinstance(renamed, At) and renamed == term:
        return At(renamed.name, tuple(reindex_index(a, rename) for a in renamed.args))
    return renamed


def _reindex_side(side: Index | Sym, rename: Rename) -> Index | Sym:
    if isinstance(side, Sym):
        return side._replace(args=tuple(reindex_index(a, rename) for a in side.args))
    return reindex_index(side, rename)


def reindex_vec(vec: Vec, rename: Rename) -> Vec:
    return vec._replace(args=tuple(reindex_index(a, rename) for a in vec.args)) if vec.args else vec


def reindex(factor: Factor, rename: Rename) -> Factor:
    """The factor with every index term (the bound and free ones inside At too) replaced."""
    if isinstance(factor, Sym):
        return factor._replace(args=tuple(reindex_index(a, rename) for a in factor.args)) if factor.args else factor
    if isinstance(factor, Vec):
        return reindex_vec(factor, rename)
    if isinstance(factor, Inner):
        return inner(reindex_vec(factor.left, rename), reindex_vec(factor.right, rename))
    return bracket(factor.relation, _reindex_side(factor.left, rename), _reindex_side(factor.right, rename))


def indices_of(factor: Factor) -> tuple[Index, ...]:
    """The index terms that stand directly in the factor."""
    if isinstance(factor, (Sym, Vec)):
        return factor.args
    if isinstance(factor, Inner):
        return factor.left.args + factor.right.args
    sides: tuple[Index, ...] = ()
    for side in (factor.left, factor.right):
        sides += side.args if isinstance(side, Sym) else (side,)
    return sides


def leaves(term: Index) -> tuple[int | str, ...]:
    """The bound and free indices inside an index term."""
    if isinstance(term, At):
        return tuple(leaf for arg in term.args for leaf in leaves(arg))
    return (term,)


def leaves_of(factor: Factor) -> tuple[int | str, ...]:
    return tuple(leaf for term in indices_of(factor) for leaf in leaves(term))
