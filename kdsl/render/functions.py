"""Piecewise quadratic functions as formulas: one case for each piece."""

from __future__ import annotations

from fractions import Fraction

from kdsl.algebra.plq import Plq
from kdsl.algebra.poly import Poly
from kdsl.algebra.primal import Logistic, LossTerm, Multinomial
from kdsl.render import expr as e
from kdsl.render.layout import Line
from kdsl.render.naming import Naming
from kdsl.render.notation import formula
from kdsl.render.phrases import ZERO


def function_line(head: e.Expr, argument: e.Expr, function: Plq, naming: Naming) -> Line:
    """head = cases over the pieces of a function of `argument`."""
    rows = []
    for n, piece in enumerate(function.pieces):
        left, right = function.ends(n)
        value = piece_formula(piece.curvature, piece.slope, piece.value, argument, naming)
        rows.append((value, _between(left, right, argument, naming)))
    if len(rows) == 1 and rows[0][1] == e.Words(""):
        return Line(head, "=", rows[0][0])
    return Line(head, "=", e.Cases(tuple(rows)))


def piece_formula(curvature: Poly, slope: Poly, value: Poly, argument: e.Expr, naming: Naming) -> e.Expr:
    """1/2 curvature t^2 + slope t + value."""
    parts: list[tuple[int, e.Expr]] = []
    for coefficient, power in ((curvature.scale(Fraction(1, 2)), e.Power(argument, 2)), (slope, argument)):
        if coefficient:
            shown = formula(coefficient, naming)
            if isinstance(shown, e.Terms) and len(shown.terms) == 1:
                ((sign, body),) = shown.terms
                parts.append((sign, e.times(body, power)))
            else:
                parts.append((1, e.times(shown, power)))
    if value:
        parts.append((1, formula(value, naming)))
    return e.total(*parts) if parts else ZERO


def _between(left: Poly | None, right: Poly | None, argument: e.Expr, naming: Naming) -> e.Expr:
    if left is not None and right is not None:
        return e.Chain((formula(left, naming), argument, formula(right, naming)), ("<=", "<="))
    if left is not None:
        return e.Chain((argument, formula(left, naming)), (">=",))
    if right is not None:
        return e.Chain((argument, formula(right, naming)), ("<=",))
    return e.Words("")


def loss_line(term: LossTerm, naming: Naming) -> Line:
    """What a loss is, as a function of its residual r."""
    own = term.indices if isinstance(term.function, Multinomial) else ()
    residual = naming.name(term.residual, tuple(map(e.Ident, own)))
    head = naming.loss(term.text, residual)
    if isinstance(term.function, Plq):
        return function_line(head, residual, term.function, naming)
    if isinstance(term.function, Logistic):
        return Line(head, "=", _log(e.total((1, e.number(1)), (1, _exp(e.total((-1, residual)))))))
    return Line(head, "=", _multinomial(term.function, residual, naming))


def _multinomial(function: Multinomial, residual: e.Ident, naming: Naming) -> e.Expr:
    """log sum over k of exp(r[k]), minus r at the right label."""
    letter = e.Ident(function.letter)
    total = e.Total(
        (naming.binder(function.letter, function.size),), _exp(residual._replace(subs=(*residual.subs, letter)))
    )
    right = residual._replace(subs=(*residual.subs, naming.index_expr(function.target)))
    return e.total((1, _log(total)), (-1, right))


def _log(argument: e.Expr) -> e.Expr:
    return e.Apply(e.Ident("log"), (argument,))


def _exp(argument: e.Expr) -> e.Expr:
    return e.Apply(e.Ident("exp"), (argument,))
