"""Reads predict clauses as formulas over a new point, and says which of them no new point can answer."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from kdsl.algebra.builtin_losses import LOSSES_BY_NAME
from kdsl.algebra.formula import Applied, Formula, Raised, Summed, polynomials_in
from kdsl.algebra.losses import loss_definition
from kdsl.algebra.poly import Monomial, Poly
from kdsl.algebra.terms import At, Inner, leaves_of
from kdsl.algebra.translate import Point, Scope, Translator, Untranslatable, Value
from kdsl.language import model as m
from kdsl.language import syntax as s
from kdsl.language.diagnostics import Diagnostic, Label

ROW = "t\x05"  # the free index over the new points
_WRITTEN_OUT = 2  # a power up to which that of a sum is its products
NEW = "\x05"  # what the new points are called, which no datum is

_KEPT = "a prediction is made from a new point, and of the solution the expansions, their norms, scalars and parameters"
_ONE_VECTOR = "pair each unknown with phi of the new point, or take the norm of one alone"
_REWRITE = "use numbers, the unknowns, the parameters and the new point"


class Decision(NamedTuple):
    """What a sign or an argmax is taken of, or the whole clause; the letter of an argmax and the set it runs over."""

    formula: Formula
    letter: str = ""
    members: str = ""


def at_new_point(clause: m.Prediction) -> Scope:
    """The formals of a clause: a point, and labels of it such as its group."""
    formal, *others = clause.formals
    return {formal: Point(NEW, (ROW,)), **{name: At(name, (ROW,)) for name in others}}


def decision_of(translator: Translator, clause: m.Prediction, scope: Scope) -> Decision:
    """The real-valued expression of a clause; Untranslatable where it means nothing."""
    body = clause.body
    if isinstance(body, s.Argmax):
        letter = body.letter.id
        formula = formula_of(translator, body.body, {**scope, letter: letter})
        return Decision(formula, letter, translator.letters[letter].size)
    if isinstance(body, s.Call) and body.function.id == "sign":
        body = body.arguments[0]
    return Decision(formula_of(translator, body, scope))


def formula_of(translator: Translator, node: s.Expr, scope: Scope) -> Formula:
    """A polynomial where `node` is one, else its outermost function of formulas; high powers are not written out."""
    if isinstance(node, s.Pow) and node.exponent > _WRITTEN_OUT:
        return Raised(formula_of(translator, node.base, scope), node.exponent)
    try:
        return translator.scalar(node, scope)
    except Untranslatable:
        formula = _applied(translator, node, scope)
        if formula is None:
            raise
        return formula


def _applied(translator: Translator, node: s.Expr, scope: Scope) -> Formula | None:
    match node:
        case s.Name() if isinstance(value := scope.get(node.id), Formula):
            return value
        case s.Name() if node.id not in scope and node.id in translator.abbreviations:
            return formula_of(translator, translator.abbreviations[node.id].body, {})
        case s.Neg():
            return _negative(formula_of(translator, node.operand, scope))
        case s.Add():
            terms = [formula_of(translator, term, scope) for term in node.terms]
            signed = zip(("+", *node.operators), terms, strict=True)
            return Applied("+", tuple(term if sign == "+" else _negative(term) for sign, term in signed))
        case s.Mul():
            factors = [formula_of(translator, factor, scope) for factor in node.factors]
            placed = list(zip(("*", *node.operators), factors, strict=True))
            above = Applied("*", tuple(factor for operator, factor in placed if operator != "/"))
            below = tuple(factor for operator, factor in placed if operator == "/")
            return Applied("/", (above, Applied("*", below))) if below else above
        case s.Pow():
            return Raised(formula_of(translator, node.base, scope), node.exponent)
        case s.Norm():
            return Applied("root", (translator.scalar(s.Pow(node, 2, node.span), scope),))
        case s.Sum():
            inside, names, sets, support = translator.opened(node, scope)
            return Summed(names, sets, support, formula_of(translator, node.body, inside))
        case s.Call():
            return _called(translator, node, scope)
        case _:
            return None


def _negative(formula: Formula) -> Formula:
    return Applied("*", (Poly.number(-1), formula))


def _called(translator: Translator, node: s.Call, scope: Scope) -> Formula | None:
    name = node.function.id
    if name == "multinomial" and name not in translator.losses:
        return _multinomial(translator, node, scope)
    if name in translator.abbreviations:
        abbreviation = translator.abbreviations[name]
        arguments = [_argument(translator, argument, scope) for argument in node.arguments]
        return formula_of(translator, abbreviation.body, dict(zip(abbreviation.formals, arguments, strict=True)))
    if name in translator.losses or name in LOSSES_BY_NAME:
        (argument,) = node.arguments
        parameters = [_argument(translator, parameter, scope) for parameter in node.parameters]
        formal, body, given = loss_definition(translator, name, parameters)
        return formula_of(translator, body, {**given, formal: _argument(translator, argument, scope)})
    if name not in ("exp", "log", "abs", "max", "pos", "square"):
        return None
    formulas = tuple(formula_of(translator, argument, scope) for argument in node.arguments)
    match name:
        case "pos":
            return Applied("max", (*formulas, Poly()))
        case "square":
            return Raised(formulas[0], 2)
        case _:
            return Applied(name, formulas)


def _argument(translator: Translator, node: s.Expr, scope: Scope) -> Value:
    """What a formal stands for: a point, a label, an index or a formula."""
    try:
        return translator.value(node, scope)
    except Untranslatable:
        return formula_of(translator, node, scope)


def _multinomial(translator: Translator, node: s.Call, scope: Scope) -> Formula:
    """log(sum[k] exp(s[k])) - s[y]."""
    letter, label = node.parameters
    assert isinstance(letter, s.Name)
    (score,) = node.arguments
    exponentials = s.Sum((letter,), (), s.Call(s.Name("exp"), (score,)))
    at_label = formula_of(translator, score, {**scope, letter.id: translator.value(label, scope)})
    return Applied("+", (Applied("log", (formula_of(translator, exponentials, scope),)), _negative(at_label)))


def number_added(formula: Formula) -> Poly | None:
    """What a formula that is an expansion plus a number adds to the expansion; None for another formula.

    The new point enters an expansion by its inner products with unknowns, one in a term.
    """
    if not isinstance(formula, Poly):
        return None
    added: dict[Monomial, Fraction] = {}
    for monomial, coefficient in formula.terms.items():
        products = [(f.left.feature != f.right.feature, power) for f, power in monomial.factors if isinstance(f, Inner)]
        elsewhere = any(ROW in leaves_of(f) for f, _ in monomial.factors if not isinstance(f, Inner))
        if products not in ([], [(True, 1)]) or elsewhere:
            return None
        if not products:
            added[monomial] = coefficient
    return Poly(added)


# ------------------------------------------------------- what cannot be answered


def unanswerable(translator: Translator, clause: m.Prediction) -> Diagnostic | None:
    """Why a clause means nothing at a new point, whatever is known of the training."""
    said = f"`predict {clause.kind}`"
    try:
        formula = decision_of(translator, clause, at_new_point(clause)).formula
    except Untranslatable as problem:
        return Diagnostic("K411", f"{said}: {problem.reason}", (Label(problem.node.span),), _KEPT, _REWRITE)
    factors = {factor for polynomial in polynomials_in(formula) for factor in polynomial.factors()}
    pairs = sorted((f.left.name, f.right.name) for f in factors if isinstance(f, Inner) and _of_two_unknowns(f))
    if not pairs:
        return None
    first, second = pairs[0]
    two = f"`{first}` and `{second}`" if first != second else f"two members of `{first}`"
    at = (Label(clause.body.span),)
    return Diagnostic("K411", f"{said} takes the inner product of {two}", at, _KEPT, _ONE_VECTOR)


def _of_two_unknowns(factor: Inner) -> bool:
    return not factor.left.feature and not factor.right.feature and factor.left != factor.right
