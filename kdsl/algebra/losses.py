"""Reads the losses of an objective: each becomes a symbol with a piecewise quadratic of one affine argument."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from itertools import chain
from typing import NamedTuple

from kdsl.algebra import plq
from kdsl.algebra.builtin_losses import LOSSES_BY_NAME
from kdsl.algebra.plq import Plq
from kdsl.algebra.poly import Monomial, Poly, lift_support
from kdsl.algebra.primal import Logistic, LossTerm, Multinomial
from kdsl.algebra.signs import Domains
from kdsl.algebra.terms import At, Bracket, Factor, Index, Inner, Sym, Vec, leaves_of
from kdsl.algebra.translate import Scope, Translator, Untranslatable, Value
from kdsl.language import syntax as s

_ARGUMENT = Poly.of(Sym("\x01r", (), "var"))


def degree_in_unknowns(monomial: Monomial) -> int:
    """How many unknowns (scalars, Hilbert variables, losses, norms) the monomial multiplies."""
    return sum(_weight(factor) * abs(power) for factor, power in monomial.factors)


def _weight(factor: Factor) -> int:
    if isinstance(factor, Sym):
        return factor.role in ("var", "loss", "norm")
    if isinstance(factor, Inner):
        return (not factor.left.feature) + (not factor.right.feature)
    return isinstance(factor, Vec) and not factor.feature


def degree(poly: Poly) -> int:
    return max(map(degree_in_unknowns, poly.terms), default=0)


class Opened(NamedTuple):
    """A sum that we stand inside of: its fresh index names, their sets and its filter."""

    names: tuple[str, ...]
    sets: tuple[str, ...]
    support: tuple[Bracket, ...]


class FoundLoss(NamedTuple):
    """A loss of the objective with the argument its residual stands for (at the term's own indices)."""

    term: LossTerm
    argument: Poly
    node: s.Expr
    fault: plq.Fault | None


class ObjectiveReader:
    """Reads one objective; `found` lists its losses in the order of their appearance."""

    def __init__(self, translator: Translator) -> None:
        self._translator = translator
        self._domains = translator.domains()
        self.found: list[FoundLoss] = []

    def read(self, node: s.Expr, scope: Scope, opened: tuple[Opened, ...] = ()) -> Poly:
        """The objective as a polynomial in which every loss is a symbol."""
        t = self._translator
        match node:
            case s.Neg():
                return -self.read(node.operand, scope, opened)
            case s.Add():
                total = self.read(node.terms[0], scope, opened)
                for operator, term in zip(node.operators, node.terms[1:], strict=True):
                    value = self.read(term, scope, opened)
                    total = total + value if operator == "+" else total - value
                return total
            case s.Mul():
                product = self.read(node.factors[0], scope, opened)
                for operator, factor in zip(node.operators, node.factors[1:], strict=True):
                    value = self.read(factor, scope, opened)
                    product = product * (t.reciprocal(value, factor) if operator == "/" else value)
                return product
            case s.Sum():
                inner, names, sets, support = t.opened(node, scope)
                body = self.read(node.body, inner, (*opened, Opened(names, sets, support)))
                return body.sum(names, sets, support)
            case s.Call() if node.function.id in t.abbreviations:
                abbreviation = t.abbreviations[node.function.id]
                values = [t.value(argument, scope) for argument in node.arguments]
                return self.read(abbreviation.body, dict(zip(abbreviation.formals, values, strict=True)), opened)
            case s.Call() if node.function.id not in ("phi", *t.kernels):
                return self._loss(node, scope, opened)
            case s.Norm():
                return self._norm(node, scope)
            case s.Pow() if not isinstance(node.base, s.Norm):
                return self._power(node, scope, opened)
            case _:
                return t.scalar(node, scope)

    # --------------------------------------------------------------- atoms

    def _norm(self, node: s.Norm, scope: Scope) -> Poly:
        vector = self._translator.scalar(node.argument, scope)
        if len(vector.terms) == 1:
            ((monomial, coefficient),) = vector.terms.items()
            match monomial.factors:
                case ((Vec(feature=False) as v, 1),) if coefficient == 1 and not monomial.binders:
                    return Poly.of(Sym(v.name, v.args, "norm"))
        raise Untranslatable(node, "an unsquared norm must be the norm of a variable")

    def _power(self, node: s.Pow, scope: Scope, opened: tuple[Opened, ...]) -> Poly:
        try:
            base = self._translator.scalar(node.base, scope)
        except Untranslatable:
            return self._loss(node, scope, opened)
        if node.exponent == 2 and degree(base) == 1 and any(isinstance(f, Inner) for f in base.factors()):
            return self._loss(node, scope, opened)
        return base**node.exponent

    def _loss(self, node: s.Call | s.Pow, scope: Scope, opened: tuple[Opened, ...]) -> Poly:
        name = node.function.id if isinstance(node, s.Call) else "square"
        builtin = LOSSES_BY_NAME.get(name) if name not in self._translator.losses else None
        if builtin is not None and builtin.entropy:
            return self._entropy(node, scope, opened, name)
        if builtin is not None or name in self._translator.losses:
            assert isinstance(node, s.Call)
            argument = self._translator.scalar(node.arguments[0], scope)
            function = self._named(node, scope)
        else:
            argument = self._leaf(node, scope)
            function = _shape(self._translator, node, scope, argument, self._domains)
            if isinstance(node, s.Pow) or (name == "square" and len(function.breaks) == 0):
                name = "squared"
        if degree(argument) == 0:
            raise Untranslatable(node, "no unknown in this loss")
        if degree(argument) > 1:
            raise Untranslatable(node, "the argument of a loss must be affine in the unknowns")
        return self._register(name, node, argument, function, opened)

    def _named(self, node: s.Call, scope: Scope) -> Plq:
        parameters = [self._translator.scalar(p, scope) for p in node.parameters]
        return named_shape(self._translator, node.function.id, parameters, self._domains)

    def _entropy(self, node: s.Expr, scope: Scope, opened: tuple[Opened, ...], name: str) -> Poly:
        assert isinstance(node, s.Call)
        if name == "logistic":
            argument = self._translator.scalar(node.arguments[0], scope)
            return self._register(name, node, argument, Logistic(), opened)
        letter_node, target_node = node.parameters
        assert isinstance(letter_node, s.Name)
        letter = letter_node.id
        argument = self._translator.scalar(node.arguments[0], {**scope, letter: letter})
        target = self._translator.index(target_node, scope)
        size = self._translator.letters[letter].size
        return self._register(name, node, argument, Multinomial(letter, size, target), opened)

    def _register(
        self,
        name: str,
        node: s.Expr,
        argument: Poly,
        function: Plq | Logistic | Multinomial,
        opened: tuple[Opened, ...],
    ) -> Poly:
        free = argument.free_indices() | _indices_of_function(function)
        needed = [(n, size) for o in opened for n, size in zip(o.names, o.sets, strict=True) if n in free]
        names = tuple(n for n, _ in needed)
        letters = _distinct(tuple(n.split("\x01")[0] for n in names))
        brackets = [
            b for o in opened for b in o.support if {x for x in leaves_of(b) if isinstance(x, str)} <= set(names)
        ]
        renaming = dict(zip(names, letters, strict=True))
        if isinstance(function, Multinomial) and isinstance(function.target, At):
            target = function.target
            function = function._replace(target=target._replace(args=tuple(_renamed(a, renaming) for a in target.args)))
        label = fresh(name, {f.term.label for f in self.found} | {c.label for c in self._translator.model.constraints})
        residual = fresh("r", {f.term.residual for f in self.found} | self._translator.names)
        orientation, fault = 1, None
        if isinstance(function, Plq):
            function = function.mapped(lambda p: p.rename(dict(renaming)))
            fault = plq.convexity_fault(function, self._domains)
            if fault is None and falls(function, self._domains):
                orientation = -1
        else:
            orientation = -1
        term = LossTerm(
            label,
            letters,
            tuple(z for _, z in needed),
            lift_support(brackets, names),
            residual,
            function,
            orientation,
            _function_name(node),
        )
        self.found.append(FoundLoss(term, argument.rename(dict(renaming)), node, fault))
        return Poly.of(Sym(label, names, "loss", term.support))

    def _leaf(self, node: s.Expr, scope: Scope) -> Poly:
        """The affine expression that the first non-polynomial operation of `node` is applied to."""
        t = self._translator
        try:
            value = t.scalar(node, scope)
        except Untranslatable:
            children = _children(node)
        else:
            if degree(value) != 1:
                return Poly() if degree(value) == 0 else self._leaf_of(_children(node), scope, value)
            inner = [c for c in _scaled_or_shifted(node) if degree(t.scalar(c, scope)) == 1]
            others = [c for c in _scaled_or_shifted(node) if degree(t.scalar(c, scope)) == 0]
            plain = all(r in ("param", "size") for c in others for r, _ in t.scalar(c, scope).symbols())
            if len(inner) == 1 and plain and others:
                return self._leaf(inner[0], scope)
            return value
        return self._leaf_of(children, scope, Poly())

    def _leaf_of(self, children: tuple[s.Expr, ...], scope: Scope, default: Poly) -> Poly:
        for child in children:
            found = self._leaf(child, scope)
            if found:
                return found
        return default


def _function_name(node: s.Expr) -> str:
    """How a loss was written: the square of a score has no name of its own."""
    return node.function.id if isinstance(node, s.Call) else "square"


def fresh(name: str, taken: Set[str]) -> str:
    while name in taken:
        name += "'"
    return name


def _distinct(letters: tuple[str, ...]) -> tuple[str, ...]:
    """Two sums over one letter, one inside the other by way of a `let`, get two letters."""
    found: list[str] = []
    for letter in letters:
        found.append(fresh(letter, set(found)))
    return tuple(found)


def _indices_of_function(function: Plq | Logistic | Multinomial) -> set[str]:
    """The free indices that the parameters of a loss bring in."""
    if not isinstance(function, Plq):
        return set()
    return {n for p in (*function.breaks, *chain(*function.pieces)) for n in p.free_indices()}


def _renamed(term: Index, renaming: Mapping[str, str]) -> Index:
    return renaming.get(term, term) if isinstance(term, str) else term


def falls(function: Plq, domains: Domains) -> bool:
    """Whether a convex function never rises: its last slope is <= 0."""
    last = function.pieces[-1]
    return not last.curvature and domains.non_negative(-last.slope)


def named_shape(translator: Translator, name: str, parameters: Sequence[Poly], domains: Domains) -> Plq:
    """A loss of the model or a built-in one as a function of its argument."""
    formal, body, given = loss_definition(translator, name, parameters)
    return _shape(translator, body, {**given, formal: _ARGUMENT}, _ARGUMENT, domains)


def loss_definition(
    translator: Translator, name: str, parameters: Sequence[Value]
) -> tuple[str, s.Expr, dict[str, Value]]:
    """(the formal, the body, the values of the parameters by name) of a loss of the model or a built-in one."""
    if name in translator.losses:
        loss = translator.losses[name]
        return loss.formals[0], loss.body, dict(zip(loss.parameters, parameters, strict=True))
    from kdsl.language.parser import parse_expression

    builtin = LOSSES_BY_NAME[name]
    defaults = [Poly.number(p.default) for p in builtin.parameters[len(parameters) :] if p.default is not None]
    names = [p.name for p in builtin.parameters]
    return (
        builtin.formals[0],
        parse_expression(builtin.definition),
        dict(zip(names, [*parameters, *defaults], strict=True)),
    )


def _shape(translator: Translator, node: s.Expr, scope: Scope, argument: Poly, domains: Domains) -> Plq:
    """`node` as a piecewise quadratic of the affine polynomial `argument`."""
    affine = _affine(translator, node, scope, argument)
    if affine is not None:
        return affine

    def shape(child: s.Expr) -> Plq:
        return _shape(translator, child, scope, argument, domains)

    match node:
        case s.Neg():
            return plq.scaled(shape(node.operand), Poly.number(-1))
        case s.Add():
            total = shape(node.terms[0])
            for operator, term in zip(node.operators, node.terms[1:], strict=True):
                value = shape(term)
                total = plq.added(total, value if operator == "+" else plq.scaled(value, Poly.number(-1)), domains)
            return total
        case s.Mul():
            product = shape(node.factors[0])
            for operator, factor in zip(node.operators, node.factors[1:], strict=True):
                value = shape(factor)
                if operator == "/":
                    if not plq.is_constant(value):
                        raise Untranslatable(factor, "a loss cannot divide by its argument")
                    product = plq.scaled(product, translator.reciprocal(value.pieces[0].value, factor))
                else:
                    product = plq.multiplied(product, value, domains)
            return product
        case s.Pow():
            result = base = shape(node.base)
            for _ in range(node.exponent - 1):
                result = plq.multiplied(result, base, domains)
            return result
        case s.Call():
            return _called(translator, node, [shape(a) for a in node.arguments], domains)
        case s.Name() | s.Item() | s.Inner():
            raise Untranslatable(
                node, "a loss has one argument, and this is a second one: bound each piece by an unknown of its own"
            )
        case s.Norm():
            raise Untranslatable(node, "a norm is no function of one number, of which a loss is made")
        case _:
            raise Untranslatable(node, "a loss is built from max, abs, pos, square and sums of these")


def _called(translator: Translator, node: s.Call, values: list[Plq], domains: Domains) -> Plq:
    zero = plq.constant(Poly())
    match node.function.id:
        case "max":
            result = values[0]
            for value in values[1:]:
                result = plq.maximum(result, value, domains)
            return result
        case "abs":
            return plq.maximum(values[0], plq.scaled(values[0], Poly.number(-1)), domains)
        case "pos":
            return plq.maximum(values[0], zero, domains)
        case "square":
            return plq.multiplied(values[0], values[0], domains)
        case name if name not in translator.losses and name in LOSSES_BY_NAME and LOSSES_BY_NAME[name].entropy:
            raise Untranslatable(
                node,
                f"`{name}` inside another function",
                "a loss is made of quadratic pieces, and this one has none",
                "let it stand in the objective itself, with what is added to it beside it",
            )
        case name if name in translator.losses or name in LOSSES_BY_NAME:
            raise Untranslatable(node, "a loss inside a loss: write its definition out")
        case name:
            raise Untranslatable(node, f"`{name}` is not piecewise linear-quadratic")


def _affine(translator: Translator, node: s.Expr, scope: Scope, argument: Poly) -> Plq | None:
    """`node` as an affine function of `argument`, where it is one."""
    try:
        return _relative(translator.scalar(node, scope), argument)
    except Untranslatable:
        return None


def _relative(value: Poly, argument: Poly) -> Plq | None:
    """value = slope * argument + rest with a free of unknowns: an affine Plq; None where it is not of that form."""
    if degree(value) == 0:
        return plq.constant(value)
    if degree(value) != 1:
        return None
    moving, rest = value.split(lambda m: degree_in_unknowns(m) > 0)
    base, shift = argument.split(lambda m: degree_in_unknowns(m) > 0)
    slope = _ratio(moving, base)
    if slope is None:
        return None
    return Plq((), (plq.Piece(Poly(), slope, rest - shift * slope),))


def _ratio(moving: Poly, base: Poly) -> Poly | None:
    """The factor free of unknowns by which `moving` is a multiple of `base`."""
    if base == _ARGUMENT:  # a formal argument: divide monomial by monomial
        pieces = Poly()
        for monomial, coefficient in moving.terms.items():
            kept = tuple((f, p) for f, p in monomial.factors if f not in base.factors())
            pieces = pieces + Poly({Monomial(monomial.binders, kept): coefficient})
        return pieces
    ((first, coefficient), *_) = base.terms.items()
    ratio = moving.terms.get(first)
    if ratio is None:
        return None
    scaled = base.scale(ratio / coefficient)
    return Poly.number(ratio / coefficient) if scaled == moving else None


def _children(node: s.Expr) -> tuple[s.Expr, ...]:
    match node:
        case s.Neg():
            return (node.operand,)
        case s.Add():
            return node.terms
        case s.Mul():
            return node.factors
        case s.Pow():
            return (node.base,)
        case s.Call():
            return node.arguments
        case _:
            return ()


def _scaled_or_shifted(node: s.Expr) -> tuple[s.Expr, ...]:
    return _children(node) if isinstance(node, (s.Neg, s.Add, s.Mul)) else ()
