"""Solves what svm-train's flags ask for with the shipped specs, class against class, and writes it as LIBSVM would.

The specs, their parameters and the way back to LIBSVM's scale, with l examples, coefficients c and offset b of the
spec's solution (sv_coef and rho are LIBSVM's):

    -s  spec                        parameters               sv_coef     rho
    0   svm_1norm, svm_weighted     C = -c, s = -wi          c           -b
    1   svm_nu_sum                  nu = -n                  c / rho     -b / rho
    2   one_class                   nu = -n                  nu l c      nu l rho
    3   svr_linear_eps              C = -c, eps = -p         c           -b
    4   svr_nu                      C = -c l, nu = -n        c           -b

docs/coming-from-libsvm.md derives each line. Chang and Lin: LIBSVM, ACM TIST 2 (2011), section 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from kdsl.binding.distances import to_dense
from kdsl.binding.faults import fault
from kdsl.binding.kernels import Gaussian, Kernel, Linear, Polynomial, Sigmoid
from kdsl.binding.points import DENSE_SHARE
from kdsl.libsvm.model import SVM_TYPES, LibsvmModel
from kdsl.libsvm.options import TrainOptions
from kdsl.models.solution import Solution
from kdsl.numerics.arrays import Floats, Ints, Matrix
from kdsl.solving.api import prepare
from kdsl.solving.backends.interface import Options, Progress
from kdsl.solving.warm_start import Trail
from kdsl.solving.watched import Step

SPECS = ("svm_1norm", "svm_nu_sum", "one_class", "svr_linear_eps", "svr_nu")
NU_MACHINES = ("svm_nu_sum", "one_class")  # whose objectives LIBSVM has in other units
ROUNDING = 1e-13  # in the objective of a nu machine
CLASSIFICATION = (0, 1)
SIGMOID = 3


@dataclass(frozen=True, eq=False)
class Machine:
    """One problem, solved: its classes (none where there are no classes), its rows of the data, its solution in kdsl's
    scale, and in LIBSVM's scale the coefficient of each row, rho and the objective.
    """

    classes: tuple[int, ...]
    rows: Ints
    solution: Solution
    coefficients: Floats
    rho: float
    objective: float

    @property
    def support(self) -> int:
        return int(np.count_nonzero(self.coefficients))

    @property
    def bounded(self) -> int:
        return self.solution.support.bound


@dataclass(frozen=True, eq=False)
class Trained:
    """The model as LIBSVM writes it, and the solutions that it consists of."""

    model: LibsvmModel
    machines: tuple[Machine, ...]


def train(
    points: Matrix,
    target: Floats,
    options: TrainOptions,
    progress: Progress | None = None,
    step: Step | None = None,
) -> Trained:
    """The model that svm-train would write for these examples, each of its problems solved and certified."""
    if sp.issparse(points) and sp.csr_array(points).nnz >= DENSE_SHARE * points.shape[0] * points.shape[1]:
        points = to_dense(points)

    def solved(classes: tuple[int, ...], rows: Ints, values: Floats | None) -> Machine:
        return solve_machine(points, classes, rows, values, options, progress, step)

    if options.svm_type not in CLASSIFICATION:
        values = None if SPECS[options.svm_type] == "one_class" else target
        machines = [solved((), np.arange(len(target)), values)]
        return Trained(assembled(points, machines, (), [], options), tuple(machines))
    labels = class_order(target)
    members = [np.flatnonzero(target == label) for label in labels]
    machines = []
    for i, j in combinations(range(len(labels)), 2):
        rows = np.concatenate([members[i], members[j]])
        signs = np.repeat([1.0, -1.0], [len(members[i]), len(members[j])])
        machines.append(solved((labels[i], labels[j]), rows, signs))
    return Trained(assembled(points, machines, labels, members, options), tuple(machines))


def class_order(target: Floats) -> tuple[int, ...]:
    """The labels as svm-train orders them: as they are first seen, but of -1 and 1 the 1 first."""
    wrong = np.flatnonzero(target != np.round(target))
    if len(wrong):
        raise fault(
            "K674",
            f"example {wrong[0] + 1} has the label {target[wrong[0]]:g}, which is no class",
            "LIBSVM's classes are whole numbers; svm-train would cut the rest off",
            "number the classes, or choose regression (-s 3 or 4)",
        )
    labels = tuple(int(label) for label in dict.fromkeys(target.tolist()))
    return (1, -1) if labels == (-1, 1) else labels


def solve_machine(
    points: Matrix,
    classes: tuple[int, ...],
    rows: Ints,
    values: Floats | None,
    options: TrainOptions,
    progress: Progress | None,
    step: Step | None,
) -> Machine:
    """One problem by the table above."""
    spec, count = SPECS[options.svm_type], float(len(rows))
    data: dict[str, Any] = {"x": points[rows]} if values is None else {"x": points[rows], "y": values}
    weights = [options.weights.get(label, 1.0) for label in classes]
    if spec == "svm_1norm" and any(weight != 1.0 for weight in weights):
        spec, data["s"] = "svm_weighted", np.where(values == 1.0, *weights)
    parameters = {
        "svm_nu_sum": {"nu": options.nu},
        "one_class": {"nu": options.nu},
        "svr_linear_eps": {"C": options.cost, "eps": options.tube},
        "svr_nu": {"C": options.cost * count, "nu": options.nu},
    }.get(spec, {"C": options.cost})
    units = {"svm_nu_sum": count, "one_class": options.nu * count}.get(spec, 1.0)  # of LIBSVM's gradient in ours
    kkt_tol = None if options.kkt_tol is None else options.kkt_tol / units
    prepared = prepare(
        spec,
        data,
        parameters,
        {"k": options.kernel_text(points.shape[1])},
        memory=options.memory,
        psd="accept" if options.kernel == SIGMOID else "refuse",
    )
    asked = Options(kkt_tol=kkt_tol, memory=options.memory)
    trail = Trail()
    solution = prepared.solve(asked, None, progress, step, trail)
    if kkt_tol is None and spec in NU_MACHINES:
        # what counts is the gap of LIBSVM's objective; theirs add up to 1 at most, so the gap is at most m - M
        rho = solution.scalars["rho"] if spec == "svm_nu_sum" else 1.0 / units
        close = max(asked.tol * max(rho**2, abs(solution.dual)), ROUNDING)
        if solution.gap > close:
            solution = prepared.solve(replace(asked, kkt_tol=close), None, progress, step, trail)
    scale = 1.0 / margin_of(solution, classes) if spec == "svm_nu_sum" else units
    expansion = np.zeros(len(rows))
    expansion[solution.predictor.places["k"]] = solution.predictor.vectors["w"].coefficients[0]
    offset = solution.scalars["rho"] if spec == "one_class" else -solution.scalars["b"]
    return Machine(classes, rows, solution, scale * expansion, scale * offset, -(scale**2) * solution.dual)


def margin_of(solution: Solution, classes: tuple[int, ...]) -> float:
    """rho of a nu machine, by which LIBSVM divides at the end; the dual is -1/2 |w|^2, so none is proven without it."""
    if -solution.dual <= solution.gap:
        raise fault(
            "K675",
            f"no margin above 0 is proven for the classes {classes[0]} and {classes[1]}, and LIBSVM divides by it",
            "the convex hulls of the classes, reduced by the bounds on the multipliers, meet or nearly meet",
            "ask for more errors with a larger -n, or choose -s 0",
        )
    return solution.scalars["rho"]


def kernel_of(options: TrainOptions, features: int) -> Kernel:
    """The kernel of -t, with its numbers."""
    gamma = options.gamma_of(features)
    return (Linear(), Polynomial(options.degree, gamma, options.coef0), Gaussian(gamma), Sigmoid(gamma, options.coef0))[
        options.kernel
    ]


def assembled(
    points: Matrix,
    machines: Sequence[Machine],
    labels: tuple[int, ...],
    members: Sequence[Ints],
    options: TrainOptions,
) -> LibsvmModel:
    """The members of LIBSVM's model file from the machines, in its order of support vectors."""
    every = np.zeros(points.shape[0], dtype=bool)
    for machine in machines:
        every[machine.rows[machine.coefficients != 0]] = True
    owners = members if labels else [np.arange(points.shape[0])]
    support = [rows[every[rows]] for rows in owners]
    kept = np.concatenate(support)
    place = np.zeros(points.shape[0], dtype=np.int64)
    place[kept] = np.arange(len(kept))
    coefficients = np.zeros((len(kept), max(len(labels) - 1, 1)))
    for machine in machines:
        i, j = (labels.index(label) for label in machine.classes) if labels else (0, 1)
        first = len(members[i]) if labels else len(machine.rows)
        for rows, values, column in (
            (machine.rows[:first], machine.coefficients[:first], j - 1),
            (machine.rows[first:], machine.coefficients[first:], i),
        ):
            coefficients[place[rows[values != 0]], column] = values[values != 0]
    counts = np.array([len(rows) for rows in support] if labels else [], dtype=np.int64)
    rho = np.array([machine.rho for machine in machines])
    label = np.array(labels, dtype=np.int64)
    return LibsvmModel(
        SVM_TYPES[options.svm_type],
        kernel_of(options, points.shape[1]),
        len(labels) or 2,
        rho,
        label,
        counts,
        coefficients,
        sp.csr_array(points[kept]),
    )
