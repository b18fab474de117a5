"""What is printed of machines: the certificate of each problem, and of a training svm-train's own figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kdsl.binding.faults import count
from kdsl.language.diagnostics import Diagnostic
from kdsl.libsvm.certifying import Certified
from kdsl.libsvm.training import Machine, Trained
from kdsl.models.report import aligned, figure, solution_text
from kdsl.models.solution import Solution

CERTIFIED = ("classes", "examples", "status", "value", "dual", "gap", "m - M")
OWN = ("obj", "rho", "nSV", "nBSV")


def training_text(trained: Trained) -> str:
    """One problem in full; of several, one for each pair of classes, a row each."""
    machines = trained.machines
    if len(machines) == 1:
        return f"{solution_text(machines[0].solution)}LIBSVM's    {own_figures(machines[0])}\n"
    if not machines:
        return "one class alone: nothing to solve, and every example is of it\n"
    total = count(trained.model.support.shape[0], "support vector")
    rows = [(*certified(machine.classes, machine.solution), *own_row(machine)) for machine in machines]
    return heading(machines[0].solution, len(machines), f", {total}") + table([(*CERTIFIED, *OWN), *rows])


def certificates_text(found: Sequence[Certified]) -> str:
    """The machines of an imported model, a row each; each has parameters of its own."""
    titles = (*CERTIFIED, "parameters")
    rows = [(*certified(one.classes, one.solution), parameters_of(one.solution)) for one in found]
    return table([titles, *rows])


def warnings_of(solutions: Iterable[Solution]) -> list[Diagnostic]:
    """The first warning of each code: hundreds of pairs of classes have the same to say."""
    found: dict[str, Diagnostic] = {}
    for solution in solutions:
        for warning in solution.warnings:
            found.setdefault(warning.code, warning)
    return list(found.values())


def heading(solution: Solution, pairs: int, more: str) -> str:
    lines = [
        ("problem", f"{solution.derivation.model.name}, {count(pairs, 'pair')} of classes{more}"),
        ("kernel", solution.predictor.kernels["k"].description),
        ("parameters", parameters_of(solution)),
    ]
    return aligned(lines)


def parameters_of(solution: Solution) -> str:
    return ", ".join(f"{name} = {value:.6g}" for name, value in solution.parameters.items())


def table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(cells[column]) for cells in rows) for column in range(len(rows[0]))]
    lines = ("  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True)) for cells in rows)
    return "".join(f"{line}\n" for line in lines)


def certified(classes: tuple[int, ...], solution: Solution) -> tuple[str, ...]:
    (i, j), certificate = classes, solution.certificate
    steepest = "-" if certificate.kkt_gap is None else f"{certificate.kkt_gap:.1e}"
    examples = f"{solution.bound.sizes['l']:,}"
    figures = (figure(certificate.value), figure(certificate.dual), f"{certificate.gap:.1e}", steepest)
    return (f"{i}, {j}", examples, solution.status, *figures)


def own_row(machine: Machine) -> tuple[str, ...]:
    return (figure(machine.objective), figure(machine.rho), f"{machine.support:,}", f"{machine.bounded:,}")


def own_figures(machine: Machine) -> str:
    """As svm-train prints them."""
    objective, rho, support, bounded = own_row(machine)
    return f"obj = {objective}, rho = {rho}, nSV = {support}, nBSV = {bounded}"
