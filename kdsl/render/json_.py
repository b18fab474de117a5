"""A derivation as JSON: its objects term by term, and its pages with every formula as text and as LaTeX.

The schema is published in docs/schema/derivation-1.json; `schema` is its number.
"""

from __future__ import annotations

import json
from math import isfinite
from typing import TYPE_CHECKING, Any

from kdsl.algebra.derivation import Derivation
from kdsl.algebra.dual import Dual, Row
from kdsl.algebra.plq import Plq
from kdsl.algebra.poly import Poly, place_support
from kdsl.algebra.primal import Logistic, Primal
from kdsl.algebra.terms import At, Bracket, Index, Inner, Sym, Vec
from kdsl.render import expr as e
from kdsl.render import tex
from kdsl.render.document import document
from kdsl.render.factoring import Part, Term, opened
from kdsl.render.layout import Block, Display, Numbered, Paragraph, Pieces, Table
from kdsl.render.naming import Naming, naming_of
from kdsl.render.notation import formula
from kdsl.render.phrases import unknown_expr
from kdsl.render.plain import Plain, laid

if TYPE_CHECKING:
    from kdsl.algebra.evidence import Evidence

SCHEMA = 1
Json = dict[str, Any]


def render(derivation: Derivation, evidence: Evidence | None = None) -> str:
    """The derivation as a JSON text."""
    return json.dumps(as_json(derivation, evidence), ensure_ascii=False, indent=1) + "\n"


def as_json(derivation: Derivation, evidence: Evidence | None = None) -> Json:
    naming = naming_of(derivation)
    page = document(derivation, evidence)
    lagrangian = derivation.lagrangian
    return {
        "schema": SCHEMA,
        "model": derivation.model.name,
        "title": derivation.model.title,
        "primal": _primal(derivation.primal, naming),
        "lagrangian": {
            "convention": "minimise; g <= 0 with multiplier >= 0, g = 0 with a free multiplier",
            "multipliers": [
                {
                    "label": m.label,
                    "letter": m.letter,
                    "symbol": _shown(naming.symbol(m.symbol)),
                    **_family(m.indices, m.sets, m.support),
                    "sign": ">= 0" if m.signed else "free",
                    "condition": m.kind,
                }
                for m in lagrangian.multipliers
            ],
            "body": _poly(lagrangian.body, naming),
        },
        "exact": _dual(derivation.exact, naming),
        "dual": _dual(derivation.dual, naming),
        "expansions": [
            {
                "unknown": _shown(unknown_expr(x.unknown, naming)),
                "name": x.unknown.name,
                "value": _poly(x.value, naming),
            }
            for x in derivation.expansions
        ],
        "eliminated": [
            {"label": x.label, "value": _poly(x.value, naming), "positive_part": x.positive_part}
            for x in derivation.eliminated
        ],
        "tightness": [
            {
                "origin": x.origin,
                "row": _row(x.row, naming),
                "condition": None if x.condition is None else _poly(x.condition, naming),
            }
            for x in derivation.tightness
        ],
        "folding": {
            "pairs": [p._asdict() for p in derivation.folding.pairs],
            "norms": [
                {
                    "label": n.label,
                    "numerator": _poly(n.numerator, naming),
                    "denominator": _poly(n.denominator, naming),
                    "whole": n.whole,
                }
                for n in derivation.folding.norms
            ],
        },
        "kkt": [
            {
                "kind": c.kind,
                "name": c.name,
                "body": _poly(c.body, naming),
                "relation": c.relation,
                **_family(c.indices, c.sets, c.support),
                "loss": None if c.loss is None else c.loss.label,
                "weight": None if c.weight is None else _poly(c.weight, naming),
            }
            for c in derivation.kkt
        ],
        "evidence": None if evidence is None else _evidence(evidence),
        "sections": [
            {"key": s.key, "title": s.title, "blocks": [_block(block) for block in s.blocks]} for s in page.sections
        ],
    }


# ------------------------------------------------------------------------ primal


def _primal(primal: Primal, naming: Naming) -> Json:
    return {
        "sense": "minimize" if primal.sense > 0 else "maximize",
        "objective": _poly(primal.objective, naming, "objective"),
        "unknowns": [
            {
                "name": u.name,
                "shown": u.shown,
                "origin": u.origin,
                "space": u.space,
                **_family(u.indices, u.sets, u.support),
            }
            for u in primal.unknowns
        ],
        "conditions": [
            {
                "label": c.label,
                "kind": c.kind,
                "body": _poly(c.body, naming),
                "relation": "=" if c.equality else "<=",
                "tight": c.tight,
                **_family(c.indices, c.sets, c.support),
            }
            for c in primal.conditions
        ],
        "losses": [
            {
                "label": t.label,
                "text": t.text,
                "residual": t.residual,
                "orientation": t.orientation,
                "function": _plq(t.function, naming)
                if isinstance(t.function, Plq)
                else "logistic"
                if isinstance(t.function, Logistic)
                else "multinomial",
                **_family(t.indices, t.sets, t.support),
            }
            for t in primal.losses
        ],
        "reformulations": [{"title": r.title, "reason": r.reason, "subject": r.subject} for r in primal.reformulations],
    }


# -------------------------------------------------------------------------- dual


