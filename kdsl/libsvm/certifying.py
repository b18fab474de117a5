"""What a LIBSVM model proves on its training data: its multipliers, certified against the spec that they solve.

The file does not say C, nu and epsilon, but the multipliers do. Let m be the largest coefficient in absolute value.
If the coefficients are optimal for some C >= m, they are for C = m too: no bound is crossed, and whatever was below C
has no slack. So a C-SVC, a nu-SVC (which LIBSVM divides by its margin) and an epsilon-SVR have C = m; classes with
weights have each its own. The multipliers of a nu-SVR add up to C nu and are C/l at most, with l examples: C = l m.
Those of a one-class machine add up to nu l. The epsilon that leaves the smallest gap has as many examples outside the
tube as there are full multipliers, sum |c| / C.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from kdsl.binding.faults import fault
from kdsl.binding.table import Table
from kdsl.language.model import Model
from kdsl.libsvm.importing import SPECS, expansions_of, kernel_text
from kdsl.libsvm.model import REGRESSORS, LibsvmModel
from kdsl.models.solution import Solution
from kdsl.numerics.arrays import Floats, Ints, Matrix
from kdsl.pipeline import parse_spec
from kdsl.solving.api import Prepared, prepare
from kdsl.solving.api import read_model as read_spec
from kdsl.solving.backends.interface import Options
from kdsl.solving.lowering import lower
from kdsl.solving.solve import given_solution

CLASS_COSTS = """model svm_class_costs "1-norm soft margin, a cost for each class"
index  i in 1..l
data   x[i] : input, y[i] : {-1, 1}
param  Cpos : in [0, inf) = 1, Cneg : in [0, inf) = 1
kernel k = rbf(gamma = 0.5)
var    w : H(k), b : real, xi[i] : real >= 0
minimize 1/2 ||w||^2 + sum[i] (Cpos * (1 + y[i]) + Cneg * (1 - y[i])) / 2 * xi[i]
subject to
  margin[i]: y[i] * (<w, phi(x[i])> + b) >= 1 - xi[i]
predict label(t) = sign(<w, phi(t)> + b)
"""
LIBSVM_TOL = 1e-3  # at which m - M svm-train stops unless told otherwise
ROUNDING = 1e-9  # of a multiplier at its bound
DIGITS = ".8g"  # to which LIBSVM writes support vectors


class Task(NamedTuple):
    """One machine on its examples: their data as `prepare` takes them, their targets, where the support vectors stand
    among them, the coefficients of these and the scalar.
    """

    classes: tuple[int, ...]
    data: Mapping[str, Any]
    binding: Mapping[str, Any]
    target: Floats
    places: Ints
    coefficients: Floats
    offset: float


@dataclass(frozen=True, eq=False)
class Certified:
    """One machine: its classes, its solution, and the scalar (b, or rho) that the file has in the spec's scale."""

    classes: tuple[int, ...]
    solution: Solution
    filed: float

    @property
    def scalar(self) -> float:
        """The scalar that is best for the multipliers."""
        return self.solution.scalars["rho" if "rho" in self.solution.scalars else "b"]


def certify_model(
    model: LibsvmModel,
    points: Matrix,
    target: Floats,
    table: Table,
    given: Mapping[str, float],
    tolerance: float = LIBSVM_TOL,
) -> tuple[Certified, ...]:
    """Every machine of the model on the examples that it was trained on, as `read_examples` gives them.

    given: parameters that are known. tolerance: the m - M at which LIBSVM stopped.
    """
    expansions, offsets = expansions_of(model)
    target = np.trunc(target) if model.is_classifier else target  # as svm-train reads classes
    places = support_places(model, points, target, table)
    if len(expansions) == 1:
        classes = tuple(int(label) for label in model.label)
        binding = {"positive": str(classes[0])} if classes else {}
        task = Task(classes, {"": table}, binding, target, places, expansions[0], float(offsets[0]))
        return (certified(model, task, given, tolerance),)
    found = []
    for (i, j), expansion, offset in zip(combinations(range(model.nr_class), 2), expansions, offsets, strict=True):
        first, second = int(model.label[i]), int(model.label[j])
        rows = np.flatnonzero((target == first) | (target == second))
        own = np.flatnonzero(np.isin(places, rows))
        signs = np.where(target[rows] == first, 1.0, -1.0)
        at = np.searchsorted(rows, places[own])
        data = {"x": points[rows], "y": signs}
        task = Task((first, second), data, {}, signs, at, expansion[own], float(offset))
        found.append(certified(model, task, given, tolerance))
    return tuple(found)


def certified(model: LibsvmModel, task: Task, given: Mapping[str, float], tolerance: float) -> Certified:
    """One machine; of the forms that it may have, the first that is proven, else the one of the smallest gap."""
    expansion = np.zeros(len(task.target))
    np.add.at(expansion, task.places, task.coefficients)
    largest = float(np.abs(expansion).max(initial=0.0)) or 1.0
    units = {"nu_svc": largest, "one_class": 1.0 / (float(model.sv_coef.sum()) or 1.0)}.get(model.svm_type, 1.0)
    wanted = (Options(), Options(kkt_tol=tolerance * units))
    found: list[Solution] = []
    for spec, parameters in forms(model, task, expansion, largest, given):
        psd = "refuse" if model.kernel.psd else "accept"
        kernels = {"k": kernel_text(model.kernel)}
        prepared = prepare(spec, task.data, {**parameters, **given}, kernels, psd=psd, **task.binding)
        found.append(solution_at(prepared, expansion, wanted, f"read from a LIBSVM model file, {model.svm_type}"))
        if found[-1].status == "optimal":
            return Certified(task.classes, found[-1], task.offset)
    best = min(found, key=lambda solution: solution.certificate.rel_gap)
    return Certified(task.classes, best, task.offset)


