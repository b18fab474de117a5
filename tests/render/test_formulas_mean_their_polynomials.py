"""Whatever is collected, completed and reordered for the eye keeps its value: checked on exact random instances."""

from __future__ import annotations

from fractions import Fraction

import pytest
from derivations import NAMES, derivation
from evaluate_formula import Reader, free_letters
from evaluate_poly import World

from kdsl.algebra.derivation import Derivation
from kdsl.algebra.poly import Poly
from kdsl.algebra.terms import Vec
from kdsl.render.naming import naming_of
from kdsl.render.notation import formula
from kdsl.render.problem_sections import lagrangian_formula

STYLES = ("body", "objective", "dual", "prediction")


def polynomials(d: Derivation) -> list[Poly]:
    found = [d.primal.objective, d.lagrangian.body, d.exact.objective, d.dual.objective]
    found += [c.body for c in d.primal.conditions] + [c.body for c in d.kkt]
    found += [row.body for dual in (d.exact, d.dual) for row in dual.rows]
    found += [cone.body for cone in d.dual.cones] + [root.radicand for root in d.dual.roots]
    found += [x.value for x in d.expansions] + [x.value for x in d.eliminated]
    return [p for p in found if p]


def world_of(d: Derivation, seed: int) -> World:
    sizes = {s: 2 + n % 2 for n, s in enumerate(dict.fromkeys(z.size for i in d.model.indices for z in i.sets))}
    labels = {datum.name: sizes[datum.labels.size] for datum in d.model.data if datum.labels is not None}
    return World(seed, sizes, {}, labels)


def value_of(poly: Poly, world: World, env: dict[str, int]) -> Fraction | tuple[Fraction, ...]:
    vector = any(isinstance(f, Vec) for m in poly.terms for f, _ in m.factors)
    return world.vector_of(poly, env) if vector else world.of(poly, env)


def check_formulas(d: Derivation) -> None:
    """Every polynomial of the derivation, printed in every order, has its own value."""
    naming = naming_of(d)
    for poly in polynomials(d):
        env = {letter: n % 2 for n, letter in enumerate(sorted(free_letters(poly)))}
        for style in STYLES:
            world = world_of(d, seed=len(poly.terms))
            found = Reader(poly, naming, world).value(formula(poly, naming, style), env)
            wanted = value_of(poly, world, env)
            nothing = isinstance(wanted, tuple) and not any(wanted)
            assert found == (0 if nothing and isinstance(found, Fraction) else wanted), (style, poly)


def check_lagrangian(d: Derivation) -> None:
    """The Lagrangian as it is printed, not multiplied out, has the value of the one that is minimised."""
    naming = naming_of(d)
    world = world_of(d, seed=7)
    reader = Reader(d.lagrangian.body, naming, world)
    assert reader.value(lagrangian_formula(d.lagrangian, naming), {}) == world.of(d.lagrangian.body)


@pytest.mark.parametrize("name", NAMES)
def test_a_formula_has_the_value_of_its_polynomial(name: str) -> None:
    check_formulas(derivation(name))


@pytest.mark.parametrize("name", NAMES)
def test_the_factored_lagrangian_is_the_expanded_one(name: str) -> None:
    check_lagrangian(derivation(name))


def test_the_comparison_notices_a_wrong_sign() -> None:
    d = derivation("svm_1norm")
    naming = naming_of(d)
    world = world_of(d, seed=7)
    reader = Reader(d.lagrangian.body, naming, world)
    assert reader.value(formula(-d.lagrangian.body, naming), {}) != world.of(d.lagrangian.body)
