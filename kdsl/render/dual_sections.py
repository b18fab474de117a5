"""The sections after the derivation: the dual in both forms, what recovers the primal unknowns, the KKT system."""

from __future__ import annotations

from fractions import Fraction

from kdsl.algebra.derivation import Derivation
from kdsl.algebra.dual import Dual, EntropyTerm, Tightness
from kdsl.algebra.poly import Poly
from kdsl.render import expr as e
from kdsl.render.layout import Block, Display, Line, Paragraph, Pieces, Section
from kdsl.render.naming import Naming
from kdsl.render.notation import formula, signed_terms
from kdsl.render.phrases import ZERO, bound_line, for_all, row_line, unknown_expr
from kdsl.render.problem_sections import priced
from kdsl.render.step_sections import function_lines, stationarity_line

# -------------------------------------------------------------------------- dual


def dual_sections(derivation: Derivation, naming: Naming) -> list[Section]:
    sections = []
    if derivation.exact != derivation.dual:
        sections.append(
            Section("exact", "The dual before folding", tuple(_problem(derivation.exact, derivation, naming)))
        )
    blocks = _problem(derivation.dual, derivation, naming)
    blocks += [_value_note(derivation)] if derivation.dual.squared or derivation.primal.sense < 0 else []
    blocks += [block for tight in derivation.tightness for block in _tightness(tight, derivation, naming)]
    sections.append(Section("dual", "The dual problem", tuple(blocks)))
    return sections


def _problem(dual: Dual, derivation: Derivation, naming: Naming) -> list[Block]:
    families = e.Listing(tuple(naming.symbol(v.at(())) for v in dual.variables))
    lines = [Line(None, "", dual_objective(dual, naming), ("over ", families), "maximise")]
    rows = [row_line(row, naming) for row in dual.rows]
    for cone in dual.cones:
        radius = formula(cone.radius, naming)
        side = for_all(cone.indices, cone.sets, cone.support, naming, ranges=True)
        rows.append(Line(formula(cone.body, naming), "<=", _squared(radius), side))
    bounds = [line for v in dual.variables for line in [bound_line(v, naming)] if line is not None]
    constraints = [*rows, *bounds]
    if constraints:
        constraints[0] = constraints[0]._replace(label="subject to")
    blocks: list[Block] = [Display((*lines, *constraints))]
    definitions = [Line(naming.symbol(d.symbol), "=", formula(d.value, naming), (), "where") for d in dual.definitions]
    for number, term in enumerate(dual.conjugates, 1):
        name = "h" if len(dual.conjugates) == 1 else f"h{number}"
        argument = naming.symbol(dual.variable(term.label).at(term.indices))
        definitions += [line._replace(label="where") for line in function_lines(name, argument, term.function, naming)]
    for entropy in dual.entropies:
        if entropy.kind == "simplex":
            definitions.append(_share(entropy, dual, naming))
    if definitions:
        blocks.append(Display(tuple(definitions)))
    return blocks


def _squared(radius: e.Expr) -> e.Expr:
    return e.Power(radius, 2)


def dual_objective(dual: Dual, naming: Naming) -> e.Expr:
    parts: list[tuple[int, e.Expr]] = list(signed_terms(dual.objective, naming, "dual"))
    for number, term in enumerate(dual.conjugates, 1):
        name = "h" if len(dual.conjugates) == 1 else f"h{number}"
        argument = naming.symbol(dual.variable(term.label).at(term.indices))
        value = e.Apply(e.Ident("h", (), "", name[1:]), (argument,))
        parts.append((-1, _summed(value, term.indices, term.sets, naming)))
    for entropy in dual.entropies:
        parts.append((-1, _entropy(entropy, dual, naming)))
    for root in dual.roots:
        parts.append((-1, e.times(formula(root.coefficient, naming), e.SquareRoot(formula(root.radicand, naming)))))
    return e.total(*parts)


def _summed(body: e.Expr, indices: tuple[str, ...], sets: tuple[str, ...], naming: Naming) -> e.Expr:
    binders = tuple(naming.binder(i, z) for i, z in zip(indices, sets, strict=True))
    return e.Total(binders, body) if binders else body


