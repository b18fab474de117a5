"""Decides whether a primal is convex: squares with a certain sign, else counterexamples on small exact instances."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

from kdsl.algebra.losses import degree_in_unknowns
from kdsl.algebra.poly import Monomial, Poly, derivative, substitute
from kdsl.algebra.primal import Primal, Reformulation, Unknown
from kdsl.algebra.signs import Domains, Range
from kdsl.algebra.terms import Bracket, Factor, Index, Inner, Sym, Vec, leaves_of
from kdsl.language.diagnostics import Diagnostic, Label
from kdsl.language.model import Model

_TRIALS = 4
_COUNT = 2  # how many members every index set has in a trial
_DIMENSION = 2  # of the Hilbert spaces in a trial


def check_convexity(primal: Primal, model: Model) -> tuple[Primal, list[Diagnostic]]:
    """(the primal, shifted where that is what makes it convex; what is not convex, located)."""
    problems: list[Diagnostic] = []
    if any(not c.equality and not is_convex(c.body, primal.domains) for c in primal.conditions):
        primal = _shifted(primal)
    if not is_convex(primal.objective, primal.domains):
        problems.append(_objective_fault(primal, model))
    for condition in primal.conditions:
        span = condition.span
        quadratic = any(degree_in_unknowns(m) > 1 for m in condition.body.terms)
        if condition.equality and quadratic:
            problems.append(
                Diagnostic(
                    "K403",
                    f"`{condition.label}` sets a quadratic expression equal to something",
                    (Label(span, "not affine in the unknowns"),),
                    "the points that satisfy a quadratic equation do not form a convex set, so the dual need not "
                    "reach the primal's value",
                    "only a bound on a norm, `||w||^2 = 1`, may be written with `=`: it is solved as <= and checked "
                    "to be tight",
                )
            )
        elif not condition.equality and not is_convex(condition.body, primal.domains):
            problems.append(
                Diagnostic(
                    "K401",
                    f"`{condition.label}` is not a convex constraint",
                    (Label(span, "its <= form curves the wrong way"),),
                    "with everything brought to the side g <= 0, g must be convex in the unknowns together",
                    _constraint_remedy(primal, condition.body),
                )
            )
    return primal, problems


def _constraint_remedy(primal: Primal, body: Poly) -> str:
    unsigned = next((r for r, _ in _candidates(primal, signed=True) if body.mentions(r.name, ("var",))), None)
    if unsigned is not None and _shifted(primal, signed=True) is not primal:
        name = unsigned.shown
        return f"declare {name} without a sign: {name} less the squared norm can then take its place"
    squares = [(f, c) for m, c in body.terms.items() for f, p in m.factors if isinstance(f, Sym) and p == 2]
    falling = [f.name for f, c in squares if f.role == "var" and c < 0]
    if falling and any(c > 0 for m, c in body.terms.items() if degree_in_unknowns(m) == 2):
        name = falling[0]
        return (
            f"what bounds a square is not squared itself: let an unknown stand for {name}^2, or a parameter for {name}"
        )
    if _multiplies(body):
        return "a product of two different unknowns is not convex by itself: make one of them a parameter"
    return "turn the inequality round, or check the sign of the quadratic terms"


def _multiplies(body: Poly) -> bool:
    """Whether body has a product of two different unknowns, but no square."""
    quadratic = [m for m in body.terms if degree_in_unknowns(m) == 2]
    return bool(quadratic) and not any(_square(m) for m in quadratic)


def _objective_fault(primal: Primal, model: Model) -> Diagnostic:
    span = model.objective.span
    written = {term.label: term.text for term in primal.losses}
    falling = [
        written.get(factor.name, f"||{factor.name}||")
        for monomial, coefficient in primal.objective.terms.items()
        for factor, _ in monomial.factors
        if isinstance(factor, Sym) and factor.role in ("loss", "norm") and coefficient < 0
    ]
    verb, shape = ("maximises", "concave") if primal.sense < 0 else ("minimises", "convex")
    what = "a convex function" if primal.sense < 0 and falling else f"a function that is not {shape}"
    if falling:
        hint = f"`{falling[0]}` is convex and would have to be minimised: change the sign or the sense"
    elif primal.sense > 0 and (matrix := _matrix(primal.objective)) is not None:
        return Diagnostic(
            "K402",
            f"the objective is convex for some matrices `{matrix}` only",
            (Label(span, "a quadratic form of scores"),),
            "that a matrix of the data is positive semidefinite cannot be declared",
            "write a penalty of differences: (f(x[p]) - f(x[q]))^2 times W[p,q], summed and halved, is convex where no "
            "weight is negative, and is the form of the Laplacian of the weights W",
        )
    elif (unsure := _unsure(primal)) is not None:
        return _unsure_fault(unsure, model)
    else:
        hint = "check the signs of the squares; a product of two different unknowns is not convex by itself"
    return Diagnostic(
        "K402",
        f"the objective {verb} {what}",
        (Label(span, "curves the wrong way"),),
        "only a convex function has a dual that reaches its minimum, and a minimum that can be certified",
        hint,
    )


def _unsure(primal: Primal) -> Sym | None:
    """A datum or a parameter of which the domain leaves open whether it keeps a convex term convex."""
    domains = primal.domains
    for monomial, coefficient in primal.objective.terms.items():
        atoms = [f for f, _ in monomial.factors if isinstance(f, Sym) and f.role in ("loss", "norm")]
        square = _square(monomial)
        price = _without(monomial, coefficient, atoms or ([square] if square is not None else []))
        if (atoms or square is not None) and not domains.non_negative(price) and not domains.non_negative(-price):
            for factor, power in monomial.factors:
                if isinstance(factor, Sym) and factor.role in ("param", "data") and power % 2:
                    value = Poly.of(factor)
                    if not domains.non_negative(value) and not domains.non_negative(-value):
                        return factor
    return None


def _unsure_fault(symbol: Sym, model: Model) -> Diagnostic:
    spans = {**{d.name: d.span for d in model.data}, **{p.name: p.span for p in model.parameters}}
    return Diagnostic(
        "K402",
        f"the objective is not certain to be convex: `{symbol.name}` may be negative",
        (Label(spans[symbol.name], "of any sign"), Label(model.objective.span, "multiplies a convex term")),
        "a convex function times a negative number is not convex",
        f"declare {symbol.name} : real >= 0",
    )


def _matrix(poly: Poly) -> str | None:
    """A datum of two bound indices that multiplies two scores or unknowns: a quadratic form with a matrix of data."""
    for monomial in poly.terms:
        if degree_in_unknowns(monomial) == 2 and _square(monomial) is None:
            for factor, _ in monomial.factors:
                if isinstance(factor, Sym) and factor.role == "data" and len(set(leaves_of(factor))) == 2:
                    return factor.name
    return None


def is_convex(poly: Poly, domains: Domains) -> bool:
    """Whether poly is convex in the unknowns: proven term by term, else no counterexample on small instances."""
    doubtful = False
    for monomial, coefficient in poly.terms.items():
        degree = degree_in_unknowns(monomial)
        atoms = [f for f, _ in monomial.factors if isinstance(f, Sym) and f.role in ("loss", "norm")]
        if atoms:
            if degree > 1 or not domains.non_negative(_without(monomial, coefficient, atoms)):
                return False
        elif degree > 2:
            return False
        elif degree == 2:
            square = _square(monomial)
            if square is None or not domains.non_negative(_without(monomial, coefficient, [square])):
                doubtful = True
    return not doubtful or all(_semidefinite(_hessian(poly, domains, seed)) for seed in range(_TRIALS))


def _without(monomial: Monomial, coefficient: Fraction, factors: list[Factor] | list[Sym]) -> Poly:
    kept = tuple((f, p) for f, p in monomial.factors if f not in factors)
    return Poly({Monomial(monomial.binders, kept): coefficient})


def _square(monomial: Monomial) -> Factor | None:
    for factor, power in monomial.factors:
        if isinstance(factor, Sym) and factor.role == "var" and power == 2:
            return factor
        if isinstance(factor, Inner) and factor.left == factor.right and not factor.left.feature and power == 1:
            return factor
    return None


# --------------------------------------------------- small exact instances

Coordinate = tuple[str, tuple[int, ...], int]
Linear = dict[Coordinate, Fraction]


def _hessian(poly: Poly, domains: Domains, seed: int) -> list[list[Fraction]]:
    """The matrix of the quadratic part of poly on a random instance with _COUNT members in every set."""
    instance = _Instance(domains, random.Random(seed))
    entries: dict[tuple[Coordinate, Coordinate], Fraction] = {}
    for monomial, coefficient in poly.terms.items():
        if degree_in_unknowns(monomial) != 2:
            continue
        for binding in product(range(_COUNT), repeat=len(monomial.binders)):
            scale, forms = instance.evaluate(monomial, binding)
            for pairs in forms:
                for (a, x), (b, y) in pairs:
                    value = coefficient * scale * x * y / 2
                    entries[a, b] = entries.get((a, b), Fraction(0)) + value
                    entries[b, a] = entries.get((b, a), Fraction(0)) + value
    names = sorted({a for a, _ in entries})
    return [[entries.get((a, b), Fraction(0)) for b in names] for a in names]


class _Instance:
    """Random values for data and parameters, drawn once per (name, indices) inside their domains."""

    def __init__(self, domains: Domains, generator: random.Random) -> None:
        self._domains, self._generator = domains, generator
        self._drawn: dict[object, Fraction] = {}

    def evaluate(
        self, monomial: Monomial, binding: tuple[int, ...]
    ) -> tuple[Fraction, list[list[tuple[tuple[Coordinate, Fraction], tuple[Coordinate, Fraction]]]]]:
        """(the constant factor, pairs of linear forms in the unknowns whose product it multiplies)."""
        scale = Fraction(1)
        linear: list[Linear] = []
        squares: list[list[tuple[tuple[Coordinate, Fraction], tuple[Coordinate, Fraction]]]] = []
        for factor, power in monomial.factors:
            if isinstance(factor, Sym) and factor.role == "var":
                linear += [{(factor.name, self._places(factor.args, binding), 0): Fraction(1)}] * power
            elif isinstance(factor, Inner):
                left, right = self._vector(factor.left, binding), self._vector(factor.right, binding)
                if not factor.left.feature and not factor.right.feature:
                    squares.append(
                        [((l, Fraction(1)), (r, Fraction(1))) for (l, _), (r, _) in zip(left, right, strict=True)]
                    )
                elif factor.left.feature and factor.right.feature:
                    scale *= sum((x * y for (_, x), (_, y) in zip(left, right, strict=True)), Fraction(0)) ** power
                else:
                    moving, fixed = (right, left) if factor.left.feature else (left, right)
                    form = {c: x for (c, _), (_, x) in zip(moving, fixed, strict=True)}
                    linear += [form] * power
            else:
                scale *= self._scalar(factor, binding) ** power
        if len(linear) == 2:
            squares.append([(a, b) for a in linear[0].items() for b in linear[1].items()])
        return scale, squares

    def _places(self, args: tuple[Index, ...], binding: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(self._place(a, binding) for a in args)

    def _place(self, term: Index, binding: tuple[int, ...]) -> int:
        if isinstance(term, int):
            return binding[term]
        if isinstance(term, str):
            return 0
        return int(self._draw((term.name, self._places(term.args, binding)), Range(Fraction(0), None))) % _COUNT

    def _vector(self, vec: Vec, binding: tuple[int, ...]) -> list[tuple[Coordinate, Fraction]]:
        places = self._places(vec.args, binding)
        return [
            (
                (vec.name, places, d),
                self._draw((vec.name, places, d), Range(None, None)) if vec.feature else Fraction(0),
            )
            for d in range(_DIMENSION)
        ]

    def _scalar(self, factor: Factor, binding: tuple[int, ...]) -> Fraction:
        if isinstance(factor, Bracket):
            left, right = (self._side(side, binding) for side in (factor.left, factor.right))
            holds = {"=": left == right, "!=": left != right, "<": left < right, "<=": left <= right}
            return Fraction(holds[factor.relation])
        assert isinstance(factor, Sym)
        if factor.role == "size":
            return Fraction(_COUNT)
        if factor.role == "sign":
            return Fraction(
                1 if self._draw((factor.name, self._places(factor.args, binding)), Range(None, None)) > 0 else -1
            )
        return self._draw((factor.name, self._places(factor.args, binding)), self._domains.range_of(factor))

    def _side(self, side: Index | Sym, binding: tuple[int, ...]) -> Fraction:
        return self._scalar(side, binding) if isinstance(side, Sym) else Fraction(self._place(side, binding))

    def _draw(self, key: object, within: Range) -> Fraction:
        if key not in self._drawn:
            share = Fraction(self._generator.randint(1, 99), 100)
            low, high = within.lower, within.upper
            if low is not None and high is not None:
                value = low + share * (high - low)
            elif low is not None:
                value = low + 3 * share
            elif high is not None:
                value = high - 3 * share
            else:
                value = (2 * share - 1) * 2
            self._drawn[key] = value
        return self._drawn[key]


def _semidefinite(matrix: list[list[Fraction]]) -> bool:
    """Whether a symmetric rational matrix is positive semidefinite: exact symmetric elimination."""
    a = [row[:] for row in matrix]
    for k in range(len(a)):
        if a[k][k] < 0:
            return False
        if a[k][k] == 0:
            if any(a[k][j] for j in range(k + 1, len(a))):
                return False
            continue
        for i in range(k + 1, len(a)):
            ratio = a[i][k] / a[k][k]
            for j in range(k + 1, len(a)):
                a[i][j] -= ratio * a[k][j]
    return True


# ------------------------------------------------------- the radius, shifted


def _shifted(primal: Primal, signed: bool = False) -> Primal:
    """R = rho + ||c||^2 where the conditions see only ||c||^2 - R: they become linear, the objective convex.

    signed: what that would make of an R that has a sign, whose condition it turns into another.
    """
    for radius, centre in _candidates(primal, signed):
        assert isinstance(radius.symbol, Sym)
        new = radius._replace(name=f"{radius.name} - ||{centre.name}||^2", origin="shifted", shown=radius.name)
        assert isinstance(new.symbol, Sym) and isinstance(centre.symbol, Vec)
        square = Inner(centre.at(radius.indices), centre.at(radius.indices))  # type: ignore[arg-type]
        value = Poly.of(new.symbol) + Poly.of(square)
        symbol = radius.symbol

        def shift(body: Poly, symbol: Sym = symbol, value: Poly = value) -> Poly:
            return substitute(body, symbol, value)

        kept = [c for c in primal.conditions if not (c.kind == "sign" and c.body.mentions(radius.name, ("var",)))]
        conditions = tuple(c._replace(body=shift(c.body)) for c in kept)
        objective = shift(primal.objective)
        if is_convex(objective, primal.domains) and all(is_convex(c.body, primal.domains) for c in conditions):
            reformulation = Reformulation(
                "shift",
                f"the constraints see {radius.name} and ||{centre.name}||^2 only through their difference, so with "
                f"{radius.name} = rho + ||{centre.name}||^2 they are linear",
                radius.name,
            )
            return primal._replace(
                objective=objective,
                conditions=conditions,
                unknowns=tuple(new if u.name == radius.name else u for u in primal.unknowns),
                reformulations=(*primal.reformulations, reformulation),
            )
    return primal


def _candidates(primal: Primal, signed: bool = False) -> Iterator[tuple[Unknown, Unknown]]:
    """Pairs (scalar without a sign, unless `signed`, Hilbert variable) over the same sets."""
    held = {name for c in primal.conditions if c.kind == "sign" for _, name in c.body.symbols()}
    for radius in primal.unknowns:
        for centre in primal.unknowns:
            free = signed == (radius.name in held)
            plain = radius.space is None and free and radius.origin == "declared"
            alike = (radius.sets, radius.support) == (centre.sets, centre.support)
            if plain and centre.space is not None and alike:
                assert isinstance(radius.symbol, Sym)
                if derivative(primal.objective, radius.symbol):
                    yield radius, centre
