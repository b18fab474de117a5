"""Derivation -> Document: what a reader is told, in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kdsl.algebra.derivation import Derivation
from kdsl.render.dual_sections import dual_sections, kkt_section, recovery_section
from kdsl.render.layout import Document, Paragraph, Section, Table
from kdsl.render.naming import naming_of
from kdsl.render.problem_sections import (
    lagrangian_section,
    notation_section,
    primal_section,
    reformulation_section,
)
from kdsl.render.step_sections import stationarity_section, steps_section

if TYPE_CHECKING:
    from kdsl.algebra.evidence import Evidence


def document(derivation: Derivation, evidence: Evidence | None = None) -> Document:
    model, primal = derivation.model, derivation.primal
    naming = naming_of(derivation)
    sections = (
        notation_section(model, naming),
        primal_section(model, primal, naming),
        reformulation_section(primal, naming),
        lagrangian_section(derivation.lagrangian, naming),
        stationarity_section(derivation, naming),
        steps_section(derivation, naming),
        *dual_sections(derivation, naming),
        recovery_section(derivation, naming),
        kkt_section(derivation, naming),
        None if evidence is None else evidence_section(evidence),
    )
    title = model.title or model.name
    return Document(title[:1].upper() + title[1:], model.name, tuple(s for s in sections if s is not None))


def evidence_section(evidence: Evidence) -> Section:
    rows = tuple(
        ((check.name,), ("passed" if check.passed else "FAILED",), (f"{check.worst:.1e}",), (check.detail,))
        for check in evidence.checks
    )
    table = Table(("check", "", "worst", "what was compared"), rows)
    return Section("evidence", "Numerical evidence", (Paragraph(("On small random instances:",)), table))