def _entropy(entropy: EntropyTerm, dual: Dual, naming: Naming) -> e.Expr:
    weight = formula(entropy.weight, naming)
    if entropy.kind == "simplex":
        share = _share_symbol(entropy)
        whole = share if weight == e.Numeral(Fraction(1)) else e.Quotient(share, weight)
        body = e.times(share, _log(whole))
        indices, sets = (*entropy.indices, entropy.letter), (*entropy.sets, entropy.size)
        return _summed(body, indices, sets, naming)
    theta = naming.symbol(dual.variable(entropy.label).at(entropy.indices))
    rest = e.total((1, weight), (-1, theta))
    parts = [(1, e.times(theta, _log(theta))), (1, e.times(rest, _log(rest)))]
    if weight != e.Numeral(Fraction(1)):
        parts.append((-1, e.times(weight, _log(weight))))
    return _summed(e.total(*parts), entropy.indices, entropy.sets, naming)


def _log(argument: e.Expr) -> e.Expr:
    return e.Apply(e.Ident("log"), (argument,))


def _share_symbol(entropy: EntropyTerm) -> e.Expr:
    return e.Ident("p", tuple(e.Ident(x) for x in (*entropy.indices, entropy.letter)))


def _share(entropy: EntropyTerm, dual: Dual, naming: Naming) -> Line:
    variable = dual.variable(entropy.label)
    assert variable.upper is not None
    value = formula(variable.upper - Poly.of(variable.symbol), naming)
    return Line(_share_symbol(entropy), "=", value, (), "where")


def _value_note(derivation: Derivation) -> Paragraph:
    pieces = []
    if derivation.dual.squared:
        pieces.append("The value of the dual is minus the square root of minus this maximum, at the same multipliers.")
    if derivation.primal.sense < 0:
        pieces.append("The value of the problem, which is maximised, is minus the value of the dual.")
    return Paragraph((" ".join(pieces),))


def _tightness(tight: Tightness, derivation: Derivation, naming: Naming) -> list[Block]:
    line = row_line(tight.row, naming)
    relation = e.Chain((line.left or ZERO, line.right), ("=",))
    unknown = derivation.primal.unknown(tight.origin)
    origin = unknown_expr(unknown.symbol, naming)
    if tight.condition is None:
        return [
            Paragraph(
                (
                    relation,
                    " although ",
                    origin,
                    " ≥ 0 asks for ≤ only: the dual does not fall as its multipliers grow.",
                )
            )
        ]
    holds = e.Chain((formula(tight.condition, naming), ZERO), (">=",))
    return [
        Paragraph(
            (
                relation,
                " when ",
                holds,
                "; otherwise every multiplier in it is at its upper bound and ",
                e.Chain((origin, ZERO), ("=",)),
                ".",
            )
        )
    ]


# ---------------------------------------------------------------------- recovery


def recovery_section(derivation: Derivation, naming: Naming) -> Section | None:
    lines = []
    for expansion in derivation.expansions:
        unknown = next((u for u in derivation.primal.unknowns if u.name == expansion.unknown.name), None)
        side: Pieces = () if unknown is None else for_all(unknown.indices, unknown.sets, unknown.support, naming)
        lines.append(Line(unknown_expr(expansion.unknown, naming), "=", formula(expansion.value, naming), side))
    if not lines:
        return None
    return Section("recovery", "The unknowns in terms of the multipliers", (Display(tuple(lines)),))


# --------------------------------------------------------------------------- KKT


def kkt_section(derivation: Derivation, naming: Naming) -> Section:
    lagrangian = derivation.lagrangian
    conditions = {c.label: c for c in lagrangian.primal.conditions}
    lines = []
    unknowns = {f"stationarity in {u.shown}": u for u in lagrangian.primal.unknowns}
    previous = ""
    for condition in derivation.kkt:
        side = for_all(condition.indices, condition.sets, condition.support, naming)
        label = {"primal": "primal feasibility", "dual": "dual feasibility"}.get(condition.kind, condition.kind)
        if condition.kind == "stationarity":
            line = stationarity_line(condition, unknown_expr(unknowns[condition.name].symbol, naming), naming)
        elif condition.kind == "complementarity":
            own = conditions[condition.name.removeprefix("complementarity of ")]
            ((_, product),) = priced(own._replace(indices=()), lagrangian.multiplier(own.label), naming)
            line = Line(product, "=", ZERO, side)
        else:
            line = Line(formula(condition.body, naming), condition.relation, ZERO, side)
        lines.append(line._replace(label="" if label == previous else label))
        previous = label
    return Section("kkt", "The Karush-Kuhn-Tucker conditions", (Display(tuple(lines)),))
