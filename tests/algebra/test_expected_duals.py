"""The duals that are derived from the shipped specs are those of the books, compared as algebra."""

from __future__ import annotations

from fractions import Fraction

import pytest
from evaluate_poly import World
from expected_duals import EXPECTED_DUALS
from expected_loss_duals import EXPECTED_LOSS_DUALS
from read_duals import ROOT, DualReader, compare, named, normal_row, shipped

from kdsl.algebra.plq import Plq
from kdsl.algebra.poly import Poly

NOT_POLYNOMIAL = {"loss_asymmetric", "loss_logistic", "loss_multinomial", "elastic_net"}  # numerically, below
SPHERES = {"sphere_hard", "sphere_soft", "sphere_nu"}


@pytest.mark.parametrize("name", sorted(EXPECTED_DUALS))
def test_printed_dual(name: str) -> None:
    derivation = shipped(name)
    compare(derivation, derivation.dual, EXPECTED_DUALS[name].dual)


@pytest.mark.parametrize("name", sorted(n for n, e in EXPECTED_DUALS.items() if e.exact and n not in SPHERES))
def test_exact_dual(name: str) -> None:
    derivation, form = shipped(name), EXPECTED_DUALS[name].exact
    assert form is not None
    compare(derivation, derivation.exact, form)


@pytest.mark.parametrize("name", sorted(n for n, e in EXPECTED_DUALS.items() if e.equivalent))
def test_equivalent_objective(name: str) -> None:
    derivation, expected = shipped(name), EXPECTED_DUALS[name]
    reader = DualReader(derivation.model, named(derivation.dual, expected.dual))
    assert expected.equivalent is not None
    assert derivation.dual.squared
    assert derivation.dual.objective == reader.read(expected.equivalent)


@pytest.mark.parametrize("name", sorted(SPHERES))
def test_spheres_fix_the_sum_first(name: str) -> None:
    """The inequality of the exact form is an equation, on a condition that is recorded."""
    derivation = shipped(name)
    (tight,) = derivation.tightness
    assert tight.origin == "r^2"
    conditions = {"sphere_hard": None, "sphere_nu": None, "sphere_soft": "C * l - 1"}
    text = conditions[name]
    reader = DualReader(derivation.model, {v.label: v for v in derivation.exact.variables})
    assert tight.condition == (None if text is None else reader.read(text))
    printed = EXPECTED_DUALS[name].exact
    assert printed is not None
    (inequality,) = printed.rows
    assert not reader.row(inequality)[1]
    assert normal_row(reader.row(inequality)[0], True) == normal_row(tight.row.body, True)


@pytest.mark.parametrize("name", sorted(set(EXPECTED_LOSS_DUALS) - NOT_POLYNOMIAL - {"lasso"}))
def test_loss_dual(name: str) -> None:
    derivation = shipped(name)
    compare(derivation, derivation.dual, EXPECTED_LOSS_DUALS[name].dual)


def test_lasso() -> None:
    """The multiplier of |a| equals what its box bounds: the two rows of the book."""
    derivation = shipped("lasso")
    dual, form = derivation.dual, EXPECTED_LOSS_DUALS["lasso"].dual
    beta, eta = dual.variable("squared"), dual.variable("abs")
    reader = DualReader(derivation.model, {"beta": beta})
    (of_a,) = [row for row in dual.rows if row.origin == "a"]
    value = Poly.of(eta.symbol) - of_a.body if of_a.body.terms else None
    assert value is not None and not value.mentions("abs", ("mult",))
    assert eta.upper is not None and eta.lower is not None
    found = {normal_row(value - eta.upper, False), normal_row(eta.lower - value, False)}
    found |= {normal_row(r.body, r.equality) for r in dual.rows if r.origin == "b"}
    assert found == {normal_row(*reader.row(text)) for text in form.rows}
    assert dual.objective == reader.read(form.objective)
    assert (beta.lower, beta.upper) == (None, None)


# ------------------------------------------------- what is not a polynomial


def plq_at(function: Plq, world: World, t: Fraction) -> Fraction:
    piece = function.pieces[sum(1 for cut in function.breaks if t >= world.of(cut))]
    q, c, d = (world.of(p) for p in piece)
    return q * t * t / 2 + c * t + d


@pytest.mark.parametrize("seed", range(3))
def test_asymmetric_squares_and_lines(seed: int) -> None:
    derivation = shipped("loss_asymmetric")
    dual = derivation.dual
    (term,) = dual.conjugates
    beta = dual.variable(term.label)
    reader = DualReader(derivation.model, {"beta": beta})
    printed = "sum[i] y[i] * beta[i] - 1/(2 * lambda) * sum[i] sum[j] beta[i] * beta[j] * k(x[i], x[j])"
    assert dual.objective == reader.read(printed)
    assert normal_row(dual.rows[0].body, True) == normal_row(*reader.row("sum[i] beta[i] = 0"))
    assert (beta.lower, beta.upper) == (-reader.read("tau"), None)
    world = World(seed, {"l": 3})
    for n in range(-4, 9):
        t = Fraction(n, 2)
        assert plq_at(term.function, world, t) == Fraction(1, 4) * max(t, Fraction(0)) ** 2


