"""Formulations that users write and no spec holds: their duals are those worked out by hand, and evidence agrees."""

from __future__ import annotations

import warnings
from fractions import Fraction
from pathlib import Path

import pytest
from evaluate_poly import World
from expected_models import EXPECTED_MODELS
from read_duals import DualReader, compare, normal_row, rows_of

from kdsl.algebra.derivation import Derivation, derive
from kdsl.algebra.poly import Poly
from kdsl.pipeline import parse_spec

MODELS = Path(__file__).parent / "models"
NAMES = sorted(path.stem for path in MODELS.glob("*.kspec"))
OTHERWISE = {"mixed_slack", "two_cones", "spheres_by_group"}  # not polynomial: compared below


def derived(name: str) -> Derivation:
    return derive(parse_spec((MODELS / f"{name}.kspec").read_text(encoding="utf-8"), name))


def test_every_model_is_compared() -> None:
    assert set(NAMES) == set(EXPECTED_MODELS) | OTHERWISE


@pytest.mark.parametrize("name", sorted(EXPECTED_MODELS))
def test_dual_by_hand(name: str) -> None:
    derivation = derived(name)
    compare(derivation, derivation.dual, EXPECTED_MODELS[name])


@pytest.mark.parametrize("path", sorted(MODELS.glob("**/*.kspec")), ids=lambda path: path.stem)
def test_evidence(path: Path) -> None:
    """Those in evidence/ are not laid beside a dual by hand: here the solver of the primal is the judge."""
    from kdsl.algebra.evidence import verify

    derivation = derive(parse_spec(path.read_text(encoding="utf-8"), path.stem))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        evidence = verify(derivation, seed=1, instances=1, time_limit=3.0)
    assert evidence.passed, evidence.checks


def test_linear_and_quadratic_slack() -> None:
    """The conjugate of C xi + D xi^2 over xi >= 0 is pos(alpha - C)^2 / 4D."""
    dual = derived("mixed_slack").dual
    (term,) = dual.conjugates
    world = World(0, {"l": 2})
    world.values["param", "C", ()], world.values["param", "D", ()] = Fraction(3, 2), Fraction(2)
    for n in range(8):
        t = Fraction(n, 2)
        piece = term.function.pieces[sum(1 for cut in term.function.breaks if t >= world.of(cut))]
        value = world.of(piece.at(Poly.number(t)))
        assert value == max(t - Fraction(3, 2), Fraction(0)) ** 2 / 8
    (gone,) = [e for e in derived("mixed_slack").eliminated if e.positive_part]
    assert gone.label == "xi >= 0"


def test_two_cones() -> None:
    derivation = derived("two_cones")
    dual = derivation.dual
    reader = DualReader(derivation.model, {v.label: v for v in dual.variables})
    gram = "sum[i] sum[j] margin[i] * margin[j] * y[i] * y[j]"
    assert dual.objective == reader.read("sum[i] margin[i]")
    assert [(c.body, c.radius) for c in dual.cones] == [
        (reader.read(f"{gram} * k(x[i], x[j])"), Poly.number(1)),
        (reader.read(f"{gram} * q(x[i], x[j])"), reader.read("mu")),
    ]
    assert rows_of(dual.rows) == {normal_row(*reader.row("sum[i] y[i] * margin[i] = 0"))}


def test_a_sphere_for_each_group() -> None:
    derivation = derived("spheres_by_group")
    dual = derivation.dual
    (definition,) = dual.definitions
    reader = DualReader(derivation.model, {v.label: v for v in dual.variables})
    assert definition.value == reader.read("2 * sum[i where group[i] = g] inside[i]")
    assert rows_of(dual.rows) == {normal_row(*reader.row("sum[i where group[i] = g] inside[i] <= 1"))}
    diagonal, rest = dual.objective.split(lambda m: len(m.binders) == 1)
    assert diagonal == reader.read("sum[i] inside[i] * k(x[i], x[i])")
    world = World(2, {"l": 4, "groups": 2}, label_sizes={"group": 2})
    total = Fraction(0)
    for g in range(2):
        weight = world.of(definition.value, {"g": g})
        world.values["mult", definition.symbol.name, (g,)] = weight or Fraction(1)
        form = reader.read("sum[i where group[i] = g] sum[j where group[j] = g] inside[i] * inside[j] * k(x[i], x[j])")
        total += 2 * world.of(form, {"g": g}) / (weight or 1)
    assert world.of(rest) == -total


@pytest.mark.parametrize("path", sorted(MODELS.glob("**/*.kspec")), ids=lambda path: path.stem)
def test_a_dual_speaks_of_its_own_variables_only(path: Path) -> None:
    derivation = derive(parse_spec(path.read_text(encoding="utf-8"), path.stem))
    for dual in (derivation.exact, derivation.dual):
        parts = [dual.objective, *(r.body for r in dual.rows)]
        parts += [p for c in dual.cones for p in (c.body, c.radius)] + [d.value for d in dual.definitions]
        parts += [p for r in dual.roots for p in (r.coefficient, r.radicand)]
        mentioned = {name for p in parts for role, name in p.symbols() if role in ("mult", "abs")}
        mentioned |= {c.label for c in dual.conjugates} | {e.label for e in dual.entropies}
        assert mentioned <= {v.label for v in dual.variables} | {d.symbol.name for d in dual.definitions}


def test_a_box_and_a_bound_on_the_size_are_both_kept() -> None:
    dual = derived("evidence/tube_with_two_slacks").dual
    beta = dual.variable("above~below")
    assert beta.upper is not None and beta.upper.mentions("C", ("param",))
    (row,) = (r for r in dual.rows if r.origin == "zeta")
    assert row.body.mentions("above~below", ("abs",)) and row.body.mentions("D", ("param",))


def test_one_slack_for_both_sides_is_a_box() -> None:
    dual = derived("evidence/tube_with_one_slack").dual
    beta = next(v for v in dual.variables if "~" in v.label)
    assert beta.upper is not None and beta.lower == -beta.upper
    assert [row.origin for row in dual.rows] == ["b"]


def test_a_multiplier_with_one_value_leaves_the_dual() -> None:
    derivation = derived("evidence/norms_under_a_priced_bound")
    assert [v.label for v in derivation.dual.variables] == ["hinge"]
    (gone,) = derivation.eliminated
    assert gone.label == "one" and gone.value.symbols() == {("param", "C")}


def test_a_bound_has_no_filter_that_its_family_has() -> None:
    (variable,) = derived("evidence/slacks_of_wrong_classes").dual.variables
    assert variable.support and variable.upper is not None and variable.upper.symbols() == {("param", "C")}
