"""Piecewise quadratics: every operation agrees with numbers on a grid, conjugates with a supremum over one."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import pytest
from evaluate_poly import World
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kdsl.algebra import plq
from kdsl.algebra.builtin_losses import BUILTIN_LOSSES
from kdsl.algebra.losses import named_shape
from kdsl.algebra.plq import InexactCrossing, NotPiecewiseQuadratic, Piece, Plq, UnknownOrder
from kdsl.algebra.poly import Poly
from kdsl.algebra.signs import Domains, Range
from kdsl.algebra.terms import Sym
from kdsl.algebra.translate import Translator
from kdsl.pipeline import parse_spec

NOWHERE = Domains({})
GRID = [Fraction(n, 4) for n in range(-40, 41)]
FAST = settings(max_examples=80, deadline=None)


def number(value: Fraction | int) -> Poly:
    return Poly.number(value)


def value(f: Plq, t: Fraction, world: World | None = None) -> Fraction | None:
    """f(t), None for plus infinity."""
    at = (world or World(0, {})).of
    if (f.lower is not None and t < at(f.lower)) or (f.upper is not None and t > at(f.upper)):
        return None
    piece = f.pieces[sum(1 for cut in f.breaks if t >= at(cut))]
    return at(piece.at(number(t)))


small = st.integers(-4, 4).map(lambda n: Fraction(n, 2))


@st.composite
def functions(draw: st.DrawFn, continuous: bool = True) -> Plq:
    """A continuous piecewise quadratic on the line, convex or not."""
    cuts = sorted(draw(st.lists(small, max_size=3, unique=True)))
    curvatures = [draw(st.sampled_from((0, 0, 1, 2, -1))) for _ in range(len(cuts) + 1)]
    slope, offset = draw(small), draw(small)
    pieces = [Piece(number(curvatures[0]), number(slope), number(offset))]
    for cut, q in zip(cuts, curvatures[1:], strict=True):
        before = pieces[-1]
        c = draw(small)
        level = before.at(number(cut)) - (number(q).scale(cut * cut / 2) + number(c * cut))
        pieces.append(Piece(number(q), number(c), level))
    return plq.merged(Plq(tuple(number(c) for c in cuts), tuple(pieces)))


@st.composite
def convex(draw: st.DrawFn) -> Plq:
    """A convex one, by slopes that rise, perhaps with ends to its domain."""
    cuts = sorted(draw(st.lists(small, max_size=3, unique=True)))
    slope = draw(small)
    pieces: list[Piece] = []
    for n in range(len(cuts) + 1):
        q = Fraction(draw(st.sampled_from((0, 0, 1, 2))))
        start = cuts[n - 1] if n else (cuts[0] if cuts else Fraction(0))
        if n:
            before = pieces[-1].slope_at(number(start)).as_number()
            assert before is not None
            slope = before + draw(st.sampled_from((Fraction(0), Fraction(1), Fraction(1, 2))))
        c = slope - q * start
        if n == 0:
            pieces.append(Piece(number(q), number(c), number(draw(small))))
        else:
            level = pieces[-1].at(number(start)) - (number(q * start * start / 2) + number(c * start))
            pieces.append(Piece(number(q), number(c), level))
    lower = cuts[0] - 1 if cuts and draw(st.booleans()) else None
    upper = cuts[-1] + 2 if cuts and draw(st.booleans()) else None
    f = plq.merged(Plq(tuple(number(c) for c in cuts), tuple(pieces)))
    return f._replace(lower=None if lower is None else number(lower), upper=None if upper is None else number(upper))


@FAST
@given(functions(), functions())
def test_maximum(f: Plq, g: Plq) -> None:
    try:
        found = plq.maximum(f, g, NOWHERE)
    except InexactCrossing:
        return
    for t in GRID:
        a, b = value(f, t), value(g, t)
        assert a is not None and b is not None
        assert value(found, t) == max(a, b)


@FAST
@given(functions(), functions())
def test_sum_and_product(f: Plq, g: Plq) -> None:
    total = plq.added(f, g, NOWHERE)
    for t in GRID:
        assert value(total, t) == (value(f, t) or 0) + (value(g, t) or 0)
    try:
        found = plq.multiplied(f, g, NOWHERE)
    except NotPiecewiseQuadratic:
        return
    for t in GRID:
        assert value(found, t) == (value(f, t) or 0) * (value(g, t) or 0)


@FAST
@given(functions())
def test_mirror_and_scale(f: Plq) -> None:
    mirrored, tripled = plq.negated_argument(f), plq.scaled(f, number(3))
    cuts = {c.as_number() for c in f.breaks}
    for t in GRID:
        if -t not in cuts:
            assert value(mirrored, t) == value(f, -t)
        assert value(tripled, t) == 3 * (value(f, t) or 0)


@FAST
@given(functions())
def test_convexity_fault_is_right(f: Plq) -> None:
    """A fault exactly where the slopes fall: checked by midpoints around the breaks and inside the pieces."""
    fault = plq.convexity_fault(f, NOWHERE)
    step = Fraction(1, 64)
    points = sorted({*(Fraction(c.as_number() or 0) for c in f.breaks), *GRID})
    midpoints = [(value(f, t - step) or 0) + (value(f, t + step) or 0) - 2 * (value(f, t) or 0) for t in points]
    assert (fault is None) == all(m >= 0 for m in midpoints)
    if fault is not None:
        amount = fault.amount.as_number()
        assert amount is not None and amount < 0


def supremum(f: Plq, u: Fraction) -> Fraction | None:
    """sup_t (u t - f(t)) from the candidates: ends, breaks, stationary points; None for plus infinity."""
    candidates: list[Fraction] = []
    for n, piece in enumerate(f.pieces):
        left, right = (None if e is None else e.as_number() for e in f.ends(n))
        q, c, _ = (p.as_number() for p in piece)
        assert q is not None and c is not None
        if (left is None and not q and u < c) or (right is None and not q and u > c):
            return None
        candidates += [e for e in (left, right) if e is not None]
        if q:
            top = (u - c) / q
            if (left is None or top >= left) and (right is None or top <= right):
                candidates.append(top)
        elif left is None and right is None:
            candidates.append(Fraction(0))
    found = [u * t - v for t in candidates if (v := value(f, t)) is not None]
    return max(found)


@FAST
@given(convex())
def test_conjugate_is_the_supremum(f: Plq) -> None:
    assert plq.convexity_fault(f, NOWHERE) is None
    conjugate = plq.conjugate(f)
    for u in GRID[::2]:
        assert value(conjugate, u) == supremum(f, u)
    cuts = [c.as_number() for c in (conjugate.lower, *conjugate.breaks, conjugate.upper) if c is not None]
    assert len(conjugate.pieces) == 1 or cuts == sorted(set(cuts))  # no piece of length zero


@FAST
@given(convex())
def test_biconjugate(f: Plq) -> None:
    again = plq.conjugate(plq.conjugate(f))
    for t in GRID:
        assert value(again, t) == value(f, t)
    assert plq.convexity_fault(plq.conjugate(f), NOWHERE) is None


@FAST
@given(convex(), st.sampled_from((Fraction(1, 2), Fraction(2), Fraction(3))))
def test_conjugate_of_a_multiple(f: Plq, weight: Fraction) -> None:
    """(w f)*(u) = w f*(u / w)."""
    left, plain = plq.conjugate(plq.scaled(f, number(weight))), plq.conjugate(f)
    for u in GRID[::4]:
        expected = value(plain, u / weight)
        assert value(left, u) == (None if expected is None else weight * expected)


# ------------------------------------------------------ symbols in the breaks

TAU, LOW, HIGH = (Poly.of(Sym(n)) for n in ("tau", "lo", "hi"))


def line(slope: Poly, level: Poly) -> Plq:
    return Plq((), (Piece(Poly(), slope, level),))


def test_order_from_domains() -> None:
    positive = Domains({("param", "tau"): Range(Fraction(0), None, lower_open=True)})
    one, zero = number(1), Poly()
    above, below = line(one, -TAU), line(-one, -TAU)
    tube = plq.maximum(plq.maximum(above, below, positive), line(zero, zero), positive)
    assert tube.breaks == (-TAU, TAU)
    with pytest.raises(UnknownOrder):
        plq.maximum(plq.maximum(above, below, NOWHERE), line(zero, zero), NOWHERE)


def test_unknown_order_is_said() -> None:
    left = plq.maximum(line(number(1), -LOW), line(Poly(), Poly()), NOWHERE)
    right = plq.maximum(line(number(1), -HIGH), line(Poly(), Poly()), NOWHERE)
    with pytest.raises(UnknownOrder) as raised:
        plq.added(left, right, NOWHERE)
    assert raised.value.difference in (LOW - HIGH, HIGH - LOW)


def test_irrational_crossing_is_refused() -> None:
    parabola = Plq((), (Piece(number(1), Poly(), Poly()),))
    with pytest.raises(InexactCrossing):
        plq.maximum(parabola, line(Poly(), number(1)), NOWHERE)  # t^2 / 2 = 1
    assert plq.maximum(parabola, line(Poly(), number(2)), NOWHERE).breaks == (number(-2), number(2))


def test_cubic_is_refused() -> None:
    parabola = Plq((), (Piece(number(2), Poly(), Poly()),))
    with pytest.raises(NotPiecewiseQuadratic):
        plq.multiplied(parabola, plq.identity(), NOWHERE)


# ------------------------------------------------------------ the built-in losses

Number = Callable[[Fraction], Fraction]


def pos(t: Fraction) -> Fraction:
    return max(t, Fraction(0))


DELTA, EPS, QUANTILE = Fraction(3, 4), Fraction(1, 4), Fraction(1, 5)
TEXTBOOK: dict[str, tuple[tuple[Fraction, ...], Number]] = {
    "hinge": ((), lambda m: pos(1 - m)),
    "squared_hinge": ((), lambda m: pos(1 - m) ** 2),
    "huberized_squared_hinge": ((Fraction(2),), lambda m: -4 * m if m < -1 else pos(1 - m) ** 2),
    "squared": ((), lambda r: r * r),
    "absolute": ((), abs),
    "eps_insensitive": ((EPS,), lambda r: pos(abs(r) - EPS)),
    "eps_insensitive_squared": ((EPS,), lambda r: pos(abs(r) - EPS) ** 2),
    "huber": ((DELTA,), lambda r: r * r / 2 if abs(r) <= DELTA else DELTA * abs(r) - DELTA**2 / 2),
    "pinball": ((QUANTILE,), lambda r: QUANTILE * r if r >= 0 else (QUANTILE - 1) * r),
    "perceptron": ((), lambda m: pos(-m)),
}
BARE = "model bare\nindex i in 1..l\ndata x[i] : input\nkernel k = linear\nvar w : H(k)\nminimize 1/2 ||w||^2\n"


def test_every_piecewise_loss_has_its_formula() -> None:
    assert set(TEXTBOOK) == {loss.name for loss in BUILTIN_LOSSES if not loss.entropy}


@pytest.mark.parametrize("name", sorted(TEXTBOOK))
def test_built_in_loss(name: str) -> None:
    parameters, formula = TEXTBOOK[name]
    f = named_shape(_translator(), name, [number(p) for p in parameters], NOWHERE)
    assert plq.convexity_fault(f, NOWHERE) is None
    for t in GRID:
        assert value(f, t) == formula(t)
    conjugate = plq.conjugate(f)
    for u in GRID[::4]:
        assert value(conjugate, u) == supremum(f, u)
    for left, right in pairwise(c.as_number() for c in f.breaks):
        assert left is not None and right is not None and left < right


def _translator() -> Translator:
    return Translator(parse_spec(BARE, "bare"))


@FAST
@given(st.integers(0, 20))
def test_symbolic_loss_is_the_loss_at_every_parameter(seed: int) -> None:
    """Huber with a symbol for its corner, weighted, conjugated, then given numbers."""
    domains = Domains({("param", n): Range(Fraction(0), None, lower_open=True) for n in ("c", "D")})
    corner, weight = Poly.of(Sym("c")), Poly.of(Sym("D"))
    f = named_shape(_translator(), "huber", [corner], domains)
    conjugate = plq.conjugate(plq.scaled(f, weight))
    world = World(seed, {}, {("param", n): (Fraction(1, 4), Fraction(2)) for n in ("c", "D")})
    c, d = world.number("param", "c"), world.number("param", "D")
    assume(c and d)
    for u in GRID[::4]:
        expected = None if abs(u) > c * d else u * u / (2 * d)
        assert value(conjugate, u, world) == expected