def test_logistic_keeps_its_entropy() -> None:
    derivation = shipped("loss_logistic")
    dual = derivation.dual
    (entropy,) = dual.entropies
    assert entropy.kind == "binary" and entropy.weight == Poly.number(1) and entropy.label == "logistic"
    reader = DualReader(derivation.model, {"alpha": dual.variable("logistic")})
    gram = "sum[i] sum[j] alpha[i] * alpha[j] * y[i] * y[j] * k(x[i], x[j])"
    assert dual.objective == reader.read(f"-1/(2 * lambda) * {gram}")
    assert normal_row(dual.rows[0].body, True) == normal_row(*reader.row("sum[i] y[i] * alpha[i] = 0"))
    assert (dual.variable("logistic").lower, dual.variable("logistic").upper) == (Poly(), Poly.number(1))


@pytest.mark.parametrize("seed", range(3))
def test_multinomial_in_probabilities(seed: int) -> None:
    """With theta = [k = y] - p the quadratic part is that of the book, and the row says that p sums to 1."""
    derivation = shipped("loss_multinomial")
    dual = derivation.dual
    (entropy,) = dual.entropies
    assert entropy.kind == "simplex" and entropy.weight == Poly.number(1) and len(dual.entropies) == 1
    l, classes = 3, 3
    world = World(seed, {"l": l, "classes": classes}, {("param", "lambda"): (Fraction(1), Fraction(2))}, {"y": classes})
    text = EXPECTED_LOSS_DUALS["loss_multinomial"].dual.objective
    p = dual.variable("multinomial")._replace(label="p")
    reader = DualReader(derivation.model, {"p": p})
    quadratic = text[text.index("- 1/(2 * lambda)") + 2 :]
    expected = reader.read("-1 * " + quadratic)
    labels = [world.place(entropy.target, {"i": i}) for i in range(l)]
    for i in range(l):
        draws = [1 + world.number("var", "draw", (i, k)) ** 2 for k in range(classes)]
        for k in range(classes):
            share = draws[k] / sum(draws)
            world.values["mult", "p", (i, k)] = share
            world.values["mult", "multinomial", (i, k)] = (labels[i] == k) - share
    assert world.of(dual.objective) == world.of(expected)
    (row,) = dual.rows
    assert all(world.of(row.body, {"i": i}) == 0 for i in range(l))


@pytest.mark.parametrize("seed", range(3))
def test_elastic_net_conjugate(seed: int) -> None:
    """At the best eta in its box the quadratic part is the conjugate of the penalty as printed."""
    dual = shipped("elastic_net").dual
    tau, lam = Fraction(1, 3), Fraction(3, 2)
    world = World(seed, {"l": 3, "d": 2})
    world.values["param", "tau", ()], world.values["param", "lambda", ()] = tau, lam
    assert not dual.definitions
    beta = [world.number("mult", "squared", (i,)) for i in range(3)]
    total = sum((world.number("data", "y", (i,)) * b - b * b / 4 for i, b in enumerate(beta)), Fraction(0))
    for j in range(2):
        correlation = sum((b * world.number("data", "x", (i, j)) for i, b in enumerate(beta)), Fraction(0))
        world.values["mult", "abs", (j,)] = max(-lam * tau, min(lam * tau, correlation))
        total -= max(abs(correlation) - lam * tau, Fraction(0)) ** 2 / (2 * lam * (1 - tau))
    assert world.of(dual.objective) == total
    eta = dual.variable("abs")
    assert eta.lower is not None and eta.upper is not None
    assert (world.of(eta.lower), world.of(eta.upper)) == (-lam * tau, lam * tau)


def test_every_shipped_spec_is_compared() -> None:
    names = {path.stem for path in (ROOT / "specs").glob("*.kspec")}
    assert names == set(EXPECTED_DUALS) | set(EXPECTED_LOSS_DUALS)


def test_a_wrong_sign_would_be_seen() -> None:
    derivation = shipped("svm_1norm")
    form = EXPECTED_DUALS["svm_1norm"].dual
    with pytest.raises(AssertionError):
        compare(derivation, derivation.dual, form._replace(objective=form.objective.replace("- 1/2", "+ 1/2")))
    with pytest.raises(AssertionError):
        compare(derivation, derivation.dual, form._replace(bounds={"margin": ("0", "2 * C")}))
