"""Derivation -> Document: what a reader is told, in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdsl.algebra.derivation import Derivation
from kdsl.render.dual_sections import dual_sections
from kdsl.render.expr import Binder
from kdsl.render.layout import Document, Pieces, Section, Table
from kdsl.render.naming import naming_of, nodes_in
from kdsl.render.problem_sections import (
    lagrangian_section,
    notation_section,
    primal_section,
    reformulation_section,
)
from kdsl.render.solution_sections import kkt_section, prediction_section, recovery_section
from kdsl.render.step_sections import stationarity_section, steps_section

if TYPE_CHECKING:
    from kdsl.algebra.evidence import Check, Evidence


def document(derivation: Derivation, evidence: Evidence | None = None) -> Document:
    model, primal = derivation.model, derivation.primal
    naming = naming_of(derivation)
    sections = (
        primal_section(model, naming),
        reformulation_section(primal, naming),
        lagrangian_section(derivation.lagrangian, naming),
        stationarity_section(derivation, naming),
        steps_section(derivation, naming),
        *dual_sections(derivation, naming),
        recovery_section(derivation, naming),
        prediction_section(derivation, naming),
        kkt_section(derivation, naming),
        None if evidence is None else evidence_section(evidence),
    )
    body = tuple(s for s in sections if s is not None)
    letters: dict[str, tuple[str, ...]] = {}
    for binder in nodes_in(body, Binder):
        if binder.letter not in letters.get(binder.size, ()):
            letters[binder.size] = (*letters.get(binder.size, ()), binder.letter)
    notation = notation_section(model, naming, {size: tuple(sorted(found)) for size, found in letters.items()})
    title = model.title[:1].upper() + model.title[1:] if model.title else model.name
    return Document(title, model.name, (notation, *body))


def evidence_section(evidence: Evidence) -> Section:
    """How often each property was tried on random small instances, and how far it was missed at worst."""
    rows = tuple(_checked(check) for check in evidence.checks)
    table = Table(("on random small instances", "times", "worst relative error", ""), rows)
    return Section("evidence", "Numerical evidence", (table,))


def _checked(check: Check) -> tuple[Pieces, ...]:
    verdict = {"passed": "passed", "refuted": "FAILED", "untested": "not made"}[check.verdict]
    worst = f"{check.worst:.1e}" if check.times else ""
    return ((check.name,), (str(check.times),), (worst,), (verdict + (f": {check.note}" if check.note else ""),))
