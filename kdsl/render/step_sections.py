"""The derivation itself: the stationarity conditions and the numbered steps with their reasons."""

from __future__ import annotations

from kdsl.algebra.derivation import Derivation
from kdsl.algebra.kkt import KktCondition
from kdsl.algebra.poly import Poly
from kdsl.algebra.steps import Equation, Function, Partial, Side, Step, Text, Word
from kdsl.render import expr as e
from kdsl.render.functions import function_line
from kdsl.render.layout import Block, Display, Line, Numbered, Paragraph, Pieces, Section
from kdsl.render.names import ident
from kdsl.render.naming import Naming
from kdsl.render.notation import formula
from kdsl.render.phrases import ZERO, balanced, for_all, prose, unknown_expr

# ------------------------------------------------------------------ stationarity


def stationarity_section(derivation: Derivation, naming: Naming) -> Section:
    lines = tuple(
        stationarity_line(condition, unknown_expr(unknown.symbol, naming), naming)
        for condition, unknown in zip(derivation.kkt, derivation.primal.unknowns, strict=False)
    )
    return Section("stationarity", "Stationarity", (Display(lines),))


def stationarity_line(condition: KktCondition, unknown: e.Expr, naming: Naming) -> Line:
    """dL/dv = ... = 0; for a loss, what must lie in the subdifferential of the weighted loss."""
    side = for_all(condition.indices, condition.sets, condition.support, naming)
    gradient = formula(condition.body, naming)
    if condition.weight is None:
        return Line(e.Partial(unknown), "=", e.Chain((gradient, ZERO), ("=",)), side)
    minus = formula(-condition.body, naming)
    weight = formula(condition.weight, naming)
    return Line(minus, "in", e.times(weight, subgradient(condition, unknown, naming)), side)


def subgradient(condition: KktCondition, unknown: e.Expr, naming: Naming) -> e.Expr:
    """The set of slopes of a loss, or of a norm, at the unknown."""
    if condition.loss is None:
        return e.Slopes(e.Norm(unknown))
    return e.Slopes(naming.loss(condition.loss.text, unknown))


# ------------------------------------------------------------------------- steps


def steps_section(derivation: Derivation, naming: Naming) -> Section:
    return Section(
        "steps",
        "The minimum of the Lagrangian, step by step",
        tuple(_numbered(n, step, naming) for n, step in enumerate(derivation.steps, 1)),
    )


def _numbered(number: int, step: Step, naming: Naming) -> Numbered:
    blocks: list[Block] = []
    if step.reason:
        blocks.append(Paragraph(_reason(step.reason, naming)))
    lines = [_equation(equation, naming) for equation in step.equations]
    if lines:
        blocks.append(Display(tuple(_symbol_first(line, naming) for line in _joined(lines))))
    return Numbered(number, step.kind, (*prose(step.title, naming), "."), tuple(blocks))


def _joined(lines: list[Line]) -> list[Line]:
    """lower <= theta and theta <= upper on one line."""
    joined: list[Line] = []
    for line in lines:
        chain = _chained(joined[-1], line) if joined else None
        if chain is None:
            joined.append(line)
        else:
            joined[-1] = chain
    return joined


def _symbol_first(line: Line, naming: Naming) -> Line:
    """theta >= lower for lower <= theta."""
    right = line.right
    if line.relation != "<=" or line.left is None or not isinstance(right, e.Ident):
        return line
    multiplier = right._replace(subs=()) in {ident(letter) for letter in naming.multipliers.values()}
    return line._replace(left=right, relation=">=", right=line.left) if multiplier else line


def _chained(first: Line, second: Line) -> Line | None:
    meet = first.relation == second.relation == "<=" and first.right == second.left and first.side == second.side
    if not meet or first.left is None:
        return None
    return Line(None, "", e.Chain((first.left, first.right, second.right), ("<=", "<=")), first.side)


def _reason(reason: Text, naming: Naming) -> Pieces:
    pieces: list[str | e.Expr] = []
    for piece in reason:
        if isinstance(piece, str):
            pieces += prose(piece, naming)
        elif isinstance(piece, Poly):
            pieces.append(formula(piece, naming))
        else:
            pieces.append(unknown_expr(piece, naming))
    if pieces and isinstance(pieces[0], str) and pieces[0]:
        pieces[0] = pieces[0][0].upper() + pieces[0][1:]
    return (*pieces, ".")


def _equation(equation: Equation | Function, naming: Naming) -> Line:
    if isinstance(equation, Function):
        argument = formula(equation.argument, naming)
        return function_line(e.Apply(ident(equation.name), (argument,)), argument, equation.function, naming)
    side = for_all(equation.indices, equation.sets, equation.support, naming)
    left, relation, right = equation.left, equation.relation, equation.right
    if isinstance(left, Poly) and isinstance(right, Poly) and not right:
        return Line(*balanced(left, relation, naming), side)
    return Line(_side(left, naming), relation, _side(right, naming), side)


def _side(side: Side, naming: Naming) -> e.Expr:
    if isinstance(side, Poly):
        return formula(side, naming)
    if isinstance(side, Partial):
        return e.Partial(unknown_expr(side.of, naming))
    if isinstance(side, Word):
        return ident(side.text)
    return unknown_expr(side, naming)
