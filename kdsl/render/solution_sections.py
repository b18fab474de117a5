"""The sections after the dual: what the multipliers say about the primal unknowns, the decision function, KKT."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from kdsl.algebra.derivation import Derivation
from kdsl.algebra.dual import FoldedNorm, MergedPair
from kdsl.algebra.kkt import KktCondition
from kdsl.algebra.poly import Poly, substitute
from kdsl.algebra.terms import Inner, Sym, Vec
from kdsl.algebra.translate import Point, Translator, Untranslatable, Value
from kdsl.language import model as m
from kdsl.language import syntax as s
from kdsl.render import expr as e
from kdsl.render.layout import Block, Display, Line, Paragraph, Section
from kdsl.render.naming import Naming, nodes_in
from kdsl.render.notation import formula
from kdsl.render.phrases import ZERO, for_all, listed, unknown_expr
from kdsl.render.problem_sections import priced
from kdsl.render.step_sections import stationarity_line
from kdsl.render.written import written

# ---------------------------------------------------------------------- recovery


def recovery_section(derivation: Derivation, naming: Naming) -> Section:
    """The primal unknowns and the multipliers that left the dual, from the variables of the dual."""
    primal, lagrangian = derivation.primal, derivation.lagrangian
    lines = [line for pair in derivation.folding.pairs for line in _pair_lines(pair, derivation, naming)]
    lines += [_norm_line(norm, derivation, naming) for norm in derivation.folding.norms]
    for expansion in derivation.expansions:
        unknown = primal.unknown(expansion.unknown.name)
        side = for_all(unknown.indices, unknown.sets, unknown.support, naming)
        lines.append(Line(unknown_expr(expansion.unknown, naming), "=", formula(expansion.value, naming), side))
    for gone in derivation.eliminated:
        multiplier = lagrangian.multiplier(gone.label)
        side = for_all(multiplier.indices, multiplier.sets, multiplier.support, naming)
        value = formula(gone.value, naming)
        if gone.positive_part:
            value = _positive(value)
        lines.append(Line(naming.symbol(multiplier.symbol), "=", value, side))
    blocks: list[Block] = [Display(tuple(lines))] if lines else []
    solved = {x.unknown.name for x in derivation.expansions}
    others = [u for u in primal.unknowns if u.origin != "residual" and u.name not in solved]
    if others:
        names = listed([(unknown_expr(u.symbol, naming),) for u in others], " and ")
        verb = "minimises" if len(others) == 1 else "minimise"
        blocks.append(Paragraph((*names, f" {verb} the primal itself, with the rest held fixed.")))
    return Section("recovery", "The unknowns from the multipliers", tuple(blocks))


def _positive(value: e.Expr) -> e.Expr:
    return e.Apply(e.Ident("max"), (value, ZERO))


def _pair_lines(pair: MergedPair, derivation: Derivation, naming: Naming) -> list[Line]:
    merged = derivation.dual.variable(pair.label)
    beta = naming.symbol(merged.symbol)
    side = for_all(merged.indices, merged.sets, merged.support, naming)
    plus, minus = (naming.symbol(derivation.exact.variable(x).at(merged.indices)) for x in (pair.plus, pair.minus))
    return [
        Line(plus, "=", _positive(beta), side),
        Line(minus, "=", _positive(e.total((-1, beta))), side),
    ]


def _norm_line(norm: FoldedNorm, derivation: Derivation, naming: Naming) -> Line:
    """label = sqrt(numerator / denominator), squares of numbers and of parameters taken out."""
    square = norm.numerator * norm.denominator.inverse()
    content = min((abs(c) for c in square.terms.values()), default=Fraction(1))
    outside = Fraction(isqrt(content.numerator), isqrt(content.denominator))
    front = Poly.number(outside) if outside * outside == content else Poly.number(1)
    shared = [
        (f, p)
        for f, p in next(iter(square.terms)).factors
        if isinstance(f, Sym) and f.role == "param" and p % 2 == 0 and all((f, p) in m.factors for m in square.terms)
    ]
    for factor, power in shared:
        front = front * Poly.of(factor, power // 2)
    root = e.SquareRoot(formula(square * (front * front).inverse(), naming, "dual"))
    symbol = naming.symbol(derivation.lagrangian.multiplier(norm.label).symbol)
    return Line(symbol, "=", e.times(formula(front, naming), root))


# ---------------------------------------------------------------- decision function


def prediction_section(derivation: Derivation, naming: Naming) -> Section | None:
    """What the spec predicts, with the Hilbert unknowns replaced by their expansions."""
    model = derivation.model
    lines = []
    for prediction in model.predictions:
        formals = tuple(naming.name(x) for x in prediction.formals)
        value = _Predictor(derivation, naming, prediction).expression(prediction.body)
        lines.append(Line(e.Apply(e.Ident(prediction.kind), formals), "=", value))
    return Section("prediction", "What is predicted", (Display(tuple(lines)),)) if lines else None


class _Predictor:
    """Reads a predict clause; what is a polynomial in it is expanded, the rest stays as written."""

    def __init__(self, derivation: Derivation, naming: Naming, prediction: m.Prediction) -> None:
        self.derivation, self.naming = derivation, naming
        self.translator = Translator(derivation.model)
        letters = {name for index in derivation.model.indices for name in index.names}
        self.scope: dict[str, Value] = {x: x if x in letters else Point(x, ()) for x in prediction.formals}

    def expression(self, node: s.Expr) -> e.Expr:
        if isinstance(node, s.Argmax):
            found = next(
                z
                for index in self.derivation.model.indices
                for name, z in zip(index.names, index.sets, strict=True)
                if name == node.letter.id
            )
            return e.Best(e.Binder(node.letter.id, found.size, found.labelled), self.expression(node.body))
        if isinstance(node, s.Call) and node.function.id == "sign":
            return e.Apply(e.Ident("sign"), tuple(map(self.expression, node.arguments)))
        if any(item.base.id in self.scope for item in nodes_in(node, s.Item)):  # t[j]: a feature of the point itself
            return written(node, self.derivation.model, self.naming)
        try:
            return formula(self._expanded(self.translator.scalar(node, self.scope)), self.naming, "prediction")
        except Untranslatable:
            return written(node, self.derivation.model, self.naming)

    def _expanded(self, poly: Poly) -> Poly:
        for unknown in self.derivation.primal.unknowns:
            if unknown.origin == "shifted" and isinstance(unknown.symbol, Sym):
                centre = self.derivation.primal.unknown(unknown.centre).symbol
                assert isinstance(centre, Vec)
                shift = Poly.of(unknown.symbol) + Poly.of(Inner(centre, centre))
                poly = substitute(poly, unknown.symbol._replace(name=unknown.shown), shift)
        for expansion in self.derivation.expansions:
            if isinstance(expansion.unknown, Vec):
                poly = substitute(poly, expansion.unknown, expansion.value)
        return poly


# --------------------------------------------------------------------------- KKT

_KINDS = (
    ("stationarity", "Stationarity"),
    ("primal", "Primal feasibility"),
    ("dual", "Dual feasibility"),
    ("complementarity", "Complementarity"),
)


def kkt_section(derivation: Derivation, naming: Naming) -> Section:
    blocks: list[Block] = []
    for kind, title in _KINDS:
        lines = tuple(_kkt_line(c, derivation, naming) for c in derivation.kkt if c.kind == kind)
        if lines:
            blocks += [Paragraph((f"{title}:",)), Display(lines)]
    return Section("kkt", "The Karush-Kuhn-Tucker conditions", tuple(blocks))


def _kkt_line(condition: KktCondition, derivation: Derivation, naming: Naming) -> Line:
    primal, lagrangian = derivation.primal, derivation.lagrangian
    side = for_all(condition.indices, condition.sets, condition.support, naming)
    if condition.kind == "stationarity":
        unknown = next(u for u in primal.unknowns if condition.name == f"stationarity in {u.shown}")
        return stationarity_line(condition, unknown_expr(unknown.symbol, naming), naming)
    label = condition.name.removeprefix("complementarity of ").removeprefix("multiplier of ")
    if condition.kind == "complementarity":
        own = primal.condition(label)
        ((_, product),) = priced(own._replace(indices=()), lagrangian.multiplier(label), naming)
        return Line(product, "=", ZERO, side, label)
    return Line(formula(condition.body, naming), condition.relation, ZERO, side, label)
