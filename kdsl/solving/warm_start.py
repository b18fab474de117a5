"""What the last solve of a problem leaves for the next one, with other values of its parameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from kdsl.algebra.energies import Energies
from kdsl.algebra.poly import Poly
from kdsl.numerics.arrays import Floats
from kdsl.solving.certify import Point
from kdsl.solving.lowering import Lowered
from kdsl.solving.normal_form import HilbertBlock, NormalForm, Product, Separable
from kdsl.solving.posed import Posed


class _Left(NamedTuple):
    """A problem that was solved, and its certified point."""

    posed: Posed
    point: Point


class Trail:
    """Kept from solve to solve of one problem: the dual point, its kernel products, and what no parameter changed."""

    def __init__(self) -> None:
        self._left: _Left | None = None
        self._named: tuple[Energies, frozenset[str]] | None = None  # what blocks and rows of these are made from

    def leave(self, posed: Posed, point: Point) -> None:
        """`point` is the answer to `posed`."""
        self._left = _Left(posed, point)

    def lowered_alike(self, posed: Posed) -> Lowered | None:
        """The last normal form, if only numbers have changed that neither its blocks nor its rows depend on."""
        left, energies = self._left, posed.energies
        if left is None or left.posed.energies is not energies or left.posed.bound is not posed.bound:
            return None
        plain = energies.norm is None and energies.outer is None and not energies.dual.definitions
        if not plain or energies.conic or left.posed.saturated is not None or posed.saturated is not None:
            return None
        if any(left.posed.spaces[name].oracle is not space.oracle for name, space in posed.spaces.items()):
            return None
        before = left.posed.parameters
        changed = {name for name, value in posed.parameters.items() if before.get(name) != value}
        return None if changed & self._names(energies) else left.point.lowered

    def _names(self, energies: Energies) -> frozenset[str]:
        if self._named is None or self._named[0] is not energies:
            self._named = energies, frozenset(words_in(_parts(energies)))
        return self._named[1]

    def start(self, problem: NormalForm) -> tuple[NormalForm, Floats | None]:
        """`problem` with what is known of it, and where to begin; None where nothing is known."""
        if self._left is None:
            return problem, None
        last = self._left.point.lowered.problem
        theta = self._left.point.theta
        begin = moved(theta, last.separable, problem.separable)
        products = self._left.point.products
        if begin is None or products is None:
            return problem, begin
        return with_product(problem, theta, last.blocks, products.images), begin


def moved(theta: Floats, old: Separable, new: Separable) -> Floats | None:
    """Every coordinate at the same place of its piece: at the new bound if it was at the old one, and so on.

    Where all pieces grow alike, as the box of a soft margin does with C, rows that were met with target 0 still are.
    None for another problem. The rows need not be met.
    """
    if not np.array_equal(old.offsets, new.offsets):
        return None
    if len(old.left) == old.size:
        piece = old.offsets[:-1]
    else:
        owner = np.repeat(np.arange(old.size), np.diff(old.offsets))
        passed = np.add.reduceat(old.right < theta[owner], old.offsets[:-1])
        piece = np.minimum(old.offsets[:-1] + passed, old.offsets[1:] - 1)
    left, right, low, high = old.left[piece], old.right[piece], new.left[piece], new.right[piece]
    finite = np.isfinite(left) & np.isfinite(right) & np.isfinite(low) & np.isfinite(high) & (right > left)
    with np.errstate(invalid="ignore", divide="ignore"):
        inside = np.where(finite, low + (theta - left) * ((high - low) / (right - left)), theta)
    inside = np.where(theta == left, low, np.where(theta == right, high, inside))
    return np.asarray(np.clip(np.where(np.isfinite(inside), inside, theta), new.lower, new.upper))


def with_product(
    problem: NormalForm, theta: Floats, blocks: tuple[HilbertBlock, ...], images: tuple[Floats, ...]
) -> NormalForm:
    """The problem with what its Q makes of theta, of which each K(S theta) is known, if the blocks are still these."""
    pairs = list(zip(blocks, problem.blocks, strict=False))
    same = len(images) == len(problem.blocks) == len(pairs) and len(theta) == problem.size
    if not same or not all(_is_same(old, new) for old, new in pairs):
        return problem
    gradient = np.zeros(problem.size)
    for block, image in zip(problem.blocks, images, strict=True):
        gradient += block.atoms.T @ image
    return replace(problem, known=Product(theta, gradient))


def _is_same(old: HilbertBlock, new: HilbertBlock) -> bool:
    if old.shift is not None or new.shift is not None:
        return False
    if old is new:
        return True
    a, b = old.atoms, new.atoms
    pairs = zip((a.indptr, a.indices, a.data), (b.indptr, b.indices, b.data), strict=True)
    return old.gram == new.gram and a.shape == b.shape and all(np.array_equal(x, y) for x, y in pairs)


def _parts(energies: Energies) -> tuple[object, ...]:
    """All that the blocks, the rows and the places of the multipliers are made from."""
    families = tuple((v.sets, v.support) for v in energies.dual.variables)
    return energies.energies, energies.dual.rows, families


def words_in(part: object) -> Iterator[str]:
    """Every name that occurs in a tree of tuples, and its other words."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, Poly):
        yield from words_in(tuple(part.terms))
    elif isinstance(part, tuple):
        for one in part:
            yield from words_in(one)
