"""Poly is a ring of functions: every operation commutes with evaluation by brute force on small exact instances."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from evaluate_poly import World
from hypothesis import given, settings
from hypothesis import strategies as st

from kdsl.algebra.poly import (
    ExpansionTooLarge,
    Factors,
    Poly,
    canonical,
    collect,
    derivative,
    dot,
    lift_support,
    place_support,
    substitute,
)
from kdsl.algebra.terms import At, Bracket, Factor, Index, Inner, Sym, Vec, bracket, inner, reindex

SIZES = {"l": 3, "m": 2, "labels": 2}
SETS = ("l", "m")
OFF = (Bracket("!=", 0, 1),)  # the support of the family `pair`
ABOVE = (Bracket("<", Sym("t", (1,), "data"), Sym("t", (0,), "data")),)  # of the family `ranked`

FREE = ("i", "j")  # free indices, both over "l"
A, PAIR, RANKED = "a", "pair", "ranked"


def world(seed: int) -> World:
    return World(seed, SIZES, label_sizes={"group": 3})


def environments(poly: Poly) -> list[dict[int | str, int]]:
    names = sorted(poly.free_indices() | set(FREE))
    return [dict(zip(names, places, strict=True)) for places in product(range(SIZES["l"]), repeat=len(names))]


def same(left: Poly, right: Poly, seed: int = 0) -> bool:
    w = world(seed)
    return all(w.of(left, env) == w.of(right, env) for env in environments(left + right))


# ------------------------------------------------------------ random pieces


def terms(binders: int) -> st.SearchStrategy[Index]:
    """Index terms over "l": bound ones, free ones and labels."""
    plain: list[Index] = [*range(binders), *FREE]
    return st.sampled_from([*plain, *(At("group", (t,)) for t in plain)])


@st.composite
def scalars(draw: st.DrawFn, binders: int) -> tuple[Factor, int]:
    t = terms(binders)
    kind = draw(st.integers(0, 8))
    power = draw(st.integers(1, 2))
    match kind:
        case 0:
            return Sym("C"), draw(st.sampled_from((-2, -1, 1, 2)))
        case 1:
            return Sym("y", (draw(t),), "sign"), power
        case 2:
            return Sym(A, (draw(t),), "mult"), power
        case 3:
            return Sym(PAIR, (draw(t), draw(t)), "mult", OFF), power
        case 4:
            return bracket(draw(st.sampled_from(("=", "!=", "<", "<=", ">"))), draw(t), draw(t)), 1
        case 5:
            return inner(Vec("k", "x", (draw(t),), True), Vec("k", "x", (draw(t),), True)), power
        case 6:
            return Sym("u", (draw(t),), "var"), power
        case 7:
            return inner(Vec("k", "w"), Vec("k", "x", (draw(t),), True)), power
        case _:
            return Sym(RANKED, (draw(t), draw(t)), "mult", ABOVE), 1


@st.composite
def pieces(draw: st.DrawFn) -> tuple[tuple[str, ...], Factors, Fraction]:
    binders = draw(st.integers(0, 2))
    factors = draw(st.lists(scalars(binders), max_size=3))
    return ("l",) * binders, tuple(factors), Fraction(draw(st.integers(-3, 3)), draw(st.integers(1, 3)))


polys = st.lists(pieces(), max_size=2).map(collect)
one_piece = pieces()
seeds = st.integers(0, 3)
FAST = settings(max_examples=60, deadline=None)


# -------------------------------------------------------------------- ring


@FAST
@given(polys, polys, polys)
def test_ring_axioms(a: Poly, b: Poly, c: Poly) -> None:
    zero, one = Poly(), Poly.number(1)
    assert a + b == b + a and (a + b) + c == a + (b + c) and a + zero == a and a - a == zero
    assert a * b == b * a and a * one == a and a * zero == zero
    assert (a * b) * c == a * (b * c)
    assert a * (b + c) == a * b + a * c
    assert a**2 == a * a and a**0 == one
    assert a.scale(Fraction(2, 3)) == a * Poly.number(Fraction(2, 3))
    assert hash(a + b) == hash(b + a)


@FAST
@given(polys, polys, seeds)
def test_evaluation_is_a_homomorphism(a: Poly, b: Poly, seed: int) -> None:
    w = world(seed)
    for env in environments(a + b)[:4]:
        assert w.of(a + b, env) == w.of(a, env) + w.of(b, env)
        assert w.of(a * b, env) == w.of(a, env) * w.of(b, env)
        assert w.of(-a, env) == -w.of(a, env)


@FAST
@given(one_piece, seeds)
def test_canonical_form_keeps_the_value(piece: tuple[tuple[str, ...], Factors, Fraction], seed: int) -> None:
    """The raw sum, bound index by bound index, is the value of the canonical polynomial."""
    binders, factors, coefficient = piece
    w, poly = world(seed), collect([piece])
    for env in environments(poly)[:4]:
        total = Fraction(0)
        for places in product(*(range(SIZES[size]) for size in binders)):
            total += coefficient * w.product(factors, {**env, **dict(enumerate(places))})[0]
        assert w.of(poly, env) == total


@FAST
@given(one_piece, st.randoms(use_true_random=False))
def test_canonical_form_forgets_names_and_order(
    piece: tuple[tuple[str, ...], Factors, Fraction], shuffle: object
) -> None:
    binders, factors, coefficient = piece
    order = list(range(len(binders)))
    shuffle.shuffle(order)  # type: ignore[attr-defined]
    place = dict(enumerate(order))
    turned = [(reindex(f, lambda t: place[t] if isinstance(t, int) else t), p) for f, p in factors]
    shuffle.shuffle(turned)  # type: ignore[attr-defined]
    sets = tuple(binders[order.index(n)] for n in range(len(binders)))
    assert collect([(sets, tuple(turned), coefficient)]) == collect([piece])


@FAST
@given(polys)
def test_canonical_form_is_a_fixed_point(a: Poly) -> None:
    for monomial in a.terms:
        assert canonical(monomial.binders, monomial.factors) == monomial
    assert collect((m.binders, m.factors, c) for m, c in a.sorted()) == a


@FAST
@given(polys, seeds)
def test_sum_binds_and_adds(a: Poly, seed: int) -> None:
    w = world(seed)
    total = a.sum(("i",), ("l",))
    assert "i" not in total.free_indices()
    for j in range(3):
        assert w.of(total, {"j": j}) == sum(w.of(a, {"i": i, "j": j}) for i in range(3))
    filtered = a.sum(("i",), ("l",), (bracket("!=", "i", "j"),))
    for j in range(3):
        assert w.of(filtered, {"j": j}) == sum(w.of(a, {"i": i, "j": j}) for i in range(3) if i != j)


@FAST
@given(polys, polys, seeds)
def test_sum_does_not_capture(a: Poly, b: Poly, seed: int) -> None:
    """(sum_i a)(sum_i b) has two sums, whatever the letters."""
    w = world(seed)
    product_of_sums = a.sum(("i",), ("l",)) * b.sum(("i",), ("l",))
    for j in range(2):
        left = sum(w.of(a, {"i": i, "j": j}) for i in range(3))
        right = sum(w.of(b, {"i": i, "j": j}) for i in range(3))
        assert w.of(product_of_sums, {"j": j}) == left * right


@FAST
@given(polys, seeds)
def test_rename(a: Poly, seed: int) -> None:
    w = world(seed)
    for i, j in product(range(3), repeat=2):
        assert w.of(a.rename({"i": "j", "j": "i"}), {"i": j, "j": i}) == w.of(a, {"i": i, "j": j})
        label = At("group", ("j",))
        assert w.of(a.rename({"i": label}), {"j": j}) == w.of(a, {"i": w.place(label, {"j": j}), "j": j})


# ---------------------------------------------------------------- calculus


def bumped(w: World, key: tuple[str, str, tuple[int, ...]], amount: Fraction) -> World:
    """The same world with one number changed."""
    fresh = world(w._seed)
    fresh.values = dict(w.values)
    fresh.values[key] = w.number(*key) + amount
    return fresh


@FAST
@given(polys, seeds, st.integers(0, 2))
def test_derivative_in_a_scalar(a: Poly, seed: int, place: int) -> None:
    """Polynomials of degree <= 6 in one number: the derivative from six values is exact."""
    a = a + a * sym("u", "i", role="var") if degree_in_u(a) < 6 else a
    gradient = derivative(a, Sym("u", ("n",), "var"))
    w = world(seed)
    env: dict[int | str, int] = {"i": 0, "j": 1}
    w.of(a, env)
    key = ("var", "u", (place,))
    h = Fraction(1)
    values = {n: bumped(w, key, n * h).of(a, env) for n in (-3, -2, -1, 1, 2, 3)}
    exact = (
        Fraction(3, 4) * (values[1] - values[-1])
        - Fraction(3, 20) * (values[2] - values[-2])
        + Fraction(1, 60) * (values[3] - values[-3])
    )
    assert w.of(gradient, {**env, "n": place}) == exact


@FAST
@given(polys, seeds, st.integers(0, 2), st.integers(0, 2))
def test_derivative_in_a_guarded_family(a: Poly, seed: int, p: int, q: int) -> None:
    """Inside its support the derivative is that of the value; the family does not exist outside."""
    gradient = derivative(a, Sym(PAIR, ("n", "o"), "mult", OFF))
    w = world(seed)
    env: dict[int | str, int] = {"i": 2, "j": 1}
    w.of(a, env)
    key = ("mult", PAIR, (p, q))
    values = {n: bumped(w, key, Fraction(n)).of(a, env) for n in (-3, -2, -1, 1, 2, 3)}
    exact = (
        Fraction(3, 4) * (values[1] - values[-1])
        - Fraction(3, 20) * (values[2] - values[-2])
        + Fraction(1, 60) * (values[3] - values[-3])
    )
    if p != q:
        assert w.of(gradient, {**env, "n": p, "o": q}) == exact
    else:
        assert exact == 0


@FAST
@given(polys, seeds)
def test_derivative_in_a_vector(a: Poly, seed: int) -> None:
    score = Poly.of(inner(Vec("k", "w"), Vec("k", "x", ("i",), True)))
    a = (a + Poly.number(1)) * score * score + Poly.of(Inner(Vec("k", "w"), Vec("k", "w")))
    gradient = derivative(a, Vec("k", "w"))
    w = world(seed)
    env: dict[int | str, int] = {"i": 0, "j": 1}
    w.of(a, env)
    base = w.vector(Vec("k", "w"), {})
    slopes = w.vector_of(gradient, env)
    for d in range(w.dimension):
        values = {}
        for n in (-3, -2, -1, 1, 2, 3):
            moved = world(seed)
            moved.values = dict(w.values)
            moved.values["vector", "k/w", ()] = tuple(x + n * (c == d) for c, x in enumerate(base))
            values[n] = moved.of(a, env)
        exact = (
            Fraction(3, 4) * (values[1] - values[-1])
            - Fraction(3, 20) * (values[2] - values[-2])
            + Fraction(1, 60) * (values[3] - values[-3])
        )
        if degree_in_w(a) <= 6:
            assert slopes[d] == exact


def degree_in_u(a: Poly) -> int:
    return max((sum(p for f, p in m.factors if isinstance(f, Sym) and f.role == "var") for m in a.terms), default=0)


def degree_in_w(a: Poly) -> int:
    return max(
        (sum(p for f, p in m.factors if isinstance(f, Inner) and not f.left.feature) for m in a.terms), default=0
    )


@FAST
@given(polys, polys, seeds)
def test_substitute_a_scalar(a: Poly, b: Poly, seed: int) -> None:
    """u[n] := b at i = n, where b does not hold u."""
    value = substitute(b, Sym("u", ("n",), "var"), Poly()).rename({"i": "n", "j": "n"})
    result = substitute(a, Sym("u", ("n",), "var"), value)
    w = world(seed)
    changed = world(seed)
    for n in range(3):
        changed.values["var", "u", (n,)] = w.of(value, {"n": n})
    for i, j in product(range(2), repeat=2):
        env: dict[int | str, int] = {"i": i, "j": j}
        assert w.of(result, env) == changed.of(a, env)


@FAST
@given(polys, seeds)
def test_substitute_a_vector(a: Poly, seed: int) -> None:
    """w := sum_n a_n y_n phi(x_n) + phi(x_0)-like terms, with a bound index of its own."""
    value = collect(
        [
            (
                ("l",),
                ((Sym(A, (0,), "mult"), 1), (Sym("y", (0,), "sign"), 1), (Vec("k", "x", (0,), True), 1)),
                Fraction(1, 2),
            ),
            ((), ((Sym("C"), 1), (Vec("k", "z", (), True), 1)), Fraction(-1)),
        ]
    )
    w = world(seed)
    changed = world(seed)
    changed.values["vector", "k/w", ()] = w.vector_of(value)
    result = substitute(a, Vec("k", "w"), value)
    for i, j in product(range(2), repeat=2):
        assert w.of(result, {"i": i, "j": j}) == changed.of(a, {"i": i, "j": j})


@FAST
@given(polys, polys, seeds)
def test_dot(a: Poly, b: Poly, seed: int) -> None:
    left = a * Poly.of(Vec("k", "x", ("i",), True)) + Poly.of(Vec("k", "w"))
    right = b * Poly.of(Vec("k", "x", ("j",), True))
    w = world(seed)
    for env in environments(a + b)[:3]:
        expected = sum(x * y for x, y in zip(w.vector_of(left, env), w.vector_of(right, env), strict=True))
        assert w.of(dot(left, right), env) == expected


# -------------------------------------------------------- particular equations


def sym(name: str, *args: Index, role: str = "mult") -> Poly:
    return Poly.of(Sym(name, args, role))


def test_sizes() -> None:
    one = Poly.number(1)
    assert one.sum(("i",), ("l",)) == Poly.of(Sym("l", (), "size"))
    assert one.sum(("i", "j"), ("l", "m")) == Poly.of(Sym("l", (), "size")) * Poly.of(Sym("m", (), "size"))
    equal = Poly.of(bracket("=", "i", "j"))
    assert equal.sum(("i", "j"), ("l", "l")) == Poly.of(Sym("l", (), "size"))
    assert Poly.of(bracket("!=", "i", "j")).sum(("i", "j"), ("l", "l")) != Poly.of(Sym("l", (), "size"), 2)


def test_contraction() -> None:
    total = (Poly.of(bracket("=", "i", "j")) * sym("a", "i")).sum(("i",), ("l",))
    assert total == sym("a", "j")
    label = At("y", ("i",))
    picked = (Poly.of(bracket("=", "k", label)) * sym("w", "k")).sum(("k",), ("labels",))
    assert picked == sym("w", label)
    assert not (Poly.of(bracket("=", "k", label)) * Poly.of(bracket("!=", "k", label))).sum(("k",), ("labels",))
    grouped = Poly.of(bracket("=", "g", At("group", ("i",)))) * sym("b", At("group", ("i",)))
    assert grouped == Poly.of(bracket("=", "g", At("group", ("i",)))) * sym("b", "g")


def test_signs_square_to_one() -> None:
    y = sym("y", "i", role="sign")
    assert y * y == Poly.number(1) and y.inverse() == y and (y * y * y) == y
    data = sym("t", "i", role="data")
    assert data * data != Poly.number(1)


def test_guarded_families_need_no_filter() -> None:
    pair = Poly.of(Sym(PAIR, ("i", "j"), "mult", OFF))
    assert pair * Poly.of(bracket("!=", "i", "j")) == pair
    assert not pair.rename({"j": "i"})
    assert pair.sum(("i", "j"), ("l", "l"), (bracket("!=", "i", "j"),)) == pair.sum(("i", "j"), ("l", "l"))
    assert not pair * Poly.of(bracket("=", "i", "j"))
    support = (bracket("!=", "i", "j"),)
    assert place_support(lift_support(support, ("i", "j")), ("p", "q")) == (bracket("!=", "p", "q"),)


def test_equal_mathematics_is_equal() -> None:
    """sum_ij a_i a_j K_ij = sum_ji a_j a_i K_ji, and a symmetric form has one canonical monomial."""
    k_ij = Poly.of(Inner(Vec("k", "x", ("i",), True), Vec("k", "x", ("j",), True)))
    form = sym("a", "i") * sym("a", "j") * k_ij
    assert form.sum(("i", "j"), ("l", "l")) == form.sum(("j", "i"), ("l", "l"))
    assert len((form.sum(("i", "j"), ("l", "l"))).terms) == 1
    cyclic = sym("p", "i", "j") * sym("p", "j", "k") * sym("p", "k", "i")
    reverse = sym("p", "j", "i") * sym("p", "k", "j") * sym("p", "i", "k")
    names, sets = ("i", "j", "k"), ("l", "l", "l")
    assert cyclic.sum(names, sets) == reverse.sum(names, sets)


def test_inverse_refuses_sums() -> None:
    assert (Poly.of(Sym("C")).inverse() * Poly.of(Sym("C"))) == Poly.number(1)
    for bad in (Poly(), Poly.of(Sym("C")) + Poly.number(1), sym("a", "i").sum(("i",), ("l",))):
        with pytest.raises(ValueError):
            bad.inverse()


def test_expansion_stops_at_its_limit() -> None:
    base = sum((Poly.of(Sym(f"p{n}")) for n in range(20)), Poly())
    with pytest.raises(ExpansionTooLarge):
        base**9


edges = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.sampled_from(("p", "s"))), min_size=1, max_size=7)


@FAST
@given(edges, st.permutations(range(6)))
def test_sums_that_look_alike_have_one_form(graph: list[tuple[int, int, str]], order: list[int]) -> None:
    """A monomial over six bound indices is a coloured graph; its canonical form forgets the numbering."""

    def monomial(place: list[int]) -> Poly:
        factors: list[tuple[Factor, int]] = []
        for a, b, name in graph:
            left, right = Vec("k", "x", (place[a],), True), Vec("k", "x", (place[b],), True)
            factor: Factor = Sym("p", (place[a], place[b]), "data") if name == "p" else inner(left, right)
            factors.append((factor, 1))
        return collect([(("l",) * 6, tuple(factors), Fraction(1))])

    assert monomial(list(range(6))) == monomial(order)


def test_powers_of_a_sum_are_quick() -> None:
    total = sym("a", "i").sum(("i",), ("l",))
    form = (sym("a", "i") * sym("a", "j") * sym("q", "i", "j", role="data")).sum(("i", "j"), ("l", "l"))
    assert len((total**30).terms) == 1
    assert form * form * total == total * form * form
    with pytest.raises(ExpansionTooLarge):
        form**6
