"""Reads off a primal what the theorems speak of: a margin, a sphere, a tube or a fit, whatever it is called."""

from __future__ import annotations

from typing import NamedTuple

from kdsl.algebra.derivation import Derivation
from kdsl.algebra.plq import HALF
from kdsl.algebra.poly import Monomial, Poly, derivative
from kdsl.algebra.primal import Condition, Primal
from kdsl.algebra.terms import Inner, Sym, Vec


class Form(NamedTuple):
    """kind "margin", "sphere", "tube" or "fit"; one vector, one input, one example for each constraint.

    slacks cost `price` times their `power` (0: there are none); `shared` where the price has 1/l in it (the nu
    forms); `scalar` is the symbol that measures margin, radius or tube (else the margin is `constant`), `offset` the
    bias, `unit` the label of a norm fixed to 1, `ball` that of a bound on the norm.
    """

    kind: str
    label: str
    vector: str
    point: str
    answer: str
    size: str
    slacks: tuple[str, ...]
    power: int
    price: Poly
    shared: bool
    constant: float
    scalar: str
    offset: str
    unit: str
    ball: str


class _Body(NamedTuple):
    """The parts of one condition, each with its coefficient."""

    products: tuple[tuple[Inner, float, bool], ...]  # <w, phi>, whether a label in {-1, 1} multiplies it
    square: bool  # ||c||^2 occurs
    families: tuple[tuple[str, float], ...]  # unknowns of the condition's own index
    scalars: tuple[tuple[str, float, bool], ...]  # single unknowns and parameters, whether a label multiplies them
    answers: tuple[str, ...]
    labels: tuple[str, ...]
    constant: float
    others: int


def form_of(derivation: Derivation) -> Form | None:
    """The form of a problem, None where no theorem of the list is about it."""
    primal = derivation.primal
    vectors = [u for u in primal.unknowns if u.space is not None]
    if len(vectors) != 1 or vectors[0].indices or primal.losses:
        return None
    stated = [c for c in primal.conditions if c.kind == "stated"]
    if any(len(c.indices) != 1 or c.support for c in stated):
        return None
    bodies = [_read(c) for c in stated]
    if any(body.others or len(body.products) != 1 for body in bodies):
        return None
    if len(stated) == 2 and not any(c.equality for c in stated):
        return _tube(primal, stated, bodies)
    if len(stated) != 1:
        return None
    body = bodies[0]
    _, _, signed = body.products[0]
    scalar = next((name for name, _, labelled in body.scalars if not labelled), "")
    if body.square:
        return _form("sphere", primal, stated[0], body, (scalar, ""))
    offset = next((name for name, _, labelled in body.scalars if labelled), "")
    if signed and not stated[0].equality:
        return _form("margin", primal, stated[0], body, (scalar, offset))
    if stated[0].equality and body.answers:
        return _form("fit", primal, stated[0], body, ("", scalar))
    return None


def _tube(primal: Primal, stated: list[Condition], bodies: list[_Body]) -> Form | None:
    """f - y <= eps + xi and y - f <= eps + xi': what both have with the same sign is eps, with opposite signs b."""
    first, second = ({name: c for name, c, _ in body.scalars} for body in bodies)
    if bodies[0].products[0][1] != -bodies[1].products[0][1] or set(first) != set(second):
        return None
    scalar = next((name for name in first if first[name] == second[name]), "")
    offset = next((name for name in first if first[name] == -second[name]), "")
    families = bodies[0].families + bodies[1].families
    return _form("tube", primal, stated[0], bodies[0]._replace(families=families), (scalar, offset))


def _form(kind: str, primal: Primal, condition: Condition, body: _Body, scalars: tuple[str, str]) -> Form | None:
    slacks = tuple(name for name, _ in body.families)
    prices = [_price(primal, name) for name in slacks]
    if any(price is None for price in prices) or len(set(prices)) > 1:
        return None
    power, price = prices[0] or (0, Poly()) if prices else (0, Poly())
    ((inner, _, _),) = body.products
    vector, point = (inner.left, inner.right) if inner.right.feature else (inner.right, inner.left)
    balls = [c for c in primal.conditions if c.kind == "ball"]
    return Form(
        kind,
        condition.label,
        vector.name,
        point.name,
        next(iter(body.labels or body.answers), ""),
        condition.sets[0],
        slacks,
        power,
        price,
        any(isinstance(f, Sym) and f.role == "size" for f in price.factors()),
        body.constant,
        *scalars,
        next((c.label for c in balls if c.tight), ""),
        next((c.label for c in balls if not c.tight), ""),
    )


def _price(primal: Primal, name: str) -> tuple[int, Poly] | None:
    """(1, p) for a cost p xi, (2, p) for p xi^2, None for any other."""
    symbol = primal.unknown(name).symbol
    assert isinstance(symbol, Sym)
    first = derivative(primal.objective, symbol)
    second = derivative(first, symbol)
    if not first.mentions(name, ("var",)):
        return (1, first) if first else None
    squared = second.scale(HALF)
    linear_part, _ = first.split(lambda m: not any(isinstance(f, Sym) and f.name == name for f, _ in m.factors))
    return None if linear_part or second.mentions(name, ("var",)) else (2, squared)


def _read(condition: Condition) -> _Body:
    products: list[tuple[Inner, float, bool]] = []
    families: list[tuple[str, float]] = []
    scalars: list[tuple[str, float, bool]] = []
    answers: list[str] = []
    labels: list[str] = []
    square, constant, others = False, 0.0, 0
    for monomial, coefficient in condition.body.terms.items():
        inner, symbols, sign = _parts(monomial)
        labels += [sign.name] if sign is not None else []
        size = float(coefficient)
        if inner is not None and not symbols and _is_evaluation(inner):
            products.append((inner, size, sign is not None))
        elif inner is not None and not symbols and inner.left == inner.right:
            square = square or not inner.left.feature
        elif inner is None and len(symbols) == 1 and symbols[0].role == "var" and symbols[0].args:
            families.append((symbols[0].name, size))
        elif inner is None and len(symbols) == 1 and symbols[0].role in ("var", "param") and not symbols[0].args:
            scalars.append((symbols[0].name, size, sign is not None))
        elif inner is None and len(symbols) == 1 and symbols[0].role == "data":
            answers.append(symbols[0].name)
        elif inner is None and not symbols and sign is None:
            constant = size
        else:
            others += 1
    names = tuple(dict.fromkeys(labels))
    return _Body(tuple(products), square, tuple(families), tuple(scalars), tuple(answers), names, constant, others)


def _parts(monomial: Monomial) -> tuple[Inner | None, list[Sym], Sym | None]:
    factors = [f for f, _ in monomial.factors]
    inner = next((f for f in factors if isinstance(f, Inner)), None)
    sign = next((f for f in factors if isinstance(f, Sym) and f.role == "sign"), None)
    return inner, [f for f in factors if isinstance(f, Sym) and f.role != "sign"], sign


def _is_evaluation(inner: Inner) -> bool:
    return isinstance(inner.left, Vec) and inner.left.feature != inner.right.feature
