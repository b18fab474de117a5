"""Merges two multipliers of one number into their difference: one unknown with a kink at 0 in place of two."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeGuard

from kdsl.algebra.dual import Dual, DualVariable, MergedPair, Row
from kdsl.algebra.folding import Folding
from kdsl.algebra.poly import Monomial, Poly, collect, derivative, substitute
from kdsl.algebra.signs import Domains
from kdsl.algebra.state import contains, is_zero, mentions_multiplier
from kdsl.algebra.steps import Equation, Step
from kdsl.algebra.terms import Factor, Index, Inner, Sym

_HALF = Fraction(1, 2)


def merge_pairs(folding: Folding, domains: Domains) -> Folding:
    """Every pair that is seen only through its difference and its sum becomes one family, beta and |beta|."""
    variables = folding.dual.variables
    pulls = _pulls(folding.dual)
    for n, first in enumerate(variables):
        for second in variables[n + 1 :]:
            if pulls[first.label] == -pulls[second.label]:
                merged = _merged(folding, first, second, domains)
                if merged is not None:
                    return merge_pairs(merged, domains)
    return folding


def _pulls(dual: Dual) -> dict[str, Poly]:
    """For each family the derivative of the quadratic terms that couple examples: opposite for the two of a pair."""
    coupling, _ = dual.objective.split(lambda m: _multiplier_degree(m) == 2 and not is_diagonal(m))
    return {v.label: derivative(coupling, v.symbol) for v in dual.variables}


def _multiplier_degree(monomial: Monomial) -> int:
    return sum(p for f, p in monomial.factors if isinstance(f, Sym) and f.role == "mult" and p > 0)


def _merged(folding: Folding, first: DualVariable, second: DualVariable, domains: Domains) -> Folding | None:
    dual = folding.dual
    alike = (first.indices, first.sets, first.support) == (second.indices, second.sets, second.support)
    unsettled = {term.label for term in dual.conjugates} | {term.label for term in dual.entropies}
    if not (alike and _may_be_zero(first, domains) and _may_be_zero(second, domains)) or unsettled & {
        first.label,
        second.label,
    }:
        return None
    plus, minus = _oriented(dual.objective, first, second)
    used = {v.letter for v in dual.variables} | {name for _, name in dual.objective.symbols()}
    beta = DualVariable(
        f"{minus.label}~{plus.label}",
        "beta" if "beta" not in used else letter_of(plus.label),
        plus.indices,
        plus.sets,
        plus.support,
        None if minus.upper is None else -minus.upper,
        plus.upper,
    )
    pair = Pair(plus, minus, beta)
    objective = pair.rewritten(dual.objective)
    rows = [pair.rewritten_row(row) for row in dual.rows]
    kept = tuple(row for row in rows if row is not None)
    bodies = [pair.rewritten(cone.body) for cone in dual.cones]
    cones = tuple(c._replace(body=b) for c, b in zip(dual.cones, bodies, strict=True) if b is not None)
    if objective is None or len(kept) < len(rows) or len(cones) < len(bodies):
        return None
    if pair.meets(*(c.radius for c in cones), *(d.value for d in dual.definitions)):
        return None
    if not _only_costs(objective, kept, beta, domains):
        return None
    steps = [_step(pair)]
    for row in kept:
        bound = _bound(row, beta)
        if bound is not None:
            kept = tuple(r for r in kept if r is not row)
            beta = beta._replace(lower=-bound, upper=bound)
            steps.append(_box_step(beta, bound, row))
    return folding._replace(
        dual=dual._replace(
            objective=objective,
            rows=kept,
            cones=cones,
            variables=tuple(beta if v.label == first.label else v for v in dual.variables if v.label != second.label),
        ),
        pairs=(*folding.pairs, MergedPair(beta.label, plus.label, minus.label)),
        steps=(*folding.steps, *steps),
    )


def letter_of(label: str) -> str:
    """A letter for the pair whose first condition is `label`; that of a bound, `b <= 1`, starts with the unknown."""
    return f"beta_{label.partition(' ')[0]}"


def _may_be_zero(variable: DualVariable, domains: Domains) -> bool:
    """Whether 0 is certainly the least value of a multiplier, whatever the parameters and the data."""
    return is_zero(variable.lower) and (variable.upper is None or domains.non_negative(variable.upper))


def _bound(row: Row, beta: DualVariable) -> Poly | None:
    """C where the row reads |beta| <= C for every member, and beta has no bounds yet."""
    if row.equality or len(row.indices) != len(beta.indices) or row.support != beta.support:
        return None
    if beta.lower is not None or beta.upper is not None:
        return None
    size = beta.at(row.indices)._replace(role="abs")
    own, rest = row.body.split(lambda monomial: contains(monomial, size))
    scale = own.terms.get(Monomial((), ((size, 1),)))
    if scale is None or scale <= 0 or len(own.terms) != 1 or mentions_multiplier(rest):
        return None
    places: dict[str, Index] = dict(zip(row.indices, beta.indices, strict=True))
    return rest.scale(-1 / scale).rename(places)


def _box_step(beta: DualVariable, bound: Poly, row: Row) -> Step:
    where = (beta.indices, beta.sets, beta.support)
    symbol = Poly.of(beta.symbol)
    sides = (Equation(-bound, "<=", symbol, *where), Equation(symbol, "<=", bound, *where))
    return Step("box", "A bound on a size is a box", ("what the condition on ", row.origin, " leaves"), sides)


def _step(pair: Pair) -> Step:
    plus, minus, beta = pair.plus, pair.minus, pair.beta
    where = (beta.indices, beta.sets, beta.support)
    first, second = Poly.of(plus.symbol), Poly.of(minus.symbol)
    return Step(
        "merge",
        f"Two multipliers of one {'example' if beta.indices else 'quantity'} become one",
        (
            "the dual sees ",
            first,
            " and ",
            second,
            " only through their difference and their sum, and lowering both by the same amount costs nothing: one of "
            "them is 0, and their sum is the size of the difference",
        ),
        (
            Equation(Poly.of(beta.symbol), "=", first - second, *where),
            Equation(Poly.of(_size(beta)), "=", first + second, *where),
        ),
    )


def _size(beta: DualVariable) -> Sym:
    return beta.symbol._replace(role="abs")


def _oriented(objective: Poly, first: DualVariable, second: DualVariable) -> tuple[DualVariable, DualVariable]:
    """(plus, minus): plus is the one that data multiply with a plus sign in the objective."""
    for monomial, coefficient in objective.sorted():
        multipliers = [f.name for f, _ in monomial.factors if isinstance(f, Sym) and f.role == "mult"]
        data = any(isinstance(f, Sym) and f.role in ("data", "sign") for f, _ in monomial.factors)
        if data and len(multipliers) == 1 and multipliers[0] in (first.label, second.label):
            rising = (multipliers[0] == first.label) == (coefficient > 0)
            return (first, second) if rising else (second, first)
    return second, first


class Pair:
    """Rewrites polynomials in plus and minus as polynomials in beta = plus - minus and |beta| = plus + minus."""

    def __init__(self, plus: DualVariable, minus: DualVariable, beta: DualVariable) -> None:
        self.plus, self.minus, self.beta = plus, minus, beta

    def rewritten(self, poly: Poly) -> Poly | None:
        """None where poly is not a form in the difference, the sum, and squares on the diagonal."""
        others, own = poly.split(lambda m: self._degree(m) == 0)
        linear, higher = own.split(lambda m: self._degree(m) == 1)
        diagonal, quadratic = higher.split(is_diagonal)
        positive, negative = self._in_beta(linear, self.plus), self._in_beta(linear, self.minus)
        squares = self._in_beta(diagonal, self.plus)
        form = self._in_beta(quadratic, self.plus)
        difference = Poly.of(self.plus.symbol) - Poly.of(self.minus.symbol)
        # on the diagonal plus * minus = 0, so plus^2 + minus^2 = beta^2; elsewhere only differences may occur
        if (
            squares != self._in_beta(diagonal, self.minus)
            or substitute(form, self.beta.symbol, difference) != quadratic
        ):
            return None
        size = self._sized((positive + negative).scale(_HALF))
        return others + (positive - negative).scale(_HALF) + size + squares + form

    def rewritten_row(self, row: Row) -> Row | None:
        body = self.rewritten(row.body)
        if body is None or (row.equality and body.mentions(self.beta.label, ("abs",))):
            return None
        return row._replace(body=body)

    def meets(self, *polys: Poly) -> bool:
        return any(self._degree(monomial) for poly in polys for monomial in poly.terms)

    def _names(self, monomial: Monomial) -> list[str]:
        labels = (self.plus.label, self.minus.label)
        return [f.name for f, p in monomial.factors for _ in range(p) if _is_mult(f) and f.name in labels]

    def _degree(self, monomial: Monomial) -> int:
        return len(self._names(monomial))

    def _in_beta(self, poly: Poly, this: DualVariable) -> Poly:
        """The monomials that mention only `this` of the two, written in beta."""
        pure, _ = poly.split(lambda m: set(self._names(m)) == {this.label})
        return _mapped(pure, lambda f: f._replace(name=self.beta.label) if f.name == this.label else f)

    def _sized(self, poly: Poly) -> Poly:
        """poly, linear in beta, with |beta| in its place."""
        return _mapped(poly, lambda f: f._replace(role="abs") if f.name == self.beta.label else f)


def _is_mult(factor: Factor) -> TypeGuard[Sym]:
    return isinstance(factor, Sym) and factor.role == "mult"


def _mapped(poly: Poly, change: Callable[[Sym], Sym]) -> Poly:
    def changed(factor: Factor) -> Factor:
        return change(factor) if _is_mult(factor) else factor

    return collect((m.binders, tuple((changed(f), p) for f, p in m.factors), c) for m, c in poly.terms.items())


def is_diagonal(monomial: Monomial) -> bool:
    """Whether all multipliers stand at the same indices and no inner product couples them."""
    places = {f.args for f, _ in monomial.factors if isinstance(f, Sym) and f.role == "mult"}
    return len(places) == 1 and not any(isinstance(f, Inner) for f, _ in monomial.factors)


def _only_costs(objective: Poly, rows: tuple[Row, ...], beta: DualVariable, domains: Domains) -> bool:
    """Whether |beta| only lowers the objective and only fills the rows: taking from both of the pair is free."""
    for body, sign in ((objective, -1), *((row.body, 1) for row in rows)):
        for monomial, coefficient in body.terms.items():
            sizes = [f for f, _ in monomial.factors if isinstance(f, Sym) and f.role == "abs" and f.name == beta.label]
            price = tuple((f, p) for f, p in monomial.factors if f not in sizes)
            if sizes and not domains.non_negative(Poly({Monomial(monomial.binders, price): coefficient * sign})):
                return False
    return True
