"""The sections that state the dual: before folding, and as the books print it."""

from __future__ import annotations

from kdsl.algebra.derivation import Derivation
from kdsl.algebra.dual import ConjugateTerm, Dual, EntropyTerm, Tightness
from kdsl.algebra.poly import Poly
from kdsl.render import expr as e
from kdsl.render.functions import function_line
from kdsl.render.layout import Block, Display, Line, Paragraph, Pieces, Section
from kdsl.render.naming import Naming
from kdsl.render.notation import formula, signed_terms
from kdsl.render.phrases import ZERO, balanced, bound_line, for_all, listed, row_line, unknown_expr

# -------------------------------------------------------------------------- dual


def dual_sections(derivation: Derivation, naming: Naming) -> list[Section]:
    sections = []
    if derivation.exact != derivation.dual:
        sections.append(Section("exact", "The dual before folding", tuple(_problem(derivation.exact, naming))))
    blocks = _problem(derivation.dual, naming)
    blocks += [_value_note(derivation)] if derivation.dual.squared or derivation.primal.sense < 0 else []
    blocks += [_tightness(tight, derivation, naming) for tight in derivation.tightness]
    sections.append(Section("dual", "The dual problem", tuple(blocks)))
    return sections


def _problem(dual: Dual, naming: Naming) -> list[Block]:
    families = e.Listing(tuple(naming.symbol(v.at(())) for v in dual.variables))
    over: Pieces = ("over ", families) if dual.variables else ()
    lines = [Line(None, "", dual_objective(dual, naming), over, "maximise")]
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
    for head, argument, term in _conjugates(dual, naming):
        definitions.append(function_line(head, argument, term.function, naming)._replace(label="where"))
    for entropy in dual.entropies:
        if entropy.kind == "simplex":
            definitions.append(_share(entropy, dual, naming))
    if definitions:
        blocks.append(Display(tuple(definitions)))
    return blocks


def _conjugates(dual: Dual, naming: Naming) -> list[tuple[e.Expr, e.Expr, ConjugateTerm]]:
    """h(theta), theta and the term; with numbers where there are several."""
    found: list[tuple[e.Expr, e.Expr, ConjugateTerm]] = []
    for number, term in enumerate(dual.conjugates, 1):
        argument = naming.symbol(dual.variable(term.label).at(term.indices))
        tag = str(number) if len(dual.conjugates) > 1 else ""
        found.append((e.Apply(e.Ident("h", (), "", tag), (argument,)), argument, term))
    return found


def _squared(radius: e.Expr) -> e.Expr:
    return e.Numeral(radius.value**2) if isinstance(radius, e.Numeral) else e.Power(radius, 2)


def dual_objective(dual: Dual, naming: Naming) -> e.Expr:
    parts: list[tuple[int, e.Expr]] = list(signed_terms(dual.objective, naming, "dual"))
    for head, _, term in _conjugates(dual, naming):
        parts.append((-1, _summed(head, term.indices, term.sets, naming)))
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
        share = _share_symbol(entropy, naming)
        whole = share if e.is_number(weight, 1) else e.Quotient(share, weight)
        body = e.times(share, _log(whole))
        indices, sets = (*entropy.indices, entropy.letter), (*entropy.sets, entropy.size)
        return _summed(body, indices, sets, naming)
    theta = naming.symbol(dual.variable(entropy.label).at(entropy.indices))
    rest = e.total((1, weight), (-1, theta))
    parts = [(1, e.times(theta, _log(theta))), (1, e.times(rest, _log(rest)))]
    if not e.is_number(weight, 1):
        parts.append((-1, e.times(weight, _log(weight))))
    return _summed(e.total(*parts), entropy.indices, entropy.sets, naming)


def _log(argument: e.Expr) -> e.Expr:
    return e.Apply(e.Ident("log"), (argument,))


def _share_symbol(entropy: EntropyTerm, naming: Naming) -> e.Expr:
    return e.Ident(naming.free("p", "q", "u", "P"), tuple(e.Ident(x) for x in (*entropy.indices, entropy.letter)))


def _share(entropy: EntropyTerm, dual: Dual, naming: Naming) -> Line:
    variable = dual.variable(entropy.label)
    assert variable.upper is not None
    value = formula(variable.upper - Poly.of(variable.symbol), naming)
    return Line(_share_symbol(entropy, naming), "=", value, (), "where")


def _value_note(derivation: Derivation) -> Paragraph:
    pieces = []
    if derivation.dual.squared:
        pieces.append("The value of the dual is minus the square root of minus this maximum, at the same multipliers.")
    if derivation.primal.sense < 0:
        pieces.append("The value of the problem, which is maximised, is minus the value of the dual.")
    return Paragraph((" ".join(pieces),))


def _tightness(tight: Tightness, derivation: Derivation, naming: Naming) -> Paragraph:
    left, relation, right = balanced(tight.row.body, "=", naming)
    equation = e.Chain((left, right), (relation,))
    origin = unknown_expr(derivation.primal.unknown(tight.origin).symbol, naming)
    if tight.condition is None:
        reason = " ≥ 0 alone asks only for ≤; equality holds because the dual does not fall as its multipliers grow."
        return Paragraph(("On ", equation, ": ", origin, reason))
    condition = balanced(tight.condition, ">=", naming)
    holds = e.Chain((condition[0], condition[2]), (condition[1],))
    labels = {name for role, name in tight.row.body.symbols() if role == "mult"}
    bounds = [
        (e.Chain((naming.symbol(v.symbol), formula(v.upper, naming)), ("=",)),)
        for v in derivation.dual.variables
        if v.label in labels and v.upper is not None
    ]
    zero = e.Chain((origin, ZERO), ("=",))
    return Paragraph(
        ("On ", equation, ": it holds when ", holds, "; otherwise ", zero, " and ", *listed(list(bounds), " and "), ".")
    )