def _dual(dual: Dual, naming: Naming) -> Json:
    return {
        "sense": "maximize",
        "squared": dual.squared,
        "objective": _poly(dual.objective, naming, "dual"),
        "variables": [
            {
                "label": v.label,
                "letter": naming.multipliers[v.label],
                **_family(v.indices, v.sets, v.support),
                "lower": None if v.lower is None else _poly(v.lower, naming),
                "upper": None if v.upper is None else _poly(v.upper, naming),
            }
            for v in dual.variables
        ],
        "rows": [_row(row, naming) for row in dual.rows],
        "conjugates": [
            {
                "label": t.label,
                **_family(t.indices, t.sets, t.support),
                "function": _plq(t.function, naming),
            }
            for t in dual.conjugates
        ],
        "entropies": [
            {
                "kind": t.kind,
                "label": t.label,
                **_family(t.indices, t.sets, t.support),
                "weight": _poly(t.weight, naming),
                "over": t.size or None,
                "target": _index(t.target) or None,
            }
            for t in dual.entropies
        ],
        "roots": [
            {"coefficient": _poly(r.coefficient, naming), "radicand": _poly(r.radicand, naming)} for r in dual.roots
        ],
        "cones": [
            {
                "body": _poly(c.body, naming),
                "radius": _poly(c.radius, naming),
                "origin": c.origin,
                **_family(c.indices, c.sets, c.support),
            }
            for c in dual.cones
        ],
        "definitions": [
            {"symbol": _shown(naming.symbol(d.symbol)), "value": _poly(d.value, naming)} for d in dual.definitions
        ],
    }


def _row(row: Row, naming: Naming) -> Json:
    return {
        "body": _poly(row.body, naming),
        "relation": "=" if row.equality else "<=",
        "origin": row.origin,
        **_family(row.indices, row.sets, row.support),
    }


def _plq(function: Plq, naming: Naming) -> Json:
    """Pieces 1/2 curvature t^2 + slope t + value between the breaks; infinite outside [lower, upper]."""
    return {
        "breaks": [_poly(b, naming) for b in function.breaks],
        "pieces": [
            {name: _poly(value, naming) for name, value in zip(("curvature", "slope", "value"), piece, strict=True)}
            for piece in function.pieces
        ],
        "lower": None if function.lower is None else _poly(function.lower, naming),
        "upper": None if function.upper is None else _poly(function.upper, naming),
    }


def _evidence(evidence: Evidence) -> Json:
    return {
        "passed": evidence.passed,
        "verdict": evidence.verdict,
        "checks": [
            {
                "name": check.name,
                "detail": check.detail,
                "worst": check.worst if check.times and isfinite(check.worst) else None,
                "passed": check.passed,
                "verdict": check.verdict,
            }
            for check in evidence.checks
        ],
    }


# ------------------------------------------------------------------- polynomials


def _shown(node: e.Expr) -> Json:
    return {"text": laid(Plain().formula(node)), "latex": tex.formula(node)}


def _poly(poly: Poly, naming: Naming, style: str = "body") -> Json:
    return {**_shown(formula(poly, naming, style)), "terms": [_term(term) for term in opened(poly, naming)]}


def _term(term: Term) -> Json:
    return {
        "coefficient": str(term.coefficient),
        "sums": [{"index": letter, "set": size} for letter, size in term.binders],
        "factors": [{**_factor(part), "power": power} for part, power in term.factors],
    }


def _factor(part: Part) -> Json:
    if isinstance(part, Sym):
        return {"kind": "symbol", "role": part.role, "name": part.name, "indices": [_index(a) for a in part.args]}
    if isinstance(part, Inner):
        kind = "kernel" if part.left.feature and part.right.feature else "inner"
        return {"kind": kind, "space": part.left.space, "left": _vector(part.left), "right": _vector(part.right)}
    if isinstance(part, Bracket):
        return {"kind": "bracket", **_bracket(part)}
    assert isinstance(part, Vec)
    return {"kind": "vector", "space": part.space, **_vector(part)}


def _vector(vec: Vec) -> Json:
    return {"feature": vec.feature, "name": vec.name, "indices": [_index(a) for a in vec.args]}


def _bracket(found: Bracket) -> Json:
    return {"left": _spelled(found.left), "relation": found.relation, "right": _spelled(found.right)}


def _index(term: Index) -> str:
    """As in a spec: i, or y[i]."""
    return f"{term.name}[{','.join(map(_index, term.args))}]" if isinstance(term, At) else str(term)


def _spelled(side: Index | Sym) -> str:
    return f"{side.name}[{','.join(map(_index, side.args))}]" if isinstance(side, Sym) else _index(side)


def _family(indices: tuple[str, ...], sets: tuple[str, ...], support: tuple[Bracket, ...]) -> Json:
    return {
        "indices": list(indices),
        "sets": list(sets),
        "where": [_bracket(b) for b in place_support(support, indices)],
    }


# ------------------------------------------------------------------------- pages


def _block(block: Block) -> Json:
    if isinstance(block, Paragraph):
        return {"kind": "paragraph", "pieces": _pieces(block.pieces)}
    if isinstance(block, Display):
        return {
            "kind": "equations",
            "lines": [
                {
                    "label": line.label.strip(),
                    "left": None if line.left is None else _shown(line.left),
                    "relation": line.relation,
                    "right": _shown(line.right),
                    "side": _pieces(line.side),
                }
                for line in block.lines
            ],
        }
    if isinstance(block, Table):
        rows = [[_pieces(cell) for cell in row] for row in block.rows]
        return {"kind": "table", "header": list(block.header), "rows": rows}
    assert isinstance(block, Numbered)
    return {
        "kind": "step",
        "number": block.number,
        "word": block.kind,
        "title": _pieces(block.title),
        "blocks": [_block(inner) for inner in block.blocks],
    }


def _pieces(pieces: Pieces) -> list[str | Json]:
    return [p if isinstance(p, str) else _shown(p) for p in pieces]
