"""Reads the printed duals of expected_duals.py as polynomials over the multipliers of a derivation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from expected_duals import DualForm

from kdsl.algebra.derivation import Derivation, derive
from kdsl.algebra.dual import Dual, DualVariable, Row
from kdsl.algebra.poly import Poly, place_support
from kdsl.algebra.terms import Index
from kdsl.algebra.translate import Scope, Translator, Value
from kdsl.language import syntax as s
from kdsl.language.model import IndexSet, Model
from kdsl.language.parser import parse_expression
from kdsl.pipeline import parse_spec

ROOT = Path(__file__).resolve().parents[2]


def shipped(name: str) -> Derivation:
    """The derivation of a shipped spec."""
    return derive(parse_spec((ROOT / "specs" / f"{name}.kspec").read_text(encoding="utf-8"), name))


class DualReader(Translator):
    """A translator that also knows the dual variables (under `names`) and abs() of one of them."""

    def __init__(self, model: Model, variables: Mapping[str, DualVariable]) -> None:
        super().__init__(model)
        self.multipliers = dict(variables)

    def read(self, text: str) -> Poly:
        node = parse_expression(text)
        sets = dict(self._places(node))
        self.letters = {**{n: IndexSet(size, False) for n, size in sets.items()}, **self.letters}
        return self.scalar(node, {})

    def row(self, text: str) -> tuple[Poly, bool]:
        """(body, whether it is an equation) of `left = right`, `left <= right` or `left >= right`."""
        left, relation, right = _split(text)
        body = self.read(left) - self.read(right)
        return (-body if relation == ">=" else body), relation == "="

    def _places(self, node: object) -> Iterator[tuple[str, str]]:
        """(letter, size) for every letter that stands as a subscript of a multiplier or a datum."""
        if isinstance(node, s.Item):
            for subscript, size in zip(node.subscripts, self._sets_of(node.base.id), strict=True):
                if isinstance(subscript, s.Name):
                    yield subscript.id, size
        if isinstance(node, tuple):
            for child in node:
                yield from self._places(child)

    def _sets_of(self, name: str) -> tuple[str, ...]:
        if name in self.multipliers:
            return self.multipliers[name].sets
        found = {**self.data, **self.parameters, **self.variables}[name]
        return tuple(z.size for z in found.sets)

    def symbol(self, name: str, args: tuple[Index, ...]) -> Poly:
        if name in self.multipliers:
            return Poly.of(self.multipliers[name].at(args))
        return super().symbol(name, args)

    def _call(self, node: s.Call, scope: Scope) -> Value:
        if node.function.id == "abs":
            value = self.scalar(node.arguments[0], scope)
            ((monomial, _),) = value.terms.items()
            ((symbol, _),) = monomial.factors
            return Poly.of(symbol._replace(role="abs"))  # type: ignore[call-arg]
        return super()._call(node, scope)


def _split(text: str) -> tuple[str, str, str]:
    depth = 0
    for at, character in enumerate(text):
        depth += (character in "([") - (character in ")]")
        for relation in ("<=", ">=", "="):
            if depth == 0 and text.startswith(f" {relation} ", at):
                return text[:at], relation, text[at + len(relation) + 2 :]
    raise ValueError(text)


def normal_row(body: Poly, equality: bool) -> tuple[Poly, bool]:
    """A row up to a positive factor, and up to any factor where it is an equation."""
    _, leading = body.sorted()[0]
    scaled = body.scale(1 / abs(leading))
    return (-scaled if equality and leading < 0 else scaled), equality


def rows_of(rows: tuple[Row, ...]) -> set[tuple[Poly, bool]]:
    return {normal_row(row.body, row.equality) for row in rows}


def kink(variable: DualVariable, slope: Poly) -> Poly:
    """slope * sum |variable|."""
    size = Poly.of(variable.symbol._replace(role="abs"))
    support = place_support(variable.support, variable.indices)
    return (slope * size).sum(variable.indices, variable.sets, support)


def bound(reader: DualReader, text: str) -> Poly | None:
    return None if text in ("inf", "-inf") else reader.read(text)


def named(dual: Dual, form: DualForm) -> dict[str, DualVariable]:
    """The dual's variables under the names that the printed form uses."""
    names = {v.label: v for v in dual.variables}
    for name, combination in form.merged.items():
        plus, minus = combination.split(" - ")
        names[name] = names.pop(f"{minus}~{plus}")
    for name in form.bounds:
        if name not in names:  # a loss, whose multiplier is printed by its letter
            label = next(v.label for v in dual.variables if v.letter == name)
            names[name] = names.pop(label)
    return names


def compare(derivation: Derivation, dual: Dual, form: DualForm) -> None:
    names = named(dual, form)
    reader = DualReader(derivation.model, names)
    expected = reader.read(form.objective)
    for name, slope in form.kinks.items():
        expected = expected - kink(names[name], reader.read(slope))
    roots = [(r.coefficient, r.radicand) for r in dual.roots]
    if form.root is None:
        assert dual.objective == expected
        assert not roots and not dual.squared
    else:
        coefficient, radicand = reader.read(form.root.coefficient), reader.read(form.root.radicand)
        if dual.squared:  # the whole objective is the root: its square is maximised
            assert not expected
            assert dual.objective == -(coefficient * coefficient * radicand)
        else:
            assert dual.objective == expected
            assert roots == [(coefficient, radicand)]
    assert rows_of(dual.rows) == {normal_row(*reader.row(text)) for text in form.rows}
    assert not dual.conjugates and not dual.entropies and not dual.cones and not dual.definitions
    assert set(names) == set(form.bounds)
    for name, (lower, upper) in form.bounds.items():
        assert (names[name].lower, names[name].upper) == (bound(reader, lower), bound(reader, upper)), name
