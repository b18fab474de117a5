"""What is printed of a training: the certificate of each problem, with svm-train's own figures beside it."""

from __future__ import annotations

from kdsl.binding.faults import count
from kdsl.libsvm.training import Machine, Trained
from kdsl.models.report import aligned, figure, solution_text

TITLES = ("classes", "examples", "status", "value", "dual", "gap", "m - M", "obj", "rho", "nSV", "nBSV")


def training_text(trained: Trained) -> str:
    """One problem in full; of several, one for each pair of classes, a row each."""
    total = count(trained.model.support.shape[0], "support vector")
    if len(trained.machines) == 1:
        return f"{solution_text(trained.machines[0].solution)}LIBSVM's    {own_figures(trained.machines[0])}\n"
    if not trained.machines:
        return "one class alone: nothing to solve, and every example is of it\n"
    solution = trained.machines[0].solution
    parameters = ", ".join(f"{name} = {value:.6g}" for name, value in solution.parameters.items())
    heading = [
        ("problem", f"{solution.derivation.model.name}, {count(len(trained.machines), 'pair')} of classes, {total}"),
        ("kernel", solution.predictor.kernels["k"].description),
        ("parameters", parameters),
    ]
    rows = [TITLES, *(row(machine) for machine in trained.machines)]
    widths = [max(len(cells[column]) for cells in rows) for column in range(len(TITLES))]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True)) for cells in rows]
    return aligned(heading) + "".join(f"{line}\n" for line in lines)


def row(machine: Machine) -> tuple[str, ...]:
    solution, (i, j) = machine.solution, machine.classes
    certificate = solution.certificate
    steepest = "-" if certificate.kkt_gap is None else f"{certificate.kkt_gap:.1e}"
    own = (figure(machine.objective), figure(machine.rho), f"{machine.support:,}", f"{machine.bounded:,}")
    certified = (figure(certificate.value), figure(certificate.dual), f"{certificate.gap:.1e}", steepest)
    return (f"{i}, {j}", f"{len(machine.rows):,}", solution.status, *certified, *own)


def own_figures(machine: Machine) -> str:
    """As svm-train prints them."""
    return (
        f"obj = {figure(machine.objective)}, rho = {figure(machine.rho)}, "
        f"nSV = {machine.support:,}, nBSV = {machine.bounded:,}"
    )
