"""Refuses data and values of parameters by which the problem as it is written divides by 0."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from kdsl.algebra.energies import Energies
from kdsl.algebra.numeric import Leaf, Values, evaluate, product_over, support_mask
from kdsl.algebra.plq import Plq
from kdsl.algebra.poly import Monomial, Poly
from kdsl.algebra.primal import Primal
from kdsl.algebra.terms import Bracket, Sym
from kdsl.binding.faults import fault, listing


def check_divisors(primal: Primal, values: Values) -> None:
    """Brackets, and the filters of conditions, keep out what they keep out of the problem."""
    for part in _parts(primal):
        for monomial in part.poly.terms:
            for factor, power in monomial.factors:
                if power < 0 and isinstance(factor, Sym) and factor.role in ("param", "data"):
                    _check(factor, monomial, part, values)


def check_penalties(energies: Energies, values: Values) -> None:
    """A vector whose penalty is 0 for these numbers may grow without limit, and the dual divides by that penalty."""
    computed = {definition.symbol.name for definition in energies.dual.definitions}
    for energy in energies.energies:
        symbols = energy.curvature.symbols()
        if any(role == "mult" or name in computed for role, name in symbols):
            continue
        unknown = energy.unknown
        lengths = {name: values.size(size) for name, size in zip(unknown.indices, unknown.sets, strict=True)}
        if (evaluate(energy.curvature, values, lengths) > 0).all():
            continue
        zero = [n for role, n in sorted(symbols) if role in ("param", "data") and not np.all(values.arrays.get(n, 1.0))]
        because = f", for {listing(zero)} is" if zero else ""
        message = f"the penalty of `{unknown.shown or unknown.name}` is 0{because}"
        why = "its norm may grow without limit, and the dual divides by the penalty"
        raise fault("K625", message, why, "give it one above 0")


class _Part(NamedTuple):
    """A polynomial of the problem, where it stands, its free indices, and which of its members count."""

    where: str
    poly: Poly
    indices: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    support: tuple[Bracket, ...] = ()


def _parts(primal: Primal) -> Iterator[_Part]:
    yield _Part("the objective", primal.objective)
    for condition in primal.conditions:
        yield _Part(f"`{condition.label}`", condition.body, condition.indices, condition.sets, condition.support)
    for loss in primal.losses:
        for piece in loss.function.pieces if isinstance(loss.function, Plq) else ():
            for poly in piece:
                yield _Part(f"the loss `{loss.label}`", poly, loss.indices, loss.sets, loss.support)


def _check(divisor: Sym, monomial: Monomial, part: _Part, values: Values) -> None:
    lengths: dict[Leaf, int] = {name: values.size(size) for name, size in zip(part.indices, part.sets, strict=True)}
    lengths.update({n: values.size(size) for n, size in enumerate(monomial.binders)})
    order = tuple(lengths)
    zero = product_over(((divisor, 1),), order, lengths, values) == 0
    if not zero.any():
        return
    brackets = tuple((f, p) for f, p in monomial.factors if isinstance(f, Bracket))
    counts = product_over(brackets, order, lengths, values) != 0
    if part.support:
        mask = support_mask(part.support, part.indices, part.sets, values)
        counts = counts & mask.reshape(mask.shape + (1,) * len(monomial.binders))
    zeros = np.argwhere(np.broadcast_to(zero & counts, tuple(lengths.values())))
    if len(zeros) == 0:
        return
    places = dict(zip(order, zeros[0], strict=True))
    plain = [int(places[arg]) + 1 for arg in divisor.args if isinstance(arg, int | str)]
    name = divisor.name if len(plain) < max(len(divisor.args), 1) else f"{divisor.name}{plain}"
    remedy = "correct it, or leave that row out" if divisor.role == "data" else "give it another value"
    if divisor.whole is not None:
        remedy = "give its parameters other values, or more data"
    raise fault("K625", f"`{name}` is 0, and {part.where} divides by it", "no number is the quotient", remedy)
