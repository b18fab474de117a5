"""What a report is about: a problem with its data, and what became of it, solved, loaded or without a solution."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kdsl.algebra.derivation import Derivation
from kdsl.algebra.numeric import Array, support_mask
from kdsl.binding.bound import Bound
from kdsl.binding.psd import PsdReport
from kdsl.language.diagnostics import Diagnostic
from kdsl.models.predictor import Predictor
from kdsl.models.solution import Solution, Support
from kdsl.models.verification import Verification
from kdsl.plot.convergence import Record
from kdsl.plot.fits import Fit, Mask, Solved
from kdsl.solving.bounds import Bound as Theorem
from kdsl.solving.certificate import Certificate
from kdsl.solving.infeasibility import NoSolution
from kdsl.solving.posed import Posed


@dataclass(frozen=True, eq=False)
class Account:
    """`certificate` and `solved` are None where there is no solution; then `errors` and `witness` say why.

    convex: whether every Gram matrix solved with is positive semidefinite beyond doubt, so that dual values are bounds.
    members: of each condition and unknown with a filter, which of its places it has.
    bounds: the theorems that were asked for, None where none were. verified: what came out when a saved model was
    computed again. record: how the gap fell, where the solve was watched.
    """

    derivation: Derivation
    bound: Bound
    kernels: Mapping[str, str]
    parameters: Mapping[str, float]
    status: str
    message: str
    backend: str
    reason: str
    certificate: Certificate | None = None
    grams: Mapping[str, PsdReport] = field(default_factory=dict)
    convex: bool = True
    support: Support | None = None
    scalars: Mapping[str, float] = field(default_factory=dict)
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    quantities: Mapping[str, float] = field(default_factory=dict)
    multipliers: Mapping[str, Array] = field(default_factory=dict)
    slacks: Mapping[str, Array] = field(default_factory=dict)
    members: Mapping[str, Mask] = field(default_factory=dict)
    iterations: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)
    asked: Mapping[str, float | None] = field(default_factory=dict)
    warnings: tuple[Diagnostic, ...] = ()
    errors: tuple[Diagnostic, ...] = ()
    witness: Mapping[str, float] = field(default_factory=dict)
    bounds: tuple[Theorem, ...] | None = None
    solved: Solved | None = None
    record: Record | None = None
    verified: Verification | None = None


def account_of(solution: Solution) -> Account:
    """A solution with everything that it says of itself."""
    return Account(
        solution.derivation,
        solution.bound,
        {name: kernel.description for name, kernel in solution.predictor.kernels.items()},
        solution.parameters,
        solution.status,
        solution.message,
        solution.backend,
        solution.reason,
        solution.certificate,
        solution.grams,
        _is_convex(solution.grams, solution.predictor),
        solution.support,
        solution.scalars,
        solution.intervals,
        solution.quantities,
        solution.multipliers,
        solution.slacks,
        _members(Fit(solution.derivation, solution.bound, solution.fitted, {}, solution.scalars, {})),
        solution.iterations,
        solution.seconds,
        solution.asked,
        solution.warnings,
        solved=solution,
    )


def account_of_none(posed: Posed, none: NoSolution) -> Account:
    """A problem that has no solution, with the witness."""
    diagnostic = none.diagnostics[0]
    return Account(
        posed.derivation,
        posed.bound,
        {name: kernel.description for name, kernel in posed.kernels.items()},
        posed.parameters,
        none.status,
        diagnostic.message,
        "",
        "",
        warnings=posed.bound.warnings,
        errors=none.diagnostics,
        witness=none.witness,
    )


def account_of_model(found: Verification, fit: Fit) -> Account:
    """A saved model with the data that it was fitted on, as the file has it and as it came out again."""
    loaded, header = found.loaded, found.loaded.header
    grams = {name: _audit(record) for name, record in header["grams"].items()}
    return Account(
        fit.derivation,
        fit.bound,
        {name: kernel.description for name, kernel in loaded.fitted.predictor.kernels.items()},
        loaded.fitted.predictor.parameters,
        loaded.status,
        str(header["message"]),
        str(header["backend"]),
        str(header["reason"]),
        loaded.certificate,
        grams,
        _is_convex(grams, loaded.fitted.predictor),
        Support(**header["support"]),
        loaded.scalars,
        {name: (float(low), float(high)) for name, (low, high) in header["intervals"].items()},
        {name: float(value) for name, value in header["quantities"].items()},
        loaded.multipliers,
        members=_members(fit),
        iterations=int(header["iterations"]),
        asked={name: None if value is None else float(value) for name, value in header["asked"].items()},
        warnings=fit.bound.warnings,
        errors=found.findings,
        solved=fit,
        verified=found,
    )


def _is_convex(grams: Mapping[str, PsdReport], predictor: Predictor) -> bool:
    """Whether no matrix is solved with that may have a negative eigenvalue; a clipped or shifted one has none."""
    return all(report.verdict == "psd" or name in predictor.repairs for name, report in grams.items())


def _members(fit: Fit) -> dict[str, Mask]:
    """Where each filtered family of the primal lives."""
    primal = fit.derivation.primal
    families = [(c.label, c) for c in primal.conditions] + [(u.name, u) for u in primal.unknowns if u.space is None]
    return {
        name: support_mask(family.support, family.indices, family.sets, fit.values())
        for name, family in families
        if family.support
    }


def _audit(record: Mapping[str, Any]) -> PsdReport:
    """An audit as a file has it, infinities written as words."""
    bounds = {name: float(record[name]) for name in ("at_least", "at_most", "rounding")}
    return PsdReport(int(record["size"]), bool(record["exact"]), **bounds, by_formula=bool(record["by_formula"]))
