"""The letters of one derivation: which index letter each set gets, and how symbols, multipliers and kernels print."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from fractions import Fraction
from typing import NamedTuple, TypeVar

from kdsl.algebra.derivation import Derivation
from kdsl.algebra.merge_pairs import letter_of
from kdsl.algebra.plq import Plq
from kdsl.algebra.primal import LossTerm, Primal
from kdsl.algebra.terms import At, Index, Sym, Vec
from kdsl.language.model import Model
from kdsl.language.syntax import Call, Name, Span
from kdsl.render.expr import Apply, Binder, Expr, Ident, Modulus, Norm, Numeral, Power, number
from kdsl.render.names import ident

_FRESH = ("i", "j", "p", "r", "s", "u", "v", "n", "m")  # each has a Unicode subscript
_FRESH_LABELS = ("h", "o", "n", "m", "p")  # for sets of labels


class Naming(NamedTuple):
    """`letters` are the declared index letters of each set, `taken` every name that no fresh index may have."""

    letters: dict[str, tuple[str, ...]]
    labelled: frozenset[str]
    taken: frozenset[str]
    hats: frozenset[str]
    multipliers: dict[str, str]
    squares: dict[str, str]
    shifted: frozenset[str]
    losses: dict[str, LossTerm]
    loss_parameters: dict[str, tuple[str, ...]]
    unknowns: frozenset[str]
    single_kernel: bool

    # ----------------------------------------------------------------- indices

    def index_letters(self, sets: Iterable[str], free: Iterable[str]) -> tuple[str, ...]:
        """One letter for each bound index of a monomial, declared ones of its set first."""
        used = set(free)
        chosen = []
        declared = {letter for letters in self.letters.values() for letter in letters}
        for size in sets:
            fresh = _fresh(size, self, {*self.taken, *declared})
            pool = [*self.letters.get(size, ()), *fresh]
            number = 1
            while all(c in used for c in pool):
                pool.append(f"i{number}")
                number += 1
            letter = next(c for c in pool if c not in used)
            used.add(letter)
            chosen.append(letter)
        return tuple(chosen)

    def binder(self, letter: str, size: str) -> Binder:
        return Binder(letter, size, size in self.labelled)

    def index_expr(self, term: Index) -> Expr:
        if isinstance(term, At):
            return ident(term.name, tuple(map(self.index_expr, term.args)))
        assert isinstance(term, str)
        return ident(term)

    def has(self, name: str) -> bool:
        """Whether a letter already stands for something."""
        return name in self.taken or name in self.multipliers.values()

    def free(self, *letters: str) -> str:
        """The first of the letters that stands for nothing yet, or the last."""
        return next((x for x in letters if not self.has(x)), letters[-1])

    # ----------------------------------------------------------------- symbols

    def symbol(self, sym: Sym) -> Expr:
        subs = tuple(map(self.index_expr, sym.args))
        if sym.role == "number":
            return number(Fraction(sym.name))
        if sym.role == "size":
            return self.size(sym.name)
        if sym.role in ("mult", "abs"):
            letter = ident(self.multipliers.get(sym.name, sym.name), subs)
            return Modulus(letter) if sym.role == "abs" else letter
        if sym.role == "norm":
            return Norm(self.name(sym.name, subs))
        if sym.role == "loss":
            term = self.losses[sym.name]
            return self.loss(term.text, self.name(term.residual, subs))
        if sym.name in self.squares:
            return Power(self.name(self.squares[sym.name], subs), 2)
        if sym.name in self.shifted:
            return Ident("rho", subs)
        return self.name(sym.name, subs)

    def loss(self, text: str, residual: Expr) -> Expr:
        """The value of a loss at its residual."""
        if text == "abs":
            return Modulus(residual)
        parameters = tuple(ident(p) for p in self.loss_parameters.get(text, ()))
        return Apply(Ident(text), (residual,), parameters)

    def unknown_named(self, name: str) -> Expr | None:
        """The unknown that a title of the algebra names, without its indices."""
        if name in self.squares or name in self.shifted or name in self.unknowns:
            return self.symbol(Sym(name, (), "var"))
        return None

    def name(self, name: str, subs: tuple[Expr, ...] = ()) -> Ident:
        return ident(name, subs, name in self.hats)

    def size(self, name: str) -> Expr:
        if name.isdigit():
            return Numeral(Fraction(int(name)))
        return Ident("ell") if name == "l" else ident(name)

    def vector(self, vec: Vec) -> Expr:
        named = self.name(vec.name, tuple(map(self.index_expr, vec.args)))
        return Apply(self.feature_map(vec.space), (named,)) if vec.feature else named

    def feature_map(self, space: str) -> Ident:
        return Ident("phi") if self.single_kernel else Ident("phi", (), "", space)

    def kernel(self, space: str) -> Ident:
        if self.has("kappa"):
            return ident(space)
        return Ident("kappa") if self.single_kernel else Ident("kappa", (), "", space)


def _fresh(size: str, naming: Naming, taken: Collection[str]) -> tuple[str, ...]:
    """Letters for further indices of a set; ranges that share a page share out those that are not taken."""
    letters = _FRESH_LABELS if size in naming.labelled else _FRESH
    free = tuple(letter for letter in letters if letter not in taken)
    ranges = [s for s in naming.letters if s not in naming.labelled]
    if len(ranges) < 2 or size not in ranges:
        return free
    common = tuple(letter for letter in free if letter in ("i", "j"))
    return (*common, *free[len(common) + ranges.index(size) :: len(ranges)])


def naming_of(derivation: Derivation) -> Naming:
    multipliers = {m.label: m.letter for m in derivation.lagrangian.multipliers}
    for pair in derivation.folding.pairs:
        letter = derivation.dual.variable(pair.label).letter
        free = (x for x in (letter, "theta", "omega", "zeta") if x not in multipliers.values())
        multipliers[pair.label] = next(free, letter_of(pair.plus))
    return _naming(derivation.model, derivation.primal, multipliers)


def _naming(model: Model, primal: Primal, multipliers: dict[str, str]) -> Naming:
    letters: dict[str, tuple[str, ...]] = {}
    labelled = set()
    for index in model.indices:
        for name, index_set in zip(index.names, index.sets, strict=True):
            letters[index_set.size] = (*letters.get(index_set.size, ()), name)
            if index_set.labelled:
                labelled.add(index_set.size)
    names = {
        *(d.name for d in model.data),
        *(p.name for p in model.parameters),
        *(k.name for k in model.kernels),
        *(u.name for u in primal.unknowns),
        *(u.shown for u in primal.unknowns),
        *(letter for formals in (a.formals for a in model.abbreviations) for letter in formals),
        *(letter for formals in (p.formals for p in model.predictions) for letter in formals),
        *(a.name for a in model.abbreviations),
        *letters,
    }
    shown = [u.shown for u in primal.unknowns if u.origin != "residual"]
    return Naming(
        letters,
        frozenset(labelled),
        frozenset(names),
        frozenset(name for name in shown if name.endswith("'") and name[:-1] in shown),
        multipliers,
        {u.name: u.shown for u in primal.unknowns if u.origin == "square"},
        frozenset(u.name for u in primal.unknowns if u.origin == "shifted"),
        {t.label: t for t in primal.losses},
        _loss_parameters(model, primal),
        frozenset(u.name for u in primal.unknowns),
        len(model.kernels) <= 1,
    )


def _loss_parameters(model: Model, primal: Primal) -> dict[str, tuple[str, ...]]:
    """What stands after the semicolon of each loss, where that is the same letters wherever it is called."""
    found: dict[str, set[tuple[str, ...]]] = {}
    texts = {t.text for t in primal.losses if isinstance(t.function, Plq)}
    for call in nodes_in(model.objective, Call):
        if call.function.id in texts:
            names = tuple(p.id for p in call.parameters if isinstance(p, Name))
            found.setdefault(call.function.id, set()).add(names)
    return {text: next(iter(names)) for text, names in found.items() if len(names) == 1}


Node = TypeVar("Node", bound=tuple[object, ...])


def nodes_in(tree: object, kind: type[Node]) -> Iterator[Node]:
    """Every node of a kind inside a tree of tuples."""
    pending = [tree]
    while pending:
        current = pending.pop()
        if isinstance(current, kind):
            yield current
        if isinstance(current, tuple) and not isinstance(current, Span):
            pending += [part for part in current if isinstance(part, tuple)]
