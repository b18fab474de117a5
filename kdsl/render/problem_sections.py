"""The sections before the derivation: notation, the primal as printed, the multiplier key, the Lagrangian."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from kdsl.algebra.lagrangian import Lagrangian, Multiplier
from kdsl.algebra.poly import place_support
from kdsl.algebra.primal import Condition, Primal, Reformulation
from kdsl.algebra.terms import Sym
from kdsl.language import model as m
from kdsl.language.printer import print_kernel
from kdsl.language.syntax import Comparison
from kdsl.render import expr as e
from kdsl.render.functions import loss_line
from kdsl.render.layout import Block, Display, Line, Paragraph, Pieces, Section, Table
from kdsl.render.names import ident
from kdsl.render.naming import Naming
from kdsl.render.notation import bracket, formula
from kdsl.render.phrases import ZERO, balanced, for_all, listed, ranges_of, unknown_expr
from kdsl.render.written import written, written_comparison

# ---------------------------------------------------------------------- notation


def notation_section(model: m.Model, naming: Naming, letters: Mapping[str, tuple[str, ...]]) -> Section:
    """What each symbol stands for; `letters` are all index letters that the page uses, by their sets."""
    rows: list[tuple[Pieces, ...]] = []
    for index in model.indices:
        sets = tuple(z.size for z in index.sets)
        more = tuple(x for size in dict.fromkeys(sets) for x in letters.get(size, ()))
        fresh = tuple(x for x in more if not any(x in other.names for other in model.indices))
        conditions = tuple(e.Chain(_sides(c, model, naming), (c.relation,)) for c in index.where)
        if conditions or len(sets) > 1:
            pieces = listed(ranges_of(index.names, sets, naming), " and ")
            pieces += [" with ", e.Listing(conditions)] if conditions else []
            pieces += [" (also ", e.Listing(tuple(map(e.Ident, fresh))), ")"] if fresh else []
        else:
            pieces = [p for over in ranges_of((*index.names, *fresh), sets * (1 + len(fresh)), naming) for p in over]
        rows.append((("index",), tuple(pieces)))
    rows += [(("data",), _datum(d, naming)) for d in model.data]
    rows += [(("parameter",), _parameter(p, naming)) for p in model.parameters]
    for kernel in model.kernels:
        points = (e.Ident("x"), e.Ident("z"))
        space = naming.kernel(kernel.name)
        maps = tuple(e.Apply(naming.feature_map(kernel.name), (p,)) for p in points)
        meaning = e.Chain((e.Apply(space, points), e.Angles(*maps)), ("=",))
        rows.append((("kernel",), (meaning, f", {kernel.name} = {print_kernel(kernel.expression)}")))
    said = Table(("", ""), tuple(rows)) if rows else Paragraph(("There are unknowns only: no data and no parameters.",))
    return Section("notation", "Notation", (said,))


def _sides(comparison: Comparison, model: m.Model, naming: Naming) -> tuple[e.Expr, e.Expr]:
    left, _, right = written_comparison(comparison, model, naming)
    return left, right


def _datum(datum: m.Datum, naming: Naming) -> Pieces:
    subs = tuple(e.Ident(x) for x in naming.index_letters([z.size for z in datum.sets], ()))
    symbol = naming.name(datum.name, subs)
    if datum.kind == "input":
        return (symbol, ", an input")
    if datum.kind == "finite":
        values = e.Listing(tuple(e.number(v) for v in datum.values))
        return (symbol, " ∈ {", values, "}")
    if datum.labels is not None:
        return (e.Chain((symbol, naming.size(datum.labels.size)), ("in",)),)
    return (*_interval(symbol, datum.interval), *_default(datum.default))


def _parameter(parameter: m.Parameter, naming: Naming) -> Pieces:
    subs = tuple(e.Ident(x) for x in naming.index_letters([z.size for z in parameter.sets], ()))
    symbol = naming.name(parameter.name, subs)
    return (*_interval(symbol, parameter.interval), *_default(parameter.default))


def _default(value: Fraction | None) -> Pieces:
    if value is None:
        return ()
    shown = f"{float(value):g}"
    return (f", {shown} unless given" if Fraction(shown) == value else f", {value} unless given",)


def _interval(symbol: e.Expr, interval: m.Interval) -> Pieces:
    low, high = interval.lower, interval.upper
    if low is None and high is None:
        return (symbol, " real")
    if low is None or high is None:
        end, relation = (low, ">") if low is not None else (high, "<")
        is_open = interval.lower_open if low is not None else interval.upper_open
        assert end is not None
        return (e.Chain((symbol, e.number(end)), (relation if is_open else relation + "=",)),)
    relations = ("<" if interval.lower_open else "<=", "<" if interval.upper_open else "<=")
    return (e.Chain((e.number(low), symbol, e.number(high)), relations),)


# ------------------------------------------------------------------------ primal


def primal_section(model: m.Model, naming: Naming) -> Section:
    declared = tuple(naming.name(v.name) for v in model.variables)
    verb = "minimise" if model.sense == "minimize" else "maximise"
    over = ("over ", e.Listing(declared))
    lines = [Line(None, "", written(model.objective, model, naming), over, verb)]
    stated = [_constraint(c, model, naming) for c in model.constraints]
    stated += [sign for v in model.variables for sign in _signs(v, model, naming)]
    if stated:
        lines.append(Line(None, "", e.Words(""), (), "subject to"))
    blocks: list[Block] = [Display((*lines, *stated))]
    for abbreviation in model.abbreviations:
        head: e.Expr = naming.name(abbreviation.name)
        if abbreviation.formals:
            head = e.Apply(naming.name(abbreviation.name), tuple(e.Ident(x) for x in abbreviation.formals))
        blocks.append(Display((Line(head, "=", written(abbreviation.body, model, naming), (), "where"),)))
    for loss in model.losses:
        formals = tuple(naming.name(x) for x in loss.formals)
        head = e.Apply(naming.name(loss.name), formals, tuple(naming.name(x) for x in loss.parameters))
        blocks.append(Display((Line(head, "=", written(loss.body, model, naming), (), "loss"),)))
    return Section("primal", "The primal problem", tuple(blocks))


def _declared(variable: m.Variable, naming: Naming) -> e.Expr:
    return naming.name(variable.name, tuple(e.Ident(x) for x in variable.indices))


def _constraint(constraint: m.Constraint, model: m.Model, naming: Naming) -> Line:
    left, relation, right = written_comparison(constraint.comparison, model, naming)
    sets = tuple(z.size for z in constraint.sets)
    side = for_all(constraint.indices, sets, (), naming, ranges=True)
    conditions = tuple(e.Chain(_sides(c, model, naming), (c.relation,)) for c in constraint.where)
    if conditions:
        side = (*side, " with ", e.Listing(conditions))
    return Line(left, relation, right, side, f"  {constraint.label}")


def _signs(variable: m.Variable, model: m.Model, naming: Naming) -> list[Line]:
    sets = tuple(z.size for z in variable.sets)
    side = for_all(variable.indices, sets, (), naming, ranges=True)
    conditions = tuple(e.Chain(_sides(c, model, naming), (c.relation,)) for c in variable.where)
    if conditions:
        side = (*side, " with ", e.Listing(conditions))
    symbol = _declared(variable, naming)
    ends = ((variable.interval.lower, ">="), (variable.interval.upper, "<="))
    if variable.kernel is not None:
        return []
    return [Line(symbol, relation, e.number(end), side) for end, relation in ends if end is not None]


def reformulation_section(primal: Primal, naming: Naming) -> Section | None:
    """What was rewritten before multipliers came in, and the problem that it leaves."""
    blocks: list[Block] = []
    if primal.sense < 0:
        words = "To maximise is to minimise the negative: the value of the problem is minus the minimum."
        blocks.append(Paragraph((words,)))
    for n, reformulation in enumerate(primal.reformulations, 1):
        numbered = f"{n}. " if len(primal.reformulations) > 1 else ""
        blocks.append(Paragraph((numbered, *_reformulated(reformulation, primal, naming))))
    blocks += [Paragraph(_relaxed(c, naming)) for c in primal.conditions if c.tight]
    residuals = [u for u in primal.unknowns if u.origin == "residual"]
    if residuals:
        names = e.Listing(tuple(unknown_expr(u.symbol, naming) for u in residuals))
        blocks.append(
            Paragraph(("The argument of each loss becomes an unknown of its own, ", names, ", with an equation:"))
        )
    if not blocks:
        return None
    lines = [Line(None, "", formula(primal.objective, naming, "objective"), (), "minimise")]
    if primal.conditions:
        lines.append(Line(None, "", e.Words(""), (), "subject to"))
    lines += [_condition(c, naming) for c in primal.conditions]
    losses = {t.text: t for t in primal.losses if t.text != "abs"}
    meanings = [Display((loss_line(t, naming)._replace(label="where"),)) for t in losses.values()]
    return Section("reformulation", "The problem rewritten", (*blocks, Display(tuple(lines)), *meanings))


def _relaxed(condition: Condition, naming: Naming) -> Pieces:
    """A norm that is set equal to a constant: bounded instead."""
    left, relation, right = balanced(condition.body, "<=", naming)
    multiplier = e.Chain((ident(naming.multipliers[condition.label]), ZERO), (">",))
    equation, bound = e.Chain((left, right), ("=",)), e.Chain((left, right), (relation,))
    words = "; the bound is attained wherever its multiplier "
    return (equation, " is not convex and is relaxed to ", bound, words, multiplier, ".")


def _reformulated(reformulation: Reformulation, primal: Primal, naming: Naming) -> Pieces:
    """The reason in letters, for the two ways in which an unknown is replaced; an order of break points in words."""
    if reformulation.title == "order":
        return (f"{reformulation.reason[0].upper()}{reformulation.reason[1:]}.",)
    unknown = next(u for u in primal.unknowns if u.shown == reformulation.subject)
    old, new = naming.name(unknown.shown), naming.symbol(Sym(unknown.name, (), "var"))
    if unknown.origin == "shifted":
        square = e.Power(e.Norm(naming.name(unknown.centre)), 2)
        shift = e.Chain((old, e.total((1, new), (1, square))), ("=",))
        words = " only through their difference: with "
        return ("The conditions see ", old, " and ", square, words, shift, " they are linear.")
    return (old, " occurs only as its square, so the unknown is ", e.Chain((new, ZERO), (">=",)), ".")


def _condition(condition: Condition, naming: Naming) -> Line:
    where = (condition.indices, condition.sets, condition.support)
    label = "" if condition.kind == "sign" else f"  {condition.label}"
    relation = "=" if condition.equality else "<="
    return Line(formula(condition.body, naming), relation, ZERO, for_all(*where, naming, ranges=True), label)


# -------------------------------------------------------------------- Lagrangian


def lagrangian_section(lagrangian: Lagrangian, naming: Naming) -> Section:
    rows = []
    for condition, multiplier in zip(lagrangian.primal.conditions, lagrangian.multipliers, strict=True):
        rows.append(_key(condition, multiplier, naming))
    convention = Paragraph(
        (
            "Sign convention: minimise; every inequality as ",
            e.Chain((e.Ident("g"), ZERO), ("<=",)),
            " with a multiplier ≥ 0, every equation as ",
            e.Chain((e.Ident("g"), ZERO), ("=",)),
            " with a multiplier of either sign.",
        )
    )
    key = Table(("label", "multiplier", "condition", ""), tuple(rows))
    opening = (convention, key) if rows else (Paragraph(("Without conditions it is the objective.",)),)
    unknowns = tuple(unknown_expr(u._replace(indices=()).at(()), naming) for u in lagrangian.primal.unknowns)
    letters = tuple(naming.symbol(mult.at(())) for mult in lagrangian.multipliers)
    return Section(
        "lagrangian",
        "The Lagrangian",
        (*opening, Display((Line(_head(unknowns, letters), "=", lagrangian_formula(lagrangian, naming)),))),
    )


def _head(unknowns: tuple[e.Expr, ...], letters: tuple[e.Expr, ...]) -> e.Expr:
    return e.Apply(e.Ident("L"), unknowns, letters) if letters else e.Apply(e.Ident("L"), unknowns)


def _key(condition: Condition, multiplier: Multiplier, naming: Naming) -> tuple[Pieces, ...]:
    symbol = naming.symbol(multiplier.symbol)
    sign: Pieces = (e.Chain((symbol, ZERO), (">=",)),) if multiplier.signed else (symbol, " free")
    relation = "=" if condition.equality else "<="
    shown = e.Chain((formula(condition.body, naming), ZERO), (relation,))
    label = condition.label + (f"[{','.join(condition.indices)}]" if condition.indices else "")
    if condition.kind == "sign":
        label = condition.label
    side = for_all(condition.indices, condition.sets, condition.support, naming)
    return ((label,), sign, (shown,), side)


def lagrangian_formula(lagrangian: Lagrangian, naming: Naming) -> e.Expr:
    """The objective, then each multiplier times its condition, not multiplied out."""
    parts: list[tuple[int, e.Expr]] = [(1, formula(lagrangian.primal.objective, naming, "objective"))]
    for condition, multiplier in zip(lagrangian.primal.conditions, lagrangian.multipliers, strict=True):
        parts += priced(condition, multiplier, naming)
    return e.total(*parts)


def priced(condition: Condition, multiplier: Multiplier, naming: Naming) -> list[tuple[int, e.Expr]]:
    """sum of multiplier * body as signed terms."""
    body = formula(condition.body, naming)
    sign = 1
    if isinstance(body, e.Terms) and len(body.terms) == 1:
        ((sign, body),) = body.terms
    product = e.times(naming.symbol(multiplier.symbol), body)
    if condition.indices:
        binders = tuple(naming.binder(i, z) for i, z in zip(condition.indices, condition.sets, strict=True))
        where = tuple(bracket(b, naming) for b in place_support(condition.support, condition.indices))
        product = e.Total(binders, product, where)
    return [(sign, product)]
