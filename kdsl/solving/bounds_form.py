"""Reads off a primal what the theorems speak of: a margin, a sphere, a tube or a fit, whatever it is called."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from kdsl.algebra.derivation import Derivation
from kdsl.algebra.plq import HALF, Piece, Plq
from kdsl.algebra.poly import Monomial, Poly, derivative
from kdsl.algebra.primal import Condition, Primal
from kdsl.algebra.terms import Inner, Sym, Vec


class Form(NamedTuple):
    """kind "margin", "sphere", "tube" or "fit"; one vector, one input, one example for each constraint.

    slacks cost `price` times their `power` (0: there are none); `shared` where the price has 1/l in it (the nu
    forms); `scalar` is the symbol that measures margin, radius or tube (else the margin is `constant`), `offset` the
    bias, `unit` the label of a norm fixed to 1, `ball` that of a bound on the norm. `penalty` is p in p/2 ||w||^2.
    Where a loss stands for the slacks, `slacks` holds its residual r = y f and the slack is (constant - r)+.
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
    penalty: Poly
    residual: bool


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
    if len(vectors) != 1 or vectors[0].indices:
        return None
    if primal.losses:
        return _loss(primal)
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


def _loss(primal: Primal) -> Form | None:
    """The short form: hinge(y f), or its square, in the place of slacks."""
    terms, conditions = primal.losses, primal.conditions
    if len(terms) != 1 or len(conditions) != 1 or len(conditions[0].indices) != 1 or conditions[0].support:
        return None
    body, hinge = _read(conditions[0]), _hinge(terms[0].function)
    if hinge is None or body.others or len(body.products) != 1 or len(body.families) != 1 or not body.labels:
        return None
    if body.products[0][1] * body.families[0][1] > 0:
        return None  # r = -y f
    power, constant = hinge
    weight = derivative(primal.objective, Sym(terms[0].label, terms[0].indices, "loss", terms[0].support))
    offset = next((name for name, _, labelled in body.scalars if labelled), "")
    form = _form("margin", primal, conditions[0], body._replace(families=(), constant=constant), ("", offset))
    return (
        None
        if form is None
        else form._replace(
            slacks=(body.families[0][0],), power=power, price=weight, shared=_has_size(weight), residual=True
        )
    )


def _hinge(function: object) -> tuple[int, float] | None:
    """(1, c) for (c - r)+, (2, c) for its square."""
    if not isinstance(function, Plq) or len(function.breaks) != 1 or any(function.pieces[1]):
        return None
    cut, first = function.breaks[0], function.pieces[0]
    if cut.symbols() or (function.lower, function.upper) != (None, None):
        return None
    constant = float(sum(cut.terms.values()))
    if constant <= 0:
        return None  # no margin is asked for: the loss of the perceptron
    if first == Piece(Poly(), Poly.number(-1), cut):
        return 1, constant
    return (2, constant) if first == Piece(Poly.number(2), cut.scale(Fraction(-2)), cut * cut) else None


def _has_size(poly: Poly) -> bool:
    return any(isinstance(f, Sym) and f.role == "size" for f in poly.factors())


def _penalty(primal: Primal, vector: str) -> Poly:
    """p where the objective has p/2 ||w||^2."""
    found = Poly()
    for monomial, coefficient in primal.objective.terms.items():
        rest = tuple((f, power) for f, power in monomial.factors if not isinstance(f, Inner))
        if len(rest) < len(monomial.factors) and any(
            f == ("vector", vector) for f in Poly({monomial: coefficient}).symbols()
        ):
            found = found + Poly({Monomial(monomial.binders, rest): 2 * coefficient})
    return found


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
        _has_size(price),
        body.constant,
        *scalars,
        next((c.label for c in balls if c.tight), ""),
        next((c.label for c in balls if not c.tight), ""),
        _penalty(primal, vector.name),
        False,
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
