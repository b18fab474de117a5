"""What is said of unknowns and of multipliers that left makes every stationarity condition vanish, as algebra."""

from __future__ import annotations

from pathlib import Path

import pytest

from kdsl.algebra.derivation import Derivation, derive
from kdsl.algebra.poly import Monomial, Poly, substitute
from kdsl.algebra.terms import Sym, Vec
from kdsl.pipeline import parse_spec

ROOT = Path(__file__).resolve().parents[2]
PATHS = sorted([*(ROOT / "specs").glob("*.kspec"), *(Path(__file__).parent / "models").glob("**/*.kspec")])


def derived(path: Path) -> Derivation:
    return derive(parse_spec(path.read_text(encoding="utf-8"), path.stem))


def closed(derivation: Derivation, body: Poly) -> Poly:
    """body with every unknown and every eliminated multiplier replaced, rows of a fixed sum and new letters used."""
    for expansion in derivation.expansions:  # each in terms of those that come after it
        body = substitute(body, expansion.unknown, expansion.value)
    for gone in derivation.eliminated:
        family = derivation.lagrangian.multiplier(gone.label)
        body = substitute(body, family.symbol, gone.value)
    return body


def cleared(body: Poly) -> Poly:
    """body times its composite divisors, and these written out."""
    for symbol in {f for f in body.factors() if isinstance(f, Sym) and f.whole is not None}:
        least = min(dict(m.factors).get(symbol, 0) for m in body.terms)
        total = Poly()
        for (binders, factors), coefficient in body.terms.items():
            rest = Poly({Monomial(binders, tuple((f, p) for f, p in factors if f != symbol)): coefficient})
            total = total + rest * symbol.whole ** (dict(factors).get(symbol, 0) - least)
        body = total
    return body


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_stationarity_vanishes(path: Path) -> None:
    derivation = derived(path)
    if derivation.exact.definitions or any(gone.positive_part for gone in derivation.eliminated):
        pytest.skip("no case of this test: new letters and positive parts are compared with numbers in test_models")
    rows = [row.body for row in (*derivation.exact.rows, *(t.row for t in derivation.tightness))]
    checked = 0
    for condition in derivation.kkt:
        if condition.kind != "stationarity" or condition.loss is not None or condition.weight is not None:
            continue
        solved = {e.unknown for e in derivation.expansions}
        unknown = condition.name.removeprefix("stationarity in ")
        if not any(isinstance(u, (Sym, Vec)) and u.name == unknown for u in solved):
            continue
        left = cleared(closed(derivation, condition.body))
        for tight in derivation.tightness:  # (1 - sum alpha) c, with c as expanded
            vector = next(e.value for e in derivation.expansions if isinstance(e.unknown, Vec))
            assert left == (tight.row.body * vector).scale(-2) or left == (tight.row.body * vector).scale(2)
            left = Poly()
        assert not left, (unknown, left, rows)
        checked += 1
    assert checked or not derivation.expansions