def forms(
    model: LibsvmModel, task: Task, expansion: Floats, largest: float, given: Mapping[str, float]
) -> list[tuple[Model, dict[str, float]]]:
    """The specs that the machine may solve, with the parameters that its multipliers speak of."""
    spec, total, count = read_spec(SPECS[model.svm_type]), float(np.abs(expansion).sum()), len(expansion)
    if model.svm_type == "one_class":
        return [(spec, {"nu": min(float(model.sv_coef.sum()) / count, 1.0) or 1.0})]
    if model.svm_type == "nu_svr":
        return [(spec, {"C": count * largest, "nu": min(total / (count * largest), 1.0) or 1.0})]
    if model.svm_type in REGRESSORS:
        return [(spec, {"C": largest, "eps": tube_of(model, task, expansion, largest)})]
    costs = {"Cpos": float(expansion.max(initial=0.0)), "Cneg": float(-expansion.min(initial=0.0))}
    plain = (spec, {"C": largest})
    known = costs["Cpos"] == costs["Cneg"] or "C" in given
    return [plain] if known else [plain, (parse_spec(CLASS_COSTS), costs)]


def tube_of(model: LibsvmModel, task: Task, expansion: Floats, largest: float) -> float:
    """The epsilon of least gap, or the shortest decimal near it that the free examples allow: what was asked for.

    A free example lies on the edge of the tube, as nearly as LIBSVM stopped.
    """
    outside = np.zeros(len(expansion))  # every example that is no support vector is inside
    outside[task.places] = np.abs(model.decision(model.support)[:, 0] - task.target[task.places])
    full = min(int(np.abs(expansion).sum() / largest + 1e-9), len(expansion) - 1)
    least = float(np.sort(outside)[::-1][full])
    free = (expansion != 0) & (np.abs(expansion) < largest * (1 - 1e-9))
    return shortest(min(outside[free].min(initial=least), least), max(outside[free].max(initial=least), least))


def shortest(low: float, high: float) -> float:
    """The number of the fewest digits between two."""
    for digits in range(17):
        candidate = float(f"{(low + high) / 2:.{digits}e}")
        if low <= candidate <= high:
            return candidate
    return low


def solution_at(prepared: Prepared, expansion: Floats, wanted: Sequence[Options], reason: str) -> Solution:
    """The solution whose w has this expansion over the examples, certified."""
    posed = prepared.posed
    lowered = lower(posed.energies, posed.values, posed.spaces, saturated=posed.saturated)
    (block,), (origin,) = lowered.problem.blocks, lowered.origins
    atoms = sp.csc_array(block.atoms)
    rows, signs = atoms.indices, atoms.data * origin.factor
    theta = np.asarray(expansion)[rows] / signs
    if len(rows) > len(expansion):  # two multipliers for each example, one for each sign
        theta = np.maximum(theta, 0.0)
    bounds = lowered.problem.separable
    for bound in (bounds.lower, bounds.upper):  # what LIBSVM left at a bound is at ours, whatever rounding says
        theta = np.where(np.abs(theta - bound) <= ROUNDING * np.abs(bound), bound, theta)
    solution = given_solution(posed, theta, wanted, "libsvm", reason)
    return replace(solution, binding=prepared.binding, seconds={**solution.seconds, **prepared.seconds})


def support_places(model: LibsvmModel, points: Matrix, target: Floats, table: Table) -> Ints:
    """Where each support vector stands among the examples, to the digits that LIBSVM writes and in its order."""
    waiting: dict[tuple[float, tuple[tuple[int, str], ...]], list[int]] = defaultdict(list)
    owners = np.repeat(model.label, model.nr_sv) if model.is_classifier else np.zeros(model.support.shape[0])
    classes = target if model.is_classifier else np.zeros(len(target))
    for row, cells in enumerate(written(points)):
        waiting[float(classes[row]), cells].append(row)
    places, last, owner = np.empty(model.support.shape[0], dtype=np.int64), -1, None
    for number, cells in enumerate(written(model.support)):
        last, owner = (last if owner == owners[number] else -1), owners[number]
        rows = waiting[float(owner), cells]
        if not rows:
            raise fault(
                "K678",
                f"support vector {number + 1} of the model is not among the examples of `{table.source}`",
                "a certificate is about the data that the model was trained on",
                "give that file, scaled as it was for training",
            )
        last = next((row for row in rows if row > last), rows[0])
        rows.remove(last)
        places[number] = last
    return places


def written(points: Matrix) -> list[tuple[tuple[int, str], ...]]:
    """Each row as LIBSVM writes it: its features that are not zero, to eight digits."""
    rows = sp.csr_array(points)
    rows.sort_indices()
    found = []
    for begin, end in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
        cells = zip(rows.indices[begin:end].tolist(), rows.data[begin:end].tolist(), strict=True)
        found.append(tuple((column, format(value, DIGITS)) for column, value in cells if value))
    return found
