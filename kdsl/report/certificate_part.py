"""What a report says of the certificate: what was proven, in words, then every figure and every residual."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kdsl.report.parts import Html, code, figure, joined, listed, paragraph, prose, section, small, tabulated, together

if TYPE_CHECKING:
    from kdsl.report.account import Account
    from kdsl.solving.certificate import Certificate, Residual

EXACT = 1e-12  # residuals below this are rounding

RAY = {
    "energy": "the squared norm of what the weights add up to is",
    "scale": "where the parts alone have",
    "residual": "and the conditions on the weights hold up to",
}
STATUSES = {
    "optimal": "Optimal.",
    "optimal_inaccurate": "Less is proven than was asked for: how much, the gap says.",
    "user_limit": "Stopped at a limit, before the answer was proven to the accuracy asked for.",
    "solver_error": "Not solved: the answer is not proven to be near the best one.",
    "infeasible": "Infeasible: no point satisfies the constraints on these data.",
    "unbounded": "Unbounded: the objective has no best value on these data.",
    "infeasible_or_unbounded": "Infeasible or unbounded: there is no best value on these data.",
}


def verdict(account: Account) -> Html:
    """The outcome in one or two sentences."""
    words = STATUSES.get(account.status, account.status)
    certificate = account.certificate
    if certificate is None:
        return together(words)
    outside = certificate.primal_residual > EXACT
    proven = together(
        " The value is ",
        figure(certificate.value),
        together(", at a point whose constraints hold up to ", small(certificate.primal_residual)) if outside else "",
        ", and it is proven that no point does better by more than ",
        small(certificate.gap),
        ".",
    )
    again = account.verified
    lost = " Computed again, not every figure holds." if again is not None and not again.holds else ""
    told = f" Reported: {account.message}." if account.status != "optimal" and account.message else ""
    return together(words, proven if account.convex and math.isfinite(certificate.gap) else "", told, lost)


def certificate_section(account: Account) -> Html:
    certificate = account.certificate
    if certificate is None:
        return section("certificate", "Why there is no solution", *_refusal(account))
    names, worst = _figures(certificate), [_residual(r) for r in certificate.residuals]
    blocks: list[str] = [paragraph(part) for part in _proof(account, certificate)]
    blocks.append(tabulated("The figures", ("figure", "value", "what it is"), names, frozenset({1})))
    caption = "The conditions of Karush, Kuhn and Tucker, each at its worst member"
    blocks.append(tabulated(caption, ("condition", "off by", "at"), worst, frozenset({1})))
    return section("certificate", "The certificate", *blocks, *_again(account))


def _proof(account: Account, certificate: Certificate) -> list[Html]:
    """What the two values say about the answer."""
    maximise = account.derivation.model.sense == "maximize"
    beyond, best = ("above", "largest") if maximise else ("below", "smallest")
    if not account.convex:
        audits = [f"{name}: {report.describe()}" for name, report in account.grams.items()]
        return [
            together(
                "The kernel matrix is not known to be positive semidefinite, so the dual need not be concave and no "
                "gap proves anything: what is shown is a point that meets the conditions below. ",
                "; ".join(audits),
                ".",
            )
        ]
    exact = certificate.primal_residual <= EXACT
    nearly = "" if exact else together(", and its constraints hold up to ", small(certificate.primal_residual))
    proof = [
        together(
            "Multipliers that satisfy the constraints of the dual bound the value: those found prove that no feasible "
            f"point has a value {beyond} ",
            figure(certificate.dual),
            ". The point found has the value ",
            figure(certificate.value),
            nearly,
            ". So this value is at most " if exact else ". The two are ",
            small(certificate.gap),
            f" from the {best} there is: a relative gap of " if exact else " apart: a relative gap of ",
            small(certificate.rel_gap),
            *_allowed(account),
            ".",
        ),
        together(
            "Both numbers are computed in float64 from the problem as written, outside the solver ",
            code(account.backend),
            ", whose own figures are not used.",
        ),
    ]
    if not exact:
        told = "Where no slack can make good for it, floating-point numbers reach no exactly feasible point."
        proof.append(together(told))
    audits = [f"{name}: {report.describe()}" for name, report in account.grams.items()]
    if audits:
        proof.append(together("The kernel matrices were audited. ", "; ".join(audits), "."))
    return proof


def _allowed(account: Account) -> list[str]:
    tol, kkt_tol = account.asked.get("tol"), account.asked.get("kkt_tol")
    if kkt_tol is not None:
        return ["; the solver was asked for ", Html("<i>m</i> − <i>M</i> ≤ "), small(kkt_tol)]
    return [" (", small(tol), " was asked for)"] if tol is not None else []


def _figures(certificate: Certificate) -> list[tuple[str, str, str]]:
    rows: list[tuple[str, str, str]] = [
        ("value", figure(certificate.value), "the objective at the point found, its slacks and scalars the best ones"),
        ("dual", figure(certificate.dual), "the bound that the multipliers prove"),
        ("gap", small(certificate.gap), "how far the two are apart"),
        (
            "relative gap",
            small(certificate.rel_gap),
            "over their size, which counts as 1 at least; decides the status",
        ),
        (
            "gap by (7.3)",
            small(certificate.sv_gap),
            "over 1 plus the size of the value, as (7.3) of SV; for comparison",
        ),
    ]
    if certificate.kkt_gap is not None:
        means = "the steepest way up that is left to the multipliers; LIBSVM stops on it"
        rows.append((Html("<i>m</i> − <i>M</i>"), small(certificate.kkt_gap), means))
    rows.append(("primal residual", small(certificate.primal_residual), "by how much a constraint fails at worst"))
    means = "by how much a condition on the multipliers fails at worst"
    rows.append(("dual residual", small(certificate.dual_residual), means))
    return rows


def _residual(residual: Residual) -> tuple[str, str, str]:
    place = ", ".join(str(n + 1) for n in residual.index)
    exact = residual.value == 0.0
    return residual.condition, small(residual.value), f"[{place}]" if place and not exact else ""


def _again(account: Account) -> list[Html]:
    """What came out when a saved model was computed again."""
    found = account.verified
    if found is None:
        return []
    if found.holds:
        held = f"All {len(found.figures)} figures were computed again from the model file and the data, and hold."
        return [paragraph(held)]
    lost = [together(prose(finding.message), ": ", prose(finding.why)) for finding in found.findings]
    return [paragraph("Computed again from the model file and the data, these do not hold:"), listed(lost)]


def from_one(name: str) -> str:
    """`margin[0, 3]` as people count: `margin[1, 4]`."""
    stem, mark, places = name.removesuffix("]").partition("[")
    return f"{stem}[{', '.join(str(int(n) + 1) for n in places.split(', '))}]" if mark else name


def _refusal(account: Account) -> list[Html]:
    """The contradiction in words, what to do, and the witness in numbers."""
    blocks = []
    for error in account.errors:
        blocks.append(paragraph(code(error.code), " ", prose(error.message), "."))
        blocks += [paragraph("Why: ", prose(error.why), ".")] if error.why else []
        blocks += [paragraph("What helps: ", prose(error.help), ".")] if error.help else []
    measured = {name: account.witness[name] for name in RAY if name in account.witness}
    weights = {name: value for name, value in account.witness.items() if name not in measured}
    rows = [(code(from_one(name)), figure(value, 6)) for name, value in weights.items()]
    if rows:
        caption = "The witness: weights that prove it, checked outside the solver"
        blocks.append(tabulated(caption, ("of", "weight"), rows, frozenset({1})))
    if measured:
        told = (together(words, " ", small(measured[name])) for name, words in RAY.items())
        blocks.append(paragraph("Measured on all of them: ", joined(told), "."))
    return blocks
