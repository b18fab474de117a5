"""The one algebra of kdsl: sums of indexed Laurent monomials with rational coefficients.

A monomial is a coefficient, a tuple of binders (the sets its bound indices run over) and factors with
integer powers. Bound indices are numbers, put into a canonical order, so equal mathematics is `==`.
A vector-valued Poly holds exactly one `Vec` in each monomial.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import product
from math import factorial, prod
from typing import NamedTuple

from kdsl.algebra.terms import (
    At,
    Bracket,
    Factor,
    Index,
    Inner,
    Rename,
    Sym,
    Vec,
    bracket,
    factor_key,
    inner,
    leaves,
    leaves_of,
    reindex,
    reindex_index,
)

Factors = tuple[tuple[Factor, int], ...]

MONOMIAL_LIMIT = 100_000
ORDER_LIMIT = 2_520  # of the orders of bound indices that look alike which are tried for one monomial


class ExpansionTooLarge(Exception):
    """An expansion went past MONOMIAL_LIMIT monomials, or past ORDER_LIMIT orders of one of them."""


class Monomial(NamedTuple):
    """binders[n] is the size name of the set that bound index n runs over."""

    binders: tuple[str, ...]
    factors: Factors


ONE = Monomial((), ())


class Poly:
    """An immutable sum of monomials; `terms` maps each canonical monomial to its non-zero coefficient."""

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: Mapping[Monomial, Fraction] | None = None) -> None:
        self.terms: dict[Monomial, Fraction] = {m: c for m, c in (terms or {}).items() if c}
        self._hash: int | None = None

    # ------------------------------------------------------------ building

    @staticmethod
    def number(value: Fraction | int) -> Poly:
        return Poly({ONE: Fraction(value)})

    @staticmethod
    def of(factor: Factor, power: int = 1) -> Poly:
        return collect([((), ((factor, power),), Fraction(1))])

    # ---------------------------------------------------------- arithmetic

    def __add__(self, other: Poly) -> Poly:
        terms = dict(self.terms)
        for monomial, coefficient in other.terms.items():
            terms[monomial] = terms.get(monomial, Fraction(0)) + coefficient
        return Poly(_bounded(terms))

    def __neg__(self) -> Poly:
        return Poly({m: -c for m, c in self.terms.items()})

    def __sub__(self, other: Poly) -> Poly:
        return self + -other

    def __mul__(self, other: Poly) -> Poly:
        if len(self.terms) * len(other.terms) > MONOMIAL_LIMIT:
            raise ExpansionTooLarge
        return collect(
            (m.binders + n.binders, m.factors + _shifted(n.factors, len(m.binders)), c * d)
            for m, c in self.terms.items()
            for n, d in other.terms.items()
        )

    def scale(self, factor: Fraction | int) -> Poly:
        return Poly({m: c * factor for m, c in self.terms.items()})

    def __pow__(self, exponent: int) -> Poly:
        result = Poly.number(1)
        for _ in range(exponent):
            result = result * self
        return result

    def inverse(self) -> Poly:
        """1/self; ValueError unless self is one monomial without a sum."""
        if len(self.terms) != 1:
            raise ValueError("only a single monomial has an inverse")
        ((monomial, coefficient),) = self.terms.items()
        if monomial.binders or any(isinstance(f, (Inner, Vec, Bracket)) for f, _ in monomial.factors):
            raise ValueError("a sum or an inner product has no inverse")
        return collect([((), tuple((f, -p) for f, p in monomial.factors), 1 / coefficient)])

    # ---------------------------------------------------------- comparison

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Poly) and self.terms == other.terms

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def __bool__(self) -> bool:
        return bool(self.terms)

    def __repr__(self) -> str:
        return f"Poly({' + '.join(f'{c}*{m}' for m, c in self.sorted())})"

    def sorted(self) -> list[tuple[Monomial, Fraction]]:
        """The terms in their canonical order."""
        return sorted(self.terms.items(), key=lambda item: _monomial_key(item[0]))

    # ------------------------------------------------------------- indices

    def rename(self, names: Mapping[str, Index]) -> Poly:
        """Free indices replaced by other free or data-valued ones."""
        if not names:
            return self

        def rename(term: Index) -> Index:
            return names.get(term, term) if isinstance(term, str) else term

        return collect(
            (m.binders, tuple((reindex(f, rename), p) for f, p in m.factors), c) for m, c in self.terms.items()
        )

    def sum(self, names: Iterable[str], sets: Iterable[str], support: Iterable[Bracket] = ()) -> Poly:
        """sum over the free indices `names`; support restricts it (brackets over the same free names)."""
        names, sets, support = tuple(names), tuple(sets), tuple(support)
        pieces = []
        for m, c in self.terms.items():
            offset = len(m.binders)
            places = {name: offset + n for n, name in enumerate(names)}
            guarded = any(
                isinstance(f, Sym) and f.support and set(guards(f)) >= set(support) for f, p in m.factors if p > 0
            )
            factors = m.factors if guarded else m.factors + tuple((b, 1) for b in support)

            def rename(term: Index, places: Mapping[str, int] = places) -> Index:
                return places.get(term, term) if isinstance(term, str) else term

            pieces.append((m.binders + sets, tuple((reindex(f, rename), p) for f, p in factors), c))
        return collect(pieces)

    def free_indices(self) -> set[str]:
        return {leaf for m in self.terms for f, _ in m.factors for leaf in leaves_of(f) if isinstance(leaf, str)}

    # ----------------------------------------------------------- inspection

    def factors(self) -> set[Factor]:
        return {f for m in self.terms for f, _ in m.factors}

    def symbols(self) -> set[tuple[str, str]]:
        """(role, name) of every scalar symbol and ("vector" or "point", name) of every Hilbert vector."""
        found = set()
        for factor in self.factors():
            found |= names_in(factor)
        return found

    def mentions(self, name: str, roles: tuple[str, ...] = ("var", "mult", "vector")) -> bool:
        return any(n == name and role in roles for role, n in self.symbols())

    def split(self, keep: Callable[[Monomial], bool]) -> tuple[Poly, Poly]:
        """(the monomials for which keep holds, the others)."""
        chosen = {m: c for m, c in self.terms.items() if keep(m)}
        return Poly(chosen), Poly({m: c for m, c in self.terms.items() if m not in chosen})

    def as_number(self) -> Fraction | None:
        """The value of a constant polynomial, else None."""
        if not self.terms:
            return Fraction(0)
        if len(self.terms) == 1 and ONE in self.terms:
            return self.terms[ONE]
        return None


Piece = tuple[tuple[str, ...], Factors, Fraction]


def collect(pieces: Iterable[Piece]) -> Poly:
    """The sum of raw monomials, each put into canonical form."""
    terms: dict[Monomial, Fraction] = {}
    for binders, factors, coefficient in pieces:
        monomial = canonical(binders, factors)
        if monomial is not None:
            terms[monomial] = terms.get(monomial, Fraction(0)) + coefficient
            if len(terms) > MONOMIAL_LIMIT:
                raise ExpansionTooLarge
    return Poly(terms)


def _bounded(terms: dict[Monomial, Fraction]) -> dict[Monomial, Fraction]:
    if len(terms) > MONOMIAL_LIMIT:
        raise ExpansionTooLarge
    return terms


def _shifted(factors: Factors, offset: int) -> Factors:
    if not offset:
        return factors

    def shift(term: Index) -> Index:
        return term + offset if isinstance(term, int) else term

    return tuple((reindex(f, shift), p) for f, p in factors)


def _monomial_key(monomial: Monomial) -> tuple[object, ...]:
    degree = sum(p for f, p in monomial.factors if isinstance(f, Sym) and f.role in ("mult", "abs", "var"))
    shape = tuple((factor_key(f), p) for f, p in monomial.factors)
    return (len([f for f, _ in monomial.factors if isinstance(f, Inner)]), degree, len(shape), shape, monomial.binders)


def names_in(factor: Factor) -> set[tuple[str, str]]:
    """(role, name) pairs of everything the factor mentions, the labels in its indices left out."""
    if isinstance(factor, Sym):
        inside = set() if factor.whole is None else factor.whole.symbols()
        return {(factor.role, factor.name), *inside}
    if isinstance(factor, Vec):
        return {("point" if factor.feature else "vector", factor.name)}
    if isinstance(factor, Inner):
        return names_in(factor.left) | names_in(factor.right)
    return {pair for side in (factor.left, factor.right) if isinstance(side, Sym) for pair in names_in(side)}


# ------------------------------------------------------------- canonical form


def guards(symbol: Sym) -> tuple[Bracket, ...]:
    """The support of a symbol, written at its own indices."""

    def place(term: Index) -> Index:
        return symbol.args[term] if isinstance(term, int) else term

    return tuple(_bracket(reindex(b, place)) for b in symbol.support)


def _bracket(factor: Factor) -> Bracket:
    assert isinstance(factor, Bracket)
    return factor


def canonical(binders: tuple[str, ...], factors: Factors) -> Monomial | None:
    """The canonical form of a monomial; None where it vanishes. A size factor replaces a sum over nothing."""
    powers = _identified(_simplified(_merged(factors)))
    if powers is None:
        return None
    if not binders:
        return Monomial((), tuple(sorted(powers.items(), key=_item_key)))
    contracted = _contracted(powers)
    if contracted is None:
        return None
    powers, done = contracted
    used = {leaf for f in powers for leaf in leaves_of(f) if isinstance(leaf, int)}
    for n, size in enumerate(binders):
        if n not in used and n not in done:
            symbol = Sym(size, (), "size")
            powers[symbol] = powers.get(symbol, 0) + 1
    return _ordered(binders, sorted(used), {f: p for f, p in powers.items() if p})


def _merged(factors: Iterable[tuple[Factor, int]]) -> dict[Factor, int]:
    powers: dict[Factor, int] = {}
    for factor, power in factors:
        powers[factor] = powers.get(factor, 0) + power
    return {f: p for f, p in powers.items() if p}


def _simplified(powers: dict[Factor, int]) -> dict[Factor, int] | None:
    """Squares of signs are 1, brackets are idempotent and decided where they can be; None if one is 0."""
    result: dict[Factor, int] = {}
    for factor, power in powers.items():
        if isinstance(factor, Sym):
            if factor.role == "sign":
                power %= 2
            if factor.support and any(g.left == g.right and g.relation in ("!=", "<") for g in guards(factor)):
                return None
            if power:
                result[factor] = power
        elif isinstance(factor, Bracket):
            if factor.left == factor.right:
                if factor.relation in ("!=", "<"):
                    return None
                continue
            result[factor] = 1
        else:
            result[factor] = power
    for factor in tuple(result):
        if isinstance(factor, Bracket) and factor.relation == "=" and factor._replace(relation="!=") in result:
            return None
    guarded = {g for f in result if isinstance(f, Sym) and f.support for g in guards(f)}
    return {f: p for f, p in result.items() if f not in guarded}


def _contracted(powers: dict[Factor, int]) -> tuple[dict[Factor, int], set[int]] | None:
    """Every delta [n = t] with a bound n that t does not contain is carried out: n becomes t, its sum is done."""
    done: set[int] = set()
    while True:
        found = next(((f, n, t) for f in powers for n, t in _delta(f)), None)
        if found is None:
            return powers, done
        delta, place, target = found

        def rename(term: Index, place: int = place, target: Index = target) -> Index:
            return target if isinstance(term, int) and term == place else term

        simplified = _simplified(_merged((reindex(f, rename), p) for f, p in powers.items() if f != delta))
        if simplified is None:
            return None
        powers = simplified
        done.add(place)


def _identified(powers: dict[Factor, int] | None) -> dict[Factor, int] | None:
    """Beside [g = group[i]] with a free index g, every other group[i] is written g."""
    for delta in tuple(powers or ()):
        if isinstance(delta, Bracket) and delta.relation == "=" and powers is not None:
            free, label = delta.left, delta.right
            if isinstance(free, str) and isinstance(label, (At, str)):

                def rename(term: Index, free: str = free, label: Index = label) -> Index:
                    return free if term == label else term

                others = ((reindex(f, rename), p) for f, p in powers.items() if f != delta)
                powers = _simplified(_merged((*others, (delta, 1))))
    return powers


def _delta(factor: Factor) -> Iterator[tuple[int, Index]]:
    if isinstance(factor, Bracket) and factor.relation == "=":
        for n, target in ((factor.right, factor.left), (factor.left, factor.right)):
            if isinstance(n, int) and not isinstance(target, Sym) and n not in leaves(target):
                yield n, target


def _item_key(item: tuple[Factor, int]) -> tuple[object, ...]:
    return (factor_key(item[0]), item[1])


def _ordered(binders: tuple[str, ...], used: list[int], powers: dict[Factor, int]) -> Monomial:
    """The numbering of bound indices whose sorted factors come first: by signature, then by trying ties."""
    if len(used) == 1:
        (n,) = used
        factors = (
            powers if n == 0 else {reindex(f, lambda t: 0 if isinstance(t, int) else t): p for f, p in powers.items()}
        )
        return Monomial((binders[n],), tuple(sorted(factors.items(), key=_item_key)))
    groups: dict[tuple[object, ...], list[int]] = {}
    for n in used:
        groups.setdefault(_signature(n, binders, powers), []).append(n)
    ordered = [_classes(groups[signature], powers) for signature in sorted(groups)]
    if prod(_count(classes) for classes in ordered) > ORDER_LIMIT:
        raise ExpansionTooLarge
    best: tuple[tuple[object, ...], Monomial] | None = None
    for choice in product(*(list(_arrangements(classes)) for classes in ordered)):
        sequence = [n for group in choice for n in group]
        place = {n: k for k, n in enumerate(sequence)}

        def rename(term: Index, place: dict[int, int] = place) -> Index:
            return place[term] if isinstance(term, int) else term

        items = sorted(((reindex(f, rename), p) for f, p in powers.items()), key=_item_key)
        key = tuple(_item_key(item) for item in items)
        if best is None or key < best[0]:
            best = (key, Monomial(tuple(binders[n] for n in sequence), tuple(items)))
    assert best is not None
    return best[1]


def _classes(group: list[int], powers: dict[Factor, int]) -> list[list[int]]:
    """The group in classes of indices that may change places without changing the monomial."""
    if len(group) < 3:
        return [[n] for n in group]
    classes: list[list[int]] = []
    for n in group:
        home = next((c for c in classes if _interchangeable(c[0], n, powers)), None)
        if home is None:
            classes.append([n])
        else:
            home.append(n)
    return classes


def _interchangeable(a: int, b: int, powers: dict[Factor, int]) -> bool:
    swap: dict[Index, Index] = {a: b, b: a}
    return all(powers.get(reindex(f, lambda t: swap.get(t, t))) == p for f, p in powers.items())


def _count(classes: list[list[int]]) -> int:
    """How many arrangements there are."""
    return factorial(sum(map(len, classes))) // prod(factorial(len(c)) for c in classes)


def _arrangements(classes: list[list[int]]) -> Iterator[tuple[int, ...]]:
    """Every order of all members in which those of one class keep theirs."""
    if not any(classes):
        yield ()
    for n, members in enumerate(classes):
        if members:
            for rest in _arrangements([*classes[:n], members[1:], *classes[n + 1 :]]):
                yield (members[0], *rest)


def _signature(n: int, binders: tuple[str, ...], powers: dict[Factor, int]) -> tuple[object, ...]:
    """What bound index n looks like without the names of the others."""

    def mark(term: Index) -> Index:
        return (1 if term == n else 0) if isinstance(term, int) else term

    seen = sorted((factor_key(reindex(f, mark)), p) for f, p in powers.items() if n in leaves_of(f))
    return (binders[n], tuple(seen))


# ------------------------------------------------- calculus and substitution


def derivative(poly: Poly, variable: Sym | Vec) -> Poly:
    """d poly / d variable at free indices; a vector variable gives a vector-valued result."""
    pieces: list[Piece] = []
    for m, c in poly.terms.items():
        for position, (factor, power) in enumerate(m.factors):
            rest = m.factors[:position] + m.factors[position + 1 :]
            if isinstance(factor, Sym) and isinstance(variable, Sym):
                if factor.name == variable.name and factor.role == variable.role:
                    kept: Factors = ((factor, power - 1),) if power != 1 else ()
                    pieces.append((m.binders, rest + kept + _deltas(factor.args, variable.args), c * power))
            elif isinstance(factor, Inner) and isinstance(variable, Vec):
                for this, other in ((factor.left, factor.right), (factor.right, factor.left)):
                    if not this.feature and this.name == variable.name:
                        new: Factors = ((other, 1), *_deltas(this.args, variable.args))
                        kept = ((factor, power - 1),) if power != 1 else ()
                        pieces.append((m.binders, rest + kept + new, c * power))
    return collect(pieces)


def _deltas(found: tuple[Index, ...], wanted: tuple[Index, ...]) -> Factors:
    return tuple((bracket("=", a, b), 1) for a, b in zip(found, wanted, strict=True) if a != b)


def substitute(poly: Poly, variable: Sym | Vec, value: Poly) -> Poly:
    """poly with `variable` (at free indices) replaced by `value`, which is written at the same free indices."""
    result = Poly()
    names = tuple(a for a in variable.args if isinstance(a, str))
    for m, c in poly.terms.items():
        plain: list[tuple[Factor, int]] = []
        inserted: list[tuple[tuple[Index, ...], Poly]] = []
        inners: list[tuple[Vec, Vec]] = []
        for factor, power in m.factors:
            if isinstance(variable, Sym) and isinstance(factor, Sym) and _same(factor, variable):
                inserted += [(factor.args, _powered(value, power))] if power < 0 else [(factor.args, value)] * power
            elif isinstance(variable, Vec) and isinstance(factor, Inner) and _involves(factor, variable):
                inners += [(factor.left, factor.right)] * power
            elif isinstance(variable, Vec) and isinstance(factor, Vec) and _same(factor, variable):
                inserted.append((factor.args, value))
            else:
                plain.append((factor, power))
        if not inserted and not inners:
            result = result + Poly({m: c})
            continue
        open_names = {n: f"\x00{n}" for n in range(len(m.binders))}  # bound indices made free while we multiply

        def opened(term: Index, open_names: dict[int, str] = open_names) -> Index:
            return open_names[term] if isinstance(term, int) else term

        accumulated = collect([((), tuple((reindex(f, opened), p) for f, p in plain), c)])
        for args, poly_value in inserted:
            accumulated = accumulated * _placed(poly_value, names, args, opened)
        for left, right in inners:
            accumulated = accumulated * dot(
                _vector(left, variable, value, names, opened), _vector(right, variable, value, names, opened)
            )
        result = result + accumulated.sum(open_names.values(), m.binders)
    return result


def _powered(value: Poly, power: int) -> Poly:
    return value.inverse() ** (-power)


def _same(factor: Sym | Vec, variable: Sym | Vec) -> bool:
    if isinstance(factor, Sym) and isinstance(variable, Sym):
        return factor.name == variable.name and factor.role == variable.role
    if isinstance(factor, Vec) and isinstance(variable, Vec):
        return factor.name == variable.name and not factor.feature
    return False


def _involves(factor: Inner, variable: Vec) -> bool:
    return _same(factor.left, variable) or _same(factor.right, variable)


def _placed(value: Poly, names: tuple[str, ...], args: tuple[Index, ...], opened: Rename) -> Poly:
    return value.rename({name: reindex_index(arg, opened) for name, arg in zip(names, args, strict=True)})


def _vector(vec: Vec, variable: Sym | Vec, value: Poly, names: tuple[str, ...], opened: Rename) -> Poly:
    if _same(vec, variable):
        return _placed(value, names, vec.args, opened)
    return Poly.of(reindex(vec, opened))


def dot(left: Poly, right: Poly) -> Poly:
    """<left, right> of two vector-valued polynomials."""
    pieces: list[Piece] = []
    for m, c in left.terms.items():
        for n, d in right.terms.items():
            shifted = _shifted(n.factors, len(m.binders))
            first = next(f for f, _ in m.factors if isinstance(f, Vec))
            second = next(f for f, _ in shifted if isinstance(f, Vec))
            rest = tuple(item for item in m.factors + shifted if not isinstance(item[0], Vec))
            pieces.append((m.binders + n.binders, (*rest, (inner(first, second), 1)), c * d))
    return collect(pieces)


def place_support(support: Iterable[Bracket], names: tuple[str, ...]) -> tuple[Bracket, ...]:
    """A family's support, kept over positions, written at the free indices `names`."""

    def place(term: Index) -> Index:
        return names[term] if isinstance(term, int) else term

    return tuple(_bracket(reindex(b, place)) for b in support)


def lift_support(support: Iterable[Bracket], names: tuple[str, ...]) -> tuple[Bracket, ...]:
    """The inverse of place_support: free indices become positions."""
    places = {name: n for n, name in enumerate(names)}

    def lift(term: Index) -> Index:
        return places.get(term, term) if isinstance(term, str) else term

    return tuple(sorted((_bracket(reindex(b, lift)) for b in support), key=factor_key))
